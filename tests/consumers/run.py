#!/usr/bin/env python3
"""Hosts that are built from the installed package alone: by find_package and by pkg-config, shared and static, C11, C++17 and C++20,
gcc and clang; and hosts that put the library to an odd use.

    run.py BUILD    a folder in which cmake has built the project

One line for each check, a last one with the counts. The package is installed without privileges, then moved, and the hosts are
compiled from copies outside the project, so that nothing but the package can be found."""
import os, pathlib, re, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "tests" / "consumers"
COMPILERS = [("gcc", "g++"), ("clang", "clang++")]
STANDARDS = [("c11", "c"), ("c++17", "cpp"), ("c++20", "cpp")]
WARNINGS = "-Wall -Wextra -Wpedantic -Werror"
passed = failed = 0


def tell(name, wrong):
    global passed, failed
    if wrong:
        failed += 1
        print(f"FAIL {name}: {wrong}", flush=True)
    else:
        passed += 1
        print(f"ok {name}", flush=True)


def skip(name, why):
    print(f"SKIP {name}: {why}. NOT TESTED HERE.", flush=True)


def run(command, folder, **environment):
    """What is wrong with a command, or nothing; and what it said."""
    done = subprocess.run(command, shell=True, cwd=folder, env={**os.environ, **environment}, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return (f"$ {command}\n{done.stdout}" if done.returncode else ""), done.stdout.strip()


def check(name, command, folder, **environment):
    wrong, _ = run(command, folder, **environment)
    tell(name, wrong)
    return not wrong


def have(command):
    return shutil.which(command) is not None


class Package:
    """The installed package, at a place it was not installed to."""

    def __init__(self, build, here):
        installed, self.prefix = here / "installed", here / "moved" / "to here"
        check("installs without privileges", f"cmake --install '{build}' --prefix '{installed}'", here)
        self.prefix.parent.mkdir()
        installed.rename(self.prefix)
        self.lib = self.prefix / "lib"
        if not self.lib.exists():
            self.lib = next(path.parent for path in self.prefix.glob("lib*/**/libagent_surface.a"))
        self.version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
        self.abi = re.search(r"^#define AS_ABI_VERSION (\d+)", (ROOT / "include/agent_surface.h").read_text(), re.M).group(1)
        self.installed = installed

    def pkg_config(self, folder, what):
        wrong, said = run(f"pkg-config {what}", folder, PKG_CONFIG_PATH=str(self.lib / "pkgconfig"))
        return said if not wrong else wrong


def contents(package, here):
    chain = [os.readlink(package.lib / name) for name in ("libagent_surface.so", f"libagent_surface.so.{package.abi}")]
    wanted = [f"libagent_surface.so.{package.abi}", f"libagent_surface.so.{package.version}"]
    tell("the link chain is versioned", "" if chain == wanted else f"expected {wanted}, saw {chain}")
    _, dynamic = run("readelf -d libagent_surface.so", package.lib)
    tell("the library is named by its ABI", "" if f"[libagent_surface.so.{package.abi}]" in dynamic else dynamic)

    headers = lambda folder: {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.h*")}
    same = headers(package.prefix / "include") == headers(ROOT / "include")
    tell("every header is installed", "" if same else "the installed headers are not those of the project")

    texts = [*package.lib.rglob("*.cmake"), *package.lib.rglob("*.pc")]
    fixed = [str(path) for path in texts for place in (str(package.installed), str(ROOT)) if place in path.read_text()]
    tell("nothing names the place it was installed to", ", ".join(fixed) if fixed or not texts else "")

    said = package.pkg_config(here, "--modversion agent-surface agent-surface-static").split()
    tell("pkg-config tells the version", "" if said == [package.version] * 2 else f"saw {said}")


def native_libraries(package, here):
    """What a program needs beside the static library, as rustc says it. No crate here asks for more, or a static host would not link."""
    (here / "empty.rs").write_text("")
    wrong, said = run("rustc --crate-type staticlib --print native-static-libs -o empty.a empty.rs", here)
    wanted = re.search(r"native-static-libs: (.*)", said)
    libs = [flag for flag in package.pkg_config(here, "--libs agent-surface-static").split() if flag.startswith("-l")]
    if not wanted:
        return tell("the private libraries are those of rustc", wrong or said)
    tell("the private libraries are those of rustc", "" if libs == wanted.group(1).split() else f"rustc says {wanted.group(1)}, the package {libs}")


def needs_shared(program):
    return "libagent_surface" in run(f"readelf -d '{program}'", "/")[1]


def by_find_package(package, here, compilers):
    for c, cpp in compilers:
        for shared in ("ON", "OFF"):
            if shared == "OFF" and c != "gcc":
                continue  # the choice is cmake's, whatever the compiler
            build = here / f"find-{c}-{shared}"
            name = f"find_package, {c}, BUILD_SHARED_LIBS={shared}"
            configure = (f"cmake -S consumers -B '{build}' -DCMAKE_C_COMPILER={c} -DCMAKE_CXX_COMPILER={cpp} -DBUILD_SHARED_LIBS={shared} "
                         f"-DCMAKE_PREFIX_PATH='{package.prefix}'")
            if not check(f"{name}: builds", f"{configure} && cmake --build '{build}' -j2", here):
                continue
            for standard in ("c11", "cxx17", "cxx20"):
                for kind in ("shared", "static", "agent_surface"):
                    program = build / f"{standard}-{kind}"
                    wrong, said = run(f"'{program}'", here)
                    is_shared = kind == "shared" or (kind == "agent_surface" and shared == "ON")
                    if not wrong and said != f"{package.version} sound":
                        wrong = said
                    if not wrong and needs_shared(program) != is_shared:
                        wrong = f"expected {'the shared' if is_shared else 'the static'} library"
                    tell(f"{name}: {standard}, {kind}", wrong)


def refuses_other_versions(package, here):
    (here / "newer").mkdir()
    (here / "newer" / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.16)\nproject(newer LANGUAGES C)\nfind_package(AgentSurface 99 REQUIRED CONFIG)\n")
    wrong, said = run(f"cmake -S newer -B newer/build -DCMAKE_PREFIX_PATH='{package.prefix}'", here)
    tell("find_package refuses a version that does not fit", "" if wrong and "compatible with requested version" in said else said)


def as_a_subproject(here):
    (here / "sub").mkdir()
    (here / "sub" / "main.c").write_text("#include <agent_surface.h>\nint main(void) { return as_abi_version() != AS_ABI_VERSION; }\n")
    (here / "sub" / "CMakeLists.txt").write_text(
        f'cmake_minimum_required(VERSION 3.16)\nproject(sub LANGUAGES C)\nadd_subdirectory("{ROOT}" agent-surface)\nadd_executable(sub main.c)\n'
        "target_link_libraries(sub PRIVATE AgentSurface::agent_surface AgentSurface::shared)\n")
    check("add_subdirectory configures without downloads", "cmake -S sub -B sub/build", here)


def by_pkg_config(package, here, compilers):
    flags = {kind: package.pkg_config(here, f"--cflags --libs {name}")
             for kind, name in (("shared", "agent-surface"), ("static", "agent-surface-static"))}
    cflags = package.pkg_config(here, "--cflags agent-surface")
    for c, cpp in compilers:
        for standard, extension in STANDARDS:
            compiler, out = (c if extension == "c" else cpp), f"{c}-{standard}"
            if not check(f"pkg-config, {out}: compiles", f"{compiler} -std={standard} {WARNINGS} {cflags} -c consumers/consumer.{extension} -o {out}.o", here):
                continue
            for kind in ("shared", "static"):
                program = here / f"{out}-{kind}"
                wrong, _ = run(f"{compiler} {out}.o {flags[kind]} -o '{program}'", here)
                said = ""
                if not wrong:
                    wrong, said = run(f"'{program}'", here, LD_LIBRARY_PATH=str(package.lib))
                if not wrong and (said != f"{package.version} sound" or needs_shared(program) != (kind == "shared")):
                    wrong = f"saw {said!r}, or the other library"
                tell(f"pkg-config, {out}: {kind}", wrong)


def other_headers(package, here):
    """Hosts compiled against a header that is older, and one that is newer."""
    build = f"gcc -std=c11 {WARNINGS} {{}} consumers/sizes.c {package.pkg_config(here, '--libs agent-surface')} -o {{}}"
    run_it = {"LD_LIBRARY_PATH": str(package.lib)}
    include = package.pkg_config(here, "--cflags agent-surface")
    check("a host compiled against the first header of this ABI", build.format(include, "older") + " && ./older", here, **run_it)
    newer = here / "newer-header"
    newer.mkdir()
    header, changed = re.subn(r"(  as_fn_destroy destroy;\n)(\} as_)", r"\1  as_fn_later later;\n\2", (package.prefix / "include/agent_surface.h").read_text())
    header = header.replace("typedef void (*as_fn_destroy)", "typedef void (*as_fn_later)(void *user_data);\ntypedef void (*as_fn_destroy)", 1)
    (newer / "agent_surface.h").write_text(header)
    tables = len(re.findall(r"^typedef struct as_(?:hooks_\w+|binding) \{", header, re.M))
    if changed != tables:
        return tell("a host compiled against a newer header", f"{tables} tables, {changed} changed")
    check("a host compiled against a newer header", build.format(f"-DAS_NEWER -I'{newer}'", "newer-host") + " && ./newer-host", here, **run_it)


def twice(package, here):
    copy = here / "another" / "libagent_surface.so"
    copy.parent.mkdir()
    shutil.copy(package.lib / "libagent_surface.so", copy)
    include = package.pkg_config(here, "--cflags agent-surface")
    check("the library loaded twice by two paths",
          f"gcc -std=c11 -Wall -Wextra -Werror {include} consumers/twice.c -ldl -o twice && ./twice '{package.lib}/libagent_surface.so' '{copy}'", here)
    return copy


def two_languages(package, here, copy):
    if run("pkg-config --exists python3-embed", here)[0]:
        return skip("a C++ program that embeds Python", "python3-dev is not installed")
    flags = f"{package.pkg_config(here, '--cflags --libs agent-surface')} $(pkg-config --cflags --libs python3-embed)"
    if not check("a C++ program that embeds Python: compiles", f"g++ -std=c++17 consumers/embed_python.cpp {flags} -o embed", here):
        return
    for name, library in (("one library", package.lib / f"libagent_surface.so.{package.abi}"), ("two libraries", copy)):
        check(f"two registries from two languages, {name}", "./embed", here, LD_LIBRARY_PATH=str(package.lib), AGENT_SURFACE_LIBRARY=str(library),
              PYTHONPATH=str(ROOT / "bindings/python/src"), PYTHONDONTWRITEBYTECODE="1")


def quick_start(package, here):
    """The README's program in C++, as it stands there."""
    program = re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    if not program:
        return skip("the README's program in C++", "the README has none")
    (here / "quick-start.cpp").write_text(program.group(1), encoding="utf-8")
    check("the README's program in C++", f"g++ -std=c++17 {WARNINGS} quick-start.cpp {package.pkg_config(here, '--cflags --libs agent-surface')} "
          "-o quick-start && ./quick-start | grep '\"output\":{\"said\":\"hello\"}'", here, LD_LIBRARY_PATH=str(package.lib))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    compilers = [pair for pair in COMPILERS if all(map(have, pair))]
    for pair in COMPILERS:
        if pair not in compilers:
            skip(f"hosts compiled by {pair[0]}", f"{pair[0]} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        shutil.copytree(SOURCES, here / "consumers")
        package = Package(build, here)
        contents(package, here)
        native_libraries(package, here)
        by_find_package(package, here, compilers)
        refuses_other_versions(package, here)
        as_a_subproject(here)
        by_pkg_config(package, here, compilers)
        other_headers(package, here)
        two_languages(package, here, twice(package, here))
        quick_start(package, here)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
