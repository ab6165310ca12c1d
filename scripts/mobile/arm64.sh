#!/bin/sh
# arm64.sh [FOLDER]: the C tests against the static library for arm64 Linux, run by qemu's user mode. After build.sh
# aarch64-unknown-linux-gnu; FOLDER is build/mobile unless it is given. Exits 3 where compiler or qemu is not here.
set -eu
cd "$(dirname "$0")/../.."

folder=${1:-build/mobile}/aarch64-unknown-linux-gnu
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static; do
  command -v $tool >/dev/null 2>&1 || { echo "No $tool here: make toolchains" >&2; exit 3; }
done
tests=$(ls tests/c/*.c | grep -v -e sanitizer_works -e header_twice)
# shellcheck disable=SC2086
aarch64-linux-gnu-gcc -std=c11 -O1 -g -Iinclude -o "$folder/c-static" $tests "$folder/libagent_surface.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl
exec qemu-aarch64-static -L /usr/aarch64-linux-gnu "$folder/c-static"
