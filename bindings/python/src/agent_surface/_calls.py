"""Starting calls and waiting for them, on an event loop and on a thread: the same for a surface and for a toolset."""
from __future__ import annotations

import asyncio
from typing import Callable

from ._native import abi
from ._native.thunks import Target
from .errors import AgentSurfaceError
from .result import Result

Start = Callable[[Target], int]


async def awaited(start: Start) -> Result:
    """Starts a call and awaits its result. Cancelling the await cancels the call, for this caller.

    The result is told on this loop's thread where the call has not left it, else on another one.
    """
    loop = asyncio.get_running_loop()
    settled: "asyncio.Future[str]" = loop.create_future()

    def told(text: bytes) -> None:
        if asyncio._get_running_loop() is loop:
            _settle(settled, text.decode("utf-8"))
        elif not settled.done():
            try:
                loop.call_soon_threadsafe(_settle, settled, text.decode("utf-8"))
            except RuntimeError:  # nobody waits any more: the loop has ended
                pass

    invocation = start({"on_result": told})
    try:
        return Result(await settled)
    except asyncio.CancelledError:
        _quietly(abi.invocation_cancel, invocation)
        raise
    finally:
        _quietly(abi.invocation_free, invocation)


def _settle(future: "asyncio.Future[str]", text: str) -> None:
    if not future.done():
        future.set_result(text)


def _quietly(function: Callable[[int], None], invocation: int) -> None:
    try:
        function(invocation)
    except AgentSurfaceError:  # the process has forked meanwhile
        pass


def refuse_on_loop() -> None:
    """For calls that block."""
    if asyncio._get_running_loop() is not None:
        raise RuntimeError("this thread runs an event loop, which a blocking call would stop: await the async variant")
