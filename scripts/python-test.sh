#!/bin/bash
# The Python package, as a user gets it: a wheel built and installed into a fresh environment, then types, tests and scenarios.
#
#   scripts/python-test.sh             with python3, and with the oldest (3.9 or later) and the newest interpreter there is
#   PYTHONS="/path/python …" scripts/python-test.sh
#
# What it needs from PyPI it installs; where PyPI cannot be reached it says so and runs what needs nothing. The last line is
# "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
ROOT=$PWD
BUILD=$ROOT/build/python
PACKAGE=$ROOT/bindings/python
LIBRARY=${CARGO_TARGET_DIR:-$ROOT/target}/release/libagent_surface.so
passed=0
failed=0
mkdir -p "$BUILD"

count() { # count PASSED FAILED WHAT
  passed=$((passed + $1)) failed=$((failed + $2))
  printf '%-5s %s: %s passed, %s failed\n' "$([ "$2" = 0 ] && echo ok || echo FAIL)" "$3" "$1" "$2"
}

check() { # check WHAT COMMAND…: one that holds or does not
  local what=$1 log
  shift
  if log=$("$@" 2>&1); then count 1 0 "$what"; else count 0 1 "$what" && tail -n 60 <<<"$log"; fi
}

counted() { # counted WHAT COMMAND…: one that counts its tests itself
  local what=$1 log status p f
  shift
  log=$("$@" 2>&1)
  status=$?
  p=$(grep -oE '[0-9]+ passed' <<<"$log" | tail -n 1 | cut -d' ' -f1)
  f=$(grep -oE '[0-9]+ (failed|error)' <<<"$log" | tail -n 1 | cut -d' ' -f1)
  p=${p:-0} f=${f:-0}
  if { [ $status != 0 ] || [ "$p" = 0 ]; } && [ "$f" = 0 ]; then f=1; fi
  count "$p" "$f" "$what"
  if [ "$f" != 0 ]; then grep -v '^ok ' <<<"$log" | tail -n 80; fi
  grep -E '^(SKIPPED|SKIP)' <<<"$log"
}

# Interpreters, each once: the one of this machine, the oldest that is supported, the newest.
interpreters() {
  local all oldest newest
  all=$(for python in python3 $(compgen -c python3. | grep -E '^python3\.[0-9]+$' | sort -u) ~/.pyenv/versions/3.*/bin/python; do
    command -v "$python" >/dev/null && "$python" -c \
      'import sys; v = sys.version_info; v >= (3, 9) and print("%d.%02d" % v[:2], sys.executable)' 2>/dev/null
  done | sort -u -k1,1)
  oldest=$(head -n 1 <<<"$all") newest=$(tail -n 1 <<<"$all")
  { command -v python3 && cut -d' ' -f2 <<<"$oldest" && cut -d' ' -f2 <<<"$newest"; } | while read -r python; do
    echo "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') $python"
  done | awk '!seen[$1]++ { print $2 }'
}

need_venv() { # Debian keeps it in a package of its own
  "$1" -c 'import ensurepip, venv' 2>/dev/null && return
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq >/dev/null && apt-get install -y -qq python3-venv >/dev/null
}

sdist() { # sdist VENV: the source distribution holds a crate that compiles
  rm -rf "$BUILD/sdist"
  "$1/bin/pip" install -q --disable-pip-version-check hatchling &&
    "$1/bin/python" -m hatchling build -t sdist -d "$BUILD/sdist" &&
    tar -xzf "$BUILD"/sdist/*.tar.gz -C "$BUILD/sdist" &&
    cargo check --quiet --target-dir "$BUILD/sdist-target" --manifest-path "$BUILD"/sdist/agent_surface-*/crate/Cargo.toml
}

without_pypi() { # everything that needs only the standard library
  local programs="import sys; sys.path.insert(0, '.'); import programs; print(*programs.PROGRAMS)"
  echo "WARNING: PyPI cannot be reached. No wheel, no type checks, no pytest here: only scenarios and whole programs are run."
  export PYTHONPATH=$PACKAGE/src AGENT_SURFACE_LIBRARY=$LIBRARY
  cd "$PACKAGE/tests" || exit 1
  counted "scenarios" "$1" -m scenarios
  for program in $("$1" -c "$programs"); do check "program $program" timeout 120 "$1" programs.py "$program"; done
  cd "$ROOT" || exit 1
  unset PYTHONPATH AGENT_SURFACE_LIBRARY
}

test_with() { # test_with PYTHON FIRST?
  local version venv
  version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  venv=$BUILD/venv-$version
  echo "── Python $version ($1)"
  need_venv "$1"
  [ -x "$venv/bin/python" ] || "$1" -m venv "$venv" || { count 0 1 "a virtual environment"; return; }
  if ! AGENT_SURFACE_LIBRARY=$LIBRARY "$venv/bin/pip" install -q --disable-pip-version-check --force-reinstall --no-deps "$PACKAGE" \
    >"$BUILD/pip-$version.log" 2>&1 || ! "$venv/bin/pip" install -q --disable-pip-version-check "agent-surface[dev]" >>"$BUILD/pip-$version.log" 2>&1; then
    if grep -qiE 'connection|resolve|retr(y|ies)|No matching distribution' "$BUILD/pip-$version.log"; then without_pypi "$1"; else
      count 0 1 "installing the package" && tail -n 30 "$BUILD/pip-$version.log"
    fi
    return
  fi
  local python=$venv/bin/python
  cd "$PACKAGE" || exit 1
  check "mypy --strict for Python $version" "$venv/bin/mypy" --python-version "$version" src
  check "pyright, strict, for Python $version" "$venv/bin/pyright" --pythonversion "$version" --pythonpath "$python"
  if [ "$2" = first ]; then
    check "what is generated" "$python" tools/generate.py --check
    check "the source distribution" sdist "$venv"
    check "syntax of Python 3.9" "$python" -c \
      'import ast, pathlib; [ast.parse(p.read_text(encoding="utf-8"), feature_version=(3, 9)) for p in pathlib.Path("src").rglob("*.py")]'
  fi
  counted "tests with Python $version" "$python" -m pytest -rs -p no:cacheprovider
  cd tests || exit 1
  counted "scenarios with Python $version" "$python" -m scenarios
  cd "$ROOT" || exit 1
}

cargo rustc --quiet --release --lib --crate-type cdylib,staticlib || exit 1
chosen=${PYTHONS:-$(interpreters)}
echo "interpreters: $(echo $chosen)"
first=first
for python in $chosen; do
  test_with "$python" $first
  first=later
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed != 0 ]
