"""`python -m scenarios [--dispatch push|pull] [--filter SUBSTRING] [FILE…]`, by default every file of `spec/scenarios/`.

One line for each scenario, a last one with the counts; the exit status is 0 only if none failed.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
import threading
from typing import List, Optional

from . import model, run
from .host import Wrong
from .text import Json, Object, as_text, parse

# Real seconds after which a scenario counts as hung and is left behind.
WATCHDOG = 60.0
OWN_FILES = pathlib.Path(__file__).resolve().parents[4] / "spec/scenarios"


class Runner:
    def __init__(self, pull: bool, filter: str) -> None:
        self.pull, self.filter = pull, filter
        self.passed = self.failed = 0
        self.hung = False

    def file(self, file: pathlib.Path) -> None:
        try:
            text = file.read_text(encoding="utf-8")
            text.encode("utf-8")
            scenarios = parse(text)
        except OSError as why:
            return self.report(str(file), f"cannot be read: {why}")
        except ValueError as why:
            return self.report(str(file), f"not valid JSON: {why}")
        for i, scenario in enumerate(scenarios if isinstance(scenarios, list) else [scenarios]):
            named = as_text(scenario.get("name")) if isinstance(scenario, Object) else None
            name = named if named is not None else f"{file}[{i}]"
            if self.filter in name:
                self.report(name, self.one(scenario))

    def one(self, scenario: Json) -> Optional[str]:
        """What is wrong, or None. On a thread of its own, which is left behind when it hangs."""
        try:
            model.validate(scenario)
        except model.Fault as fault:
            return f"not a valid scenario: {fault}"
        assert isinstance(scenario, Object)
        place: List[str] = ["opening"]
        outcome: List[Optional[str]] = []

        def work() -> None:
            try:
                run.run(scenario, self.pull, not self.hung, lambda where: place.__setitem__(0, where))
                outcome.append(None)
            except Wrong as why:
                outcome.append(str(why))
            except BaseException as why:
                outcome.append(f"{place[0]}: the runner itself failed: {why!r}")

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(WATCHDOG)
        if not outcome:
            self.hung = True
            return f"{place[0]}: hangs"
        return outcome[0]

    def report(self, name: str, wrong: Optional[str]) -> None:
        line = f"ok {name}" if wrong is None else f"FAIL {name}: {wrong}"
        print(line.replace("\n", " ").replace("\r", " "), flush=True)
        if wrong is None:
            self.passed += 1
        else:
            self.failed += 1


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="scenarios")
    parser.add_argument("--dispatch", choices=("push", "pull"), default="push")
    parser.add_argument("--filter", default="")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    chosen = parser.parse_args(arguments)
    sys.setrecursionlimit(20_000)
    threading.stack_size(256 << 20)  # for documents as deep as the recursion limit lets them be
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    runner = Runner(chosen.dispatch == "pull", chosen.filter)
    for file in chosen.files or sorted(OWN_FILES.glob("*.json")):
        runner.file(file)
    print(f"{runner.passed} passed, {runner.failed} failed")
    return 0 if runner.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
