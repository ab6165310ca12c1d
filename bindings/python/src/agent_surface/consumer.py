"""Who calls: an agent-side client. Catalogs, limits and records are kept apart for each."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, Literal, Tuple

ConsumerKind = Literal["embedded", "webmcp", "mcp-bridge", "test", "other"]


@dataclasses.dataclass(frozen=True)
class Consumer:
    """`id` is 1 to 256 bytes without control characters; `grants` are what policies may look at."""

    id: str
    kind: ConsumerKind = "embedded"
    grants: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "grants", tuple(self.grants))

    @property
    def key(self) -> str:
        """What the runtime tells consumers apart by."""
        return f"{self.kind}:{self.id}"

    def document(self) -> Dict[str, Any]:
        document: Dict[str, Any] = {"id": self.id, "kind": self.kind}
        if self.grants:
            document["grants"] = list(self.grants)
        return document

    @staticmethod
    def read(document: Dict[str, Any]) -> Consumer:
        return Consumer(document["id"], document["kind"], tuple(document.get("grants", ())))
