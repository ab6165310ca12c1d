"""One scenario from its registry to the last freed handle."""
from __future__ import annotations

from typing import Callable, List, Optional

from agent_surface._native import abi, thunks
from agent_surface._native.codes import AgentSurfaceError

from . import play, refs, steps
from .host import Host, Wrong, value_of
from .model import quoted
from .pull import Pump
from .text import Json, Number, Object, data, get, items, members, obj, parse


def run(scenario: Object, pull: bool, leaks: bool, enter: Callable[[str], None]) -> None:
    """Raises Wrong with the text of the FAIL line. `leaks` is off once a scenario has hung: what it holds would be counted
    against every later one."""
    before = thunks.kept()
    # What the scenario says of dispatch is part of it; the option speaks for those that say nothing.
    dispatch = get(scenario.get("registry"), "dispatch")
    pull = pull if dispatch is None else dispatch == "pull"
    host = Host(scenario.get("policies"), scenario.get("executor"), enter)
    wrong: Optional[Wrong] = None
    try:
        _open(host, scenario.get("registry", Object([])), scenario.get("vars"), pull)
        for i, step in enumerate(items(scenario.get("steps"))):
            steps.run(host, i + 1, step)
    except Wrong as why:
        wrong = why
    host.enter("closing")
    try:
        _close(host, pull, before if leaks else None)
    except Wrong as why:
        if wrong is None:
            raise Wrong(f"closing: {why}") from None
    if wrong is not None:
        raise wrong


def _open(host: Host, registry: Json, variables: Json, pull: bool) -> None:
    host.enter("opening")
    try:
        for name, value in members(variables):
            host.vars[name] = refs.resolve(value, _nothing)
        host.vars.setdefault("host", Object([]))
        config = _config(refs.resolve(registry, _nothing), pull)
    except refs.Unresolved as why:
        raise Wrong(str(why)) from None
    audit = get(get(config, "audit"), "sink") == "callback"
    host.registry = _opened("the registry", lambda: abi.registry_new(data(config), play.host_table(host, audit)))
    if pull:
        host.pump = Pump(host)
    subscribe = lambda: abi.subscribe(host.registry, play.event_table(host))  # noqa: E731
    host.subscriptions.append(_opened("subscribing to events", subscribe))
    for name in host.policies:
        _opened(f"policy {quoted(name)}", lambda: abi.policy_define(host.registry, name, play.policy_table(host, name)))
    if host.executor is not None:
        paths = data(get(host.executor, "paths"))
        _opened("the executor", lambda: abi.executor_set(host.registry, paths, play.executor_table(host)))
    try:
        steps.quiet(host)
    except Wrong as why:
        raise Wrong(f"opening: {why}") from None


def _nothing(_: str) -> Json:
    raise refs.Unresolved("no step has run yet")


def _opened(what: str, action: Callable[[], Optional[int]]) -> int:
    try:
        return action() or 0
    except AgentSurfaceError as why:
        from .text import write

        raise Wrong(f"opening: {what}: expected AS_OK, saw {why.name} {write(value_of(why))}") from None


def _config(registry: Json, pull: bool) -> Object:
    config = list(members(registry))
    if get(registry, "clock") is None:
        config.append(("clock", obj(manual=obj(start="2026-01-01T00:00:00.000Z"))))
    if pull and get(registry, "dispatch") is None:
        config.append(("dispatch", "pull"))
    return Object(config)


def _close(host: Host, pull: bool, tables_before: Optional[int]) -> None:
    """Closes the registry and gives everything back; then nothing may be left alive."""
    if host.registry:
        _answered("as_registry_close", lambda: abi.registry_close(host.registry, steps.PATIENCE_MS))
    if host.pump is not None:
        host.pump.stop()
    for invocation, reports in host.invocations:
        if not pull and reports[0] != 1:
            raise Wrong(f"expected every result to be reported once, saw one reported {reports[0]} times")
        _answered("as_invocation_free", lambda: abi.invocation_free(invocation))
    for toolset in host.toolsets:
        try:
            abi.toolset_free(toolset)
        except AgentSurfaceError:
            pass  # freed by the scenario
    for registration in host.registrations:
        _answered("as_unregister", lambda: abi.unregister(registration))
    for subscription in host.subscriptions:
        _answered("as_unsubscribe", lambda: abi.unsubscribe(subscription))
    if host.registry:
        _answered("as_registry_free", lambda: abi.registry_free(host.registry))
    failure = host.take_failure()
    if failure is not None:
        raise Wrong(failure)
    if tables_before is not None:
        _nothing_left(tables_before)


def _answered(function: str, action: Callable[[], None]) -> None:
    try:
        action()
    except AgentSurfaceError as why:
        raise Wrong(f"{function}: expected AS_OK, saw {why.name}") from None


def _nothing_left(tables_before: int) -> None:
    tables = thunks.kept() - tables_before
    if tables > 0:
        raise Wrong(f"leaked {tables} callback tables, never destroyed")
    left: List[str] = []
    _alive("", parse(abi.live()), left)
    if left:
        raise Wrong(f"leaked {', '.join(left)}")


def _alive(name: str, live: Json, left: List[str]) -> None:
    if isinstance(live, Number):
        if live != "0":
            left.append(f"{name} {live}")
        return
    for key, value in members(live):
        _alive(f"{name}/{key}", value, left)
