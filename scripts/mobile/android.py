#!/usr/bin/env python3
"""Puts android/ together in a folder (build/mobile unless it is given) from what build.sh made there for Android, as an AAR has it: Prefab metadata with headers and the static
library for each ABI, and, where an NDK is there (ANDROID_NDK_HOME), the shared library with 16 KB pages in jni/. What could not be done is
said. The folder zipped is the AAR."""
import json, os, pathlib, re, shutil, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build/mobile")
AAR = BUILD / "android"
ABIS = {"aarch64-linux-android": "arm64-v8a", "x86_64-linux-android": "x86_64"}
API = 24
PAGE = 16384
MANIFEST = f"""<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="dev.agentsurface">
  <uses-sdk android:minSdkVersion="{API}" />
</manifest>
"""


def version():
    return re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M).group(1)


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=2) + "\n")


def prefab(abis, ndk):
    """Two modules, so that a build chooses `agent_surface::static` or `agent_surface::shared`."""
    write(AAR / "prefab/prefab.json", {"schema_version": 2, "name": "agent_surface", "version": version(), "dependencies": []})
    for kind in ["static"] + (["shared"] if ndk else []):
        module = AAR / "prefab/modules" / kind
        write(module / "module.json", {"export_libraries": [], "library_name": "libagent_surface"})
        (module / "include").mkdir()
        for name in ("agent_surface.h", "agent_surface_dev.h"):
            shutil.copy(ROOT / "include" / name, module / "include")
        for target, abi in abis.items():
            folder = module / "libs" / f"android.{abi}"
            about = {"abi": abi, "api": API, "ndk": revision(ndk), "stl": "none", "static": kind == "static"}
            write(folder / "abi.json", about)
            shutil.copy(BUILD / target / "libagent_surface.a" if kind == "static" else AAR / "jni" / abi / "libagent_surface.so", folder)


def revision(ndk):
    """The NDK's major version; 27 is the first whose own libraries have 16 KB pages."""
    found = re.search(r"Pkg\.Revision = (\d+)", (ndk / "source.properties").read_text()) if ndk else None
    return int(found.group(1)) if found else 27


def shared(abis, ndk):
    tools = next(ndk.glob("toolchains/llvm/prebuilt/*/bin"))
    for target, abi in abis.items():
        library = AAR / "jni" / abi / "libagent_surface.so"
        library.parent.mkdir(parents=True)
        exports = library.with_suffix(".map")
        exports.write_text("{ global: as_*; local: *; };\n")
        subprocess.run([tools / f"{target}{API}-clang", "-shared", "-o", library, "-Wl,--whole-archive", BUILD / target / "libagent_surface.a",
                        "-Wl,--no-whole-archive", "-Wl,-soname,libagent_surface.so", "-Wl,-z,nodelete", f"-Wl,-z,max-page-size={PAGE}",
                        f"-Wl,--version-script,{exports}", "-Wl,--gc-sections", "-ldl", "-lm", "-llog"], check=True)
        exports.unlink()
        subprocess.run([tools / "llvm-strip", library], check=True)
        said = subprocess.run([tools / "llvm-readelf", "-lW", library], check=True, text=True, stdout=subprocess.PIPE).stdout
        if any(int(line.split()[-1], 16) < PAGE for line in said.splitlines() if line.strip().startswith("LOAD")):
            sys.exit(f"{library}: a segment is not aligned to {PAGE}")


def main():
    abis = {target: abi for target, abi in ABIS.items() if (BUILD / target / "libagent_surface.a").exists()}
    if not abis:
        sys.exit("Nothing was built for Android: scripts/mobile/build.sh aarch64-linux-android x86_64-linux-android")
    home = os.environ.get("ANDROID_NDK_HOME")
    ndk = pathlib.Path(home) if home else None
    shutil.rmtree(AAR, ignore_errors=True)
    write(AAR / "AndroidManifest.xml", MANIFEST)
    if ndk:
        shared(abis, ndk)
    else:
        print("SKIP  no NDK here (ANDROID_NDK_HOME): no shared library in jni/, no check of its 16 KB pages. NOT TESTED HERE.")
    prefab(abis, ndk)
    for target in ABIS:
        if target not in abis:
            print(f"SKIP  {target} was not built.")
    print(AAR.relative_to(ROOT))


if __name__ == "__main__":
    main()
