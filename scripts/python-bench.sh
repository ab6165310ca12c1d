#!/bin/bash
# Measures calls from Python beside openai-agents and the MCP SDK, all in one run; see python-bench.py. --readme keeps the table;
# PYTHON is the interpreter to use.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
venv=build/python/venv-bench-$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ -z "${AGENT_SURFACE_LIBRARY:-}" ]; then
  make --no-print-directory library-release
  export AGENT_SURFACE_LIBRARY=$PWD/build/release/libagent_surface.so
fi
[ -x "$venv/bin/python" ] || "$PYTHON" -m venv "$venv"
"$venv/bin/python" -c 'import agents, mcp' 2>/dev/null || "$venv/bin/pip" install -q --disable-pip-version-check openai-agents mcp ||
  echo "WARNING: PyPI cannot be reached, so openai-agents and mcp are not measured." >&2
PYTHONPATH=$PWD/bindings/python/src "$venv/bin/python" scripts/python-bench.py "$@"
