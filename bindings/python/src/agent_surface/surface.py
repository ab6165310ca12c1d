"""A surface: what an application exposes to agents, and the one way they call it."""
from __future__ import annotations

import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Union

from . import _calls, _json
from ._engine import Engine
from ._mounts import Mounts
from ._native import abi
from .component import Component
from .confirmation import Confirmations
from .consumer import Consumer
from .events import Event, Stream, Subscription, audit, events, read_audit
from .handler import hook_of, reply_value
from .policies import AnyPolicy, Policies
from .result import Result
from .toolset import Toolset

if TYPE_CHECKING:
    from .testing import TestSurface

Environment = Literal["production", "development", "test"]
Redact = Callable[[Mapping[str, Any]], Any]
Hook = Callable[[Any], Any]
log = logging.getLogger("agent_surface")


class Surface:
    """Capabilities of this application, governed by policies.

    `policies` hold for everything on it. `context` answers (or is) the host context, one JSON object that policies and handlers
    see. `limits` are the runtime's, by their names (`{"maxInFlight": 64}`). `audit` is where the trail goes besides memory: a
    file's path, or a function that gets each entry.

    Use it with `with` or `async with`, or `close()` it; what is forgotten is closed when it is collected, and at exit.
    """

    def __init__(
        self,
        *,
        policies: Sequence[AnyPolicy] = (),
        environment: Environment = "production",
        context: Union[Callable[..., Mapping[str, Any]], Mapping[str, Any], None] = None,
        route: Optional[Callable[..., Mapping[str, Any]]] = None,
        on_register: Optional[Callable[[Mapping[str, Any]], bool]] = None,
        redact: Optional[Redact] = None,
        limits: Optional[Mapping[str, int]] = None,
        on_duplicate: Literal["reject", "replace"] = "reject",
        duplicate_suffix: Literal["off", "warn", "error"] = "warn",
        apply_defaults: bool = False,
        audit: Union[str, "os.PathLike[str]", Callable[[Event], None], None] = None,
        workers: Optional[int] = None,
    ) -> None:
        defined = Policies()
        config: Dict[str, Any] = {
            "environment": environment,
            "policies": defined.references(list(policies)),
            "limits": dict(limits or {}),
            "onDuplicateInstance": on_duplicate,
            "duplicateSuffixPolicy": duplicate_suffix,
            "applyDefaults": apply_defaults,
            **_json.without_none(audit=_sink(audit), pool=None if workers is None else {"workers": workers}),
            **self._more_config(),
        }
        host = _host(context, route, on_register, redact, audit if callable(audit) else None)
        self._engine = Engine(config, host, config.get("idSeed"))
        self._mounts = Mounts(self._engine, defined)
        self.confirmations = Confirmations(self._engine)

    def _more_config(self) -> Dict[str, Any]:
        """What a surface for tests adds."""
        return {}

    @staticmethod
    def testing(**options: Any) -> TestSurface:
        """A surface for tests: environment `test`, and a clock that moves only with `advance()`."""
        from .testing import TestSurface

        return TestSurface(**options)

    # ---- what it offers

    def component(
        self,
        type: str,
        *,
        description: str,
        instance: Optional[str] = None,
        policies: Sequence[AnyPolicy] = (),
        meta: Optional[Mapping[str, Any]] = None,
        internal: Any = None,
        parent: Optional[str] = None,
        origin: Optional[str] = None,
        priority: Optional[float] = None,
        enabled: Optional[bool] = None,
    ) -> Component:
        """A new component, to be given capabilities by its decorators. It goes live with the next use of the surface.

        `meta` is for agents to see, `internal` for policies only.
        """
        fields = _json.without_none(meta=meta, internal=internal, parent=parent, origin=origin, priority=priority, enabled=enabled)
        return Component(self._mounts, type, description, instance, fields, policies)

    # ---- calls

    async def invoke(
        self,
        capability_id: str,
        input: Any = None,
        *,
        consumer: Optional[Consumer] = None,
        invocation_id: Optional[str] = None,
        confirmation_id: Optional[str] = None,
        instance_id: Optional[str] = None,
        registration_id: Optional[str] = None,
        surface_version: Optional[str] = None,
        timeout: Optional[float] = None,
        deadline: Optional[float] = None,
        traceparent: Optional[str] = None,
        wait_for_confirmation: bool = False,
    ) -> Result:
        """Calls a capability. Whatever goes wrong with the call is in the result; only misuse of this function raises.

        `timeout` bounds the execution and `deadline` the whole call, in seconds. Give an `invocation_id` where the call may be
        repeated: the same id and input run once. With `wait_for_confirmation` the result comes once a person has decided.
        Cancelling the await cancels the call.
        """
        registry, engine = self._mounts.registry(), self._engine
        invocation = invocation_id or engine.mint()
        engine.calls(invocation)
        options = _options(consumer, timeout, deadline, traceparent)
        where = instance_id, registration_id, surface_version
        request = _request(capability_id, input, invocation, confirmation_id, *where)
        try:
            result = await _calls.awaited(partial(abi.invoke, registry, request, options))
            pending = result.confirmation_id if wait_for_confirmation else None
            if pending is None:
                return result
            await self.confirmations.wait(pending)
            request = _request(capability_id, input, invocation, pending, *where)
            return await _calls.awaited(partial(abi.invoke, registry, request, options))
        finally:
            engine.called(invocation)

    def invoke_sync(
        self,
        capability_id: str,
        input: Any = None,
        *,
        consumer: Optional[Consumer] = None,
        invocation_id: Optional[str] = None,
        confirmation_id: Optional[str] = None,
        instance_id: Optional[str] = None,
        registration_id: Optional[str] = None,
        surface_version: Optional[str] = None,
        timeout: Optional[float] = None,
        deadline: Optional[float] = None,
        traceparent: Optional[str] = None,
    ) -> Result:
        """Calls a capability on this thread, without an event loop. Refused on a thread that runs one."""
        _calls.refuse_on_loop()
        registry = self._mounts.registry()
        options = _options(consumer, timeout, deadline, traceparent)
        request = _request(capability_id, input, invocation_id, confirmation_id, instance_id, registration_id, surface_version)
        return Result(abi.invoke_wait(registry, request, options))

    async def retry(self, result: Result, input: Any = None, *, consumer: Optional[Consumer] = None) -> Result:
        """Repeats a call that a person had to confirm, with that confirmation. `input` is the one of the first time."""
        return await self.invoke(
            result.capability_id, input, consumer=consumer, invocation_id=result.invocation_id,
            confirmation_id=result.confirmation_id,
        )  # fmt: skip

    def outcome(self, invocation_id: str, *, consumer: Optional[Consumer] = None) -> Dict[str, Any]:
        """Did it happen? `{result, late?}` or `{"state": "running"}`; NotFoundError where nothing is known (any more)."""
        query = _json.without_none(invocationId=invocation_id, consumer=consumer and consumer.document())
        answer: Dict[str, Any] = _json.loads(abi.outcome(self._engine.registry, _json.dumps(query)))
        return answer

    def close_consumer(self, consumer: Consumer) -> None:
        """A session is over: its calls settle as cancelled, its confirmations expire."""
        abi.consumer_close(self._engine.registry, _json.dumps(consumer.document()))

    # ---- looking

    def snapshot(
        self,
        *,
        consumer: Optional[Consumer] = None,
        scope: Optional[Sequence[str]] = None,
        include_unavailable: Optional[bool] = None,
        budget: Optional[Mapping[str, int]] = None,
    ) -> Dict[str, Any]:
        """The catalog for one consumer, as it is now. Runs no handler."""
        document: Dict[str, Any] = _json.loads(
            abi.snapshot(self._mounts.registry(), _view(consumer, scope, include_unavailable, budget))
        )
        return document

    def explain(self, *, consumer: Optional[Consumer] = None, scope: Optional[Sequence[str]] = None) -> Dict[str, Any]:
        """Why each capability is shown, disabled or hidden. For developers: it tells what hiding withholds."""
        document: Dict[str, Any] = _json.loads(abi.explain(self._mounts.registry(), _view(consumer, scope, None, None)))
        return document

    @property
    def info(self) -> Dict[str, Any]:
        """`{surfaceId, surfaceVersion, registrations, inFlight, pendingConfirmations, workers, limits, abiVersion}`."""
        document: Dict[str, Any] = _json.loads(abi.registry_info(self._mounts.registry()))
        return document

    @property
    def version(self) -> str:
        return str(self.info["surfaceVersion"])

    def events(self, *types: str) -> Stream[Event]:
        """Every event from here on, or those of these types, as an async iterator."""
        return events(self._engine, types or None)

    def listen(self, listener: Callable[[Event], None]) -> Subscription:
        """Has `listener` told of every event, one at a time, on a thread of the library."""
        return Subscription(self._engine, listener)

    def audit(self, after: int = 0) -> Stream[Event]:
        """The audit from entry `after` on: what is kept, then what comes, as an async iterator."""
        return audit(self._engine, after)

    def audit_entries(self, after: int = 0) -> List[Dict[str, Any]]:
        """The audit entries that memory keeps, with a `seq` above `after`."""
        return read_audit(self._engine, after)

    def toolset(self, **options: Any) -> Toolset:
        """This surface as a model's tools; see `Toolset` for the options. One of `topology` and `confirmations` must be given."""
        return Toolset(self._mounts, **options)

    # ---- the end

    @property
    def closed(self) -> bool:
        return self._engine.closed

    def close(self, timeout: Optional[float] = None) -> None:
        """Takes nothing new, settles what is pending as cancelled, and waits for handlers that run, `timeout` seconds at most.

        After it no code of this application runs for the surface. Raises WaitTimeoutError where handlers take longer (they end
        by themselves then), WouldDeadlockError inside a handler (closing has begun then). Closing again is fine.
        """
        self._engine.close(-1 if timeout is None else _json.milliseconds(timeout))
        self._mounts.take_all_down()

    async def aclose(self) -> None:
        """The same without blocking the event loop, which async handlers need in order to end."""
        import asyncio

        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def __enter__(self) -> Surface:
        self._mounts.registry()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Surface:
        self._engine.enters()
        self._mounts.registry()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        if self.closed:
            return "<Surface closed>"
        return f"<Surface of {len(self._mounts)} components>"


# ---- documents


def _sink(audit: Any) -> Optional[Dict[str, Any]]:
    if audit is None:
        return None
    return {"sink": "callback" if callable(audit) else {"file": os.fspath(audit)}}


def _request(capability_id: str, input: Any, invocation_id: Optional[str], confirmation_id: Optional[str],
             instance_id: Optional[str], registration_id: Optional[str], surface_version: Optional[str]) -> bytes:  # fmt: skip
    request: Dict[str, Any] = {"capabilityId": capability_id}
    if input is not None:
        request["input"] = input
    if invocation_id is not None:
        request["invocationId"] = invocation_id
    if confirmation_id is not None:
        request["confirmationId"] = confirmation_id
    if instance_id is not None:
        request["instanceId"] = instance_id
    if registration_id is not None:
        request["registrationId"] = registration_id
    if surface_version is not None:
        request["surfaceVersion"] = surface_version
    return _json.dumps(request)


def _options(consumer: Optional[Consumer], timeout: Optional[float], deadline: Optional[float], trace: Optional[str]) -> bytes:
    if consumer is None and timeout is None and deadline is None and trace is None:
        return b""
    options: Dict[str, Any] = {}
    if consumer is not None:
        options["consumer"] = consumer.document()
    if timeout is not None:
        options["timeoutMs"] = _json.milliseconds(timeout)
    if deadline is not None:
        options["deadlineMs"] = _json.milliseconds(deadline)
    if trace is not None:
        options["traceparent"] = trace
    return _json.dumps(options)


def _view(consumer: Optional[Consumer], scope: Any, include_unavailable: Optional[bool], budget: Any) -> bytes:
    return _json.dumps(
        _json.without_none(
            consumer=consumer and consumer.document(), scope=list(scope) if scope is not None else None,
            includeUnavailable=include_unavailable, budget=budget,
        )
    )  # fmt: skip


# ---- what the library asks of the host


def _host(context: Any, route: Optional[Hook], on_register: Optional[Hook], redact: Optional[Hook],
          audit: Optional[Hook]) -> Dict[str, Callable[..., None]]:  # fmt: skip
    slots: Dict[str, Callable[..., None]] = {"log": _log}
    if context is not None:
        slots["context"] = _answering(hook_of(context) if callable(context) else lambda _: context)
    if route is not None:
        slots["route"] = _answering(hook_of(route))
    if on_register is not None:
        slots["on_register"] = _answering(lambda told: _guard(on_register(told)))
    if redact is not None:
        slots["redact"] = _answering(redact)
    if audit is not None:
        slots["audit"] = _hearing(audit)
    return slots


def _answering(ask: Hook) -> Callable[[int, bytes], None]:
    return lambda reply, told: reply_value(reply, ask(_json.loads(told)))


def _hearing(listener: Hook) -> Callable[[bytes], None]:
    return lambda told: listener(_json.loads(told))


def _guard(answer: object) -> str:
    """Only a clear yes takes a component in."""
    return "accept" if answer is True else "reject"


_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}


def _log(text: bytes) -> None:
    said = _json.loads(text)
    log.log(_LEVELS.get(said.get("level"), logging.INFO), "%s", said.get("message", ""), extra={"agent_surface": said})


