"""The tool loop of the Anthropic client (Messages), with a scripted model in its place, so that it runs offline.

With the real one, `model` is `client.messages.create` and nothing else changes.
"""
from __future__ import annotations

import asyncio
import json
from typing import Any, Dict, List

from agent_surface import Consumer

from house import person, state, surface


def scripted_model(messages: List[Dict[str, Any]], tools: List[Dict[str, Any]]) -> Dict[str, Any]:
    """What a model would answer: a message, whose content asks for tools until it has what it needs."""
    turn = sum(message["role"] == "assistant" for message in messages)
    script: List[Dict[str, Any]] = [
        {"type": "tool_use", "id": "toolu_1", "name": "view_house__lights__whichAreOn", "input": {}},
        {"type": "tool_use", "id": "toolu_2", "name": "view_house__lights__switchOff", "input": {"room": "hall"}},
    ]
    if turn < len(script):
        assert any(tool["name"] == script[turn]["name"] for tool in tools)
        return {"role": "assistant", "content": [script[turn]], "stop_reason": "tool_use"}
    return {"role": "assistant", "content": [{"type": "text", "text": "The light in the hall is off."}], "stop_reason": "end_turn"}


async def main() -> None:
    async with surface:
        watching = asyncio.ensure_future(person())
        messages: List[Dict[str, Any]] = [{"role": "user", "content": "Switch the light in the hall off."}]
        with surface.toolset(consumer=Consumer("assistant"), topology="embedded") as toolset:
            while True:
                answer = scripted_model(messages, toolset.tools("anthropic"))
                messages.append({"role": "assistant", "content": answer["content"]})
                if answer["stop_reason"] != "tool_use":
                    break
                calls = [block for block in answer["content"] if block["type"] == "tool_use"]
                results = [toolset.render(await toolset.call(call), "anthropic") for call in calls]
                messages.append({"role": "user", "content": results})
        watching.cancel()
        for message in messages:
            print(json.dumps(message)[:160])
        assert state == {"kitchen": True, "hall": False}


if __name__ == "__main__":
    asyncio.run(main())
