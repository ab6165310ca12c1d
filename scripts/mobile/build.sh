#!/bin/sh
# build.sh [TARGET…]: the static library for each target, in build/mobile/TARGET/. Without arguments: all five.
# A release build of each takes minutes. Exits 3 where the toolchain is not here.
# With PROFILE=NAME it is built with that profile of Cargo.toml, in build/mobile-NAME/.
#
# Where the Rust toolchain has no standard library for a target (`rustup target add TARGET` brings one), it is built from its
# source: rustup's `rust-src`, or Debian's rustc-web, cargo-web and rust-web-src (`make toolchains`).
set -eu
cd "$(dirname "$0")/../.."

[ $# -gt 0 ] || set -- aarch64-apple-ios aarch64-apple-ios-sim aarch64-linux-android x86_64-linux-android aarch64-unknown-linux-gnu

profile=${PROFILE:-release}
folder=build/mobile
[ "$profile" = release ] || folder=build/mobile-$profile

has_source() { [ -d "$("$1" --print sysroot)/lib/rustlib/src/rust/library/std" ]; }
has_target() { ls "$("$1" --print sysroot)/lib/rustlib/$2/lib/"libstd-*.rlib >/dev/null 2>&1; }

# The oldest iOS that Rust still serves; without it the compiler asks Xcode.
export IPHONEOS_DEPLOYMENT_TARGET="${IPHONEOS_DEPLOYMENT_TARGET:-13.0}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/mobile"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="${CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER:-aarch64-linux-gnu-gcc}"

# Only the static library: no linker of the target's platform is needed.
build() { # build TARGET [COMMAND PREFIX…]
  target=$1; shift
  "$@" rustc --quiet --profile "$profile" --lib --crate-type staticlib --target "$target" \
    ${STD:+-Z "build-std=std,panic_unwind"}
}

for target; do
  if has_target rustc "$target"; then
    STD="" build "$target" cargo
  elif has_source rustc; then
    STD=1 build "$target" env RUSTC_BOOTSTRAP=1 cargo
  elif [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && has_source /usr/bin/rustc; then
    STD=1 build "$target" env RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc PATH=/usr/bin:/bin /usr/bin/cargo
  else
    echo "No Rust standard library for $target, nor its source: rustup target add $target, or make toolchains." >&2
    exit 3
  fi
  mkdir -p "$folder/$target"
  cp -u "$CARGO_TARGET_DIR/$target/$profile/libagent_surface.a" "$folder/$target/"
done
