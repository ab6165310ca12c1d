"""The steps: how one is taken and judged."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from agent_surface._native import abi
from agent_surface._native.codes import AgentSurfaceError, ClosedError, LateError, StaleHandleError, WaitTimeoutError
from agent_surface._native.abi import error

from . import matcher, play, refs
from .host import Component, Host, Invocation, Pending, Registration, Site, Toolset, Value, Wrong, value_of
from .matcher import short
from .model import SCRIPTED, quoted
from .text import Json, Object, as_index, as_int, as_text, count, data, get, items, members, obj, parse, same

# Real time that the runtime may take to become quiet or to close; on a sound runtime it takes none worth speaking of.
PATIENCE_MS = 20_000

Answer = Union[Json, AgentSurfaceError]


def run(host: Host, number: int, step: Object) -> None:
    """One step of the scenario, to the end: done, quiet, and as expected."""
    place = f"step {number} ({step.get('do')})"
    host.enter(place)
    wrong: Optional[str] = None
    try:
        _take(host, step, False)
    except (Wrong, refs.Unresolved) as why:
        wrong = f"{place}: {why}"
    earlier = host.take_failure()
    if earlier is not None or wrong is not None:
        raise Wrong(earlier if earlier is not None else wrong)


def nested(host: Host, steps: List[Object]) -> None:
    """Steps inside a handler, in its own thread. What fails there fails the scenario; the handler goes on and answers."""
    outer = host.place
    for i, step in enumerate(steps):
        try:
            _take(host, step, True)
        except (Wrong, refs.Unresolved) as why:
            host.fail_with(f"{outer}, doing {i + 1} ({step.get('do')}): {why}")


def quiet(host: Host) -> None:
    """Waits until nothing is ready to run."""
    _settle(host)
    while host.pump is not None:
        before = host.pump.served
        host.pump.drain()
        _settle(host)
        if host.pump.served == before:
            return
        _settle(host)


def _settle(host: Host) -> None:
    try:
        abi.quiesce(host.registry, PATIENCE_MS)
    except (ClosedError, StaleHandleError):
        pass
    except AgentSurfaceError as why:
        raise Wrong(f"the runtime does not become quiet: {why.name}") from None


def _take(host: Host, step: Object, is_nested: bool) -> None:
    fields = _resolved(host, step)
    action = str(fields.get("do"))
    started: Optional[int] = None
    answer: Answer
    try:
        if action in ("invoke", "call"):
            started = _invoke(host, fields) if action == "invoke" else _call(host, fields)
            answer = None
        elif action == "await":
            answer = _await(host, fields, is_nested)
        else:
            answer = ACTIONS[action](host, fields)
    except AgentSurfaceError as why:
        answer = why
        host.name_failure(alias(fields), why)
    if not is_nested:
        quiet(host)
        if started is not None and fields.has("expect"):
            try:
                answer = _result(started, "it")
            except AgentSurfaceError as why:
                answer = why
    _judge(action, fields, answer)


def _resolved(host: Host, step: Object) -> Object:
    """The fields with their references replaced; those with scripts in them wait until a script runs."""
    return Object([(key, value if key in SCRIPTED else host.resolve(value)) for key, value in step.members])


def _judge(action: str, fields: Object, answer: Answer) -> None:
    """Holds the answer against `code` or `expect`, or against AS_OK where the step has neither."""
    failed = isinstance(answer, AgentSurfaceError)
    if fields.has("code"):
        name = answer.name if isinstance(answer, AgentSurfaceError) else "AS_OK"
        verdict = matcher.check(fields.get("code"), name)
        if verdict is not None:
            raise Wrong(f"{verdict} as code{_said(answer)}")
        return
    late = isinstance(answer, LateError) and action in ("finish", "decide")
    value: Json
    if isinstance(answer, AgentSurfaceError):
        value = "late" if late else value_of(answer)
    else:
        value = answer
    verdict = None
    if fields.has("expect"):
        wanted = fields.get("expect")
        if isinstance(wanted, list) and not failed and action in ("events", "audit") and fields.get("mode") != "exact":
            verdict = matcher.subsequence(wanted, items(value))
        else:
            verdict = matcher.check(wanted, value)
            if verdict is not None and verdict.startswith("at "):
                verdict = f"{verdict}, in {short(value)}"
    elif isinstance(answer, AgentSurfaceError) and not late:
        verdict = f"expected AS_OK, saw {answer.name}{_said(answer)}"
    elif not failed and action == "register":
        verdict = matcher.check(obj(status="active"), value)
    if verdict is not None:
        raise Wrong(verdict)


def _said(answer: Answer) -> str:
    return f" {short(value_of(answer))}" if isinstance(answer, AgentSurfaceError) else ""


# ---- fields


def alias(fields: Object) -> Optional[str]:
    return as_text(fields.get("as"))


def _text(fields: Object, name: str) -> str:
    text = as_text(fields.get(name))
    if text is None:
        raise Wrong(f"`{name}` must be a string")
    return text


def _some_of(fields: Object, *names: str) -> Object:
    return Object([(name, fields.get(name)) for name in names if fields.has(name)])


def _index(fields: Object) -> int:
    if not fields.has("index"):
        return 0
    index = as_index(fields.get("index"))
    if index is None:
        raise Wrong("`index` must be an integer from 0")
    return index


# ---- calls


def _invoke(host: Host, fields: Object) -> int:
    options = data(_some_of(fields, "consumer", "timeoutMs", "deadlineMs"))
    return _started(host, fields, lambda target: abi.invoke(host.registry, data(fields.get("request")), options, target, host.pump is not None))


def _call(host: Host, fields: Object) -> int:
    toolset = _toolset_handle(host, fields)
    call = data(_some_of(fields, "name", "input", "toolCallId"))
    return _started(host, fields, lambda target: abi.toolset_call(toolset, call, target, host.pump is not None))


def _started(host: Host, fields: Object, start: Callable[[Any], int]) -> int:
    reports = [0]

    def told(_: bytes) -> None:
        reports[0] += 1

    handle = start({"on_result": told})
    host.invocations.append((handle, reports))
    host.name(alias(fields), Invocation(handle))
    return handle


def _await(host: Host, fields: Object, is_nested: bool) -> Json:
    handle = _invocation(host, fields)
    if is_nested:
        return parse(abi.invocation_wait(handle, -1))
    if fields.has("code"):
        return parse(abi.invocation_wait(handle, 0))
    return _result(handle, _text(fields, "invocation"))


def _result(handle: int, name: str) -> Json:
    """The result of a call when the runtime is quiet: what is pending now, nothing but another step could settle."""
    try:
        return parse(abi.invocation_wait(handle, 0))
    except WaitTimeoutError:
        raise Wrong(f"expected a result, saw {name} pending, and nothing left to run that could settle it") from None


def _unsettled(host: Host, fields: Object) -> Json:
    try:
        result = abi.invocation_wait(_invocation(host, fields), 0)
    except WaitTimeoutError:
        return None
    raise Wrong(f"expected it to be pending, saw {short(parse(result))}")


def _cancel(host: Host, fields: Object) -> Json:
    abi.invocation_cancel(_invocation(host, fields))
    return None


def _invocation(host: Host, fields: Object) -> int:
    name = _text(fields, "invocation")
    what = host.named(name)
    if not isinstance(what, Invocation):
        raise Wrong(f"{quoted(name)} is no invocation")
    return what.handle


def _checked(code: int) -> Json:
    if code:
        raise error(code)
    return None


def _finish(host: Host, fields: Object) -> Json:
    reply = _unanswered(host, fields).reply
    if fields.has("return"):
        return _checked(abi.reply_json(reply, data(fields.get("return"))))
    if fields.has("reject"):
        return _checked(abi.reply_error(reply, data(fields.get("reject"))))
    return _checked(play.untyped(reply, _text(fields, "fail")))


def _decide(host: Host, fields: Object) -> Json:
    reply = _unanswered(host, fields).reply
    if fields.has("deny"):
        return _checked(abi.reply_deny(reply, data(fields.get("deny"))))
    if fields.has("confirm"):
        summary = as_text(get(fields.get("confirm"), "summary")) or ""
        return _checked(abi.reply_confirm(reply, summary.encode("utf-8")))
    return _checked(abi.reply_allow(reply))


def _unanswered(host: Host, fields: Object) -> Pending:
    """The call that the step answers, marked as answered. Its handle dies with the answer, so what `aborted` would say of it is
    kept first."""
    token, index = _text(fields, "token"), _index(fields)
    with host.lock:
        open_ = [pending for pending in host.tokens.get(token, []) if not pending.answered]
    if index >= len(open_):
        raise Wrong(f"expected an unanswered call {index} under {quoted(token)}, saw none")
    pending = open_[index]
    try:
        pending.aborted = abi.reply_aborted(pending.reply)
    except AgentSurfaceError:
        pending.aborted = False
    pending.answered = True
    return pending


def _aborted(host: Host, fields: Object) -> Json:
    token, index = _text(fields, "token"), _index(fields)
    calls = host.tokens.get(token, [])
    if index >= len(calls):
        raise Wrong(f"expected a call {index} under {quoted(token)}, saw none")
    pending = calls[index]
    try:
        return abi.reply_aborted(pending.reply)
    except StaleHandleError:
        if pending.answered and not fields.has("code"):
            return pending.aborted
        raise


def _outcome(host: Host, fields: Object) -> Json:
    query = Object([*_some_of(fields, "consumer").members, ("invocationId", fields.get("id"))])
    return parse(abi.outcome(host.registry, data(query)))


def _verify(host: Host, fields: Object) -> Json:
    """`result` is a result, or the name of an earlier one."""
    name = as_text(fields.get("result"))
    result = host.value(name) if name is not None else fields.get("result")
    return parse(abi.verify_result(data(result), data(fields.get("request"))))


# ---- registrations


def _register(host: Host, fields: Object) -> Json:
    definition = fields.get("definition")
    component = _component(fields, definition)
    try:
        handle = abi.register(host.registry, data(definition), _tables(host, component))
    except AgentSurfaceError as failure:
        host.name(alias(fields), Registration(value_of(failure), 0, component))
        raise
    host.registrations.append(handle)
    info = parse(abi.registration_info(handle))
    value = Object([(key, get(info, key)) for key in ("status", "registrationId") if isinstance(info, Object) and info.has(key)])
    host.registered[str(value.get("registrationId"))] = component
    host.name(alias(fields), Registration(value, handle, component))
    return value


def _component(fields: Object, definition: Json) -> Component:
    component = Component(definition)
    for key, script in members(fields.get("handlers")):
        component.sites[binding_name(definition, key)] = Site(script)
    for hook in ("when", "precondition", "bind", "describe"):
        for key, script in members(fields.get(hook)):
            name = _path_name(definition, key) if hook in ("bind", "describe") else binding_name(definition, key)
            component.answers.setdefault(name, {})[hook] = script
    return component


def _tables(host: Host, component: Component) -> Dict[str, Any]:
    """One table for every name that has a callback, sorted, so that a run is like the one before."""
    names = sorted({*component.sites, *component.answers}, key=lambda name: name.encode("utf-8"))
    return {name: play.binding_table(host, component.sites.get(name), component.answers.get(name, {})) for name in names}


def binding_name(definition: Json, key: str) -> str:
    """The name a binding has: an observation's or action's as it is, a procedure's with `domain:` before its path."""
    is_view = any(isinstance(kind, Object) and kind.has(key) for kind in (get(definition, "observations"), get(definition, "actions")))
    return f"domain:{key}" if not is_view and _has_path(definition, key) else key


def _path_name(definition: Json, key: str) -> str:
    return key if key.startswith("domain:") and not _has_path(definition, key) else f"domain:{key}"


def _has_path(definition: Json, path: str) -> bool:
    return any(as_text(get(procedure, "path")) == path for procedure in items(get(definition, "procedures")))


def _swap(host: Host, fields: Object) -> Json:
    """A rebinding replaces every callback, so those that the step does not name are passed again."""
    registration = _registration(host, fields)
    old = registration.component
    new = Component(old.definition)
    new.sites, new.answers = dict(old.sites), dict(old.answers)
    for key, script in members(fields.get("handlers")):
        name = binding_name(old.definition, key)
        new.sites[name] = Site(script, old.sites[name].ran if name in old.sites else None)
    abi.registration_rebind(registration.handle, _tables(host, new))
    old.sites, old.answers = new.sites, new.answers
    return None


def _registration(host: Host, fields: Object) -> Registration:
    name = _text(fields, "registration")
    what = host.named(name)
    if not isinstance(what, Registration) or what.handle == 0:
        raise Wrong(f"{quoted(name)} is no registration")
    return what


def _update(host: Host, fields: Object) -> Json:
    abi.registration_update(_registration(host, fields).handle, data(fields.get("patch")))
    return None


def _invalidate(host: Host, fields: Object) -> Json:
    abi.registration_invalidate(_registration(host, fields).handle)
    return None


def _unregister(host: Host, fields: Object) -> Json:
    abi.unregister(_registration(host, fields).handle)
    return None


# ---- looking


def _confirm(host: Host, fields: Object) -> Json:
    approved = fields.get("approve", True)
    if not isinstance(approved, bool):
        raise Wrong("`approve` must be true or false")
    decision: List[Tuple[str, Any]] = [("confirmationId", fields.get("id")), ("approved", approved)]
    if fields.has("reason"):
        decision.append(("reason", fields.get("reason")))
    abi.confirm(host.registry, data(Object(decision)))
    return None


def _looked(host: Host, fields: Object, text: str) -> Json:
    value = parse(text)
    host.name(alias(fields), Value(value))
    return value


def _view(fields: Object) -> bytes:
    return data(_some_of(fields, "consumer", "scope", "includeUnavailable", "budget"))


def _version(host: Host, fields: Object) -> Json:
    value: Json = get(parse(abi.registry_info(host.registry)), "surfaceVersion")
    return value


def _log(fields: Object, entries: List[Json]) -> Json:
    types = fields.get("types")
    chosen = [e for e in entries if types is None or any(same(t, get(e, "type")) for t in types)]
    if fields.has("count"):
        verdict = matcher.check(fields.get("count"), count(len(chosen)))
        if verdict is not None:
            raise Wrong(f"{verdict} as count of {short([get(e, 'type') for e in chosen])}")
    return chosen


def _events(host: Host, fields: Object) -> Json:
    return _log(fields, list(host.events))


def _audit(host: Host, fields: Object) -> Json:
    return _log(fields, list(host.audit) or items(parse(abi.audit_read(host.registry, 0))))


def _calls(host: Host, fields: Object) -> Json:
    handler = _text(fields, "handler")
    if handler == "executor" or handler.startswith("executor:"):
        if host.executor is None:
            raise Wrong("the scenario has no executor")
        path = handler[len("executor:"):]
        return count(host.executor_ran_path.get(path, 0) if ":" in handler else host.executor_ran)
    name, dot, key = handler.partition(".")
    what = host.named(name) if dot else None
    site = what.component.sites.get(binding_name(what.component.definition, key)) if isinstance(what, Registration) else None
    if site is None:
        raise Wrong(f"no handler {quoted(handler)}")
    return count(site.ran[0])


def _contexts(host: Host, fields: Object) -> Json:
    policy = _text(fields, "policy")
    if policy not in host.policies:
        raise Wrong(f"no policy {quoted(policy)}")
    phase = as_text(fields.get("phase"))
    return [
        context for name, seen, context in host.contexts
        if name == policy and (phase is None or _short_phase(phase) == _short_phase(seen))
    ]  # fmt: skip


def _short_phase(phase: str) -> str:
    """`onInvoke` and `invoke` are one phase."""
    return (phase[2:] if phase.startswith("on") else phase).lower()


# ---- toolsets


def _toolset(host: Host, fields: Object) -> Json:
    handle = abi.toolset_new(host.registry, data(fields.get("options", Object([]))))
    host.toolsets.append(handle)
    value = parse(abi.toolset_info(handle))
    host.name(alias(fields), Toolset(value, handle))
    return value


def _tools(host: Host, fields: Object) -> Json:
    catalog = parse(abi.toolset_tools(_toolset_handle(host, fields), as_text(fields.get("format")) or "neutral"))
    value: Json = get(catalog, "tools", catalog)
    return value


def _dispose_toolset(host: Host, fields: Object) -> Json:
    abi.toolset_free(_toolset_handle(host, fields))
    return None


def _toolset_handle(host: Host, fields: Object) -> int:
    name = _text(fields, "toolset")
    what = host.named(name)
    if not isinstance(what, Toolset):
        raise Wrong(f"{quoted(name)} is no toolset")
    return what.handle


# ---- the rest


def _advance(host: Host, fields: Object) -> Json:
    ms = as_int(fields.get("ms"))
    if ms is None:
        raise Wrong("`ms` must be an integer")
    abi.advance(host.registry, ms, PATIENCE_MS)
    return None


def _set(host: Host, fields: Object) -> Json:
    host.vars[_text(fields, "var")] = fields.get("to")
    return None


def _close_consumer(host: Host, fields: Object) -> Json:
    abi.consumer_close(host.registry, data(fields.get("consumer")))
    return None


def _dispose(host: Host, fields: Object) -> Json:
    abi.registry_close(host.registry, PATIENCE_MS)
    return None


ACTIONS: Dict[str, Callable[[Host, Object], Json]] = {
    "register": _register,
    "update": _update,
    "invalidate": _invalidate,
    "unregister": _unregister,
    "swap": _swap,
    "unsettled": _unsettled,
    "cancel": _cancel,
    "finish": _finish,
    "decide": _decide,
    "aborted": _aborted,
    "advance": _advance,
    "set": _set,
    "confirm": _confirm,
    "pending": lambda host, fields: _looked(host, fields, abi.confirmations(host.registry)),
    "snapshot": lambda host, fields: _looked(host, fields, abi.snapshot(host.registry, _view(fields))),
    "explain": lambda host, fields: _looked(host, fields, abi.explain(host.registry, _view(fields))),
    "version": _version,
    "events": _events,
    "audit": _audit,
    "calls": _calls,
    "contexts": _contexts,
    "toolset": _toolset,
    "tools": _tools,
    "disposeToolset": _dispose_toolset,
    "verify": _verify,
    "outcome": _outcome,
    "closeConsumer": _close_consumer,
    "dispose": _dispose,
}
