#!/bin/sh
# tsan.sh: the tests with real threads under ThreadSanitizer, in the library and in Rust's standard library. First a race that is
# there on purpose must be found. Exits 3 where the source of the standard library is not here: the locks of one that was built
# without the sanitizer are not seen, and whatever they guard looks like a race.
set -eu
cd "$(dirname "$0")/.."

if ! [ -d "$(rustc --print sysroot)/lib/rustlib/src/rust/library/std" ]; then
  echo "No source of Rust's standard library: rustup component add rust-src" >&2
  exit 3
fi
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=thread" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/tsan"
mkdir -p "$CARGO_TARGET_DIR"
said="$CARGO_TARGET_DIR/race.log"
tests() { cargo test --no-fail-fast -Z build-std --target "$target" "$@"; }

if tests --test stress -- --ignored --exact a_race_inside_the_library >"$said" 2>&1 ||
  ! grep -q 'ThreadSanitizer: data race' "$said" || ! grep -q ' as_canonical_json ' "$said"; then
  tail -40 "$said"
  echo "The race on purpose was not found."
  exit 1
fi
# A process that forks with threads is not for ThreadSanitizer.
tests --test stress --test host_late --test host_waits --test host_close --test host_serial --test host_pull -- --skip a_fork_in_the_storm
