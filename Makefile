# make demo    builds the example hosts (C, Python) against the shared library and plays recorded agent calls
# make test    everything that must hold; the last line is "N passed, N failed"
#
# Both install what a fresh Debian machine lacks, or say what to install. Further: scenarios [FILES="a.json b.json"],
# simulate [N=programs] [SEED=first], bench, toolchains (for Swift and the mobile targets, which make test skips where they are
# not), arm64, tsan, size, fmt, lint, header and conformance (rewrite what is generated), clean.

CARGO ?= cargo
CFLAGS ?= -O1 -g
C11 = $(CC) -std=c11 -Wall -Wextra -Wpedantic -Wno-unused-parameter -Werror $(CFLAGS) -Iinclude
CXX17 = $(CXX) -x c++ -std=c++17 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror $(CFLAGS) -Iinclude

ABI = $(shell sed -n 's/^\#define AS_ABI_VERSION //p' include/agent_surface.h)
SYSTEM_LIBS = -lgcc_s -lutil -lrt -lpthread -lm -ldl
# A program finds the shared library beside itself, under the name that carries the ABI.
SHARED = -L$(@D) -lagent_surface -lpthread -Wl,-rpath,'$$ORIGIN'

EXAMPLE = $(wildcard examples/*.c)
C_TESTS = $(filter-out tests/c/sanitizer_works.c tests/c/header_twice.c,$(wildcard tests/c/*.c))
C_HEADERS = $(wildcard include/*.h examples/*.h tests/c/*.h)

.PHONY: demo test scenarios simulate bench bench-python size fmt lint header conformance setup setup-tests toolchains clean library-release library-debug cpp arm64 tsan

demo: setup build/release/fleet
	@build/release/fleet examples/fleet-calls.jsonl
	@scripts/python-demo.sh

test: setup-tests
	@python3 scripts/test.py

scenarios: setup
	@$(CARGO) test --quiet --test scenarios -- $(FILES)

simulate: setup
	@$(CARGO) test --quiet --profile simulation --features faults --test simulation -- --programs $(or $(N),20000) --seed $(or $(SEED),1)

# Where Rust's own source is (rustup component add rust-src); minutes to build, minutes to run.
tsan: setup
	@scripts/tsan.sh

bench: setup
	@$(CARGO) bench --quiet --bench surface
	@scripts/python-bench.sh

bench-python: setup
	@scripts/python-bench.sh

size: setup
	@python3 scripts/size.py

fmt:
	@$(CARGO) fmt

lint:
	@$(CARGO) clippy --all-targets --all-features -- -D warnings

header:
	@UPDATE_HEADERS=1 $(CARGO) test --quiet --test header

conformance:
	@UPDATE_CONFORMANCE=1 $(CARGO) test --quiet --test conformance

setup:
	@scripts/setup.sh

setup-tests:
	@scripts/setup.sh tests

toolchains:
	@scripts/toolchains.sh

clean:
	$(CARGO) clean
	rm -rf build

# ---- the library, as a program finds it ----------------------------------------------------------------------------------

# Without the Rust library beside them, since only then does cargo optimize across crates.
library-release:
	@$(CARGO) rustc --quiet --release --lib --crate-type cdylib,staticlib
	@scripts/place.sh target/release build/release $(ABI)

library-debug:
	@$(CARGO) build --lib
	@scripts/place.sh target/debug build/debug $(ABI)

# ---- programs in C -------------------------------------------------------------------------------------------------------

build/release/fleet: $(EXAMPLE) $(C_HEADERS) | library-release
	$(C11) -o $@ $(EXAMPLE) $(SHARED)

build/release/idle: tests/footprint/idle.c $(C_HEADERS) | library-release
	$(C11) -o $@ $< $(SHARED)

build/debug/fleet: $(EXAMPLE) $(C_HEADERS) | library-debug
	$(C11) -o $@ $(EXAMPLE) $(SHARED)

build/debug/c-shared: $(C_TESTS) $(C_HEADERS) | library-debug
	$(C11) -o $@ $(C_TESTS) $(SHARED)

build/debug/c-static: $(C_TESTS) $(C_HEADERS) library-debug
	$(C11) -o $@ $(C_TESTS) build/debug/libagent_surface.a $(SYSTEM_LIBS)

build/debug/cpp-shared: $(C_TESTS) $(C_HEADERS) | library-debug
	$(CXX17) -o $@ $(C_TESTS) $(SHARED)

build/debug/cpp-static: $(C_TESTS) $(C_HEADERS) library-debug
	$(CXX17) -o $@ $(C_TESTS) -x none build/debug/libagent_surface.a $(SYSTEM_LIBS)

build/debug/header-alone: tests/c/header_twice.c $(C_HEADERS)
	@mkdir -p $(@D)
	$(C11) -c -o $@.c.o $<
	$(CXX17) -c -o $@.cpp.o $<
	@touch $@

# ---- recorded conversations ----------------------------------------------------------------------------------------------

# replay [DIR=folder]: a table of what became of every call (examples/replay/replay.c says what the folder holds)
.PHONY: replay
replay: setup build/release/replay
	@build/release/replay $(or $(DIR),examples/replay)

build/release/replay: examples/replay/replay.c examples/json.c $(C_HEADERS) | library-release
	$(C11) -o $@ $(filter %.c,$^) $(SHARED)

# ---- programs in C++, and the package that is installed ------------------------------------------------------------------------

cpp:
	@cmake -S . -B build/cmake -DCMAKE_BUILD_TYPE=Debug
	@cmake --build build/cmake -j2

# ---- programs for arm64 Linux, run by qemu's user mode, after scripts/mobile/build.sh aarch64-unknown-linux-gnu ----------------

ARM64 = build/mobile/aarch64-unknown-linux-gnu
ARM64_SCENARIOS = $(patsubst tests/cpp/scenarios/%.cpp,$(ARM64)/scenarios/%.o,$(wildcard tests/cpp/scenarios/*.cpp))
QEMU = qemu-aarch64-static -L /usr/aarch64-linux-gnu

arm64: $(ARM64)/c-static $(ARM64)/cpp-scenarios
	@$(QEMU) $(ARM64)/c-static
	@$(QEMU) $(ARM64)/cpp-scenarios spec/scenarios/*.json
	@$(QEMU) $(ARM64)/cpp-scenarios --dispatch pull spec/scenarios/*.json

$(ARM64)/c-static: $(C_TESTS) $(C_HEADERS) $(ARM64)/libagent_surface.a
	aarch64-linux-gnu-gcc -std=c11 $(CFLAGS) -Iinclude -o $@ $(C_TESTS) $(ARM64)/libagent_surface.a $(SYSTEM_LIBS)

$(ARM64)/cpp-scenarios: $(ARM64_SCENARIOS) $(ARM64)/libagent_surface.a
	aarch64-linux-gnu-g++ -o $@ $^ $(SYSTEM_LIBS)

$(ARM64)/scenarios/%.o: tests/cpp/scenarios/%.cpp $(wildcard tests/cpp/scenarios/*.hpp include/*)
	@mkdir -p $(@D)
	aarch64-linux-gnu-g++ -std=c++17 $(CFLAGS) -Iinclude -c -o $@ $<
