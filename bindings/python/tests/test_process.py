"""Runs each of `programs.py` in a process of its own, under a time limit, and looks at how it ended and what it said."""
from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import HERE, LIMIT

import programs

# What a process says when it does not end well, whatever its status.
BAD_SIGNS = ("Fatal Python error", "panicked", "Traceback", "Exception ignored", "was never awaited", "Segmentation")


@pytest.mark.parametrize("name", sorted(programs.PROGRAMS))
def test_program(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(HERE / "programs.py"), name], capture_output=True, text=True, timeout=LIMIT - 10
    )
    # A daemon thread whose surface is closed under it ends with the exception that says so, which is what it should do.
    said = done.stderr if name != "exit_under_load" else done.stderr.replace("Traceback", "")
    assert done.returncode == 0, said[-3000:]
    assert not any(sign in said for sign in BAD_SIGNS), said[-3000:]
