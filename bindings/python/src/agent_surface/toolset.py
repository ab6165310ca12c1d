"""The catalog of one consumer as the tools of a language model, and the model's calls back to governed ones."""
from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Union, cast

from . import _json
from ._calls import awaited, refuse_on_loop
from ._mounts import Mounts
from ._native import abi
from .consumer import Consumer
from .errors import AgentSurfaceError
from .result import Result

# A tool's name, or a provider's call: a dict, or what its client library gives.
ToolCall = Union[str, Mapping[str, Any], Any]
Format = Literal["neutral", "openai", "anthropic", "gemini", "mcp"]


class Toolset:
    """Made by `Surface.toolset()`. Ends with `close()` or a `with` block; calls that wait for a person end then too."""

    def __init__(
        self,
        mounts: Mounts,
        *,
        consumer: Optional[Consumer] = None,
        mode: Literal["direct", "meta"] = "direct",
        topology: Optional[Literal["embedded", "remote"]] = None,
        confirmations: Optional[Literal["wait", "two-phase"]] = None,
        scope: Optional[Sequence[str]] = None,
        budget: Optional[Mapping[str, int]] = None,
        tool_call_ids: Literal["unique", "reused"] = "unique",
    ) -> None:
        self._mounts = mounts
        options = _json.without_none(
            consumer=consumer and consumer.document(), mode=mode, topology=topology, confirmations=confirmations,
            scope=list(scope) if scope is not None else None, budget=budget, toolCallIds=tool_call_ids,
        )  # fmt: skip
        self._handle = 0
        self._handle = abi.toolset_new(mounts.registry(), _json.dumps(options))

    def catalog(self, format: Format = "neutral") -> Dict[str, Any]:
        """`{tools, wireNameMap, loss}`: the tools in a provider's format, and what that format could not say."""
        self._mounts.registry()
        catalog: Dict[str, Any] = _json.loads(abi.toolset_tools(self._handle, format))
        return catalog

    def tools(self, format: Format = "neutral") -> List[Dict[str, Any]]:
        """The tools, to be handed to the provider's client."""
        return cast(List[Dict[str, Any]], self.catalog(format)["tools"])

    @property
    def info(self) -> Mapping[str, Any]:
        return cast(Mapping[str, Any], _json.loads(abi.toolset_info(self._handle)))

    async def call(self, call: ToolCall, input: Any = None, *, id: Optional[str] = None) -> Result:
        """Runs a model's tool call: the provider's own call as it came (a dict or an object of its client), or a tool's name
        with input and id. What a model gets wrong is in the result. With confirmations `wait` the result comes once the
        person has decided."""
        self._mounts.engine.enters()
        return await awaited(partial(abi.toolset_call, self._handle, _document(call, input, id)))

    def call_sync(self, call: ToolCall, input: Any = None, *, id: Optional[str] = None) -> Result:
        """The same on this thread."""
        refuse_on_loop()
        return Result(abi.toolset_call_wait(self._handle, _document(call, input, id)))

    def render(self, result: Union[Result, Mapping[str, Any]], format: Format = "neutral") -> Any:
        """A result as the provider wants to read it: the message that goes back to the model."""
        text = result.text.encode("utf-8") if isinstance(result, Result) else _json.dumps(result)
        return _json.loads(abi.toolset_render(self._handle, format, text))

    def close(self) -> None:
        """Ends it; a call afterwards raises StaleHandleError. Closing again is fine."""
        try:
            abi.toolset_free(self._handle)
        except AgentSurfaceError:  # freed before, or the parent's
            pass

    def __enter__(self) -> Toolset:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            self.close()


def _document(call: ToolCall, input: Any, id: Optional[str]) -> bytes:
    if isinstance(call, str):
        named: Dict[str, Any] = {"name": call, "input": {} if input is None else input}
        return _json.dumps({**named, **_json.without_none(toolCallId=id)})
    if input is not None or id is not None:
        raise TypeError("a provider's call has its input and id in it")
    return _json.dumps(call)
