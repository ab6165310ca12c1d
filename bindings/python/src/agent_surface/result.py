"""What came of a call."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, Mapping, Optional, Type, TypeVar, cast

from . import _json
from .errors import CallError, ErrorCode, Retry

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class CallFailure:
    """The error in a result: one of a closed set of codes, and what an agent may do about it."""

    code: ErrorCode
    message: str
    retry: Retry
    details: Mapping[str, Any]


class Result:
    """The result of one call. `envelope` is the whole document, `text` its JSON as the library wrote it."""

    __slots__ = ("text", "_envelope", "_error")

    def __init__(self, text: str) -> None:
        self.text = text
        self._envelope: Optional[Dict[str, Any]] = None
        self._error: Optional[CallFailure] = None

    @property
    def envelope(self) -> Dict[str, Any]:
        if self._envelope is None:  # parsed at the first look
            self._envelope = envelope = cast("Dict[str, Any]", _json.loads(self.text))
            return envelope
        return self._envelope

    @property
    def ok(self) -> bool:
        # As the library writes it, so that asking this alone parses nothing.
        return self.text.startswith('{"status":"ok"') or bool(self.envelope["status"] == "ok")

    @property
    def output(self) -> Any:
        """What the handler returned, as JSON; None where it returned nothing or the call failed."""
        return self.envelope.get("output")

    def output_as(self, kind: Type[T]) -> T:
        """The output as a dataclass, TypedDict, enum or whatever else a handler may declare."""
        from .schema import decoder

        decode = decoder(kind)
        return cast(T, decode(self.output) if decode else self.output)

    @property
    def error(self) -> Optional[CallFailure]:
        if self._error is None and "error" in self.envelope:
            error = self.envelope["error"]
            self._error = CallFailure(error["code"], error["message"], error["retry"], error.get("details") or {})
        return self._error

    def raise_for_error(self) -> Result:
        """This result, or the `CallError` that it is."""
        if not self.ok:
            raise CallError(self)
        return self

    @property
    def confirmation_id(self) -> Optional[str]:
        """The confirmation that a person has to decide before the call is repeated with it."""
        error = self.error
        if error is None or error.code != "CONFIRMATION_REQUIRED":
            return None
        return cast(str, error.details["confirmationId"])

    @property
    def invocation_id(self) -> str:
        return cast(str, self.envelope["invocationId"])

    @property
    def capability_id(self) -> str:
        return cast(str, self.envelope["capabilityId"])

    @property
    def registration_id(self) -> Optional[str]:
        return self.envelope.get("registrationId")

    @property
    def instance_id(self) -> Optional[str]:
        return self.envelope.get("instanceId")

    @property
    def issued_digest(self) -> str:
        """SHA-256 over the request as the agent issued it."""
        return cast(str, self.envelope["issuedDigest"])

    @property
    def request_digest(self) -> Optional[str]:
        """SHA-256 over the request as it was to run; None where the call failed before that was known."""
        return self.envelope.get("requestDigest")

    @property
    def output_digest(self) -> Optional[str]:
        return self.envelope.get("outputDigest")

    @property
    def surface_version(self) -> str:
        return cast(str, self.envelope["surfaceVersion"])

    @property
    def surface_changed(self) -> bool:
        """Whether the surface moved while the call ran."""
        return bool(self.envelope.get("surfaceChanged", False))

    def __repr__(self) -> str:
        if self.ok:
            return f"<Result ok {self.capability_id} {self.output!r}>"
        error = self.error
        return f"<Result error {self.capability_id} {error.code if error else '?'}>"
