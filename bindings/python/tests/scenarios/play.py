"""What scripts do when the runtime calls: the same for callbacks and for requests taken with `as_next`."""
from __future__ import annotations

from typing import Callable, Dict, Optional

from agent_surface._native import abi

from . import model, refs
from .host import Host, Sequenced, Site
from .model import quoted
from .text import Json, Object, as_text, data, get, obj, parse, write

Resolve = Callable[[Json], Json]


def handle(host: Host, site: Site, reply: int, context: Json, input: bytes) -> None:
    with host.lock:
        site.ran[0] += 1
        script = site.script.next()
    _play(host, script, reply, context, input)


def execute(host: Host, reply: int, context: Json, input: bytes) -> None:
    path = as_text(get(context, "path")) or ""
    with host.lock:
        host.executor_ran += 1
        host.executor_ran_path[path] = host.executor_ran_path.get(path, 0) + 1
        script = host.scripts.get(path) or host.scripts.get(None)
        chosen = script.next() if script is not None else None
    if chosen is None:
        fail_hook(host, reply, f"the executor has no script for {quoted(path)}")
    else:
        _play(host, chosen, reply, context, input)


def discover(host: Host, policy: str, reply: int, context: Json) -> None:
    _shown(host, policy, "onDiscovery", context)
    give_answer(host, get(host.policies[policy], "onDiscovery"), reply)


def decide(host: Host, policy: str, phase: str, reply: int, context: Json) -> None:
    _shown(host, policy, phase, context)
    decision = get(host.policies[policy], phase)
    if decision is None:
        fail_hook(host, reply, f"{phase} ran and was never given")
    else:
        give_decision(host, decision, reply, host.resolve)


def review(host: Host, policy: str, reply: int, context: Json, result: Json) -> None:
    assert isinstance(context, Object)
    _shown(host, policy, "onResult", Object([*context.members, ("result", result)]))
    script = get(host.policies[policy], "onResult")
    if isinstance(script, Object) and script.has("output"):
        answer_resolved(host, reply, obj(output=script.get("output")))
    else:
        answer_json(reply, None)


def _play(host: Host, scripted: Sequenced, reply: int, context: Json, input: bytes) -> None:
    from . import steps

    script = scripted.script
    if get(script, "doing") is not None:
        steps.nested(host, script.get("doing"))  # type: ignore[union-attr]
        _play(host, scripted.then.next(), reply, context, input)
        return
    assert isinstance(script, Object)
    key, value = script.members[0]
    if key == "return":
        answer_resolved(host, reply, value)
    elif key == "echo":
        abi.reply_json(reply, input)
    elif key == "confirmation":
        answer_json(reply, get(context, "confirmation"))
    elif key == "var":
        _answer_var(host, reply, value)
    elif key == "reject":
        try:
            abi.reply_error(reply, data(host.resolve(value)))
        except refs.Unresolved as why:
            fail_hook(host, reply, str(why))
    elif key == "fail":
        untyped(reply, value)
    elif key == "raw":
        abi.reply_json(reply, value.encode("utf-8"))
    elif key == "pend":
        _pend(host, value, reply)
    else:
        abi.reply_json(reply, b"")


def untyped(reply: int, text: str) -> int:
    """An untyped failure. The text goes along, so that a scenario can see that it never reaches an agent."""
    return abi.reply_error(reply, write(text).encode("utf-8"))


def give_decision(host: Host, decision: Json, reply: int, resolve: Resolve) -> None:
    """`resolve` turns the JSON of the decision into what is sent: a script has references in it, a variable no longer has."""
    assert isinstance(decision, Object)
    key, value = decision.members[0]
    try:
        if key == "allow":
            abi.reply_allow(reply)
        elif key == "deny":
            abi.reply_deny(reply, data(resolve(value)))
        elif key == "confirm":
            summary = value.get("summary")
            text = as_text(resolve(summary)) if summary is not None else None
            abi.reply_confirm(reply, (text or "").encode("utf-8"))
        elif key == "pend":
            _pend(host, value, reply)
        elif key == "fail":
            abi.reply_error(reply)
        else:
            _decide_var(host, reply, value)
    except refs.Unresolved as why:
        fail_hook(host, reply, str(why))


def _decide_var(host: Host, reply: int, name: str) -> None:
    value = host.var(name)
    try:
        model.decision(value, "", True)
    except model.Fault as why:
        fail_hook(host, reply, f"variable {quoted(name)}: {why}")
        return
    if get(value, "var") is not None:
        fail_hook(host, reply, f"variable {quoted(name)} must not name a variable")
        return
    give_decision(host, value, reply, lambda same: same)


def give_answer(host: Host, answer: Optional[Json], reply: int) -> None:
    if not isinstance(answer, Object):
        fail_hook(host, reply, "a hook ran that was never given")
        return
    key, value = answer.members[0]
    if key == "const":
        answer_resolved(host, reply, value)
    elif key == "var":
        _answer_var(host, reply, value)
    else:
        abi.reply_error(reply)


def _answer_var(host: Host, reply: int, name: str) -> None:
    try:
        value = host.var(name)
    except refs.Unresolved as why:
        fail_hook(host, reply, str(why))
        return
    answer_json(reply, value)


def answer_resolved(host: Host, reply: int, value: Json) -> None:
    try:
        resolved = host.resolve(value)
    except refs.Unresolved as why:
        fail_hook(host, reply, str(why))
        return
    answer_json(reply, resolved)


def answer_json(reply: int, value: Json) -> None:
    abi.reply_json(reply, data(value))


def _pend(host: Host, token: str, reply: int) -> None:
    """The entry comes before the deferral, so that whoever sees the call pending finds it under its token."""
    host.pend(token, reply)
    abi.reply_defer(reply)


def _shown(host: Host, policy: str, phase: str, context: Json) -> None:
    with host.lock:
        host.contexts.append((policy, phase, context))


def fail_hook(host: Host, reply: int, why: str) -> None:
    """The scenario is wrong: it fails, and so does the hook, so that nothing waits for it."""
    host.fail(why)
    abi.reply_error(reply)


# ---- the callback tables


def _guarded(host: Host, function: Callable[..., None]) -> Callable[..., None]:
    def guarded(*arguments: object) -> None:
        try:
            function(*arguments)
        except BaseException as why:
            host.fail(f"the runner itself failed in a callback: {why!r}")
            raise

    return guarded


def host_table(host: Host, audit: bool) -> Dict[str, Callable[..., None]]:
    table: Dict[str, Callable[..., None]] = {
        "context": _guarded(host, lambda reply, _: _answer_var(host, reply, "host")),
    }
    if audit:
        table["audit"] = _guarded(host, lambda entry: host.audit.append(document(entry)))
    return table


def event_table(host: Host) -> Dict[str, Callable[..., None]]:
    return {"on_event": _guarded(host, lambda event: host.events.append(document(event)))}


def policy_table(host: Host, name: str) -> Dict[str, Callable[..., None]]:
    slots: Dict[str, Callable[..., None]] = {
        "onDiscovery": lambda reply, context: discover(host, name, reply, document(context)),
        "onAuthorize": lambda reply, context: decide(host, name, "onAuthorize", reply, document(context)),
        "onInvoke": lambda reply, context: decide(host, name, "onInvoke", reply, document(context)),
        "onResult": lambda reply, context, result: review(host, name, reply, document(context), document(result)),
    }
    names = {"onDiscovery": "on_discovery", "onAuthorize": "on_authorize", "onInvoke": "on_invoke", "onResult": "on_result"}
    policy = host.policies[name]
    assert isinstance(policy, Object)
    return {names[key]: _guarded(host, slots[key]) for key in policy.keys()}


def executor_table(host: Host) -> Dict[str, Callable[..., None]]:
    return {"handler": _guarded(host, lambda reply, context, input: execute(host, reply, document(context), input))}


def binding_table(host: Host, site: Optional[Site], answers: Dict[str, Json]) -> Dict[str, Callable[..., None]]:
    table: Dict[str, Callable[..., None]] = {}
    if site is not None:
        here = site
        table["handler"] = _guarded(host, lambda reply, context, input: handle(host, here, reply, document(context), input))
    for hook, answer in answers.items():
        table[hook] = _guarded(host, lambda reply, _, answer=answer: give_answer(host, answer, reply))
    return table


def document(text: bytes) -> Json:
    return parse(text.decode("utf-8"))
