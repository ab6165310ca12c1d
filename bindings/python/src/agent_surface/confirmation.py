"""What waits for a person, and the person's answer.

Nothing here may be reachable by an agent: whoever resolves a confirmation is the person.
"""
from __future__ import annotations

import asyncio
import dataclasses
from typing import Any, AsyncIterator, Callable, Dict, List, Literal, Mapping, Optional, cast

from . import _json
from ._engine import Engine
from ._native import abi
from .errors import WaitTimeoutError
from .events import Event, Stream, Subscription

Outcome = Literal["approved", "denied", "expired"]


@dataclasses.dataclass(frozen=True)
class Confirmation:
    """One call that waits for a person. `input` is what will run, exactly; `summary` is a text for a dialog."""

    id: str
    capability_id: str
    registration_id: str
    consumer_key: str
    effect: str
    summary: str
    input: Any
    requested_at: str
    expires_at: str
    _engine: Engine = dataclasses.field(repr=False, compare=False)

    def approve(self, *, approver: Optional[str] = None) -> None:
        """Agrees: the call may run once, as it is. Raises SettledError where it has been decided or has expired."""
        resolve(self._engine, self.id, True, approver=approver)

    def deny(self, *, reason: Optional[str] = None, approver: Optional[str] = None) -> None:
        """Refuses."""
        resolve(self._engine, self.id, False, reason=reason, approver=approver)


def resolve(engine: Engine, id: str, approved: bool, *, reason: Optional[str] = None, approver: Optional[str] = None) -> None:
    decision = {"confirmationId": id, "approved": approved, **_json.without_none(reason=reason, approver=approver)}
    abi.confirm(engine.registry, _json.dumps(decision))


class Confirmations:
    """`surface.confirmations`: `async for` gives those that wait and then each as it comes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def pending(self) -> List[Confirmation]:
        """Those that wait now, oldest first."""
        documents: List[Dict[str, Any]] = _json.loads(abi.confirmations(self._engine.registry))
        return [self._read(document) for document in documents]

    def approve(self, id: str, *, approver: Optional[str] = None) -> None:
        resolve(self._engine, id, True, approver=approver)

    def deny(self, id: str, *, reason: Optional[str] = None, approver: Optional[str] = None) -> None:
        resolve(self._engine, id, False, reason=reason, approver=approver)

    def wait_sync(self, id: str, timeout: Optional[float] = None) -> Outcome:
        """Blocks until it is decided or expires. Raises WaitTimeoutError, NotFoundError."""
        patience = -1 if timeout is None else _json.milliseconds(timeout)
        return cast(Outcome, _json.loads(abi.confirmation_wait(self._engine.registry, id, patience))["outcome"])

    async def wait(self, id: str) -> Outcome:
        """Waits until it is decided or expires. Raises NotFoundError."""
        loop = asyncio.get_running_loop()
        decided: "asyncio.Future[Outcome]" = loop.create_future()

        def listen(event: Event) -> None:
            if event["type"] == "confirmation-resolved" and event["confirmationId"] == id:
                loop.call_soon_threadsafe(_set, decided, event["outcome"])

        with Subscription(self._engine, listen, confirmations=True):
            try:
                return self.wait_sync(id, 0)
            except WaitTimeoutError:
                return await decided

    def listen(self, listener: Callable[[Confirmation], None]) -> Subscription:
        """Has `listener` told of each new one, on a thread of the library."""

        def listen(event: Event) -> None:
            if event["type"] == "confirmation-requested":
                found = self._find(event)
                if found is not None:
                    listener(found)

        return Subscription(self._engine, listen, confirmations=True)

    def __aiter__(self) -> AsyncIterator[Confirmation]:
        return self.stream()

    def stream(self) -> Stream[Confirmation]:
        """The same as an object that can be closed."""
        told: "set[str]" = set()

        def open_(stream: Stream[Confirmation]) -> Callable[[], None]:
            def put(confirmation: Confirmation) -> None:
                if confirmation.id not in told:
                    told.add(confirmation.id)
                    stream.put(confirmation)

            subscription = self.listen(put)
            self._engine.streams.add(stream)
            for confirmation in self.pending():
                put(confirmation)
            return subscription.close

        return Stream(open_, lambda _: None)

    def _find(self, event: Event) -> Optional[Confirmation]:
        """The whole of what an event tells of; None where it has been decided meanwhile."""
        return next((one for one in self.pending() if one.id == event["confirmationId"]), None)

    def _read(self, document: Mapping[str, Any]) -> Confirmation:
        return Confirmation(
            document["confirmationId"], document["capabilityId"], document["registrationId"], document["consumerKey"],
            document["effect"], document["summary"], document["input"], document["requestedAt"], document["expiresAt"],
            self._engine,
        )  # fmt: skip


def _set(future: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)


