"""What the tests share: nothing waits for real time, and whatever hangs ends the run with every thread's stack."""
from __future__ import annotations

import faulthandler
import pathlib
import sys
from typing import Iterator

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[2]
LIMIT = 120.0

sys.path.insert(0, str(HERE))


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Every test gives back what it took: no registry is left open, no table undestroyed."""
    from agent_surface import _engine

    before = set(_engine._engines)
    yield
    for registry in set(_engine._engines) - before:
        engine = _engine._engines[registry]
        if not engine.closed:
            engine.close(5_000)
