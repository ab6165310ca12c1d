"""A surface for tests: nothing in it waits for real time.

    surface = Surface.testing()
    result = await surface.invoke(…)
    surface.advance(120)        # two minutes later
"""
from __future__ import annotations

import asyncio
from typing import Any, Dict, Mapping, Optional

from . import _json
from ._native import abi
from .surface import Surface

# Real milliseconds that the runtime may take to become quiet; a sound test takes none worth speaking of.
PATIENCE_MS = 20_000


class TestSurface(Surface):
    """Made by `Surface.testing()`, with the options of `Surface`, `start` (the clock's first instant) and `seed` (makes ids
    reproducible)."""

    __test__ = False  # not a class of tests, whatever pytest thinks of its name

    def __init__(self, *, start: str = "2026-01-01T00:00:00.000Z", seed: Optional[int] = None, **options: Any) -> None:
        self._start, self._seed = start, seed
        options.setdefault("environment", "test")
        super().__init__(**options)

    def _more_config(self) -> Dict[str, Any]:
        clock: Dict[str, Any] = {"clock": {"manual": {"start": self._start}}}
        return {**clock, **_json.without_none(idSeed=self._seed)}

    def advance(self, seconds: float) -> None:
        """Moves the clock on, firing what falls due in order, and waits until nothing of the runtime is ready to run."""
        abi.advance(self._mounts.registry(), _json.milliseconds(seconds), PATIENCE_MS)

    def quiesce(self) -> None:
        """Waits until nothing of the runtime is ready to run; what waits for time, a person or a handler may wait."""
        abi.quiesce(self._mounts.registry(), PATIENCE_MS)

    async def settle(self) -> None:
        """Lets the event loop and the runtime run until neither has anything to do at once."""
        quiet = 0
        while quiet < 3:  # a task that has just been started may begin a call, whose handler may start a task
            before = self._engine.moves
            await asyncio.get_running_loop().run_in_executor(None, self.quiesce)
            for _ in range(3):
                await asyncio.sleep(0)
            quiet = quiet + 1 if self._engine.moves == before else 0

    def approve_all(self, approver: Optional[str] = None) -> int:
        """Approves whatever waits for a person; answers how many."""
        waiting = self.confirmations.pending()
        for confirmation in waiting:
            confirmation.approve(approver=approver)
        return len(waiting)

    @staticmethod
    def live() -> Mapping[str, Any]:
        """What of the library is alive in this process: handles, blobs and callback tables by kind."""
        counts: Mapping[str, Any] = _json.loads(abi.live())
        return counts
