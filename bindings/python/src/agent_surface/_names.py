"""Python's names and the grammar's."""
from __future__ import annotations

import re

_PART = re.compile(r"_+([A-Za-z0-9])")


def camel_case(name: str) -> str:
    """`select_rows` → `selectRows`. Names that are camelCase already stay."""
    return _PART.sub(lambda part: part.group(1).upper(), name.strip("_"))
