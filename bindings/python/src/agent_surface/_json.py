"""JSON as the library takes and gives it: strict, compact, and with the types people put into results."""
from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import json.encoder
import uuid
from collections.abc import Mapping, Set
from typing import Any, Callable, Dict, Tuple, Union

# What the library writes has no space around it, so the scanner alone reads it.
_scan: Callable[[str, int], Tuple[Any, int]] = getattr(json.JSONDecoder(), "scan_once")


def loads(document: Union[str, bytes]) -> Any:
    """A document of the library."""
    text = document if isinstance(document, str) else document.decode("utf-8")
    return _scan(text, 0)[0]


def plain(value: Any) -> Any:
    """What stands for a value that is no JSON: one level, since the encoder comes back for what is inside."""
    if issubclass(type(value), Set):
        return sorted(value, key=repr)  # in an order that is the same in every run
    if issubclass(type(value), Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    dump = getattr(value, "model_dump", None)  # pydantic, where it is there
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"a {type(value).__name__} is no JSON; return a dict, list, dataclass, TypedDict or pydantic model")


def _encoder() -> Callable[[Any], str]:
    """`JSONEncoder.encode` with the C encoder made once; that one makes it anew for every document."""
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # another implementation of Python
        return encoder.encode
    strings = getattr(json.encoder, "encode_basestring")
    chunks = make(None, plain, strings, None, ":", ",", False, False, False)
    return lambda value: "".join(chunks(value, 0))


text = _encoder()


def dumps(value: Any) -> bytes:
    """The bytes of a value. Raises TypeError or ValueError for what no JSON can hold, NaN and lone surrogates included."""
    return text(value).encode("utf-8")


def without_none(**fields: Any) -> Dict[str, Any]:
    """The fields that were given."""
    return {name: value for name, value in fields.items() if value is not None}


def milliseconds(seconds: float) -> int:
    return int(round(seconds * 1000))
