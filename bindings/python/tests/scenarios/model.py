"""A scenario, read and checked against the page: every field known, of its type, and every reference to a name that exists.

Scripts stay JSON; checking them here is what lets `play` take them as they are.
"""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional, Tuple, Union

from . import refs
from .matcher import MATCHERS, TYPES, join, short
from .text import Json, Object, as_index, as_int, as_text, get, is_text, items, members


class Fault(Exception):
    """What is wrong with a file, and where (a JSON Pointer)."""

    def __init__(self, at: str, what: str) -> None:
        super().__init__(f"at {at or 'the top'}: {what}")


# The fields of a step that hold scripts; references in them wait until the script runs.
SCRIPTED = ("handlers", "when", "precondition", "bind", "describe")

Kind = Union[str, Tuple[str, ...]]
Field = Tuple[str, Kind, bool]


def _must(name: str, kind: Kind) -> Field:
    return name, kind, True


def _may(name: str, kind: Kind) -> Field:
    return name, kind, False


_PHASES = ("onDiscovery", "onAuthorize", "onInvoke", "onResult", "discovery", "authorize", "invoke", "result")
_LOOK = [_may("as", "name"), _may("consumer", "any"), _may("scope", "any"), _may("includeUnavailable", "any"), _may("budget", "any")]
_LOG = [_may("mode", ("exact", "subsequence")), _may("types", "texts"), _may("count", "matcher")]

STEPS: Dict[str, List[Field]] = {
    "register": [_may("as", "name"), _must("definition", "any"), _may("handlers", "scripts"), _may("when", "answers"),
                 _may("bind", "answers"), _may("describe", "answers"), _may("precondition", "answers")],
    "update": [_must("registration", "name"), _must("patch", "any")],
    "invalidate": [_must("registration", "name")],
    "unregister": [_must("registration", "name")],
    "swap": [_must("registration", "name"), _must("handlers", "scripts")],
    "invoke": [_may("as", "name"), _must("request", "any"), _may("consumer", "any"), _may("timeoutMs", "any"),
               _may("deadlineMs", "any")],
    "await": [_must("invocation", "name")],
    "unsettled": [_must("invocation", "name")],
    "cancel": [_must("invocation", "name")],
    "finish": [_must("token", "name"), _may("index", "index"), _may("return", "any"), _may("reject", "any"), _may("fail", "text")],
    "decide": [_must("token", "name"), _may("index", "index"), _may("allow", "flag"), _may("deny", "any"), _may("confirm", "confirmation")],
    "aborted": [_must("token", "name"), _may("index", "index")],
    "advance": [_must("ms", "integer")],
    "set": [_must("var", "name"), _must("to", "any")],
    "confirm": [_must("id", "any"), _may("approve", "flag"), _may("reason", "any")],
    "pending": [_may("as", "name")],
    "snapshot": _LOOK,
    "explain": _LOOK,
    "version": [],
    "events": _LOG,
    "audit": _LOG,
    "calls": [_must("handler", "name")],
    "contexts": [_must("policy", "name"), _may("phase", _PHASES)],
    "toolset": [_may("as", "name"), _may("options", "any")],
    "tools": [_must("toolset", "name"), _may("format", "text")],
    "call": [_must("toolset", "name"), _must("name", "any"), _may("input", "any"), _may("toolCallId", "any"), _may("as", "name")],
    "disposeToolset": [_must("toolset", "name")],
    "verify": [_must("result", "any"), _must("request", "any")],
    "outcome": [_may("consumer", "any"), _must("id", "any")],
    "closeConsumer": [_must("consumer", "any")],
    "dispose": [],
}  # fmt: skip

_WANTED = {
    "name": "a name", "text": "a string", "integer": "an integer", "index": "an integer from 0", "flag": "true or false",
    "texts": "an array of strings", "object": "an object",
}  # fmt: skip


def validate(scenario: Json) -> None:
    """Raises Fault for what is not a scenario."""
    known = ("name", "requirements", "registry", "policies", "executor", "vars", "steps")
    for key, _ in _object(scenario, ""):
        if key not in known:
            raise Fault(join("", key), "unknown field of a scenario")
    _field(scenario, "name", "name", True)
    _field(scenario, "registry", "object")
    _field(scenario, "vars", "object")
    if not isinstance(scenario, Object) or not scenario.has("steps"):
        raise Fault("/steps", "missing")
    if scenario.has("policies"):
        for name, policy in _object(scenario.get("policies"), "/policies"):
            _policy(policy, join("/policies", name))
    if scenario.has("executor"):
        _executor(scenario.get("executor"))
    _steps(scenario.get("steps"), "/steps", False)
    _known_references(scenario)


def _field(holder: Json, name: str, kind: Kind, required: bool = False, at: str = "") -> None:
    if isinstance(holder, Object) and holder.has(name):
        check(holder.get(name), kind, join(at, name))
    elif required:
        raise Fault(join(at, name), "missing")


def check(value: Json, kind: Kind, at: str) -> None:
    text = as_text(value)
    if text is not None and refs.reference(text) is not None and kind not in ("scripts", "answers"):
        return
    if isinstance(kind, tuple):
        if text not in kind:
            raise Fault(at, "another word wanted")
    elif kind == "scripts":
        for name, inner in _object(value, at):
            script(inner, join(at, name))
    elif kind == "answers":
        for name, inner in _object(value, at):
            answer(inner, join(at, name))
    elif kind == "confirmation":
        _summary(value, at)
    elif kind == "matcher":
        _matcher(value, at)
    elif not _fits(value, kind):
        raise Fault(at, f"{_WANTED[kind]} wanted")


def _fits(value: Json, kind: str) -> bool:
    if kind == "name":
        return bool(as_text(value))
    if kind == "text":
        return is_text(value)
    if kind == "integer":
        return as_int(value) is not None
    if kind == "index":
        return as_index(value) is not None
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "texts":
        return isinstance(value, list) and all(map(is_text, value))
    return kind == "any" or isinstance(value, Object)


def _matcher(value: Json, at: str) -> None:
    for i, item in enumerate(items(value)):
        _matcher(item, f"{at}/{i}")
    for key, argument in members(value):
        text = as_text(argument)
        if key == "$exact" or (text is not None and refs.reference(text) is not None):
            continue
        fits = True
        if key in ("$any", "$absent"):
            fits = argument is True
        elif key == "$match":
            fits = text is not None and _compiles(text)
        elif key == "$type":
            fits = text in TYPES
        elif key == "$len":
            fits = as_index(argument) is not None
        elif key == "$oneOf":
            fits = isinstance(argument, list)
        if not fits:
            raise Fault(join(at, key), f"{key} cannot have {short(argument)}")
        _matcher(argument, join(at, key))


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


# ---- scripts


def script(value: Json, at: str) -> None:
    if get(value, "doing") is not None:
        for key, _ in members(value):
            if key not in ("doing", "then"):
                raise Fault(join(at, key), "nothing but `doing` and `then` here")
        if not isinstance(value, Object) or not value.has("then"):
            raise Fault(at, "`doing` needs a `then`")
        _steps(value.get("doing"), f"{at}/doing", True)
        script(value.get("then"), f"{at}/then")
        return
    key, inner, place = _only(value, at)
    if key in ("echo", "confirmation", "none"):
        _yes(inner, place)
    elif key in ("var", "fail", "raw", "pend"):
        _text(inner, place)
    elif key == "sequence":
        if not isinstance(inner, list):
            raise Fault(place, "an array of scripts wanted")
        if not inner:
            raise Fault(place, "at least one script wanted")
        for i, item in enumerate(inner):
            script(item, f"{place}/{i}")
    elif key not in ("return", "reject"):
        raise Fault(place, "no such handler script")


def answer(value: Json, at: str) -> None:
    key, inner, place = _only(value, at)
    if key == "var":
        _text(inner, place)
    elif key == "fail":
        _yes(inner, place)
    elif key != "const":
        raise Fault(place, "`const`, `var` or `fail` wanted")


def decision(value: Json, at: str, confirms: bool) -> None:
    key, inner, place = _only(value, at)
    if key in ("allow", "fail"):
        _yes(inner, place)
    elif key in ("pend", "var"):
        _text(inner, place)
    elif key == "confirm":
        if not confirms:
            raise Fault(place, "`confirm` belongs to onInvoke only")
        _summary(inner, place)
    elif key != "deny":
        raise Fault(place, "`allow`, `deny`, `confirm`, `pend`, `fail` or `var` wanted")


def _policy(value: Json, at: str) -> None:
    for key, inner in _object(value, at):
        place = join(at, key)
        if key == "onDiscovery":
            answer(inner, place)
        elif key in ("onAuthorize", "onInvoke"):
            decision(inner, place, key == "onInvoke")
        elif key == "onResult":
            name, what, where = _only(inner, place)
            if name == "observe":
                _yes(what, where)
            elif name != "output":
                raise Fault(where, "`output` or `observe` wanted")
        else:
            raise Fault(place, "no such hook of a policy")


def _executor(value: Json) -> None:
    for key, _ in _object(value, "/executor"):
        if key not in ("paths", "script", "scripts"):
            raise Fault(join("/executor", key), "unknown field of the executor")
    _field(value, "paths", "texts", True, "/executor")
    assert isinstance(value, Object)
    if value.has("script") == value.has("scripts"):
        raise Fault("/executor", "either `script` or `scripts` wanted")
    if value.has("script"):
        script(value.get("script"), "/executor/script")
    for path, inner in _object(value.get("scripts"), "/executor/scripts") if value.has("scripts") else []:
        script(inner, join("/executor/scripts", path))


def _summary(value: Json, at: str) -> None:
    for key, inner in _object(value, at):
        if key != "summary":
            raise Fault(join(at, key), "only `summary` here")
        if not is_text(inner):
            raise Fault(f"{at}/summary", "a string wanted")


def _only(value: Json, at: str) -> Tuple[str, Json, str]:
    inner = _object(value, at)
    if len(inner) != 1:
        raise Fault(at, "a script with exactly one key wanted")
    return inner[0][0], inner[0][1], join(at, inner[0][0])


def _yes(value: Json, at: str) -> None:
    if value is not True:
        raise Fault(at, "only `true` here")


def _text(value: Json, at: str) -> None:
    if not is_text(value):
        raise Fault(at, "a string wanted")


def _object(value: Json, at: str) -> List[Tuple[str, Json]]:
    if not isinstance(value, Object):
        raise Fault(at, "an object wanted")
    return value.members


# ---- steps


def _steps(value: Json, at: str, nested: bool) -> None:
    if not isinstance(value, list):
        raise Fault(at, "an array of steps wanted")
    for i, item in enumerate(value):
        _step(item, f"{at}/{i}", nested)


def _step(value: Json, at: str, nested: bool) -> None:
    _object(value, at)
    assert isinstance(value, Object)
    action = as_text(value.get("do"))
    if action is None:
        raise Fault(join(at, "do"), "a step's name wanted")
    if action not in STEPS:
        raise Fault(join(at, "do"), f"no such step: {action}")
    fields = STEPS[action]
    known = {"do", "expect", "code", *(name for name, _, _ in fields)}
    for key in value.keys():
        if key not in known:
            raise Fault(join(at, key), f"unknown field of `{action}`")
    for name, kind, required in fields:
        _field(value, name, kind, required, at)
    _field(value, "expect", "matcher", False, at)
    _field(value, "code", "matcher", False, at)
    if value.has("expect") and value.has("code"):
        raise Fault(join(at, "code"), "`code` stands instead of `expect`")
    if nested and value.has("expect") and action in ("invoke", "await", "call"):
        raise Fault(join(at, "expect"), "nothing waits for a result inside `doing`")
    if action == "finish":
        _exactly_one(value, ("return", "reject", "fail"), at)
    if action == "decide":
        _exactly_one(value, ("allow", "deny", "confirm"), at)
    if value.get("allow") is False:
        raise Fault(join(at, "allow"), "only `true` here; `deny` refuses")


def _exactly_one(value: Object, keys: Tuple[str, ...], at: str) -> None:
    if sum(value.has(key) for key in keys) != 1:
        raise Fault(at, f"exactly one of {', '.join(keys)} wanted")


def _known_references(scenario: Object) -> None:
    given = set(_aliases(scenario))
    for field in ("registry", "policies", "executor", "vars", "steps"):
        for name in refs.names(scenario.get(field)):
            if name not in given:
                raise Fault(join("", field), f"unresolved reference: no step is `as` {_quoted(name)}")


def _aliases(value: Json) -> List[str]:
    given: List[str] = []
    name: Optional[str] = as_text(get(value, "as"))
    if get(value, "do") is not None and name is not None:
        given.append(name)
    for item in [*items(value), *(inner for _, inner in members(value))]:
        given.extend(_aliases(item))
    return given


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def quoted(name: Any) -> str:
    """A name as the reports quote it."""
    return _quoted(str(name))
