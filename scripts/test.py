#!/usr/bin/env python3
"""Everything that must hold, part by part. Prints a line for each and ends with "N passed, N failed".

A part counts what it ran: each Rust test, scenario, C test and vector is one; a check that is no list of tests is one. A part
that ran nothing, or ended badly without naming a failure, counts as one failed. The full output of each is in build/test/.
"""
import os, pathlib, re, shutil, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test"
COUNTS = re.compile(r"(\d+) passed[;,] (\d+) failed")


class Skipped(Exception):
    """This machine cannot do it; the reason is told loudly."""


def run(command, **environment):
    """Runs a shell command; answers its exit status and all it said."""
    done = subprocess.run(command, shell=True, cwd=ROOT, env={**os.environ, **environment}, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, f"$ {command}\n{done.stdout}"


def check(command, **environment):
    """A command that holds or does not."""
    status, said = run(command, **environment)
    return (1, 0, said) if status == 0 else (0, 1, said)


def counted(command, **environment):
    """A command that counts its tests itself."""
    status, said = run(command, **environment)
    counts = [(int(passed), int(failed)) for passed, failed in COUNTS.findall(said)]
    passed, failed = sum(p for p, _ in counts), sum(f for _, f in counts)
    if (status != 0 or passed == 0) and failed == 0:
        failed = 1
    return passed, failed, said


def built(target, command, **environment):
    """A program of the Makefile, built and then run."""
    status, said = run(f"make --no-print-directory {target}")
    if status != 0:
        return 0, 1, said
    passed, failed, more = counted(command, **environment)
    return passed, failed, said + more


# ---- AddressSanitizer: in the library as well as in the program ------------------------------------------------------------

def sanitized():
    host = re.search(r"host: (\S+)", run("rustc -vV")[1]).group(1)
    status, said = run(f"cargo build --lib --target {host} --target-dir build/asan",
                       RUSTC_BOOTSTRAP="1", RUSTFLAGS="-Zsanitizer=address")
    if status != 0 and "sanitizer" in said and ("not supported" in said or "unknown" in said):
        raise Skipped("this Rust toolchain cannot build with AddressSanitizer")
    if status != 0:
        return 0, 1, said
    library = f"build/asan/{host}/debug/libagent_surface.a"
    compiled = []
    for program, sources in (("works", "tests/c/sanitizer_works.c"), ("tests", "$(ls tests/c/*.c | grep -v -e sanitizer_works -e header_twice)")):
        status, more = run(f"gcc -std=c11 -g -Iinclude -fsanitize=address -o build/asan/{program} {sources} {library} "
                           "-lgcc_s -lutil -lrt -lpthread -lm -ldl")
        said += more
        compiled.append(status)
    if any(compiled):
        return 0, 1, said
    status, report = run("build/asan/works")
    place = re.search(r"^ +#0 .*$", report, re.M)  # in the library's own code, not in a C function that it called
    if status == 0 or not place or "interceptor" in place.group() or "agent_surface" not in report:
        return 0, 1, said + report + "\nThe deliberate error inside the library was not caught: the sanitizer is not on.\n"
    passed, failed, more = counted("build/asan/tests", ASAN_OPTIONS="detect_leaks=1")
    return passed + 1, failed, said + report + more


# ---- Swift and the mobile targets: where their toolchains are (`make toolchains`) ---------------------------------------------

NO_TOOLCHAIN = 3  # what their scripts exit with


def python_package():
    """Counts itself part by part; the last line is the sum."""
    status, said = run("scripts/python-test.sh")
    print("".join(f"      {line}\n" for line in said.splitlines() if line.startswith("SKIP")), end="")
    counts = COUNTS.findall(said)
    passed, failed = map(int, counts[-1]) if counts else (0, 0)
    return passed, failed or int(status != 0 or passed == 0), said


def where_it_is(status, said):
    if status == NO_TOOLCHAIN:
        raise Skipped(said.strip().splitlines()[-1])


def swift(arguments):
    status, built = run("make --no-print-directory library-debug")
    if status != 0:  # or else an older library would be tested
        return status, built
    status, said = run(f"scripts/swift-run.sh {arguments}")
    where_it_is(status, said)
    return status, built + said


def swift_tests():
    status, said = swift("test")
    executed = re.findall(r"Executed (\d+) tests?, with (\d+) failure", said)
    ran, failed = map(int, executed[-1]) if executed else (0, 0)  # the last one is of all
    if status != 0 or ran == 0:
        failed = max(1, failed)
    return max(0, ran - failed), failed, said


def swift_scenarios(dispatch):
    status, said = swift(f"scenarios --dispatch {dispatch}")
    counts = COUNTS.findall(said)
    passed, failed = map(int, counts[-1]) if counts else (0, 0)
    return passed, failed or int(status != 0 or passed == 0), said


def swift_quick_start():
    status, said = swift("quick-start")
    return (1, 0, said) if status == 0 and "\nHello, Ada\n" in said else (0, 1, said)


# What was built before; or, with AGENT_SURFACE_MOBILE set, what is built now, which takes minutes.
MOBILE = "build/mobile-quick" if os.environ.get("AGENT_SURFACE_MOBILE") else "build/mobile"
ARM64 = f"{MOBILE}/aarch64-unknown-linux-gnu"
QEMU = "qemu-aarch64-static -L /usr/aarch64-linux-gnu"


def mobile():
    """The libraries for iOS, Android and arm64: exports, what each asks of its platform, and what is put together of them."""
    said = ""
    if os.environ.get("AGENT_SURFACE_MOBILE"):
        status, said = run("scripts/mobile/build.sh", PROFILE="quick")
        where_it_is(status, said)
        if status != 0:
            return 0, 1, said
    if not list((ROOT / MOBILE).glob("*/libagent_surface.a")):
        raise Skipped("nothing was built for them: make toolchains, scripts/mobile/build.sh")
    status, more = run(f"scripts/mobile/check.py {MOBILE}")
    where_it_is(status, more)
    said += more
    passed, failed = map(int, (COUNTS.findall(more) or [(0, 1)])[-1])
    for system, script in (("apple-ios", "xcframework"), ("android", "android")):
        if not list((ROOT / MOBILE).glob(f"*{system}*/libagent_surface.a")):
            said += f"SKIP  {script}: nothing was built for {system}. NOT TESTED HERE.\n"
            continue
        status, more = run(f"scripts/mobile/{script}.py {MOBILE}")
        passed, failed, said = passed + (status == 0), failed + (status != 0), said + more
    print("".join(f"      {line}\n" for line in said.splitlines() if line.startswith("SKIP")), end="")
    return passed, failed, said


def arm64(program, arguments=""):
    """A program of the Makefile for arm64 Linux, run by qemu's user mode."""
    if not (ROOT / ARM64 / "libagent_surface.a").exists():
        raise Skipped("nothing was built for it: make toolchains, scripts/mobile/build.sh aarch64-unknown-linux-gnu")
    for tool in ("aarch64-linux-gnu-g++", "qemu-aarch64-static"):
        if not shutil.which(tool):
            raise Skipped(f"no {tool} here: make toolchains")
    return built(f"-j2 ARM64={ARM64} {ARM64}/{program}", f"{QEMU} {ARM64}/{program} {arguments}")


# ---- the parts -------------------------------------------------------------------------------------------------------------

VALGRIND = ("valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect --show-leak-kinds=definite,indirect "
            "--child-silent-after-fork=yes ")


def demo():
    """The example's account, word for word."""
    status, said = run("make --no-print-directory build/debug/fleet")
    if status != 0:
        return 0, 1, said
    return check("build/debug/fleet examples/fleet-calls.jsonl | diff -u examples/fleet-account.txt -")


def quick_start():
    """The README's first program, as it stands there."""
    program = re.search(r"```c\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S).group(1)
    run("make --no-print-directory library-debug")
    (ROOT / "build/debug/quick-start.c").write_text(program)
    return check("gcc -std=c11 -Wall -Iinclude -o build/debug/quick-start build/debug/quick-start.c -Lbuild/debug -lagent_surface "
                 "-Wl,-rpath,'$ORIGIN' && build/debug/quick-start | grep '\"output\":{\"said\":\"hello\"}'")


CPP = "build/cmake/tests/cpp"


def demo_cpp():
    """The same account by the host in C++."""
    status, said = run("make --no-print-directory cpp")
    if status != 0:
        return 0, 1, said
    if not (ROOT / "build/cmake/examples/fleet-cpp").exists():
        raise Skipped("nlohmann-json3-dev is not installed")
    return check("build/cmake/examples/fleet-cpp examples/fleet-calls.jsonl | diff -u examples/fleet-account.txt -")


def consumers():
    """Hosts built from the installed package alone."""
    passed, failed, said = built("cpp", "python3 tests/consumers/run.py build/cmake")
    print("".join(f"      {line}\n" for line in said.splitlines() if line.startswith("SKIP")), end="")
    return passed, failed, said


# One build for both parts: with the feature, but with no fault named, the library is what it always is.
SIMULATION = "cargo test --profile simulation --features faults --test simulation --"

PARTS = [
    ("format", lambda: check("cargo fmt --check")),
    ("lint", lambda: check("cargo clippy --all-targets --all-features -- -D warnings && cargo clippy --lib --no-default-features -- -D warnings")),
    ("Rust tests", lambda: counted("cargo test --no-fail-fast")),
    ("spans, with the tracing feature", lambda: counted("cargo test --features tracing --test tracing")),
    ("models, in many orders of their threads", lambda: counted("cargo test --features models --lib models::")),
    ("simulation, 20,000 programs", lambda: counted(f"{SIMULATION} --programs 20000")),
    ("simulation finds eight faults", lambda: counted(f"{SIMULATION} --faults-all")),
    ("scenarios in pull dispatch", lambda: counted("cargo test --test scenarios -- --dispatch pull")),
    ("vectors by Python", lambda: counted("python3 scripts/vectors.py")),
    ("headers alone, as C11 and C++17", lambda: check("make --no-print-directory -B build/debug/header-alone")),
    ("C against the shared library", lambda: built("build/debug/c-shared", "build/debug/c-shared")),
    ("C against the static library", lambda: built("build/debug/c-static", "build/debug/c-static")),
    ("C as C++17, shared", lambda: built("build/debug/cpp-shared", "build/debug/cpp-shared")),
    ("C as C++17, static", lambda: built("build/debug/cpp-static", "build/debug/cpp-static")),
    ("C under valgrind", lambda: built("build/debug/c-shared", VALGRIND + "build/debug/c-shared")),
    ("C under AddressSanitizer", sanitized),
    ("C++17", lambda: built("cpp", f"{CPP}/cpp-unit-17")),
    ("C++20", lambda: built("cpp", f"{CPP}/cpp-unit-20")),
    ("valgrind over C++", lambda: built("cpp", f"{VALGRIND}{CPP}/cpp-unit-20")),
    ("scenarios in C++", lambda: built("cpp", f"{CPP}/cpp-scenarios spec/scenarios/*.json")),
    ("scenarios in C++, pull dispatch", lambda: built("cpp", f"{CPP}/cpp-scenarios --dispatch pull spec/scenarios/*.json")),
    ("the C++ scenario runner itself", lambda: built("cpp", f"{CPP}/cpp-scenarios --self-test")),
    ("the example's account, in C++", demo_cpp),
    ("hosts built from the installed package", consumers),
    ("Python package", python_package),
    ("Swift package", swift_tests),
    ("scenarios in Swift", lambda: swift_scenarios("push")),
    ("scenarios in Swift, pull dispatch", lambda: swift_scenarios("pull")),
    ("the Swift README's quick start", swift_quick_start),
    ("static libraries for iOS, Android and arm64", mobile),
    ("C on arm64 Linux, emulated", lambda: arm64("c-static")),
    ("scenarios on arm64 Linux, emulated", lambda: arm64("cpp-scenarios", "spec/scenarios/*.json")),
    ("scenarios on arm64 Linux, emulated, pull dispatch", lambda: arm64("cpp-scenarios", "--dispatch pull spec/scenarios/*.json")),
    ("memory, threads and wake-ups of idle registries", lambda: built("build/release/idle", "build/release/idle")),
    ("sizes", lambda: counted("python3 scripts/size.py")),
    ("the example's account", demo),
    ("the README's quick start", quick_start),
]


def tell_rust(said):
    """The Rust part consists of many; one line for each."""
    for target, part in re.findall(r"(?:Running (?:unittests )?|Doc-tests )(\S+).*?\n(.*?)(?=\n\s+Running |\n\s+Doc-tests |\Z)", said, re.S):
        counts = COUNTS.findall(part)
        if counts:
            print(f"      {target}: {counts[-1][0]} passed, {counts[-1][1]} failed")


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    chosen = [part for part in PARTS if len(sys.argv) < 2 or sys.argv[1] in part[0]]
    all_passed = all_failed = 0
    for name, part in chosen:
        print(f"      {name} …", end="\r", flush=True) if sys.stdout.isatty() else None
        began = time.monotonic()
        try:
            passed, failed, said = part()
        except Skipped as why:
            print(f"SKIP  {name}: {why}. NOT TESTED HERE.", flush=True)
            continue
        log = LOGS / (re.sub(r"\W+", "-", name) + ".log")
        log.write_text(said)
        all_passed, all_failed = all_passed + passed, all_failed + failed
        print(f"{'FAIL' if failed else 'ok':5} {name}: {passed} passed, {failed} failed ({time.monotonic() - began:.0f} s)", flush=True)
        if name == "Rust tests":
            tell_rust(said)
        if failed:
            telling = [line for line in said.splitlines() if not line.startswith("ok ") and not line.endswith("... ok")]
            print("\n".join("      " + line for line in telling[-60:]))
            print(f"      all of it: {log.relative_to(ROOT)}")
    print(f"{all_passed} passed, {all_failed} failed")
    return 1 if all_failed or not all_passed else 0


if __name__ == "__main__":
    sys.exit(main())
