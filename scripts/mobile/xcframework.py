#!/usr/bin/env python3
"""Puts AgentSurface.xcframework together in a folder (build/mobile unless it is given) from what build.sh made there for iOS: for each slice the static library, and the headers
with their module map in a folder of their own, so that two frameworks can be in one app. With Xcode, xcodebuild puts it together; without,
the same folder is written here, and what could not be done is said."""
import pathlib, plistlib, shutil, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build/mobile")
FRAMEWORK = BUILD / "AgentSurface.xcframework"
SLICES = {
    "aarch64-apple-ios": {"LibraryIdentifier": "ios-arm64", "SupportedPlatform": "ios"},
    "aarch64-apple-ios-sim": {"LibraryIdentifier": "ios-arm64-simulator", "SupportedPlatform": "ios", "SupportedPlatformVariant": "simulator"},
}
MODULE = """module CAgentSurface {
  header "agent_surface.h"
  header "agent_surface_dev.h"
  export *
}
"""


def headers(folder):
    """Clang finds `CAgentSurface` in a folder of that name below a search path."""
    own = folder / "CAgentSurface"
    own.mkdir(parents=True)
    for name in ("agent_surface.h", "agent_surface_dev.h"):
        shutil.copy(ROOT / "include" / name, own)
    (own / "module.modulemap").write_text(MODULE)


def by_xcode(built):
    headers(BUILD / "headers")
    libraries = [word for target in built for word in ("-library", str(BUILD / target / "libagent_surface.a"), "-headers", str(BUILD / "headers"))]
    subprocess.run(["xcodebuild", "-create-xcframework", *libraries, "-output", str(FRAMEWORK)], check=True)
    shutil.rmtree(BUILD / "headers")


def by_hand(built):
    libraries = []
    for target in built:
        entry = {**SLICES[target], "LibraryPath": "libagent_surface.a", "HeadersPath": "Headers", "SupportedArchitectures": ["arm64"]}
        folder = FRAMEWORK / entry["LibraryIdentifier"]
        headers(folder / "Headers")
        shutil.copy(BUILD / target / "libagent_surface.a", folder)
        libraries.append(entry)
    with open(FRAMEWORK / "Info.plist", "wb") as file:
        plistlib.dump({"AvailableLibraries": libraries, "CFBundlePackageType": "XFWK", "XCFrameworkFormatVersion": "1.0"}, file)


def main():
    built = [target for target in SLICES if (BUILD / target / "libagent_surface.a").exists()]
    if not built:
        sys.exit("Nothing was built for iOS: scripts/mobile/build.sh aarch64-apple-ios aarch64-apple-ios-sim")
    shutil.rmtree(FRAMEWORK, ignore_errors=True)
    shutil.rmtree(BUILD / "headers", ignore_errors=True)
    if shutil.which("xcodebuild"):
        by_xcode(built)
    else:
        by_hand(built)
        print("SKIP  no Xcode here: written by hand, not checked by xcodebuild, not signed, never linked into an app. NOT TESTED HERE.")
    for target in SLICES:
        if target not in built:
            print(f"SKIP  {target} was not built; the framework has no slice for it.")
    print(FRAMEWORK.relative_to(ROOT))


if __name__ == "__main__":
    main()
