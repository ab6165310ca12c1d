#!/usr/bin/env python3
"""What the library weighs and is made of: the limits that it must keep, and what README.md says of it.

    size.py [--update]      --update writes the table of README.md

The host's libraries are built here, those of other targets are measured where scripts/mobile/build.sh has built them. One line for
each check, a last one with the counts."""
import pathlib, re, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TABLE = re.compile(r"<!-- sizes -->\n(.*?)<!-- sizes -->", re.S)
HEAD = "| target | shared library, stripped | static library | a C program with it, stripped |\n|---|---:|---:|---:|\n"
TOLERANCE = 0.1  # compilers differ
LIMITS = (2 << 20, None, 2_500_000)
NATIVE = "-lgcc_s -lutil -lrt -lpthread -lm -ldl".split()
passed = failed = 0


def tell(name, wrong):
    global passed, failed
    print(f"FAIL {name}: {wrong}" if wrong else f"ok {name}", flush=True)
    passed, failed = (passed, failed + 1) if wrong else (passed + 1, failed)


def stripped(library):
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(library, folder)
        subprocess.run(["strip", copy], check=True)
        return pathlib.Path(copy).stat().st_size


def program(compiler, library, says=None):
    """A host of one call, which keeps nothing of the static library but what it needs; where it can be run, it says this."""
    with tempfile.TemporaryDirectory() as folder:
        host = pathlib.Path(folder) / "host"
        subprocess.run([compiler, "-std=c11", "-Os", "-Iinclude", "-Wl,--gc-sections", "-s", "-o", host, "tests/footprint/host.c", library, *NATIVE],
                       cwd=ROOT, check=True)
        if says:
            done = subprocess.run([host], text=True, stdout=subprocess.PIPE)
            tell(f"a C program with {library.relative_to(ROOT)}", "" if done.returncode == 0 and says in done.stdout else f"{done.returncode}: {done.stdout}")
        return host.stat().st_size


def host(profile, *features, says):
    subprocess.run(["cargo", "rustc", "--quiet", "--profile", profile, "--lib", "--crate-type", "cdylib,staticlib", *features], cwd=ROOT, check=True)
    folder = ROOT / "target" / profile
    static = folder / "libagent_surface.a"
    return stripped(folder / "libagent_surface.so"), static.stat().st_size, program("cc", static, says)


def measured():
    """Row of the table to what was measured; `None` where there is nothing to measure here."""
    triple = re.search(r"host: (\S+)", subprocess.run(["rustc", "-vV"], check=True, text=True, stdout=subprocess.PIPE).stdout).group(1)
    rows = {triple: host("release", says="patterns are taken"),
            f"{triple}, `minimal`": host("minimal", "--no-default-features", says="its feature `patterns`")}
    for library in sorted((ROOT / "build/mobile").glob("*/libagent_surface.a")):
        target, compiler = library.parent.name, "aarch64-linux-gnu-gcc"
        links = target == "aarch64-unknown-linux-gnu" and shutil.which(compiler)
        rows[target] = None, library.stat().st_size, program(compiler, library) if links else None
    return rows


def said():
    table = TABLE.search(README.read_text(encoding="utf-8"))
    rows = {}
    for line in table.group(1).splitlines()[2:] if table else []:
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[name] = tuple(int(cell.replace(",", "")) if cell else None for cell in cells)
    return rows


def write(rows):
    lines = (f"| {name} | {' | '.join('' if size is None else f'{size:,}' for size in sizes)} |\n" for name, sizes in rows.items())
    text = README.read_text(encoding="utf-8")
    README.write_text(TABLE.sub(lambda _: f"<!-- sizes -->\n{HEAD}{''.join(lines)}<!-- sizes -->", text), encoding="utf-8")


def close(size, told):
    return size is None or (told is not None and abs(size - told) <= TOLERANCE * told)


def sizes():
    rows, told = measured(), said()
    if "--update" in sys.argv[1:]:
        told.update(rows)
        write(told)
    for name, row in rows.items():
        beyond = [f"{size:,} bytes, at most {limit:,}" for size, limit in zip(row, LIMITS) if size and limit and size > limit]
        tell(f"{name}: within the limits", "; ".join(beyond))
        in_readme = told.get(name, (None,) * len(row))
        tell(f"{name}: as README.md says", "" if all(map(close, row, in_readme)) else f"measured {row}, README.md has {in_readme}: size.py --update")


def crates():
    """Every crate that ends up in the library is counted, our own left out; every direct dependency has its reason."""
    tree = subprocess.run(["cargo", "tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"], cwd=ROOT, text=True,
                          check=True, stdout=subprocess.PIPE).stdout
    count = len({line.split(" (*)")[0] for line in tree.splitlines() if line.strip()}) - 1
    readme = README.read_text(encoding="utf-8")
    tell(f"{count} crates", "" if f"{count} crates" in readme else "README.md has another number")
    table = readme.split("| crate | why it is here |")[1].split("\n\n")[0]
    listed = {row.split("|")[1].strip() for row in table.splitlines()[2:] if "|" in row}
    section = (ROOT / "Cargo.toml").read_text(encoding="utf-8").split("\n[dependencies]\n")[1].split("\n[")[0]
    direct = {line.split("=")[0].strip() for line in section.splitlines() if "=" in line and not line.startswith("#")}
    tell("why each dependency is here", " ".join(sorted(listed ^ direct)))


def main():
    crates()
    sizes()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
