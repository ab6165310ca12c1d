#!/bin/sh
# The Python application on its transcript: approvals as recorded (or asked, at a terminal: APPROVE=ask), timeline, verification.
set -eu
cd "$(dirname "$0")/.."
out=build/python
mkdir -p "$out"
export PYTHONPATH="$PWD/bindings/python/src"
export AGENT_SURFACE_LIBRARY="${AGENT_SURFACE_LIBRARY:-${CARGO_TARGET_DIR:-$PWD/target}/release/libagent_surface.so}"
python3 -m agent_surface.cli replay bindings/python/demo/desk.jsonl --app bindings/python/demo/desk.py \
  --approve "${APPROVE:-recorded}" --html "$out/desk.html" --log "$out/desk.log"
python3 -m agent_surface.cli verify "$out/desk.log"
