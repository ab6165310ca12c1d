"""The timeline as text: a row a call, a column a slice of time."""
from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, List, Sequence

if TYPE_CHECKING:
    from .replay import Played

WIDTH = 48
MOST_ROWS = 40


def lines(played: Sequence[Played]) -> Iterator[str]:
    """Rows of `█` while a call runs, `▒` while it queues, `?` while a person is asked; then how it ended."""
    if not played:
        yield "no calls"
        return
    whole = max(one.ended for one in played) or 1.0
    for one in played[:MOST_ROWS]:
        yield f"{one.number:4} {_bar(one, whole)} {_end(one):<22} {one.capability}"
    if len(played) > MOST_ROWS:
        yield f"     … and {len(played) - MOST_ROWS} more (see --html)"
    yield f"     0{' ' * (WIDTH - 1)}{whole * 1000:.0f} ms    █ runs   ▒ queues   ? a person is asked"


def _bar(one: Played, whole: float) -> str:
    def column(at: float) -> int:
        return min(WIDTH - 1, int(at / whole * WIDTH))

    cells: List[str] = [" "] * WIDTH
    for at in range(column(one.began), column(one.ended) + 1):
        cells[at] = "█"
    for at in range(column(one.began), min(column(one.began + one.queued_ms / 1000), column(one.ended)) + 1 if one.queued_ms else 0):
        cells[at] = "▒"
    if one.approval is not None:
        for at in range(column(one.approval.asked), column(one.approval.decided) + 1):
            cells[at] = "?"
    return "".join(cells)


def _end(one: Played) -> str:
    if one.result is None:
        return "?"
    error = one.result.error
    return (one.again or "ok") if error is None else error.code
