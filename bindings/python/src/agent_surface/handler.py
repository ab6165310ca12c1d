"""A Python function as a handler: its schemas from its hints, its arguments from the input, its value to the output."""
from __future__ import annotations

import functools
import inspect
import re
from typing import Annotated, Any, Callable, Dict, List, Mapping, Optional, Tuple, get_args, get_origin

from . import _json, schema
from ._engine import Engine
from ._native import abi
from ._native.codes import AS_E_LATE
from ._native.symbols import lib
from ._native.thunks import BLIND, INLINE
from .context import Context
from .errors import Failure
from .schema import Decoder, Schema

Function = Callable[..., Any]


class Handler:
    """What a decorated function becomes. Calling it is calling the function: decorating changes nothing for Python."""

    def __init__(self, function: Function, input: Optional[Schema] = None, output: Optional[Schema] = None) -> None:
        self.function = function
        self.is_async = _is_async(function)
        hints = _hints(function)
        parameters = _parameters(function)
        self._context = next((name for name in parameters if _is_context(hints.get(name))), None)
        fields = {name: p for name, p in parameters.items() if name != self._context}
        description, described = read_docstring(function)
        self.description = description
        self._whole = input is not None
        self.input: Schema
        self._decoders: List[Tuple[str, Decoder]] = []
        if input is not None:
            self._whole_name = _only_name(function, fields)
            self.input = input
        else:
            self.input = _input_schema(fields, hints, described)
            each = ((name, schema.decoder(hints[name])) for name in fields if name in hints)
            self._decoders = [(name, decode) for name, decode in each if decode is not None]
        returned = hints.get("return", Any)
        self.output = output if output is not None else _output_schema(returned)
        self.takes_input = bool(fields)
        self._answers = self.output is not None

    def target(self, engine: Engine) -> Dict[str, Callable[..., None]]:
        """The slots of a binding."""
        run = functools.partial(self.run, engine)
        if self.is_async:
            return {"handler": run, INLINE: run}
        return {"handler": run} if self._context is not None else {"handler": run, BLIND: run}

    def run(self, engine: Engine, reply: int, context: bytes, input: bytes) -> None:
        """Serves one call; on the thread of the library, which answers for whatever is raised here."""
        try:
            arguments = self._arguments(reply, context, input)
            if self.is_async:
                work = functools.partial(self.function, **arguments)
                engine.defer(reply, work, self._reply, context)
                return
            value = self.function(**arguments)
        except Failure as why:
            engine.fail(reply, why)
            return
        if inspect.iscoroutine(value):  # of a plain function that hands one out
            engine.defer(reply, lambda: value, self._reply, context)
        else:
            self._reply(engine, reply, value)

    def _reply(self, engine: Engine, reply: int, value: Any) -> None:
        document = b"" if value is None and not self._answers else _json.dumps(value)
        if lib.as_reply_json(reply, document, len(document)) == AS_E_LATE:
            engine.came_late()

    def _arguments(self, reply: int, context: bytes, input: bytes) -> Dict[str, Any]:
        given: Dict[str, Any] = _json.loads(input) if input else {}
        if self._whole:
            given = {self._whole_name: given}
        for name, decode in self._decoders:
            if name in given:
                given[name] = _decoded(name, decode, given[name])
        if self._context is not None:
            given[self._context] = Context(context, reply)
        return given


def _decoded(name: str, decode: Decoder, value: Any) -> Any:
    try:
        return decode(value)
    except Exception as why:  # pydantic's own, for instance: the schema could not say all that the type demands
        raise Failure(
            "PRECONDITION_FAILED", f"Correct the value of `{name}`: it is not what this capability takes.",
            retry="with-changes", details={"reason": "value", "path": f"/{name}"},
        ) from why  # fmt: skip


def _is_async(function: Function) -> bool:
    call = getattr(function, "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _hints(function: Function) -> Dict[str, Any]:
    call: Any = getattr(type(function), "__call__")
    target = function if inspect.isroutine(function) else getattr(function, "func", call)
    try:
        return schema.hints_of(target)
    except NameError as why:
        raise TypeError(f"{_name(function)}: the hint {why.name if hasattr(why, 'name') else why} cannot be resolved") from why


def _parameters(function: Function) -> Dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{_name(function)}: `{name}` must be a parameter that can be given by its name")
    return dict(parameters)


def _is_context(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return isinstance(hint, type) and issubclass(hint, Context)


def _only_name(function: Function, fields: Mapping[str, Any]) -> str:
    if len(fields) != 1:
        raise TypeError(f"{_name(function)}: with input=… the function takes one argument, the whole input")
    return next(iter(fields))


def _input_schema(fields: Mapping[str, inspect.Parameter], hints: Mapping[str, Any], described: Mapping[str, str]) -> Schema:
    required = [name for name, p in fields.items() if p.default is p.empty]
    properties = {name: hints.get(name, Any) for name in fields}
    built = schema.object_schema(properties, required, described)
    for name, parameter in fields.items():
        member = built["properties"][name]
        if parameter.default is not parameter.empty and parameter.default is not None and "$ref" not in member:
            try:
                member["default"] = _json.loads(_json.dumps(parameter.default))
            except (TypeError, ValueError):
                pass  # a default that is no JSON is Python's affair
    return built


def _output_schema(returned: Any) -> Optional[Schema]:
    """None where the function says nothing, or says that it returns nothing."""
    if returned in (Any, None, type(None)):
        return None
    return schema.schema_of(returned)


def _name(function: Function) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


# ---- docstrings

_PARAMETER = re.compile(r"^\s*(?::param\s+)?(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")


def read_docstring(function: Function) -> Tuple[Optional[str], Dict[str, str]]:
    """The first paragraph, and what `Args:` or `:param x:` say of the parameters."""
    text = inspect.getdoc(function)
    if not text or text == inspect.getdoc(type(function)):
        return None, {}
    paragraph = re.split(r"\n\s*\n|\n\s*:param|\n\s*Args:", text.strip(), maxsplit=1)[0]
    return " ".join(paragraph.split()), _described(text.splitlines())


def _described(lines: List[str]) -> Dict[str, str]:
    described: Dict[str, str] = {}
    inside, last = False, ""
    for line in lines:
        if line.strip() in ("Args:", "Arguments:", "Parameters:"):
            inside = True
            continue
        if inside and line.strip() and not line.startswith((" ", "\t")):
            inside = False
        matched = _PARAMETER.match(line) if inside or line.lstrip().startswith(":param") else None
        if matched:
            last = matched.group(1)
            described[last] = matched.group(2).strip()
        elif inside and last and line.strip():
            described[last] += " " + line.strip()
    return described


def reply_value(reply: int, value: Any) -> None:
    """Answers a hook with a JSON value."""
    abi.reply_json(reply, _json.dumps(value))


def hook_of(function: Function) -> Callable[[Any], Any]:
    """A hook as a function of its context, also where it does not care for one."""
    try:
        takes_context = bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a built-in without a signature
        takes_context = False
    return function if takes_context else lambda _: function()
