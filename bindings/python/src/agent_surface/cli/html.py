"""The timeline as one page that needs nothing else: calls, queues, approvals and conflicts over time."""
from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Dict, List, Mapping, Sequence

if TYPE_CHECKING:
    from .replay import Played

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #69758a; --line: #d9dee6; --ground: #fff; --ok: #2f8f5b;
  --failed: #c2453d; --conflict: #8a4fc7; --again: #3f78c9; --queue: #b9c2d0; --person: #e0a32e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #94a0b3; --line: #323a47; --ground: #171b22; --queue: #566072; } }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .25rem; }
.counts { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; margin: 1rem 0; color: var(--soft); }
.counts b { color: var(--ink); font-size: 1.2rem; margin-right: .25rem; }
.key span { display: inline-block; margin-right: 1rem; color: var(--soft); }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .35rem; vertical-align: -1px; }
details { border-top: 1px solid var(--line); }
summary { display: grid; grid-template-columns: 3rem minmax(10rem, 22rem) 1fr minmax(8rem, 13rem); gap: .75rem; padding: .3rem 0;
  cursor: pointer; align-items: center; list-style: none; }
summary:hover { background: color-mix(in srgb, var(--line) 35%, transparent); }
.n, .end { color: var(--soft); font-variant-numeric: tabular-nums; } .n { text-align: right; }
.what { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .what small { color: var(--soft); }
svg { width: 100%; height: 14px; display: block; }
pre { margin: .25rem 0 .75rem 3.75rem; padding: .6rem .8rem; background: color-mix(in srgb, var(--line) 35%, transparent);
  border-radius: 6px; overflow: auto; font-size: 13px; white-space: pre-wrap; }
"""
_KEY = (("ok", "ok"), ("failed", "refused"), ("conflict", "conflict"), ("again", "joined or replayed"),
        ("queue", "in the queue"), ("person", "a person is asked"))  # fmt: skip


def page(title: str, played: Sequence[Played], counts: Mapping[str, int]) -> str:
    whole = max((one.ended for one in played), default=0.0) or 1.0
    numbers = "".join(f"<span><b>{count}</b>{html.escape(name)}</span>" for name, count in counts.items())
    key = "".join(f'<span><i style="background: var(--{name})"></i>{text}</span>' for name, text in _KEY)
    rows = "".join(_row(one, whole) for one in played)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{html.escape(title)}</h1><div>{len(played)} calls in {whole * 1000:.0f} ms. Open a row for its details.</div>"
        f'<div class="counts">{numbers}</div><div class="key">{key}</div>{rows}</body></html>\n'
    )


def _row(one: Played, whole: float) -> str:
    assert one.result is not None
    error = one.result.error
    end = (one.again or "ok") if error is None else error.code
    consumer = html.escape(one.consumer.split(":", 1)[1])
    return (
        f'<details><summary><span class="n">{one.number}</span>'
        f'<span class="what" title="{html.escape(one.capability)}">{html.escape(one.capability)} <small>{consumer}</small></span>'
        f'{_bars(one, whole)}<span class="end">{html.escape(end)}</span></summary>'
        f"<pre>{html.escape(_details(one))}</pre></details>"
    )


def _colour(one: Played) -> str:
    assert one.result is not None
    error = one.result.error
    if error is None:
        return "again" if one.again else "ok"
    return "conflict" if error.code == "INVOCATION_CONFLICT" else "failed"


def _bars(one: Played, whole: float) -> str:
    bars = [_bar(one.began, one.ended, whole, _colour(one))]
    if one.queued_ms:
        bars.append(_bar(one.began, one.began + one.queued_ms / 1000, whole, "queue"))
    if one.approval is not None:
        bars.append(_bar(one.approval.asked, one.approval.decided, whole, "person"))
    return f'<svg viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">{"".join(bars)}</svg>'


def _bar(began: float, ended: float, whole: float, colour: str) -> str:
    left, width = began / whole * 1000, max((ended - began) / whole * 1000, 3)
    return f'<rect x="{min(left, 997):.1f}" y="1" width="{width:.1f}" height="12" rx="2" fill="var(--{colour})"/>'


def _details(one: Played) -> str:
    assert one.result is not None
    said: List[str] = [f"began      {one.began * 1000:.2f} ms, took {(one.ended - one.began) * 1000:.2f} ms"]
    if one.input is not None:
        said.append(f"input      {json.dumps(one.input, ensure_ascii=False)}")
    if one.approval is not None:
        said.append(f"a person   {one.approval.summary}")
        said.append(f"decided    {one.approval.outcome}" + (f" by {one.approval.by}" if one.approval.by else ""))
    said.append(f"verified   {'the result belongs to this request' if one.verified else 'NO: the result is of another request'}")
    envelope: Dict[str, object] = one.result.envelope
    said.append(json.dumps(envelope, ensure_ascii=False, indent=2))
    return "\n".join(said)
