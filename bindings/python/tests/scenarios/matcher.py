"""Matching: objects as subsets, arrays element by element and in length, scalars exactly, and the `$` matchers.

A verdict is None, or the text that says where and how the two differ.
"""
from __future__ import annotations

import re
from typing import Any, List, Optional

from .text import ABSENT, Json, Number, Object, as_text, count, get, items, same, type_name, write

Verdict = Optional[str]

MATCHERS = ("$exact", "$any", "$absent", "$match", "$type", "$len", "$oneOf", "$contains", "$not")
TYPES = ("null", "boolean", "number", "integer", "string", "array", "object")


def check(expected: Json, seen: Json) -> Verdict:
    return _at("", expected, seen)


def subsequence(expected: List[Json], seen: List[Json]) -> Verdict:
    """Each expectation finds an element, in this order, other elements in between being of no interest."""
    rest = iter(seen)
    for i, wanted in enumerate(expected):
        if not any(check(wanted, item) is None for item in rest):
            after = f" after the first {i} expected ones" if i else ""
            return f"expected {short(wanted)}{after}, saw {_list(seen)}"
    return None


def short(value: Json) -> str:
    """Short enough for a line of the report."""
    text = write(value)
    return text[:400] + "…" if len(text) > 400 else text


def _at(pointer: str, expected: Json, seen: Any) -> Verdict:
    if isinstance(expected, Object):
        plain = [(key, value) for key, value in expected.members if key not in MATCHERS]
        special = [(key, value) for key, value in expected.members if key in MATCHERS]
        for name, argument in special:
            verdict = _special(pointer, name, argument, seen)
            if verdict is not None:
                return verdict
        if special and not plain:
            return None
        if not isinstance(seen, Object):
            return _differs(pointer, short(expected), seen)
        return _first(_at(join(pointer, key), wanted, get(seen, key, ABSENT)) for key, wanted in plain)
    if isinstance(expected, list):
        if not isinstance(seen, list):
            return _differs(pointer, short(expected), seen)
        if len(seen) != len(expected):
            return _differs(pointer, f"{len(expected)} elements {short(expected)}", seen)
        return _first(_at(join(pointer, str(i)), wanted, seen[i]) for i, wanted in enumerate(expected))
    return _demand(seen is not ABSENT and same(expected, seen), pointer, short(expected), seen)


def _first(verdicts: Any) -> Verdict:
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _special(pointer: str, name: str, argument: Json, seen: Any) -> Verdict:
    here = seen is not ABSENT
    if name == "$exact":
        holds = here and same(argument, seen)
    elif name == "$any":
        holds = here
    elif name == "$absent":
        holds = not here
    elif name == "$match":
        pattern, text = as_text(argument), as_text(seen) if here else None
        holds = pattern is not None and text is not None and re.search(pattern, text) is not None
    elif name == "$type":
        holds = here and is_type(seen, str(argument))
    elif name == "$len":
        length = len(seen.members) if isinstance(seen, Object) else _length(seen)
        holds = length is not None and same(argument, count(length))
    elif name == "$oneOf":
        holds = any(_at(pointer, wanted, seen) is None for wanted in items(argument))
    elif name == "$contains":
        holds = isinstance(seen, list) and any(check(argument, item) is None for item in seen)
    else:
        holds = _at(pointer, argument, seen) is not None
    return _demand(holds, pointer, f'{{"{name}":{short(argument)}}}', seen)


def is_type(seen: Json, name: str) -> bool:
    if name == "integer" and isinstance(seen, Number):
        return float(seen).is_integer()
    return type_name(seen) == name


def _length(seen: Any) -> Optional[int]:
    if isinstance(seen, list) or (isinstance(seen, str) and not isinstance(seen, Number)):
        return len(seen)
    return None


def _demand(holds: bool, pointer: str, expected: str, seen: Any) -> Verdict:
    return None if holds else _differs(pointer, expected, seen)


def _differs(pointer: str, expected: str, seen: Any) -> str:
    place = f"at {pointer} " if pointer else ""
    return f"{place}expected {expected}, saw {'nothing' if seen is ABSENT else short(seen)}"


def join(pointer: str, segment: str) -> str:
    return f"{pointer}/{segment.replace('~', '~0').replace('/', '~1')}"


def _list(seen: List[Json]) -> str:
    names = [short(get(item, "type", item)) for item in seen]
    return f"{len(seen)} elements [{', '.join(names)}]"
