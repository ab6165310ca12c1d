"""A component: what an agent sees of one part of the application, put together by decorators.

A component goes live with the next use of its surface (or `register()`), and from then on what it offers is frozen; what may
change is whether it is available. `unregister()` takes it down, after which it may be added to and registered again.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Literal, Mapping, Optional, Sequence, TypeVar

from . import _json
from ._mounts import Declared, Mounts
from ._names import camel_case
from ._native import abi
from .context import PolicyContext
from .handler import Function, Handler, hook_of, reply_value
from .policies import AnyPolicy
from .schema import Schema

F = TypeVar("F", bound=Callable[..., Any])
Level = Literal["never", "optional", "required"]
Audit = Literal["none", "metadata", "full"]
When = Callable[..., bool]


def parallel(max: int, *, queue_depth: Optional[int] = None) -> Dict[str, Any]:
    """Concurrency: up to `max` calls of this capability at once."""
    return {"mode": "parallel", "max": max, **_json.without_none(queueDepth=queue_depth)}


def exclusive(key: Optional[str] = None, *, queue_depth: Optional[int] = None, hold: bool = False) -> Dict[str, Any]:
    """Concurrency: one at a time, among all calls with this key, or among this instance's.

    `hold` keeps the place of a call that timed out until its handler has really ended.
    """
    mode: Dict[str, Any] = {"mode": "instance"} if key is None else {"mode": "key", "key": key}
    return {**mode, **_json.without_none(queueDepth=queue_depth, onTimeout="hold" if hold else None)}


class Component:
    """Made by `Surface.component()`."""

    def __init__(self, mounts: Mounts, type: str, description: str, instance: Optional[str], fields: Dict[str, Any],
                 policies: Sequence[AnyPolicy]) -> None:  # fmt: skip
        self._mounts = mounts
        definition = {"type": type, "description": description, **_json.without_none(instanceId=instance), **fields}
        self._declared = Declared({**definition, **self._policies(policies)})
        mounts.add(self._declared)

    def __repr__(self) -> str:
        return f"<Component {self._type} {'live' if self.live else 'not live'}>"

    @property
    def live(self) -> bool:
        return self._declared.handle != 0

    @property
    def _type(self) -> str:
        return str(self._declared.definition["type"])

    def _policies(self, policies: Sequence[AnyPolicy]) -> Dict[str, Any]:
        return {"policies": self._mounts.policies.references(list(policies))} if policies else {}

    # ---- what it offers

    def observation(
        self,
        name: Optional[str] = None,
        *,
        description: Optional[str] = None,
        output: Optional[Schema] = None,
        when: Optional[When] = None,
        unavailable_reason: Optional[str] = None,
        policies: Sequence[AnyPolicy] = (),
        meta: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
        audit: Optional[Audit] = None,
    ) -> Callable[[F], F]:
        """Decorates a function that reads state, takes no input and has no side effects. Its hint is the output's schema."""

        def decorate(function: F) -> F:
            handler = Handler(function, output=output)
            if handler.takes_input:
                raise TypeError(f"{function!r}: an observation takes no input; make it an action")
            return self._offer(
                "observations", name, function, handler, policies, {"when": when},
                description=description, output=handler.output or {}, unavailableReason=unavailable_reason, meta=meta,
                timeoutMs=_ms(timeout), audit=audit,
            )  # fmt: skip

        return decorate

    def action(
        self,
        name: Optional[str] = None,
        *,
        effect: Literal["local-state", "navigation"] = "local-state",
        confirmation: Optional[Level] = None,
        description: Optional[str] = None,
        input: Optional[Schema] = None,
        output: Optional[Schema] = None,
        when: Optional[When] = None,
        precondition: Optional[Callable[..., Any]] = None,
        unavailable_reason: Optional[str] = None,
        idempotent: Optional[bool] = None,
        reversible: Optional[bool] = None,
        policies: Sequence[AnyPolicy] = (),
        meta: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
        audit: Optional[Audit] = None,
        concurrency: Optional[Mapping[str, Any]] = None,
    ) -> Callable[[F], F]:
        """Decorates a function that changes what is on the screen or local state.

        Parameters make the input's schema, the return hint the output's, the docstring the description. `precondition` gets
        the effective input and answers None, or a text (or `{"message", "details"?}`) to refuse. Times are in seconds.
        """

        def decorate(function: F) -> F:
            handler = Handler(function, input, output)
            return self._offer(
                "actions", name, function, handler, policies, {"when": when, "precondition": precondition},
                description=description, effect=effect, input=handler.input, output=handler.output, confirmation=confirmation,
                unavailableReason=unavailable_reason, idempotent=idempotent, reversible=reversible, meta=meta,
                timeoutMs=_ms(timeout), audit=audit, concurrency=concurrency,
            )  # fmt: skip

        return decorate

    def procedure(
        self,
        path: str,
        *,
        effect: Literal["server-query", "server-mutation", "external-side-effect", "destructive"],
        confirmation: Optional[Level] = None,
        requires_approval: Optional[bool] = None,
        description: Optional[str] = None,
        input: Optional[Schema] = None,
        output: Optional[Schema] = None,
        bind: Optional[Callable[..., Mapping[str, Any]]] = None,
        bound_fields: Sequence[str] = (),
        overridable_fields: Sequence[str] = (),
        describe: Optional[Callable[..., str]] = None,
        when: Optional[When] = None,
        policies: Sequence[AnyPolicy] = (),
        meta: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
        concurrency: Optional[Mapping[str, Any]] = None,
        context: Optional[Mapping[str, Any]] = None,
    ) -> Callable[[F], F]:
        """Decorates a function that does something whose authority is elsewhere: a server, a database, the world.

        The fields in `bound_fields` are filled in by `bind` and cannot be chosen by the agent, except those that are also in
        `overridable_fields`. `describe` gives the catalog a note that moves with the state.
        """

        def decorate(function: F) -> F:
            handler = Handler(function, input, output)
            fields = _json.without_none(
                path=path, description=description or handler.description or path, effect=effect, input=handler.input,
                output=handler.output, confirmation=confirmation, requiresApproval=requires_approval, meta=meta,
                timeoutMs=_ms(timeout), concurrency=concurrency, context=context,
                boundFields=list(bound_fields) or None, overridableFields=list(overridable_fields) or None,
            )  # fmt: skip
            self._open()
            self._declared.definition.setdefault("procedures", []).append({**fields, **self._policies(policies)})
            self._declared.procedures[path] = handler
            self._bind(f"domain:{path}", None, when=when, bind=bind, describe=describe)
            return function

        return decorate

    def _offer(self, kind: str, name: Optional[str], function: F, handler: Handler, policies: Sequence[AnyPolicy],
               hooks: Mapping[str, Optional[Function]], *, description: Optional[str], **fields: Any) -> F:  # fmt: skip
        """One observation or action more."""
        capability = name or camel_case(str(getattr(function, "__name__", "")))
        self._open()
        of_kind = self._declared.definition.setdefault(kind, {})
        if capability in of_kind or capability in self._declared.targets:
            raise ValueError(f"{self._type} has a capability {capability!r} already")
        described = description or handler.description or capability
        of_kind[capability] = {**_json.without_none(description=described, **fields), **self._policies(policies)}
        self._bind(capability, handler, **hooks)
        return function

    def _open(self) -> None:
        if self.live:
            raise RuntimeError(
                f"{self._type} is live, and what a live component offers is frozen. Define its capabilities "
                "before the first use of the surface, or unregister() it first."
            )

    def _bind(self, name: str, handler: Optional[Handler], **hooks: Optional[Callable[..., Any]]) -> None:
        target: Dict[str, Callable[..., None]] = {}
        if handler is not None:
            target.update(handler.target(self._mounts.engine))
        for slot, function in hooks.items():
            if function is not None:
                target[slot] = _precondition(function) if slot == "precondition" else _hook(function, slot)
        if target:
            self._declared.targets[name] = target

    # ---- its life

    def register(self) -> Component:
        """Goes live now, after those that were defined before it. Raises DefinitionError where the runtime refuses it."""
        self._mounts.registry()
        self._mounts.mount(self._declared)
        return self

    def _registration(self) -> int:
        self._mounts.registry()
        if not self.live:
            raise RuntimeError(f"{self._type} has been taken down; register() it first")
        return self._declared.handle

    def unregister(self) -> None:
        """Ends this life of the component: its calls are aborted. `register()` begins another, as a new registration."""
        self._mounts.take_down(self._declared)

    @property
    def info(self) -> Mapping[str, Any]:
        """`{registrationId, type, instanceId, status}`; status `rejected` where the surface did not take it."""
        info: Mapping[str, Any] = _json.loads(abi.registration_info(self._registration()))
        return info

    @property
    def registration_id(self) -> str:
        return str(self.info["registrationId"])

    @property
    def status(self) -> str:
        """`active`, `rejected`, `replaced` or `closed`."""
        return str(self.info["status"])

    def update(self, *, enabled: Optional[bool] = None, availability: Optional[Mapping[str, Any]] = None) -> None:
        """Enables or disables the component, or says of capabilities, by name or path, whether they are available:
        `{"selectRows": True, "refresh": "Wait for the connection."}`, where a text is the reason why not.
        """
        registration = self._registration()
        patch = _json.without_none(enabled=enabled)
        if availability is not None:
            patch["availability"] = {name: _availability(value) for name, value in availability.items()}
        abi.registration_update(registration, _json.dumps(patch))

    def invalidate(self) -> None:
        """Says that something the catalog shows has moved: a `when`, a note."""
        abi.registration_invalidate(self._registration())

    def rebind(self, name: str, function: Function) -> None:
        """Swaps the function behind an observation or action; catalogs stay valid. It must fit the schemas as they are."""
        if "handler" not in self._declared.targets.get(name, {}):
            raise KeyError(f"{self._type} has no observation or action {name!r}")
        kinds = self._declared.definition.get("actions", {}), self._declared.definition.get("observations", {})
        fields = next(kind[name] for kind in kinds if name in kind)
        handler = Handler(function, output=fields.get("output"))
        target = {slot: hook for slot, hook in self._declared.targets[name].items() if slot in ("when", "precondition")}
        target.update(handler.target(self._mounts.engine))
        if self.live:
            abi.registration_rebind(self._declared.handle, {name: target})
        self._declared.targets[name] = target


def _ms(seconds: Optional[float]) -> Optional[int]:
    return None if seconds is None else _json.milliseconds(seconds)


def _availability(value: Any) -> Dict[str, Any]:
    if isinstance(value, str):
        return {"available": False, "reason": value}
    return {"available": bool(value)}


def _hook(function: Callable[..., Any], slot: str) -> Callable[..., None]:
    ask = hook_of(function)

    def hook(reply: int, context: bytes) -> None:
        value = ask(PolicyContext(context))
        reply_value(reply, bool(value) if slot == "when" else value)

    return hook


def _precondition(function: Callable[..., Any]) -> Callable[..., None]:
    def check(reply: int, context: bytes) -> None:
        value = function(_json.loads(context)["effectiveInput"])
        reply_value(reply, {"message": value} if isinstance(value, str) else value)

    return check
