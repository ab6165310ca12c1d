#!/bin/sh
# place.sh FROM TO ABI: the built libraries where programs find them, the shared one under its versioned name.
set -eu
from=$1 to=$2 abi=$3
mkdir -p "$to"
cp -u "$from/libagent_surface.so" "$to/libagent_surface.so.$abi"
ln -sf "libagent_surface.so.$abi" "$to/libagent_surface.so"
cp -u "$from/libagent_surface.a" "$to/libagent_surface.a"
