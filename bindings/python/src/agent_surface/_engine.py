"""One registry and what Python keeps for it: which event loop a call came from, which tasks run for it, whether it is closed.

Handlers and policies hold an engine, never the `Surface`: the library holds them, and a surface that nobody uses any more
must be collected all the same.
"""
from __future__ import annotations

import asyncio
import atexit
import contextvars
import itertools
import logging
import os
import re
import secrets
import sys
import threading
import time
import weakref
from typing import Any, Awaitable, Callable, Coroutine, Dict, List, NamedTuple, Optional, Protocol, Set

from . import _json
from ._native import abi, thunks
from ._native.symbols import lib
from .errors import AgentSurfaceError, Failure, WaitTimeoutError

log = logging.getLogger("agent_surface")

# How long the end of the interpreter waits for handlers that run. One that still runs after that is left behind.
EXIT_PATIENCE_MS = 10_000



class Ends(Protocol):
    """What has to be told that nothing more will come."""

    def end(self) -> None: ...


class Flight(NamedTuple):
    """A call that is awaited: on which loop, and with which context variables."""

    loop: asyncio.AbstractEventLoop
    context: contextvars.Context


# Of the context of a hook. What stands inside a text has its quotes escaped, so only the member itself reads like this.
_INVOCATION = re.compile(rb'"invocationId":("(?:[^"\\]|\\.)*")')

Answer = Callable[["Engine", int, Any], None]
Work = Callable[[], Awaitable[Any]]


class Engine:
    def __init__(self, config: Dict[str, Any], host: Optional[thunks.Target], seed: Optional[int]) -> None:
        self.registry = abi.registry_new(_json.dumps(config), host)
        self.loop: Optional[asyncio.AbstractEventLoop] = None
        self.closed = False
        self.mounting = threading.RLock()
        self.moves = 0  # how often something was begun or ended on an event loop
        self.streams: "weakref.WeakSet[Ends]" = weakref.WeakSet()
        self._mint = f"inv_{secrets.token_urlsafe(18) if seed is None else seed}"
        self._minted = itertools.count(1)
        self._flights: Dict[str, Flight] = {}
        self._tasks: Set["asyncio.Task[None]"] = set()
        self._late: List[Callable[[], None]] = []
        _engines[self.registry] = self

    # ---- who called

    def mint(self) -> str:
        """An invocation id, so that a handler can be run where its caller is."""
        return f"{self._mint}_{next(self._minted)}"

    def enters(self) -> None:
        """The surface is used on this thread's loop: async handlers without a caller's loop run here."""
        self.loop = asyncio.get_running_loop()

    def calls(self, invocation_id: str) -> None:
        """Notes that this thread's loop awaits a call."""
        self.loop = asyncio.get_running_loop()
        self._flights[invocation_id] = Flight(self.loop, contextvars.copy_context())

    def called(self, invocation_id: str) -> None:
        self._flights.pop(invocation_id, None)

    def flight(self, context: bytes) -> Flight:
        """Where the one who called is; else the surface's loop; else a loop of our own."""
        found = _INVOCATION.search(context)
        flight = self._flights.get(_json.loads(found[1])) if found else None
        if flight is not None:
            return flight
        if self.loop is not None and self.loop.is_running():
            return Flight(self.loop, contextvars.copy_context())
        return Flight(own_loop(), contextvars.copy_context())

    # ---- answers that come later

    def defer(self, reply: int, work: Work, answer: Answer, context: bytes) -> None:
        """Runs `work` on the caller's loop and gives its value to `answer`. Cancels it when the call is aborted.

        `work` makes the coroutine there, so that none is left unawaited where the loop ends first.
        """
        self.moves += 1
        flight = self.flight(context)
        if asyncio._get_running_loop() is flight.loop:  # the call has not left its caller's thread
            flight.context.copy().run(self._begin, reply, work, answer, flight.loop)
        else:
            abi.reply_defer(reply)
            flight.loop.call_soon_threadsafe(self._begin, reply, work, answer, flight.loop, context=flight.context)

    def _begin(self, reply: int, work: Work, answer: Answer, loop: asyncio.AbstractEventLoop) -> None:
        task = _task(loop, self._finish(reply, work, answer))
        if task.done():
            self.moves += 1
            return
        abi.reply_defer(reply)
        number = thunks.keep({"notify": lambda: _cancel(loop, task)})

        def done(_: Any) -> None:
            thunks.drop(number)
            self._tasks.discard(task)
            self.moves += 1

        self._tasks.add(task)
        task.add_done_callback(done)
        try:
            abi.reply_on_abort(reply, number)
        except AgentSurfaceError:  # the call is over already
            task.cancel()

    async def _finish(self, reply: int, work: Work, answer: Answer) -> None:
        try:
            answer(self, reply, await work())
        except asyncio.CancelledError:
            abi.reply_error(reply)
            self.came_late()
        except BaseException as why:
            self.fail(reply, why)
            self.came_late()
            if not isinstance(why, Exception):
                log.debug("a handler raised %s, which is no reason to end the loop", type(why).__name__)

    def fail(self, reply: int, why: BaseException) -> None:
        """Answers a failure: typed where the host typed it, else untyped, and told to the log."""
        if isinstance(why, Failure):
            abi.reply_error(reply, _json.dumps(why.payload()))
        else:
            thunks.failed("a handler", why, reply)

    # ---- what is told when an answer came after its call: nothing else happens then that could be listened to

    def on_late(self, told: Callable[[], None]) -> None:
        self._late.append(told)

    def off_late(self, told: Callable[[], None]) -> None:
        if told in self._late:
            self._late.remove(told)

    def came_late(self) -> None:
        for told in list(self._late):
            told()

    # ---- the end

    def close(self, timeout_ms: int) -> None:
        """Closes the registry and waits for what runs. Raises WaitTimeoutError where that takes longer."""
        self.closed = True
        try:
            abi.registry_close(self.registry, timeout_ms)
        finally:
            for stream in list(self.streams):
                stream.end()

    def free(self) -> None:
        """Gives the handle back, and begins closing where that has not been done. Never blocks, so finalizers may call it."""
        self.closed = True
        if _engines.pop(self.registry, None) is not None:
            lib.as_registry_free(self.registry)


def _task(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
    """Begins at once where Python can do that (3.12), unless the loop makes tasks of its own."""
    if sys.version_info >= (3, 12) and loop.get_task_factory() is None:
        return asyncio.Task(coroutine, loop=loop, eager_start=True)
    return loop.create_task(coroutine)


def _cancel(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None]") -> None:
    try:
        loop.call_soon_threadsafe(task.cancel)
    except RuntimeError:  # its loop has ended, and the task with it
        pass


# ---- a loop for async handlers that nobody's loop can run

_lock = threading.Lock()
_own: Optional[asyncio.AbstractEventLoop] = None


def own_loop() -> asyncio.AbstractEventLoop:
    global _own
    with _lock:
        if _own is None or _own.is_closed():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="agent-surface-loop", daemon=True).start()
            _own = loop
        return _own


# ---- the end of the process, and its children

_engines: Dict[int, Engine] = {}


@atexit.register
def _close_all() -> None:
    for engine in list(_engines.values()):
        try:
            engine.close(EXIT_PATIENCE_MS)
        except WaitTimeoutError:
            log.warning("a handler still runs after %d ms; the process ends without it", EXIT_PATIENCE_MS)
        except AgentSurfaceError:
            pass  # closed or freed before
        engine.free()
    _wait_for_released()
    if _own is not None and not _own.is_closed():
        _own.call_soon_threadsafe(_own.stop)


def _wait_for_released() -> None:
    """Registries that were collected go on closing by themselves. A thread of theirs that came back into an interpreter that has
    ended would end the process, so this one waits until all that was handed over has been given back."""
    until = time.monotonic() + EXIT_PATIENCE_MS / 1000
    while thunks.kept() and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(0.01)  # for the last of them to have returned


def _after_fork() -> None:
    """A child has the handles of its parent, which answer ForkedError, and none of its threads."""
    global _own, _lock
    _lock = threading.Lock()
    _own = None
    for engine in _engines.values():
        engine.mounting = threading.RLock()
    _engines.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
