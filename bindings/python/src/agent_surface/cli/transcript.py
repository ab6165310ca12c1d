"""Transcripts: JSON lines, each a call, several calls at once, or a whole conversation of tool calls.

    {"say": "a heading"}
    {"consumer": {"id": "planner"}, "call": "view:desk.open", "input": {…}, "id": "c1", "person": {"approve": true, "by": "mara"}}
    {"together": [{"call": …}, {"call": …}]}
    {"conversation": "t1", "steps": [{"user": "…"}, {"tool_call_id": "…", "name": "open", "arguments": "{…}"}]}

A call names a capability by its id, or by its last part where that is the only one of that name. `person` is what the person
of the recording decided; without one a recorded replay denies.
"""
from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any, Dict, Iterator, List, Mapping, Optional

from ..consumer import Consumer
from .app import Unusable


@dataclasses.dataclass(frozen=True)
class Person:
    """What the person of the recording decided."""

    approve: bool
    by: Optional[str] = None
    reason: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Call:
    capability: str
    input: Any = None
    id: Optional[str] = None
    consumer: Optional[Consumer] = None
    person: Optional[Person] = None


@dataclasses.dataclass(frozen=True)
class Step:
    """What happens at once: a heading, and calls that run together."""

    calls: List[Call]
    say: Optional[str] = None


def read(path: str) -> List[Step]:
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as why:
        raise Unusable(f"{path} cannot be read: {why}") from None
    steps: List[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                steps.extend(_steps(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError) as why:
                raise Unusable(f"{path}, line {number}: {_reason(why)}") from None
    return steps


def _reason(why: Exception) -> str:
    return f"{why.args[0]} is missing" if isinstance(why, KeyError) else str(why)


def _steps(line: Mapping[str, Any]) -> Iterator[Step]:
    if "steps" in line:
        consumer = Consumer(str(line["conversation"]))
        yield Step([], str(line["conversation"]))
        for step in line["steps"]:
            if "user" in step:
                yield Step([], f"user: {step['user']}")
            else:
                yield Step([_tool_call(step, consumer)])
    elif "together" in line:
        yield Step([_call(call) for call in line["together"]], line.get("say"))
    elif "call" in line:
        yield Step([_call(line)], line.get("say"))
    else:
        yield Step([], line["say"])


def _call(line: Mapping[str, Any]) -> Call:
    consumer, person = line.get("consumer"), line.get("person")
    return Call(
        line["call"], line.get("input"), line.get("id"),
        None if consumer is None else Consumer(consumer["id"], consumer.get("kind", "embedded"), consumer.get("grants", ())),
        None if person is None else Person(bool(person["approve"]), person.get("by"), person.get("reason")),
    )  # fmt: skip


def _tool_call(step: Mapping[str, Any], consumer: Consumer) -> Call:
    arguments = step["arguments"]
    return Call(step["name"], json.loads(arguments) if isinstance(arguments, str) else arguments, step["tool_call_id"], consumer)


def resolve(name: str, snapshot: Mapping[str, Any]) -> str:
    """The capability id that a name stands for; the name itself where it stands for none, so that the runtime answers."""
    if ":" in name:
        return name
    ids: Dict[str, List[str]] = {}
    for component in snapshot["components"]:
        for capability in [*component["observations"], *component["actions"]]:
            ids.setdefault(capability["name"], []).append(capability["capabilityId"])
    for procedure in snapshot["procedures"]:
        identifier = procedure["procedureId"]
        ids.setdefault(identifier.split(":", 1)[1].rsplit(".", 1)[-1], []).append(identifier)
    found = set(ids.get(name, ()))
    return found.pop() if len(found) == 1 else name
