"""The tool loop of the OpenAI client (Chat Completions), with a scripted model in its place, so that it runs offline.

With the real one, `model` is `client.chat.completions.create` and nothing else changes.
"""
from __future__ import annotations

import asyncio
import json
from typing import Any, Dict, List

from agent_surface import Consumer

from house import person, state, surface


def scripted_model(messages: List[Dict[str, Any]], tools: List[Dict[str, Any]]) -> Dict[str, Any]:
    """What a model would answer: a message, with tool calls until it has what it needs."""
    turn = sum(message["role"] == "assistant" for message in messages)
    script = [
        {"id": "call_1", "type": "function", "function": {"name": "view_house__lights__whichAreOn", "arguments": "{}"}},
        {"id": "call_2", "type": "function", "function": {"name": "view_house__lights__switchOff", "arguments": '{"room": "hall"}'}},
    ]
    if turn < len(script):
        assert any(tool["function"]["name"] == script[turn]["function"]["name"] for tool in tools)  # type: ignore[index]
        return {"role": "assistant", "content": None, "tool_calls": [script[turn]]}
    return {"role": "assistant", "content": f"Done: {messages[-1]['content']}"}


async def main() -> None:
    async with surface:
        watching = asyncio.ensure_future(person())
        messages: List[Dict[str, Any]] = [{"role": "user", "content": "Switch the light in the hall off."}]
        with surface.toolset(consumer=Consumer("assistant"), topology="embedded") as toolset:
            while True:
                answer = scripted_model(messages, toolset.tools("openai"))
                messages.append(answer)
                if not answer.get("tool_calls"):
                    break
                for call in answer["tool_calls"]:
                    result = await toolset.call(call)
                    messages.append(toolset.render(result, "openai"))
        watching.cancel()
        for message in messages:
            print(json.dumps(message)[:160])
        assert state == {"kitchen": True, "hall": False}


if __name__ == "__main__":
    asyncio.run(main())
