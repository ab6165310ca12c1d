"""The Python runner against the Rust one: the same files, the same answers, byte for byte.

Each scenario is given a seed, so that its ids are the same in both, and a last expectation that nothing fulfils: the line that
says what was seen instead then holds the answer as the runner got it.
"""
from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
from typing import Any, Dict, List

import pytest
from conftest import HERE, PROJECT

OWN = sorted((PROJECT / "spec/scenarios").glob("*.json"))
IMPOSSIBLE = {"$exact": {"nothing": "answers this"}}


def run(command: List[str], **options: Any) -> List[str]:
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=600, **options)
    assert done.stdout, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith(("ok ", "FAIL ")) or line.endswith(" failed")]


def python(*arguments: str) -> List[str]:
    return run([sys.executable, "-m", "scenarios", *arguments], cwd=HERE)


def rust(*arguments: str) -> List[str]:
    if shutil.which("cargo") is None:
        pytest.skip("NOT COMPARED: no cargo here to build the Rust runner with")
    return run(["cargo", "test", "--quiet", "--test", "scenarios", "--", *arguments], cwd=PROJECT)


@pytest.mark.parametrize("dispatch", ["push", "pull"])
def test_every_scenario_passes(dispatch: str) -> None:
    if not OWN:
        pytest.skip("NOT TESTED: the scenario files are not here")
    lines = python("--dispatch", dispatch)
    assert [line for line in lines if line.startswith("FAIL")] == []
    assert lines[-1].endswith(" passed, 0 failed") and not lines[-1].startswith("0 ")


def seeded(scenario: Dict[str, Any]) -> bool:
    """Gives it a seed and the impossible expectation; False where it has no room for them."""
    registry = scenario.setdefault("registry", {})
    if not isinstance(registry, dict) or registry.setdefault("environment", "test") != "test":
        return False
    registry.setdefault("idSeed", 7)
    for step in reversed(scenario["steps"]):
        if "expect" in step and step["do"] not in ("events", "audit"):
            step["expect"] = IMPOSSIBLE
            return True
    return False


def test_answers_are_those_of_the_rust_runner(tmp_path: pathlib.Path) -> None:
    if not OWN:
        pytest.skip("NOT TESTED: the scenario files are not here")
    changed: List[str] = []
    for file in OWN:
        scenarios = json.loads(file.read_text(encoding="utf-8"))
        kept = [s for s in (scenarios if isinstance(scenarios, list) else [scenarios]) if seeded(s)]
        (tmp_path / file.name).write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
        changed.append(str(tmp_path / file.name))
    ours, theirs = python(*changed), rust(*changed)
    assert sum(line.startswith("FAIL") and "saw" in line for line in theirs) > 300
    assert ours == theirs


INVALID = [
    '{"name": "x"}', '{"name": "x", "steps": [{"do": "nonsense"}]}', '{"name": "x", "steps": [{"do": "set", "var": "v"}]}', '[1]',
    '{"name": "x", "steps": [{"do": "advance", "ms": 1.5}]}', '{"name": "x", "steps": [], "extra": 1}', '{"name": "", "steps": []}',
    '{"name": "x", "steps": [{"do": "version", "expect": {"$match": "("}}]}',
    '{"name": "x", "steps": [{"do": "version", "expect": "$gone.status"}]}',
    '{"name": "x", "policies": {"p": {"onAuthorize": {"confirm": {}}}}, "steps": []}',
    '{"name": "x", "executor": {"paths": ["a"]}, "steps": []}',
    '{"name": "x", "steps": [{"do": "finish", "token": "t", "return": 1, "fail": "x"}]}',
    '{"name": "x", "steps": [{"do": "version", "expect": "1", "code": "AS_OK"}]}',
    '{"name": "x", "steps": [{"do": "register", "definition": {}, "handlers": {"a": {"doing": [], "finally": 1}}}]}',
    '{"name": "x", "steps": [{"do": "decide", "token": "t", "allow": false}]}',
]  # fmt: skip


def test_files_that_are_no_scenarios_fail_alike(tmp_path: pathlib.Path) -> None:
    files = []
    for i, text in enumerate(INVALID):
        file = tmp_path / f"{i:02}.json"
        file.write_text(text, encoding="utf-8")
        files.append(str(file))
    ours, theirs = python(*files), rust(*files)
    assert ours[-1] == f"0 passed, {len(INVALID)} failed"
    assert ours == theirs
