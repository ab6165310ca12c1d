"""The toolset in Python, and the two provider loops as the documentation shows them."""
from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any, Dict

import pytest
from agent_surface import ArgumentError, Consumer, StaleHandleError, Surface
from conftest import HERE


def surface() -> Surface:
    made = Surface.testing()
    lights = made.component("lights", description="Lights")

    @lights.action(confirmation="optional")
    def switch(room: str, on: bool) -> bool:
        """Switch a light."""
        return on

    @lights.action(confirmation="required")
    async def burn() -> str:
        """Burn them."""
        return "burnt"

    return made


CALLS: Dict[str, Dict[str, Any]] = {
    "neutral": {"name": "view_lights__switch", "input": {"room": "hall", "on": False}, "toolCallId": "c1"},
    "openai": {"id": "c1", "type": "function", "function": {"name": "view_lights__switch", "arguments": '{"room": "hall", "on": false}'}},
    "anthropic": {"type": "tool_use", "id": "c1", "name": "view_lights__switch", "input": {"room": "hall", "on": False}},
    "gemini": {"functionCall": {"id": "c1", "name": "view_lights__switch", "args": {"room": "hall", "on": False}}},
}


@pytest.mark.parametrize("format", CALLS)
def test_a_providers_call_is_taken_as_it_comes(format: Any) -> None:
    """AS-ADAPTER-001."""
    with surface() as made, made.toolset(topology="embedded") as toolset:
        assert len(toolset.tools(format)) == 2
        result = toolset.call_sync(CALLS[format])
        assert result.output is False and result.invocation_id == "c1"
        assert "false" in json.dumps(toolset.render(result, format))


def test_a_named_call_and_one_with_the_clients_object() -> None:
    class Object:
        def model_dump(self, mode: str = "python") -> Dict[str, Any]:
            return CALLS["openai"]

    with surface() as made, made.toolset(topology="embedded", consumer=Consumer("m")) as toolset:
        assert toolset.info["topology"] == "embedded"
        assert asyncio.run(toolset.call("view_lights__switch", {"room": "a", "on": True}, id="x")).output is True
        assert asyncio.run(toolset.call(Object())).output is False
        with pytest.raises(TypeError):
            toolset.call_sync(CALLS["openai"], {"room": "a"})
        unknown = toolset.call_sync("nothing")
        assert unknown.error is not None and unknown.error.code == "CAPABILITY_NOT_FOUND"


def test_embedded_waits_for_the_person_and_remote_does_not() -> None:
    """AS-TOPO-001."""

    async def run() -> None:
        async with surface() as made:
            with made.toolset(topology="embedded") as waits, made.toolset(topology="remote") as tells:
                call = asyncio.ensure_future(waits.call("view_lights__burn"))
                await made.settle()  # type: ignore[attr-defined]
                made.confirmations.pending()[0].approve()
                assert (await call).output == "burnt"
                assert (await tells.call("view_lights__burn")).confirmation_id is not None

    asyncio.run(run())


def test_options_are_checked_and_a_closed_toolset_says_so() -> None:
    with surface() as made:
        with pytest.raises(ArgumentError):
            made.toolset()
        toolset = made.toolset(topology="remote", mode="meta")
        assert [tool["name"] for tool in toolset.tools()] == ["surface_discover", "surface_read", "surface_act"]
        toolset.close()
        toolset.close()
        with pytest.raises(StaleHandleError):
            toolset.call_sync("surface_discover")


@pytest.mark.parametrize("name", ["openai_loop", "anthropic_loop"])
def test_the_examples_run(name: str) -> None:
    done = subprocess.run([sys.executable, str(HERE.parent / "examples" / f"{name}.py")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "a person approves" in done.stdout
