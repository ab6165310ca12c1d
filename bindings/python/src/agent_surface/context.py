"""What handlers and policies are told about the call they serve. Read when asked for: most are never looked at."""
from __future__ import annotations

import datetime
from typing import Any, Dict, Mapping, NamedTuple, Optional, cast

from . import _json
from ._native import abi
from .consumer import Consumer
from .errors import AgentSurfaceError


class Confirmed(NamedTuple):
    """The confirmation that let a call run."""

    id: str
    approved_at: str


class _Told:
    """A document, parsed at the first look."""

    __slots__ = ("_bytes", "_document")

    def __init__(self, document: bytes) -> None:
        self._bytes = document
        self._document: Optional[Dict[str, Any]] = None

    @property
    def document(self) -> Dict[str, Any]:
        if self._document is None:
            document: Dict[str, Any] = _json.loads(self._bytes)
            self._document = document
        return self._document

    @property
    def capability_id(self) -> str:
        return cast(str, self.document["capabilityId"])

    @property
    def registration_id(self) -> str:
        return cast(str, self.document["registrationId"])

    @property
    def consumer(self) -> Consumer:
        return Consumer.read(self.document["consumer"])

    @property
    def host(self) -> Mapping[str, Any]:
        """The host context: what the surface's `context` function answered."""
        return cast(Mapping[str, Any], self.document["host"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.capability_id}>"


class Context(_Told):
    """The call a handler serves. Ask for it with a parameter annotated `Context`."""

    __slots__ = ("_reply",)

    def __init__(self, document: bytes, reply: int) -> None:
        super().__init__(document)
        self._reply = reply

    @property
    def aborted(self) -> bool:
        """Whether nobody waits for the answer any more: timed out, cancelled, unmounted. A long handler asks now and then."""
        try:
            return abi.reply_aborted(self._reply)
        except AgentSurfaceError:  # the record of the call is gone, and so is whoever asked
            return True

    @property
    def instance_id(self) -> str:
        return cast(str, self.document["instanceId"])

    @property
    def invocation_id(self) -> str:
        return cast(str, self.document["invocationId"])

    @property
    def attempt_id(self) -> str:
        return cast(str, self.document["attemptId"])

    @property
    def request_digest(self) -> str:
        return cast(str, self.document["requestDigest"])

    @property
    def deadline(self) -> Optional[datetime.datetime]:
        text = self.document.get("deadline")
        return None if text is None else datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))

    @property
    def confirmation(self) -> Optional[Confirmed]:
        given = self.document.get("confirmation")
        return None if given is None else Confirmed(given["id"], given["approvedAt"])

    @property
    def path(self) -> Optional[str]:
        """The path of a procedure; None for observations and actions."""
        return self.document.get("path")


class PolicyContext(_Told):
    """What a policy judges. Discovery and authorization have no field for input: they cannot look at it."""

    __slots__ = ()

    @property
    def plane(self) -> str:
        return cast(str, self.document["plane"])

    @property
    def kind(self) -> str:
        return cast(str, self.document["kind"])

    @property
    def effect(self) -> str:
        return cast(str, self.document["effect"])

    @property
    def meta(self) -> Mapping[str, Any]:
        """`{"component"?, "capability"?}`, as the definition has them."""
        return cast(Mapping[str, Any], self.document["meta"])

    @property
    def internal(self) -> Any:
        """What the component's author wrote for policies only."""
        return self.document.get("internal")

    @property
    def environment(self) -> str:
        return cast(str, self.document["environment"])

    @property
    def now(self) -> datetime.datetime:
        """By the surface's clock."""
        return datetime.datetime.fromisoformat(self.document["now"].replace("Z", "+00:00"))

    @property
    def invocation_id(self) -> Optional[str]:
        return self.document.get("invocationId")

    @property
    def effective_input(self) -> Any:
        """The input that would run, bound fields included; None before it is known."""
        return self.document.get("effectiveInput")

    @property
    def issued_digest(self) -> Optional[str]:
        return self.document.get("issuedDigest")

    @property
    def request_digest(self) -> Optional[str]:
        return self.document.get("requestDigest")
