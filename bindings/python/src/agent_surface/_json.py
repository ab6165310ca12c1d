"""JSON as the library takes and gives it: strict, compact, and with the types people put into results."""
from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import uuid
from collections.abc import Mapping, Set
from typing import Any, Dict

loads = json.loads


def plain(value: Any) -> Any:
    """What stands for a value that is no JSON: one level, since the encoder comes back for what is inside."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Set):
        return sorted(value, key=repr)  # in an order that is the same in every run
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)  # pydantic, where it is there
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"a {type(value).__name__} is no JSON; return a dict, list, dataclass, TypedDict or pydantic model")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)


def text(value: Any) -> str:
    return _ENCODER.encode(value)


def dumps(value: Any) -> bytes:
    """The bytes of a value. Raises TypeError or ValueError for what no JSON can hold, NaN and lone surrogates included."""
    return _ENCODER.encode(value).encode("utf-8")


def without_none(**fields: Any) -> Dict[str, Any]:
    """The fields that were given."""
    return {name: value for name, value in fields.items() if value is not None}


def milliseconds(seconds: float) -> int:
    return int(round(seconds * 1000))
