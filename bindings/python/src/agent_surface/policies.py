"""Policies: who may see and call what, and when a person is asked.

The built-in ones are data and cost no Python: `authenticated()`, `has_permission()`, `tenant_boundary()`, `environment()`,
`rate_limit()`, `require_confirmation()`, `audit()`. One of your own is a function, asked over the input that would run, or a
subclass of `Policy`. Whatever a policy does but answer clearly is a refusal: it raises, returns None, never comes back.
"""
from __future__ import annotations

import dataclasses
import inspect
from typing import Any, Awaitable, Callable, Dict, List, Literal, Mapping, Optional, Union, cast

from . import _json
from ._engine import Engine
from ._native import abi
from ._native.thunks import Target
from .context import PolicyContext
from .errors import Failure, HostErrorCode, Retry
from .result import Result

# ---- what a policy may answer


@dataclasses.dataclass(frozen=True)
class Allow:
    """The call may go on."""


@dataclasses.dataclass(frozen=True)
class Deny:
    """The call may not go on. What the agent is told of it is typed."""

    message: str = "You may not do this."
    code: HostErrorCode = "NOT_AUTHORIZED"
    retry: Optional[Retry] = None
    details: Optional[Mapping[str, Any]] = None


@dataclasses.dataclass(frozen=True)
class Confirm:
    """The call may go on once a person agrees; `summary` is what they read (300 characters at most)."""

    summary: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Expose:
    """The capability is in the catalog."""


@dataclasses.dataclass(frozen=True)
class Hide:
    """The capability does not exist for this consumer."""


@dataclasses.dataclass(frozen=True)
class Disable:
    """The capability is in the catalog and cannot be used now; the agent reads why."""

    reason: str


@dataclasses.dataclass(frozen=True)
class Replace:
    """The result goes out with this output instead."""

    output: Any


Authorization = Union[bool, Allow, Deny]
Decision = Union[bool, Allow, Deny, Confirm]
Discovery = Union[Expose, Hide, Disable]


class Policy:
    """A policy of your own: override what it has to say; a phase that is not overridden says nothing.

    `on_authorize` and `on_invoke` may be coroutine functions; the others must answer at once.
    """

    name: Optional[str] = None

    def on_discovery(self, context: PolicyContext) -> Discovery:
        """Whether the capability is in the catalog."""
        return Expose()

    def on_authorize(self, context: PolicyContext) -> Union[Authorization, Awaitable[Authorization]]:
        """Whether this consumer may call it at all, before the input is looked at."""
        return True

    def on_invoke(self, context: PolicyContext) -> Union[Decision, Awaitable[Decision]]:
        """Whether it may run with `context.effective_input`."""
        return True

    def on_result(self, context: PolicyContext, result: Result) -> Optional[Replace]:
        """A look at the result on its way out; None leaves it."""
        return None


# ---- the built-in ones


@dataclasses.dataclass(frozen=True)
class BuiltIn:
    """A policy that the runtime itself knows."""

    document: Mapping[str, Any]


Function = Callable[[PolicyContext], Union[Decision, Awaitable[Decision]]]
AnyPolicy = Union[BuiltIn, Policy, Function]


def authenticated(path: str = "/user") -> BuiltIn:
    """Hides everything unless the host context has something at this JSON Pointer."""
    return BuiltIn({"use": "authenticated", "path": path})


def has_permission(permission: str, path: str = "/permissions") -> BuiltIn:
    """Hides unless the list at this pointer into the host context has the permission."""
    return BuiltIn({"use": "hasPermission", "permission": permission, "path": path})


def tenant_boundary(current: str, expected: str, optional: bool = False) -> BuiltIn:
    """Hides unless the host context at `current` equals the component's `internal` at `expected`."""
    return BuiltIn({"use": "tenantBoundary", "current": current, "expected": expected, "optional": optional})


def environment(*allowed: Literal["production", "development", "test"]) -> BuiltIn:
    """Hides in every other environment."""
    return BuiltIn({"use": "environment", "allowed": list(allowed)})


def rate_limit(limit: int, per: float) -> BuiltIn:
    """At most `limit` calls in `per` seconds, for each consumer and capability."""
    return BuiltIn({"use": "rateLimit", "limit": limit, "windowMs": _json.milliseconds(per)})


Operator = Literal["equals", "notEquals", "greater", "less", "matches", "exists"]
_NOTHING: Any = object()


@dataclasses.dataclass(frozen=True)
class Condition:
    """A look at the effective input: `Condition("/amount", "greater", 100)`."""

    pointer: str
    op: Operator
    value: Any = _NOTHING

    def document(self) -> Dict[str, Any]:
        document = {"pointer": self.pointer, "op": self.op}
        return document if self.value is _NOTHING else {**document, "value": self.value}


def require_confirmation(condition: Optional[Condition] = None, summary: Optional[str] = None) -> BuiltIn:
    """Asks a person, always or where the condition holds. `summary` may hold `{/pointer}` into the effective input."""
    document: Dict[str, Any] = {"use": "requireConfirmation"}
    if condition is not None:
        document["if"] = condition.document()
    return BuiltIn({**document, **_json.without_none(summary=summary)})


def audit(level: Literal["none", "metadata", "full"] = "full") -> BuiltIn:
    """Sets what the audit keeps of these calls."""
    return BuiltIn({"use": "audit", "level": level})


# ---- as the library calls them


class Policies:
    """The host policies of one surface by their names, each defined once."""

    def __init__(self) -> None:
        self._names: Dict[int, str] = {}
        self._kept: List[AnyPolicy] = []  # so that no id in `_names` is used again
        self._undefined: Dict[str, AnyPolicy] = {}

    def references(self, policies: "List[AnyPolicy]") -> List[Any]:
        return [self._reference(policy) for policy in policies]

    def _reference(self, policy: AnyPolicy) -> Any:
        if isinstance(policy, BuiltIn):
            return dict(policy.document)
        if inspect.isclass(policy) or not (isinstance(policy, Policy) or callable(policy)):
            raise TypeError(f"{policy!r} is no policy: give a function, an instance of a Policy, or a built-in one")
        name = self._names.get(id(policy))
        if name is None:
            name = _free_name(policy, set(self._names.values()))
            self._names[id(policy)] = name
            self._kept.append(policy)
            self._undefined[name] = policy
        return name

    def define(self, engine: Engine) -> None:
        """Defines what has been referred to since the last time."""
        while self._undefined:
            name, policy = self._undefined.popitem()
            abi.policy_define(engine.registry, name, target(engine, policy))


def _free_name(policy: AnyPolicy, taken: "set[str]") -> str:
    own = getattr(policy, "name", None) or getattr(policy, "__qualname__", None) or type(policy).__name__
    name, number = str(own), 1
    while name in taken:
        number += 1
        name = f"{own}-{number}"
    return name


def target(engine: Engine, policy: AnyPolicy) -> Target:
    if not isinstance(policy, Policy):
        return {"on_invoke": _deciding(engine, cast(Function, policy))}
    said = {name for name in ("on_discovery", "on_authorize", "on_invoke", "on_result") if _overrides(policy, name)}
    slots: Dict[str, Callable[..., None]] = {}
    if "on_discovery" in said:
        slots["on_discovery"] = _discovering(policy)
    if "on_authorize" in said:
        slots["on_authorize"] = _deciding(engine, policy.on_authorize)
    if "on_invoke" in said:
        slots["on_invoke"] = _deciding(engine, policy.on_invoke)
    if "on_result" in said:
        slots["on_result"] = _reviewing(policy)
    return slots


def _overrides(policy: Policy, name: str) -> bool:
    return getattr(type(policy), name) is not getattr(Policy, name) or name in vars(policy)


def _discovering(policy: Policy) -> Callable[[int, bytes], None]:
    def discover(reply: int, context: bytes) -> None:
        answer: Any = policy.on_discovery(PolicyContext(context))
        if isinstance(answer, Disable):
            document = {"decision": "disable", "reason": answer.reason}
        elif isinstance(answer, (Expose, Hide)):
            document = {"decision": "expose" if isinstance(answer, Expose) else "hide"}
        else:
            raise TypeError(f"on_discovery answered {answer!r}; it must answer Expose(), Hide() or Disable(reason)")
        abi.reply_json(reply, _json.dumps(document))

    return discover


def _deciding(engine: Engine, function: Callable[[PolicyContext], Any]) -> Callable[[int, bytes], None]:
    is_async = inspect.iscoroutinefunction(function)

    def decide(reply: int, context: bytes) -> None:
        told = PolicyContext(context)
        if is_async:
            engine.defer(reply, lambda: _failing_as_denial(function, told), _decide, context)
            return
        try:
            answer = function(told)
        except Failure as why:
            answer = why
        _decide(engine, reply, answer)

    return decide


async def _failing_as_denial(function: Callable[[PolicyContext], Any], told: PolicyContext) -> Any:
    try:
        return await function(told)
    except Failure as why:
        return why


def _decide(_: Engine, reply: int, answer: Any) -> None:
    if answer is True or isinstance(answer, Allow):
        abi.reply_allow(reply)
    elif answer is False:
        abi.reply_deny(reply)
    elif isinstance(answer, Failure):
        abi.reply_deny(reply, _json.dumps(answer.payload()))
    elif isinstance(answer, Deny):
        failure = Failure(answer.code, answer.message, retry=answer.retry, details=answer.details)
        abi.reply_deny(reply, _json.dumps(failure.payload()))
    elif isinstance(answer, Confirm):
        abi.reply_confirm(reply, (answer.summary or "").encode("utf-8"))
    else:
        raise TypeError(f"a policy answered {answer!r}; it must answer True, False, Allow(), Deny() or Confirm()")


def _reviewing(policy: Policy) -> Callable[[int, bytes, bytes], None]:
    def review(reply: int, context: bytes, result: bytes) -> None:
        answer: Any = policy.on_result(PolicyContext(context), Result(result.decode("utf-8")))
        if answer is not None and not isinstance(answer, Replace):
            raise TypeError(f"on_result answered {answer!r}; it must answer None or Replace(output)")
        abi.reply_json(reply, b"null" if answer is None else _json.dumps({"output": answer.output}))

    return review
