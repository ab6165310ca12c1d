"""`agent-surface replay`: every call of a transcript through the surface, a person where one is due, and what came of it."""
from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import pathlib
import time
from typing import Any, Dict, List, Optional

from ..confirmation import Confirmation
from ..result import Result
from ..surface import Surface
from ..verify import verify
from . import app, html, timeline
from .console import Console
from .transcript import Call, Person, Step, read, resolve


@dataclasses.dataclass
class Approval:
    """A person's part of a call, in seconds since the replay began."""

    summary: str
    asked: float
    decided: float
    outcome: str
    by: Optional[str]


@dataclasses.dataclass
class Played:
    """A call as it went, in seconds since the replay began."""

    number: int
    consumer: str
    capability: str
    input: Any
    began: float
    ended: float = 0.0
    queued_ms: int = 0
    result: Optional[Result] = None
    again: Optional[str] = None
    approval: Optional[Approval] = None
    verified: bool = False


class Replay:
    def __init__(self, surface: Surface, console: Console, approve: str) -> None:
        self.surface, self.console, self.approve = surface, console, approve
        self.played: List[Played] = []
        self._began = time.perf_counter()
        self._audited = 0
        self._ids = 0

    def now(self) -> float:
        return time.perf_counter() - self._began

    async def run(self, steps: List[Step]) -> None:
        for step in self.console.progress(steps, len(steps), "replaying"):
            if step.say:
                self.console.say(f"\n── {step.say}", "heading")
            played = await asyncio.gather(*(self.call(call) for call in step.calls))
            self._note_audit(played)
            for one in played:
                self._tell(one)

    async def call(self, call: Call) -> Played:
        snapshot = self.surface.snapshot(consumer=call.consumer) if ":" not in call.capability else {}
        capability = resolve(call.capability, snapshot)
        self._ids += 1
        id = call.id or f"replay-{self._ids}"
        consumer = call.consumer.key if call.consumer else "embedded:anonymous"
        played = Played(len(self.played) + 1, consumer, capability, call.input, self.now())
        self.played.append(played)
        result = await self.surface.invoke(capability, call.input, consumer=call.consumer, invocation_id=id)
        pending = result.confirmation_id
        if pending is not None:
            played.approval = await self._decide(pending, call.person)
            result = await self.surface.retry(result, call.input, consumer=call.consumer)
        played.result, played.ended = result, self.now()
        given = {} if call.input is None else {"input": call.input}
        played.verified = verify(result, capability, invocation_id=id, **given).valid
        return played

    async def _decide(self, id: str, recorded: Optional[Person]) -> Optional[Approval]:
        waiting = next((one for one in self.surface.confirmations.pending() if one.id == id), None)
        if waiting is None:  # decided by the application itself
            return None
        asked = self.now()
        person = self._person(waiting, recorded)
        if person.approve:
            waiting.approve(approver=person.by)
        else:
            waiting.deny(reason=person.reason, approver=person.by)
        return Approval(waiting.summary, asked, self.now(), "approved" if person.approve else "denied", person.by)

    def _person(self, waiting: Confirmation, recorded: Optional[Person]) -> Person:
        if self.approve == "ask":
            question = f"          {waiting.consumer_key} asks: {waiting.summary}\n          will run: {_short(waiting.input)}"
            return Person(self.console.ask(question) in ("y", "yes"), "you")
        if self.approve == "recorded":
            return recorded or Person(False, reason="The recording holds no approval.")
        return Person(self.approve == "all", f"--approve {self.approve}")

    def _note_audit(self, played: List[Played]) -> None:
        """What the audit knows of these calls: time in the queue, and whether they were joined or replayed."""
        entries = self.surface.audit_entries(self._audited)
        for entry in entries:
            self._audited = entry["seq"]
            same = [one for one in played if one.result is not None and one.result.invocation_id == entry.get("invocationId")]
            if entry["type"] == "invocation-settled":
                for one in same:
                    one.queued_ms = max(one.queued_ms, int(entry.get("queueWaitMs", 0)))
            elif entry["type"] in ("invocation-joined", "invocation-replayed"):
                # The first of several is the one that ran.
                joiner = next((one for one in reversed(same) if one.again is None), None)
                if joiner is not None:
                    joiner.again = entry["type"][len("invocation-") :]

    def _tell(self, one: Played) -> None:
        say, result = self.console.say, one.result
        assert result is not None
        say(f"{one.number:4}  {one.consumer.split(':', 1)[1]} → {one.capability}  {_short(one.input)}")
        if one.approval is not None:
            say(f"      asks      {one.approval.summary}", "asks")
            by = f" by {one.approval.by}" if one.approval.by else ""
            say(f"      decision  {one.approval.outcome}{by}", "asks")
        if one.again:
            say(f"      {one.again:9} answered without running again", "note")
        if result.ok:
            say(f"      ok        {_short(result.output)}", "ok")
        else:
            error = result.error
            assert error is not None
            say(f"      refused   {error.code} (retry: {error.retry})", "failed")
            say(f"                {error.message}", "note")


def _short(value: Any, most: int = 100) -> str:
    text = "" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


def summary(played: List[Played]) -> Dict[str, int]:
    """The counts at the end."""
    codes = [one.result.error.code for one in played if one.result is not None and one.result.error is not None]
    return {
        "calls": len(played),
        "ok": sum(1 for one in played if one.result is not None and one.result.ok),
        "refused": len(codes),
        "approved": sum(1 for one in played if one.approval is not None and one.approval.outcome == "approved"),
        "denied": sum(1 for one in played if one.approval is not None and one.approval.outcome == "denied"),
        "replayed": sum(1 for one in played if one.again is not None),
        "conflicts": codes.count("INVOCATION_CONFLICT"),
        "verified": sum(1 for one in played if one.verified),
    }


def _write_log(path: str, played: List[Played]) -> None:
    with pathlib.Path(path).open("w", encoding="utf-8") as log:
        for one in played:
            assert one.result is not None
            request: Dict[str, Any] = {"capabilityId": one.capability, "invocationId": one.result.invocation_id}
            if one.input is not None:
                request["input"] = one.input
            request_text = json.dumps(request, ensure_ascii=False)
            log.write(f'{{"request":{request_text},"result":{one.result.text}}}\n')


def command(chosen: argparse.Namespace) -> int:
    console = Console()
    steps = read(chosen.transcript)
    surface = app.load(chosen.app)
    replay = Replay(surface, console, chosen.approve or ("ask" if console.interactive else "recorded"))

    async def play() -> None:
        async with surface:
            await replay.run(steps)

    asyncio.run(play())
    counts = summary(replay.played)
    console.say("\n── Timeline", "heading")
    for line in timeline.lines(replay.played):
        console.say(line)
    console.say("\n── Verification", "heading")
    console.say(", ".join(f"{count} {name}" for name, count in counts.items()))
    wrong = [one for one in replay.played if not one.verified]
    for one in wrong:
        console.say(f"call {one.number}: the result does not belong to its request", "failed")
    if not wrong:
        console.say("every result belongs to its request", "ok")
    if chosen.log:
        _write_log(chosen.log, replay.played)
        console.say(f"log: {chosen.log}")
    if chosen.html:
        page = html.page(pathlib.Path(chosen.transcript).name, replay.played, counts)
        pathlib.Path(chosen.html).write_text(page, encoding="utf-8")
        console.say(f"page: {chosen.html}")
    return 1 if wrong else 0
