"""References: the string `"$i1.error.code"` stands for that value of an earlier `as`; `"$$x"` is the literal `"$x"`."""
from __future__ import annotations

from typing import Callable, List, Optional

from .matcher import short
from .text import ABSENT, Json, Object, as_text, child, items, members

Lookup = Callable[[str], Json]


class Unresolved(Exception):
    """A reference stands for nothing."""


def reference(text: str) -> Optional[str]:
    """The reference in a string, without its `$`; None for ordinary text and for an escaped `$$`."""
    return text[1:] if text.startswith("$") and not text.startswith("$$") else None


def resolve(value: Json, lookup: Lookup) -> Json:
    """The same document with every reference replaced. Keys are never references."""
    text = as_text(value)
    if text is not None:
        path = reference(text)
        if path is not None:
            return _follow(path, lookup)
        return text[1:] if text.startswith("$") else text
    if isinstance(value, list):
        return [resolve(item, lookup) for item in value]
    if isinstance(value, Object):
        return Object([(key, resolve(item, lookup)) for key, item in value.members])
    return value


def names(value: Json) -> List[str]:
    """The names that a document refers to."""
    text = as_text(value)
    if text is not None:
        path = reference(text)
        return [] if path is None else [path.split(".")[0]]
    found = [name for item in items(value) for name in names(item)]
    return found + [name for _, item in members(value) for name in names(item)]


def _follow(path: str, lookup: Lookup) -> Json:
    head, *segments = path.split(".")
    try:
        value = lookup(head)
    except Unresolved as why:
        raise Unresolved(f'unresolved reference "${path}": {why}') from None
    for segment in segments:
        inner = child(value, segment)
        if inner is ABSENT:
            raise Unresolved(f'unresolved reference "${path}": no `{segment}` in {short(value)}')
        value = inner
    return value
