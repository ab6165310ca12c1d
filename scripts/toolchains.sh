#!/bin/sh
# Installs what the Swift and the mobile parts of `make test` need and this machine lacks: Swift into a folder of its own
# (AGENT_SURFACE_TOOLCHAINS, by default build/toolchains: Debian trixie with Swift 6, 2.7 GB), the rest as Debian packages. On Debian, as root;
# elsewhere it says what to install. Run again it does nothing.
set -eu
cd "$(dirname "$0")/.."
folder="${AGENT_SURFACE_TOOLCHAINS:-$PWD/build/toolchains}"

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  cat >&2 <<'SAY'
Please install:
  Swift 6 (https://swift.org/install), with `swift` on the path
  Rust's standard library for the mobile targets: rustup target add aarch64-apple-ios aarch64-apple-ios-sim aarch64-linux-android \
    x86_64-linux-android aarch64-unknown-linux-gnu
  llvm-nm of LLVM 19 or later; for arm64 Linux also aarch64-linux-gnu-gcc and -g++, and qemu-aarch64-static
SAY
  exit 1
fi

# ---- packages ----

missing=""
need() { # need COMMAND PACKAGES
  command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need aarch64-linux-gnu-g++ "g++-aarch64-linux-gnu libc6-dev-arm64-cross"
need qemu-aarch64-static qemu-user-static
need llvm-nm-22 llvm-22
need unshare util-linux
command -v swift >/dev/null 2>&1 || [ -L "$folder/swift/usr/bin/swift" ] || need debootstrap debootstrap
# Rust with the source of its standard library, to build it for targets that rustup cannot fetch here.
[ -d "$(rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std" ] || [ -x /usr/bin/cargo ] || missing="$missing rustc-web cargo-web rust-web-src"
if [ -n "$missing" ]; then
  echo "Installing:$missing"
  # shellcheck disable=SC2086
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >/dev/null
fi

# ---- Swift ----

if ! command -v swift >/dev/null 2>&1 && [ ! -L "$folder/swift/usr/bin/swift" ]; then
  echo "Installing Swift into $folder/swift (about 90 s)"
  rm -rf "$folder/swift.part"
  mkdir -p "$folder"
  # In a mount namespace of its own: whatever is mounted below the folder is gone with it, so that the folder may be deleted any time.
  timeout 900 unshare --mount debootstrap --variant=minbase --include=ca-certificates,libc6-dev,libstdc++-14-dev,swiftlang trixie "$folder/swift.part" >"$folder/swift.log" 2>&1 ||
    { tail -5 "$folder/swift.log" >&2; exit 1; }
  rm -rf "$folder/swift.part/var/cache/apt/archives"
  mv "$folder/swift.part" "$folder/swift"
fi
