#!/bin/sh
# setup.sh [tests]: installs what the build, or the tests too, need and this machine lacks, where it may; otherwise says what to
# install.
set -eu

missing=""
need() { # need COMMAND PACKAGE
  command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need gcc gcc
need g++ g++
need make make
need nm binutils
need valgrind valgrind
need python3 python3
if [ "${1:-}" = tests ]; then
  need cmake cmake
  need pkg-config pkg-config
  need clang++ clang
  [ -e /usr/include/nlohmann/json.hpp ] || missing="$missing nlohmann-json3-dev"
  pkg-config --exists python3-embed 2>/dev/null || missing="$missing python3-dev"
fi

if [ -n "$missing" ]; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo -n"
  if command -v apt-get >/dev/null 2>&1 && { [ -z "$as_root" ] || $as_root true 2>/dev/null; }; then
    echo "Installing:$missing"
    # shellcheck disable=SC2086
    { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq $missing; } >/dev/null
  else
    echo "Please install:$missing" >&2
    echo "On Debian: apt-get install$missing" >&2
    exit 1
  fi
fi

if ! command -v cargo >/dev/null 2>&1; then
  echo "Please install a Rust toolchain, 1.88 or later, with rustfmt and clippy: https://rustup.rs" >&2
  exit 1
fi
