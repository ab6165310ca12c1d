"""Events and the audit as async iterators, and the subscriptions beneath them."""
from __future__ import annotations

import asyncio
import collections
from typing import Any, AsyncIterator, Callable, Collection, Deque, Dict, Generic, List, Mapping, Optional, TypeVar

from . import _json
from ._engine import Engine
from ._native import abi
from .errors import AgentSurfaceError, ClosedError

T = TypeVar("T")
Event = Mapping[str, Any]

# How many a reader may fall behind before the oldest are lost; the reader is told how many.
MAX_BEHIND = 10_000


class Subscription:
    """A listener. `close()` ends it; so does the end of a `with` block."""

    def __init__(self, engine: Engine, listener: Callable[[Event], None], *, confirmations: bool = False) -> None:
        subscribe = abi.confirmation_subscribe if confirmations else abi.subscribe

        def told(text: bytes) -> None:
            listener(_json.loads(text))

        self._handle = subscribe(engine.registry, {"on_event": told})

    def close(self) -> None:
        handle, self._handle = self._handle, 0
        try:
            abi.unsubscribe(handle)
        except AgentSurfaceError:  # ended with its surface, or belongs to the parent of this process
            pass

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            self.close()


class Stream(Generic[T]):
    """An async iterator over what listeners put into it from any thread. Use it in `async for`, or with `async with`."""

    def __init__(self, open_: Callable[[Stream[T]], Callable[[], None]], lost: Callable[[int], Optional[T]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: Deque[T] = collections.deque()
        self._more = asyncio.Event()
        self._ended = False
        self._lost = 0
        self._of_loss = lost
        self._close: Callable[[], None] = lambda: None
        try:
            self._close = open_(self)
        except ClosedError:  # nothing will come of a surface that is closed
            self._ended = True

    def put(self, item: T) -> None:
        """Called on any thread."""
        self.on_loop(self.put_here, item)

    def end(self) -> None:
        """Nothing more will come. Called on any thread."""
        self.on_loop(self._end)

    def on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # the reader's loop has ended
            pass

    def put_here(self, item: T) -> None:
        if len(self._waiting) >= MAX_BEHIND:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(item)
        self._more.set()

    def _end(self) -> None:
        self._ended = True
        self._more.set()

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while True:
            if self._lost:
                told, self._lost = self._of_loss(self._lost), 0
                if told is not None:
                    return told
            if self._waiting:
                return self._waiting.popleft()
            if self._ended:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()

    async def aclose(self) -> None:
        """Ends the stream; a reader that waits gets StopAsyncIteration."""
        self._close()
        self._end()

    async def __aenter__(self) -> Stream[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def events(engine: Engine, types: Optional[Collection[str]]) -> Stream[Event]:
    def open_(stream: Stream[Event]) -> Callable[[], None]:
        def listen(event: Event) -> None:
            if types is None or event["type"] in types or event["type"] == "events-lost":
                stream.put(event)

        subscription = Subscription(engine, listen)
        engine.streams.add(stream)
        return subscription.close

    return Stream(open_, lambda lost: {"type": "events-lost", "lost": lost})


def read_audit(engine: Engine, after: int) -> List[Dict[str, Any]]:
    entries: List[Dict[str, Any]] = _json.loads(abi.audit_read(engine.registry, after))
    return entries


def audit(engine: Engine, after: int) -> Stream[Event]:
    """What the audit's memory keeps, then what comes. Every entry but that of a late answer has an event beside it."""

    def open_(stream: Stream[Event]) -> Callable[[], None]:
        reader = _AuditReader(engine, stream, after)
        subscription = Subscription(engine, lambda _: reader.read())
        engine.on_late(reader.read)
        engine.streams.add(stream)
        reader.read()

        def close() -> None:
            engine.off_late(reader.read)
            subscription.close()

        return close

    return Stream(open_, lambda lost: {"type": "events-lost", "lost": lost})


class _AuditReader:
    def __init__(self, engine: Engine, stream: Stream[Event], after: int) -> None:
        self._engine = engine
        self._stream = stream
        self._after = after

    def read(self) -> None:
        """Passes on what is new. One at a time, since the loop it hands over to keeps the order."""
        self._stream.on_loop(self._read_on_loop)

    def _read_on_loop(self) -> None:
        try:
            entries = read_audit(self._engine, self._after)
        except AgentSurfaceError:  # closed
            return
        for entry in entries:
            self._after = entry["seq"]
            self._stream.put_here(entry)
