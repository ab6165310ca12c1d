"""What a governed call costs from Python, beside what two tool frameworks cost without governing anything. All in one run.

A no-op that takes one integer: a sync and an async one of each. The best of several rounds, in microseconds a call. What is not
installed is left out.
"""
from __future__ import annotations

import asyncio
import gc
import sys
import time
from typing import Any, Awaitable, Callable, Dict, List, Optional, Tuple

ROUNDS = 7
CALLS = 2_000


def best(call: Callable[[], Any]) -> float:
    return min(_timed(call) for _ in range(ROUNDS))


def _timed(call: Callable[[], Any]) -> float:
    gc.collect()
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - began) / CALLS * 1e6


async def best_async(call: Callable[[], Awaitable[Any]]) -> float:
    lowest = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        began = time.perf_counter()
        for _ in range(CALLS):
            await call()
        lowest = min(lowest, (time.perf_counter() - began) / CALLS * 1e6)
    return lowest


def ours() -> List[Tuple[str, float]]:
    from agent_surface import Surface, rate_limit

    surface = Surface()
    governed = Surface(policies=[rate_limit(1_000_000, per=60)])
    for each in (surface, governed):
        component = each.component("bench", description="Bench")
        component.action("sync")(_sync)
        component.action("async")(_async)
    rows = [
        ("agent-surface, sync action, invoke_sync", best(lambda: surface.invoke_sync("view:bench.sync", {"n": 1}))),
        ("the same with a rate limit", best(lambda: governed.invoke_sync("view:bench.sync", {"n": 1}))),
    ]

    async def on_loop() -> None:
        rows.append(("agent-surface, async action, await invoke", await best_async(lambda: surface.invoke("view:bench.async", {"n": 1}))))
        rows.append(("agent-surface, sync action, await invoke", await best_async(lambda: surface.invoke("view:bench.sync", {"n": 1}))))

    asyncio.run(on_loop())
    surface.close()
    governed.close()
    return rows


def _sync(n: int) -> str:
    return "ok"


async def _async(n: int) -> str:
    return "ok"


def openai_agents() -> Optional[List[Tuple[str, float]]]:
    try:
        from agents import function_tool
        from agents.tool_context import ToolContext
    except ImportError:
        return None

    async def run() -> List[Tuple[str, float]]:
        rows = []
        for word, function in (("sync", _sync), ("async", _async)):
            tool = function_tool(function)
            context: Any = ToolContext(context=None, tool_name=tool.name, tool_call_id="c", tool_arguments='{"n": 1}')
            assert await tool.on_invoke_tool(context, '{"n": 1}') == "ok"
            rows.append((f"openai-agents, {word} function tool", await best_async(lambda: tool.on_invoke_tool(context, '{"n": 1}'))))
        return rows

    return asyncio.run(run())


def mcp() -> Optional[List[Tuple[str, float]]]:
    try:
        from mcp.server.mcpserver import MCPServer as Server  # 2.x
    except ImportError:
        try:
            from mcp.server.fastmcp import FastMCP as Server  # type: ignore[no-redef]
        except ImportError:
            return None

    async def run() -> List[Tuple[str, float]]:
        server = Server("bench")
        server.tool("sync")(_sync)
        server.tool("async")(_async)
        return [
            (f"mcp, {word} tool, server.call_tool", await best_async(lambda: server.call_tool(word, {"n": 1}))) for word in ("sync", "async")
        ]

    return asyncio.run(run())


def main() -> int:
    rows = ours()
    for other in (openai_agents, mcp):
        measured = other()
        if measured is None:
            print(f"NOT MEASURED: {other.__name__} is not installed")
        rows += measured or []
    print("| one call of a no-op from Python | µs |\n|---|---:|")
    for name, microseconds in rows:
        print(f"| {name} | {microseconds:.1f} |")
    by_name: Dict[str, float] = dict(rows)
    mine, awaited = by_name["agent-surface, sync action, invoke_sync"], by_name["agent-surface, async action, await invoke"]
    for name, against, wanted in (
        ("openai-agents, sync function tool", mine, 5), ("mcp, sync tool, server.call_tool", mine, 10),
        ("openai-agents, sync function tool", awaited, 2),
    ):  # fmt: skip
        if name in by_name:
            kind = "sync" if against is mine else "async"
            print(f"{kind} action: {by_name[name] / against:.1f}× as fast as {name} (to reach: {wanted}×)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
