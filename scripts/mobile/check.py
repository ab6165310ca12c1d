#!/usr/bin/env python3
"""The static libraries in a folder (build/mobile unless it is given): each exports what the headers declare, and asks of its platform only what
scripts/mobile/platform/ lists: for Android what Bionic has had since API 24, and the unwinder that an NDK links. What it can do without (a weak
symbol) is not asked for. Prints sizes; ends with "N passed, N failed"."""
import pathlib, re, shutil, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLATFORMS = {"apple": "apple", "android": "android", "linux-gnu": "linux"}
# What Rust and its unwinder name in C, apart from the compiler's own runtime functions.
RUST = re.compile(r"(DW\.ref\.)?(rust_\w+|__rust\w+|__rdl_\w+|__rg_\w+)$|_ZN|_R|__rustc")


def nm():
    """An nm that reads ELF and Mach-O: any of LLVM's that is new enough for the objects that rustc writes."""
    names = [f"llvm-nm-{version}" for version in range(30, 18, -1)] + ["llvm-nm"]
    found = next((name for name in names if shutil.which(name)), None)
    if not found:
        print("No llvm-nm here: make toolchains")
        sys.exit(3)
    return found


def declared():
    """Every `as_name` that an opening parenthesis follows, comments left out."""
    text = "".join((ROOT / "include" / name).read_text(encoding="utf-8") for name in ("agent_surface.h", "agent_surface_dev.h"))
    return set(re.findall(r"\b(as_\w+)\(", re.sub(r"/\*.*?\*/", "", text, flags=re.S)))


def symbols(library, apple):
    """(names it defines for others, those among them of the compiler's runtime, names it needs of others)."""
    said = subprocess.run([nm(), "--extern-only", "--format=posix", str(library)], text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    defined, runtime, undefined, member = set(), set(), set(), ""
    for line in said.splitlines():
        words = line.split()
        if line.endswith(":"):
            member = line
        elif len(words) >= 2:
            name = words[0][1:] if apple and words[0].startswith("_") else words[0]
            if words[1] in "vw":
                continue
            (undefined if words[1] == "U" else defined).add(name)
            if "compiler_builtins" in member and words[1] != "U":
                runtime.add(name)
    return defined, runtime, undefined - defined


def check(library):
    target = library.parent.name
    platform = next(file for part, file in PLATFORMS.items() if part in target)
    defined, runtime, undefined = symbols(library, platform == "apple")
    known = ROOT / "scripts/mobile/platform" / f"{platform}.txt"
    allowed = set(known.read_text(encoding="utf-8").split()) if known.exists() else set()
    ours = {name for name in defined if name.startswith("as_")}
    others = {name for name in defined - ours - runtime if not RUST.match(name)}
    return {
        "exports the header's functions": ours ^ declared(),
        "exports nothing else by a C name": others,
        f"asks of {platform} only what is listed": undefined - allowed,
    }


def main():
    folder = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build/mobile")
    libraries = sorted(folder.glob("*/libagent_surface.a"))
    passed = failed = 0
    for library in libraries:
        print(f"      {library.parent.name}: {library.stat().st_size:,} bytes")
        for what, wrong in check(library).items():
            passed, failed = (passed + 1, failed) if not wrong else (passed, failed + 1)
            if wrong:
                print(f"FAIL  {library.parent.name} {what}: {' '.join(sorted(wrong))}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
