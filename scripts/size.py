#!/usr/bin/env python3
"""The size of the stripped shared library, the crates in it and why they are there, held against what README.md says."""
import json, pathlib, re, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOLERANCE = 0.03  # compilers differ a little


def crates():
    """Every crate that ends up in the library, our own left out."""
    tree = subprocess.run(["cargo", "tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"], cwd=ROOT, text=True,
                          check=True, stdout=subprocess.PIPE).stdout
    return len({line.split(" (*)")[0] for line in tree.splitlines() if line.strip()}) - 1


def direct():
    """The dependencies that Cargo.toml names."""
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    section = manifest.split("\n[dependencies]\n")[1].split("\n[")[0]
    return {line.split("=")[0].strip() for line in section.splitlines() if "=" in line and not line.startswith("#")}


def size():
    subprocess.run(["cargo", "build", "--release", "--lib", "--quiet"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(ROOT / "target/release/libagent_surface.so", folder)
        subprocess.run(["strip", copy], check=True)
        return pathlib.Path(copy).stat().st_size


def main():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = re.search(r"([\d,]+) bytes stripped, (\d+) crates", readme)
    table = readme.split("| crate | why it is here |")[1].split("\n\n")[0]
    listed = {row.split("|")[1].strip() for row in table.splitlines()[2:] if "|" in row}
    bytes_now, crates_now = size(), crates()
    print(f"{bytes_now:,} bytes stripped, {crates_now} crates")
    if not said:
        print("README.md does not say so")
        return 1
    bytes_said, crates_said = int(said.group(1).replace(",", "")), int(said.group(2))
    if abs(bytes_now - bytes_said) > TOLERANCE * bytes_said or crates_now != crates_said:
        print(f"README.md says {bytes_said:,} bytes, {crates_said} crates")
        return 1
    if listed != direct():
        print(f"README.md's table and Cargo.toml differ: {sorted(listed ^ direct())}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
