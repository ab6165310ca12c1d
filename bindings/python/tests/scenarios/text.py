"""JSON as it is written. Numbers keep their text and objects their order, so that what a scenario says reaches the library
unchanged (an integer of thirty digits, a key that stands twice), which dicts and floats cannot promise."""
from __future__ import annotations

import json
from typing import Any, List, Optional, Tuple, Union


class Number(str):
    """A number by its text."""


class Object:
    """Members in their order."""

    def __init__(self, members: List[Tuple[str, Any]]) -> None:
        self.members = members

    def get(self, key: str, default: Any = None) -> Any:
        for name, value in self.members:
            if name == key:
                return value
        return default

    def has(self, key: str) -> bool:
        return any(name == key for name, _ in self.members)

    def keys(self) -> List[str]:
        return [name for name, _ in self.members]


Json = Union[None, bool, Number, str, List[Any], Object]
ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "nothing"})()


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def parse(text: str) -> Json:
    value: Json = json.loads(
        text, object_pairs_hook=Object, parse_int=Number, parse_float=Number, parse_constant=_constant
    )
    return value


def obj(**members: Any) -> Object:
    return Object(list(members.items()))


def count(number: int) -> Number:
    return Number(str(number))


def is_text(value: Json) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def as_text(value: Json) -> Optional[str]:
    return value if isinstance(value, str) and not isinstance(value, Number) else None


def as_int(value: Json) -> Optional[int]:
    if not isinstance(value, Number):
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if -(2**63) <= number < 2**63 else None


def as_index(value: Json) -> Optional[int]:
    number = as_int(value)
    return number if number is not None and number >= 0 else None


def get(value: Json, key: str, default: Any = None) -> Any:
    return value.get(key, default) if isinstance(value, Object) else default


def members(value: Json) -> List[Tuple[str, Any]]:
    return value.members if isinstance(value, Object) else []


def items(value: Json) -> List[Any]:
    return value if isinstance(value, list) else []


def child(value: Json, segment: str) -> Any:
    """A member of an object, or an element of an array by its number; ABSENT where there is none."""
    if isinstance(value, list):
        return value[int(segment)] if segment.isascii() and segment.isdigit() and int(segment) < len(value) else ABSENT
    return get(value, segment, ABSENT)


def same(a: Json, b: Json) -> bool:
    """The same value: numbers by what they are worth, objects whatever the order of their members."""
    if isinstance(a, Number) and isinstance(b, Number):
        return _same_number(a, b)
    if isinstance(a, Object) and isinstance(b, Object):
        return len(a.members) == len(b.members) and all(
            b.has(key) and same(value, b.get(key)) for key, value in a.members
        )
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Number) or isinstance(b, Number) or type(a) is not type(b):
        return False
    return a == b


def _worth(text: str) -> Union[int, float]:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _same_number(a: str, b: str) -> bool:
    return a == b or _worth(a) == _worth(b)  # Python compares an int with a float exactly


def write(value: Json) -> str:
    """Compact JSON text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    return "{" + ",".join(f"{_string(key)}:{write(item)}" for key, item in value.members) + "}"


_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n"}
_ESCAPES.update({c: f"\\u{c:04x}" for c in [*range(0x20), 0x7F] if c not in _ESCAPES})


def _string(text: str) -> str:
    return '"' + text.translate(_ESCAPES) + '"'


def type_name(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Number):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def data(value: Json) -> bytes:
    return write(value).encode("utf-8")
