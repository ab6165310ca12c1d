"""JSON schemas from type hints, and the way back from JSON to the hinted types.

Understood: `str int float bool None Any`, `list tuple set frozenset dict` and their abstract forms, `Optional` and `Union`,
`Literal`, `Enum`, `datetime`, `date`, `UUID`, dataclasses, `TypedDict`, pydantic models where pydantic is there, and
`Annotated` with a description (a string) and bounds (`Field(…)`, or the constraints of `annotated_types`). What the runtime's
schema subset cannot say is refused with a `TypeError` that names the hint.
"""
from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import sys
import types
import typing
import uuid
from typing import Annotated, Any, Callable, Dict, List, Literal, Mapping, Optional, Set, Tuple, Union, cast, get_args, get_origin

Schema = Dict[str, Any]
Decoder = Callable[[Any], Any]

_PLAIN: Dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    None: {"type": "null"},
    Any: {},
    object: {},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    uuid.UUID: {"type": "string", "format": "uuid"},
}
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNIONS: Tuple[Any, ...] = (Union, getattr(types, "UnionType", Union))

# What a constraint object calls it, and what JSON Schema calls it: for numbers, for texts, for lists.
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf"}
_LENGTHS = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems")}


@dataclasses.dataclass(frozen=True)
class Field:
    """Says more about a value, inside `Annotated[…]`: `Annotated[int, Field(ge=1, description="How many")]`."""

    description: Optional[str] = None
    ge: Optional[float] = None
    gt: Optional[float] = None
    le: Optional[float] = None
    lt: Optional[float] = None
    multiple_of: Optional[float] = None
    min_length: Optional[int] = None
    max_length: Optional[int] = None
    pattern: Optional[str] = None
    format: Optional[Literal["date-time", "date", "uuid", "email", "uri"]] = None
    examples: Optional[List[Any]] = None


def schema_of(hint: Any) -> Schema:
    """The schema of a hint. Raises TypeError for a hint that has none."""
    build = _Build()
    schema = build.schema(hint)
    return build.finish(schema)


def object_schema(properties: Mapping[str, Any], required: List[str], descriptions: Mapping[str, str]) -> Schema:
    """The schema of an object with these hints, and no others: the input of a function."""
    build = _Build()
    return build.finish(build.members(properties, required, descriptions))


def decoder(hint: Any) -> Optional[Decoder]:
    """Turns JSON that fits the schema of a hint into a value of it. None where JSON is that value already."""
    return _decoder(hint, ())


class _Build:
    """One schema with its `$defs`: a type that contains itself is defined there, everything else stands in place."""

    def __init__(self) -> None:
        self.definitions: Dict[str, Schema] = {}
        self._open: List[Any] = []
        self._recursive: List[Any] = []

    def finish(self, schema: Schema) -> Schema:
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def schema(self, hint: Any) -> Schema:
        hint = _resolved(hint)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return _annotated(self.schema(arguments[0]), arguments[1:])
        if origin is Literal:
            return _enumeration(list(arguments))
        if origin in _UNIONS:
            return self._union([self.schema(argument) for argument in arguments])
        if _is_enum(hint):
            return _enumeration([member.value for member in hint])
        kind: Any = origin or hint
        if kind in _LISTS:
            return self._list(kind, arguments)
        if kind in _SETS:
            return {"type": "array", "items": self.schema(arguments[0] if arguments else Any), "uniqueItems": True}
        if kind in _DICTS:
            if arguments and _resolved(arguments[0]) is not str:
                raise TypeError(f"{hint}: the keys of a JSON object are strings")
            return {"type": "object"}
        if _has_members(hint):
            return self._named(hint)
        if hasattr(hint, "model_json_schema"):
            return self._model(hint)
        try:
            return dict(_PLAIN[hint])
        except (KeyError, TypeError):
            raise TypeError(f"{hint!r} has no JSON schema; give one with input=… or output=…") from None

    def _union(self, options: List[Schema]) -> Schema:
        if all(set(option) == {"type"} and isinstance(option["type"], str) for option in options):
            return {"type": [option["type"] for option in options]}
        return {"anyOf": options}

    def _list(self, kind: Any, arguments: Tuple[Any, ...]) -> Schema:
        if kind is tuple and arguments and arguments[-1] is not Ellipsis:
            options = [self.schema(argument) for argument in arguments]
            alike = all(option == options[0] for option in options)
            items = options[0] if alike else {"anyOf": options}
            return {"type": "array", "items": items, "minItems": len(options), "maxItems": len(options)}
        return {"type": "array", "items": self.schema(arguments[0] if arguments else Any)}

    def _named(self, hint: Any) -> Schema:
        if hint in self._open or hint in self._recursive:
            if hint not in self._recursive:
                self._recursive.append(hint)
            return {"$ref": f"#/$defs/{hint.__name__}"}
        self._open.append(hint)
        members, required = _members(hint)
        schema = self.members(members, required, {})
        self._open.pop()
        if hint in self._recursive:
            self.definitions[hint.__name__] = schema
            return {"$ref": f"#/$defs/{hint.__name__}"}
        return schema

    def members(self, properties: Mapping[str, Any], required: List[str], descriptions: Mapping[str, str]) -> Schema:
        described = {}
        for name, hint in properties.items():
            described[name] = self.schema(hint)
            if name in descriptions and "description" not in described[name]:
                described[name]["description"] = descriptions[name]
        schema: Schema = {"type": "object", "properties": described, "additionalProperties": False}
        if required:
            schema["required"] = required
        return schema

    def _model(self, hint: Any) -> Schema:
        schema = _subset(hint.model_json_schema())
        for name, definition in schema.pop("$defs", {}).items():
            if self.definitions.setdefault(name, definition) != definition:
                raise TypeError(f"two different models are called {name}; rename one of them")
        return cast(Schema, schema)


def _resolved(hint: Any) -> Any:
    """A hint without its wrappers: `NewType`, `Required`, `Final` and the like."""
    while True:
        if hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif getattr(get_origin(hint), "_name", None) in ("Required", "NotRequired", "ReadOnly"):
            hint = get_args(hint)[0]
        elif isinstance(hint, typing.TypeVar):
            hint = hint.__bound__ or Any
        else:
            return hint


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, enum.Enum)


def _enumeration(values: List[Any]) -> Schema:
    values = [value.value if isinstance(value, enum.Enum) else value for value in values]
    types_: Set[Any] = {type(value) for value in values}
    schema: Schema = {"enum": values}
    if len(types_) == 1 and types_ <= {str, int, bool}:
        schema = {**_PLAIN[types_.pop()], **schema}
    return schema


def _annotated(schema: Schema, notes: Tuple[Any, ...]) -> Schema:
    schema = dict(schema)
    for note in notes:
        if isinstance(note, str):
            schema["description"] = note
            continue
        documentation = getattr(note, "documentation", None)  # typing_extensions.Doc
        if isinstance(documentation, str):
            schema["description"] = documentation
        _constrain(schema, note)
        for inner in getattr(note, "metadata", None) or ():  # pydantic.Field keeps its bounds there
            _constrain(schema, inner)
    return schema


def _constrain(schema: Schema, note: Any) -> None:
    for name, keyword in _BOUNDS.items():
        if getattr(note, name, None) is not None:
            schema[keyword] = getattr(note, name)
    shortest, longest = _LENGTHS.get(str(schema.get("type")), ("minLength", "maxLength"))
    for name, keyword in (("min_length", shortest), ("max_length", longest)):
        if getattr(note, name, None) is not None:
            schema[keyword] = getattr(note, name)
    for name in ("description", "pattern", "format", "examples"):
        value = getattr(note, name, None)
        if isinstance(value, (str, list)):
            schema[name] = value


def _has_members(hint: Any) -> bool:
    return (dataclasses.is_dataclass(hint) and not hasattr(hint, "model_json_schema")) or typing_is_typed_dict(hint)


def typing_is_typed_dict(hint: Any) -> bool:
    return hasattr(hint, "__total__") and isinstance(hint, type) and issubclass(hint, dict)


def hints_of(thing: Any) -> Dict[str, Any]:
    """The hints of a function or class with their `Annotated` notes, names in strings resolved."""
    return typing.get_type_hints(thing, include_extras=True)


def _members(hint: Any) -> Tuple[Dict[str, Any], List[str]]:
    hints = hints_of(hint)
    if typing_is_typed_dict(hint):
        optional = {name for name, inner in hints.items() if getattr(get_origin(inner), "_name", None) == "NotRequired"}
        required = hint.__required_keys__ - optional
        return hints, [name for name in hints if name in required]
    members: Dict[str, Any] = {}
    required_names: List[str] = []
    for field in dataclasses.fields(hint):
        if field.init:
            members[field.name] = hints[field.name]
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                required_names.append(field.name)
    return members, required_names


_KEYWORDS = {
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
    "uniqueItems", "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "anyOf", "description", "default", "examples", "title", "deprecated", "$defs", "$ref",
}  # fmt: skip
_FORMATS = {"date-time", "date", "uuid", "email", "uri"}


def _subset(schema: Any) -> Any:
    """A model's schema within the runtime's subset. The model itself still checks what is left out when it is decoded."""
    if not isinstance(schema, dict):
        return schema
    kept: Schema = {}
    for keyword, value in cast(Schema, schema).items():
        if keyword in ("properties", "$defs"):
            kept[keyword] = {name: _subset(member) for name, member in value.items()}
        elif keyword == "additionalProperties":
            kept[keyword] = value if isinstance(value, bool) else True
        elif keyword == "oneOf":
            kept["anyOf"] = [_subset(option) for option in value]
        elif keyword == "anyOf":
            kept[keyword] = [_subset(option) for option in value]
        elif keyword == "items":
            kept[keyword] = _subset(value)
        elif keyword == "format":
            kept.update({keyword: value} if value in _FORMATS else {})
        elif keyword in _KEYWORDS and keyword != "title":
            kept[keyword] = value
    return kept


# ---- the way back


def _decoder(hint: Any, open_: Tuple[Any, ...]) -> Optional[Decoder]:
    hint = _resolved(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _decoder(arguments[0], open_)
    if origin in _UNIONS:
        return _union_decoder(arguments, open_)
    if _is_enum(hint):
        return cast(Decoder, hint)
    if hint is datetime.datetime:
        return _datetime
    if hint is datetime.date:
        return datetime.date.fromisoformat
    if hint is uuid.UUID:
        return uuid.UUID
    if hint is float:
        return float  # JSON's 1 is a number too
    kind: Any = origin or hint
    if kind in _LISTS or kind in _SETS:
        return _list_decoder(kind, arguments, open_)
    if kind in _DICTS and len(arguments) == 2:
        inner = _decoder(arguments[1], open_)
        return (lambda value: {key: inner(item) for key, item in value.items()}) if inner else None
    if _has_members(hint):
        return _members_decoder(hint, open_)
    if hasattr(hint, "model_validate"):
        return cast(Decoder, hint.model_validate)
    return None


def _datetime(text: str) -> datetime.datetime:
    if sys.version_info < (3, 11) and text.endswith(("Z", "z")):
        text = text[:-1] + "+00:00"
    return datetime.datetime.fromisoformat(text)


def _list_decoder(kind: Any, arguments: Tuple[Any, ...], open_: Tuple[Any, ...]) -> Optional[Decoder]:
    build: Optional[Decoder] = None
    if kind in _SETS:
        build = frozenset if kind in (frozenset, collections.abc.Set) else set
    elif kind is tuple:
        build = tuple
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        each = [_decoder(argument, open_) for argument in arguments]
        return lambda value: tuple(inner(item) if inner else item for inner, item in zip(each, value))
    inner = _decoder(arguments[0], open_) if arguments else None
    if inner is None:
        return build
    make: Any = build or list
    decode = inner
    return lambda value: make(decode(item) for item in value)


def _same(value: Any) -> Any:
    return value


def _members_decoder(hint: Any, open_: Tuple[Any, ...]) -> Optional[Decoder]:
    if hint in open_:  # a type that contains itself: its decoder is made when it is needed
        return lambda value: (_decoder(hint, ()) or _same)(value)
    members, _ = _members(hint)
    each = {name: inner for name, inner in ((n, _decoder(h, (*open_, hint))) for n, h in members.items()) if inner}
    typed_dict = typing_is_typed_dict(hint)
    if typed_dict and not each:
        return None

    def decode(value: Dict[str, Any]) -> Any:
        decoded = {name: each[name](item) if name in each else item for name, item in value.items()}
        return decoded if typed_dict else hint(**decoded)

    return decode


def _union_decoder(options: Tuple[Any, ...], open_: Tuple[Any, ...]) -> Optional[Decoder]:
    """Takes the first option that the JSON fits; what is JSON already comes last."""
    decoders = [(option, _decoder(option, open_)) for option in options]
    if not any(decode for _, decode in decoders):
        return None
    takes_null = any(option in (None, type(None)) for option in options)
    plain = [option for option, decode in decoders if decode is None and option not in (None, type(None))]

    def decode(value: Any) -> Any:
        if value is None and takes_null:
            return None
        if any(isinstance(value, option) for option in plain if isinstance(option, type)):
            return value
        for _, inner in decoders:
            if inner is not None:
                try:
                    return inner(value)
                except (TypeError, ValueError, AttributeError, KeyError):
                    continue
        return value

    return decode
