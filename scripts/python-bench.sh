#!/bin/bash
# Measures calls from Python beside openai-agents and the MCP SDK, all in one run; see python-bench.py.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/python/venv-bench
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check openai-agents mcp ||
  echo "WARNING: PyPI cannot be reached; only this package is measured."
export PYTHONPATH="$PWD/bindings/python/src"
export AGENT_SURFACE_LIBRARY="${AGENT_SURFACE_LIBRARY:-${CARGO_TARGET_DIR:-$PWD/target}/release/libagent_surface.so}"
"$venv/bin/python" scripts/python-bench.py
