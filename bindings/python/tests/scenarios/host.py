"""The host of one scenario: what its steps made, what its callbacks have seen, and the first thing that went wrong.

Steps and callbacks share it across threads. Its lock is never held while a function of the library runs.
"""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from agent_surface._native import abi
from agent_surface._native.codes import AgentSurfaceError

from . import refs
from .model import quoted
from .text import Json, Object, get, obj, parse

if TYPE_CHECKING:
    from .pull import Pump


class Wrong(Exception):
    """The scenario is not as it should be: the text of its FAIL line."""


def code_name(failure: AgentSurfaceError) -> str:
    return failure.name


def value_of(failure: AgentSurfaceError) -> Object:
    """The value of a step that failed."""
    error = [("code", failure.reason or failure.name)]
    if failure.path is not None:
        error.append(("path", failure.path))
    error.append(("message", failure.message))
    return obj(error=Object(list(error)))


class Site:
    """A handler: what it does, and how often it ran, which a swap does not forget."""

    def __init__(self, script: Json, ran: Optional[List[int]] = None) -> None:
        self.script = Sequenced(script)
        self.ran = ran if ran is not None else [0]


class Sequenced:
    """A script with its place in its sequences: each gives one script a call, and its last one ever after."""

    def __init__(self, script: Json) -> None:
        self.script = script
        self._used = 0
        self._parts = [Sequenced(part) for part in get(script, "sequence", [])]
        self._then = Sequenced(get(script, "then")) if get(script, "doing") is not None else None

    def next(self) -> Sequenced:
        if not self._parts:
            return self
        at = min(self._used, len(self._parts) - 1)
        self._used += 1
        return self._parts[at].next()

    @property
    def then(self) -> Sequenced:
        assert self._then is not None
        return self._then


class Component:
    """The scripts of one registration, by the name its binding has."""

    def __init__(self, definition: Json) -> None:
        self.definition = definition
        self.sites: Dict[str, Site] = {}
        self.answers: Dict[str, Dict[str, Json]] = {}


class Registration:
    def __init__(self, value: Json, handle: int, component: Component) -> None:
        self.value, self.handle, self.component = value, handle, component


class Invocation:
    def __init__(self, handle: int) -> None:
        self.handle = handle


class Toolset:
    def __init__(self, value: Json, handle: int) -> None:
        self.value, self.handle = value, handle


class Value:
    def __init__(self, value: Json) -> None:
        self.value = value


class Pending:
    """A call that a script left open. `aborted` is what the library said when it was answered, its handle being dead since."""

    def __init__(self, reply: int) -> None:
        self.reply, self.answered, self.aborted = reply, False, False


class Host:
    def __init__(self, policies: Json, executor: Json, enter: Callable[[str], None]) -> None:
        self.registry = 0
        self.policies: Dict[str, Json] = dict(policies.members) if isinstance(policies, Object) else {}
        self.executor = executor
        self.scripts: Dict[Optional[str], Sequenced] = {}
        if isinstance(executor, Object):
            if executor.has("script"):
                self.scripts[None] = Sequenced(executor.get("script"))
            for path, script in executor.get("scripts", Object([])).members:
                self.scripts[path] = Sequenced(script)
        self.executor_ran = 0
        self.executor_ran_path: Dict[str, int] = {}
        self.pump: Optional[Pump] = None
        self.place = ""
        self._enter = enter
        self.lock = threading.Lock()
        self.names: Dict[str, Any] = {}
        self.vars: Dict[str, Json] = {}
        self.tokens: Dict[str, List[Pending]] = {}
        self.contexts: List[Tuple[str, str, Json]] = []
        self.events: List[Json] = []
        self.audit: List[Json] = []
        self.invocations: List[Tuple[int, List[int]]] = []
        self.registrations: List[int] = []
        self.toolsets: List[int] = []
        self.subscriptions: List[int] = []
        self.registered: Dict[str, Component] = {}
        self.failure: Optional[str] = None

    def enter(self, place: str) -> None:
        """Says which step runs, for the report and for the watchdog."""
        self.place = place
        self._enter(place)

    def fail(self, what: str) -> None:
        """Notes what went wrong in a callback; the first one is what the scenario fails with."""
        self.fail_with(f"{self.place}: {what}")

    def fail_with(self, failure: str) -> None:
        with self.lock:
            if self.failure is None:
                self.failure = failure

    def take_failure(self) -> Optional[str]:
        with self.lock:
            failure, self.failure = self.failure, None
            return failure

    def name(self, name: Optional[str], what: Any) -> None:
        if name is not None:
            self.names[name] = what

    def name_failure(self, name: Optional[str], failure: AgentSurfaceError) -> None:
        """A step that failed has a value too. A registration that was refused keeps its scripts, which never ran."""
        if name is None:
            return
        earlier = self.names.get(name)
        if not (isinstance(earlier, Registration) and earlier.handle == 0):
            self.names[name] = Value(value_of(failure))

    def named(self, name: str) -> Any:
        if name not in self.names:
            raise refs.Unresolved(f"no step was `as` {quoted(name)} yet")
        return self.names[name]

    def var(self, name: str) -> Json:
        if name not in self.vars:
            raise refs.Unresolved(f"no variable {quoted(name)}")
        return self.vars[name]

    def resolve(self, value: Json) -> Json:
        return refs.resolve(value, self.value)

    def value(self, name: str) -> Json:
        """What a reference to a name stands for; an invocation has a value once it has settled."""
        what = self.named(name)
        if not isinstance(what, Invocation):
            value: Json = what.value
            return value
        try:
            return parse(abi.invocation_wait(what.handle, 0))
        except AgentSurfaceError as failure:
            raise refs.Unresolved(f"{quoted(name)} has no result: {failure.name}") from None

    def pend(self, token: str, reply: int) -> None:
        with self.lock:
            self.tokens.setdefault(token, []).append(Pending(reply))
