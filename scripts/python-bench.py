"""What a governed call costs from Python, beside what two tool frameworks cost without governing anything. All in one run.

A no-op that takes one integer, a sync and an async one of each, timed in turns after a warm-up; the lower quartile
of the turns, since whatever else a machine does only adds. What is not installed is left out, and said so. `--readme` puts the table where README.md keeps it.
"""
from __future__ import annotations

import asyncio
import pathlib
import re
import statistics
import sys
import time
from typing import Any, Awaitable, Callable, Dict, List

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"
ROUNDS = 40
CALLS = 200
WARM_UP = 20

loop = asyncio.new_event_loop()
# By name: makes so many calls, and answers how many seconds one took.
Turns = Dict[str, Callable[[int], float]]

OURS, OURS_ASYNC = "agent-surface: sync action, `invoke_sync`", "agent-surface: async action, `await invoke`"
OPENAI, OPENAI_ASYNC = "openai-agents: sync function tool", "openai-agents: async function tool"
MCP, MCP_ASYNC = "mcp: sync tool, server call", "mcp: async tool, server call"
TO_REACH = [(OURS, OPENAI, 5.0), (OURS, MCP, 10.0), (OURS_ASYNC, OPENAI, 2.0)]


def _sync(n: int) -> str:
    return "ok"


async def _async(n: int) -> str:
    return "ok"


def called(call: Callable[[], Any]) -> Callable[[int], float]:
    def turn(calls: int) -> float:
        for _ in range(WARM_UP):
            call()
        began = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - began) / calls

    return turn


def awaited(call: Callable[[], Awaitable[Any]]) -> Callable[[int], float]:
    async def turn(calls: int) -> float:
        for _ in range(WARM_UP):
            await call()
        began = time.perf_counter()
        for _ in range(calls):
            await call()
        return (time.perf_counter() - began) / calls

    return lambda calls: loop.run_until_complete(turn(calls))


def ours() -> Turns:
    from agent_surface import Surface, rate_limit

    surface, limited = Surface(), Surface(policies=[rate_limit(1_000_000, per=60)])
    for each in (surface, limited):
        component = each.component("bench", description="Bench")
        component.action("sync")(_sync)
        component.action("async")(_async)
    assert surface.invoke_sync("view:bench.sync", {"n": 1}).output == "ok"
    return {
        OURS: called(lambda: surface.invoke_sync("view:bench.sync", {"n": 1}).ok),
        "the same under a rate limit": called(lambda: limited.invoke_sync("view:bench.sync", {"n": 1}).ok),
        OURS_ASYNC: awaited(lambda: surface.invoke("view:bench.async", {"n": 1})),
        "agent-surface: sync action, `await invoke` (on a thread)": awaited(lambda: surface.invoke("view:bench.sync", {"n": 1})),
    }


def openai_agents() -> Turns:
    from agents import function_tool
    from agents.tool_context import ToolContext

    turns: Turns = {}
    for name, function in ((OPENAI, _sync), (OPENAI_ASYNC, _async)):
        tool = function_tool(function)
        context: Any = ToolContext(context=None, tool_name=tool.name, tool_call_id="c", tool_arguments='{"n": 1}')
        assert loop.run_until_complete(tool.on_invoke_tool(context, '{"n": 1}')) == "ok"
        turns[name] = awaited(lambda tool=tool, context=context: tool.on_invoke_tool(context, '{"n": 1}'))
    return turns


def mcp() -> Turns:
    try:
        from mcp.server.mcpserver import MCPServer as Server  # 2.x
    except ImportError:
        from mcp.server.fastmcp import FastMCP as Server  # type: ignore[no-redef]

    server = Server("bench")
    server.tool("sync")(_sync)
    server.tool("async")(_async)
    return {
        MCP: awaited(lambda: server.call_tool("sync", {"n": 1})),
        MCP_ASYNC: awaited(lambda: server.call_tool("async", {"n": 1})),
    }


def table(typical: Dict[str, float]) -> List[str]:
    version = ".".join(map(str, sys.version_info[:2]))
    lines = [f"| one call of a no-op, Python {version} | lower quartile | compared, in one run | to reach |", "|---|---:|---:|---|"]
    for name, seconds in typical.items():
        compared = [(typical[other] / seconds, other, least) for mine, other, least in TO_REACH if mine == name and other in typical]
        ratios = "<br>".join(f"{ratio:.1f}× as fast as {other}" for ratio, other, _ in compared)
        targets = "<br>".join(f"≥ {least:.0f}×" + (" **missed**" if ratio < least else "") for ratio, _, least in compared)
        lines.append(f"| {name} | {seconds * 1e6:.1f} µs | {ratios} | {targets} |")
    return lines


def main() -> int:
    turns = ours()
    for others in (openai_agents, mcp):
        try:
            turns.update(others())
        except ImportError as why:
            print(f"NOT MEASURED: {others.__name__} is not installed ({why})", file=sys.stderr)
    took: Dict[str, List[float]] = {name: [] for name in turns}
    for _ in range(ROUNDS):
        for name, turn in turns.items():
            took[name].append(turn(CALLS))
    lines = table({name: statistics.quantiles(samples)[0] for name, samples in took.items()})
    print("\n".join(lines))
    if "--readme" in sys.argv:
        text = README.read_text(encoding="utf-8")
        kept = re.sub(r"(<!-- bench-python -->\n).*?(<!-- bench-python -->)", lambda m: m[1] + "\n".join(lines) + "\n" + m[2], text, flags=re.S)
        README.write_text(kept, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
