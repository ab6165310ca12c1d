"""What the command says: with colour at a terminal where `rich` is there, plain otherwise."""
from __future__ import annotations

import sys
from typing import Any, Iterable, Iterator, Optional, TypeVar

T = TypeVar("T")
_COLOURS = {"ok": "green", "failed": "red", "asks": "yellow", "note": "dim", "heading": "bold"}


class Console:
    def __init__(self) -> None:
        self.interactive = sys.stdout.isatty() and sys.stdin.isatty()
        self._rich: Any = None
        self._bar: Any = None
        if sys.stdout.isatty():
            try:
                from rich.console import Console as Rich

                self._rich = Rich(highlight=False)
            except ImportError:
                pass

    def say(self, text: str = "", style: Optional[str] = None) -> None:
        if self._rich is None:
            print(text)
        else:
            self._rich.print(text, style=_COLOURS.get(style or ""), markup=False)

    def ask(self, question: str) -> str:
        self.say(question, "asks")
        if self._bar is not None:  # it would be drawn over the prompt
            self._bar.stop()
        try:
            return input("          approve? [y/N] ").strip().lower()
        finally:
            if self._bar is not None:
                self._bar.start()

    def progress(self, items: Iterable[T], total: int, what: str) -> Iterator[T]:
        """A bar over long lists at a terminal."""
        if self._rich is None or total < 50:
            yield from items
            return
        from rich.progress import Progress

        with Progress(console=self._rich, transient=True) as bar:
            self._bar, task = bar, bar.add_task(what, total=total)
            for item in items:
                yield item
                bar.advance(task)
        self._bar = None
