"""The command, as a person types it."""
from __future__ import annotations

import html.parser
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import time
from typing import Any, Dict, List

import pytest
from conftest import HERE

DEMO = HERE.parent / "demo"


def command(*arguments: str, answers: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "agent_surface.cli", *arguments], capture_output=True, text=True, timeout=60, input=answers, cwd=DEMO
    )


def replay(*arguments: str, answers: str = "") -> "subprocess.CompletedProcess[str]":
    return command("replay", "desk.jsonl", "--app", "desk.py", *arguments, answers=answers)


def test_replay_tells_what_happened_and_verifies(tmp_path: pathlib.Path) -> None:
    log, page = tmp_path / "log.jsonl", tmp_path / "page.html"
    done = replay("--log", str(log), "--html", str(page))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "13 calls, 8 ok, 5 refused, 1 approved, 1 denied, 1 replayed, 1 conflicts, 13 verified" in done.stdout
    assert "every result belongs to its request" in done.stdout
    checked = command("verify", str(log))
    assert (checked.returncode, checked.stdout.strip()) == (0, "13 results checked, 0 wrong, 0 lines without one")
    text = page.read_text(encoding="utf-8")
    assert text.count("<details>") == 13
    assert not re.search(r"https?://|<script|<link|@import", text), "the page needs nothing else"
    assert Nesting.left_open(text) == []


class Nesting(html.parser.HTMLParser):
    """What is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: List[str] = []

    @staticmethod
    def left_open(page: str) -> List[str]:
        seen = Nesting()
        seen.feed(page)
        return seen.open

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_changed_result_is_found(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log.jsonl"
    replay("--log", str(log))
    lines = log.read_text(encoding="utf-8").splitlines()
    entry = json.loads(lines[4])
    entry["result"]["output"]["amount"] = 11
    lines[4] = json.dumps(entry)
    lines[5] = lines[5].replace('"capabilityId":', '"capabilityId": ').replace("o-18", "o-17", 1)
    lines.append("{not json")
    log.write_text("\n".join(lines), encoding="utf-8")
    done = command("verify", str(log))
    assert done.returncode == 1
    assert "line 5: outputDigest does not match" in done.stdout
    assert "line 6: issuedDigest does not match" in done.stdout
    assert "line 14: not JSON" in done.stdout


def test_a_torn_line_is_told_and_the_others_are_checked(tmp_path: pathlib.Path) -> None:
    """Half a line ends where it likes, within a character too, and is followed by whole ones; a text may hold any break."""
    log = tmp_path / "log.jsonl"
    replay("--log", str(log))
    lines = log.read_bytes().splitlines()
    lines[0] = lines[0][:40] + "\u00e9".encode()[:1]
    entry = json.loads(lines[1])
    entry["note"] = "one\u2028two\x85three"
    lines[1] = json.dumps(entry, ensure_ascii=False).encode("utf-8")
    lines += [b"[" * 100_000, b'{"type":"invocation-settled","payload":{"input":{}},"requestDigest":"x"}']
    lines.append(b'{"type":"invocation-settled","capabilityId":"\\ud800","payload":{"input":{}},"requestDigest":"x"}')
    log.write_bytes(b"\n".join(lines))
    done = command("verify", str(log))
    assert done.returncode == 1 and done.stderr == "", done.stderr
    told = [line.split(":")[0] + ":" + line.split(":")[1] for line in done.stdout.splitlines() if line.startswith("line")]
    assert told == ["line 1: not JSON, perhaps torn", "line 14: not JSON, perhaps torn",
                    "line 15: no entry of an audit", "line 16: no entry of an audit"], done.stdout
    assert "16 results checked, 4 wrong" in done.stdout


def test_a_person_at_the_terminal_is_asked() -> None:
    done = replay("--approve", "ask", answers="y\nno\n")
    assert "Refund 480 for order o-18" in done.stdout and "1 approved, 1 denied" in done.stdout
    assert "0 approved, 2 denied" in replay("--approve", "none").stdout


def at_a_terminal(arguments: List[str], question: bytes, answer: bytes) -> str:
    """What the command shows at a terminal where somebody answers each question."""
    import pty

    ours, its = pty.openpty()
    environment: Dict[str, str] = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    command = [sys.executable, "-m", "agent_surface.cli", *arguments]
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, cwd=DEMO, env=environment)
    os.close(its)
    shown, answered, until = b"", 0, time.monotonic() + 60
    try:
        while time.monotonic() < until:
            if select.select([ours], [], [], 1)[0]:
                try:
                    shown += os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
                while shown.count(question) > answered:
                    answered += 1
                    os.write(ours, answer)
    finally:
        os.close(ours)  # whoever still waits for an answer gets the end of the terminal instead
        assert process.wait(30) == 0, shown[-3000:]
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode("utf-8"))


def test_the_question_is_seen_under_a_progress_bar(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("pty")
    pytest.importorskip("rich", reason="NOT TESTED: rich is not installed, so there is no progress bar")
    long = tmp_path / "long.jsonl"
    long.write_text((DEMO / "desk.jsonl").read_text(encoding="utf-8") * 6, encoding="utf-8")
    shown = at_a_terminal(["replay", str(long), "--app", "desk.py"], b"approve? [y/N]", b"y\n")
    assert "replaying" in shown and "100%" in shown, "the bar"
    assert "2 approved, 0 denied" in shown and "every result belongs to its request" in shown
    assert "2 approved, 0 denied" in replay("--approve", "all").stdout


def test_an_audit_file_is_checked_too(tmp_path: pathlib.Path) -> None:
    from agent_surface import Surface

    path = tmp_path / "audit.jsonl"
    with Surface.testing(audit=path) as surface:
        component = surface.component("c", description="C")
        component.action("go", audit="full")(_double)
        assert surface.invoke_sync("view:c.go", {"n": 2}).output == 4
        surface.quiesce()
    assert "1 results checked, 0 wrong" in command("verify", str(path)).stdout
    path.write_text(path.read_text().replace('"output":4', '"output":5'))
    assert "outputDigest does not match the output" in command("verify", str(path)).stdout


def _double(n: int) -> int:
    return 2 * n


def test_inspect_shows_what_an_agent_sees_and_why() -> None:
    shown = command("inspect", "desk.py").stdout
    assert "view:orders.table.select  (ids)" in shown and "filled in: order" in shown and "not now: unavailable" in shown
    why = command("inspect", "desk.py", "--explain", "--consumer", "webmcp:visitor").stdout
    assert "disable  domain:orders.refund" in why and "asks a person" in why
    assert json.loads(command("inspect", "desk.py", "--json").stdout)["procedures"][0]["procedureId"] == "domain:orders.refund"


def test_conversations_of_tool_calls_are_replayed(tmp_path: pathlib.Path) -> None:
    calls = [{"user": "Show me"}, {"tool_call_id": "c1", "name": "visible", "arguments": "{}"},
             {"tool_call_id": "c2", "name": "select", "arguments": '{"ids": ["o-17"]}'}, {"tool_call_id": "c3", "name": "gone", "arguments": "{}"}]  # fmt: skip
    transcript = tmp_path / "talk.jsonl"
    transcript.write_text(json.dumps({"conversation": "t1", "steps": calls}))
    done = command("replay", str(transcript), "--app", "desk.py")
    assert "user: Show me" in done.stdout and "3 calls, 2 ok, 1 refused" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["replay", "nothing.jsonl", "--app", "desk.py"], "nothing.jsonl cannot be read"),
        (["replay", "desk.jsonl", "--app", "nothing.py"], "there is no file nothing.py"),
        (["replay", "desk.jsonl", "--app", "desk.py:nothing"], "desk.py has no `nothing`"),
        (["replay", "desk.jsonl", "--app", "json"], "json has no `surface` or `create_surface`"),
        (["replay", "desk.py", "--app", "desk.py"], "desk.py, line 1"),
        (["inspect", "no.such.module"], "no.such.module cannot be imported"),
        (["verify", "nothing.jsonl"], "nothing.jsonl cannot be read"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(arguments: List[str], said: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
