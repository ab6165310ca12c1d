"""Whether a result belongs to a request: offline, without a surface, in another process or another year."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, Mapping, Optional, Union

from . import _json
from ._native import abi
from .result import Result

_ABSENT: Any = object()


@dataclasses.dataclass(frozen=True)
class Report:
    """`valid` when every check that was made holds; truthy then, so that `if verify(…)` reads as it should."""

    valid: bool
    checks: Mapping[str, bool]
    reason: Optional[str] = None

    def __bool__(self) -> bool:
        return self.valid


def verify(
    result: Union[Result, Mapping[str, Any], str],
    capability_id: str,
    input: Any = _ABSENT,
    *,
    effective_input: Any = _ABSENT,
    invocation_id: Optional[str] = None,
    registration_id: Optional[str] = None,
    instance_id: Optional[str] = None,
) -> Report:
    """Holds a result against the request it is said to answer.

    `input` is held against the digest of the request as issued, `effective_input` against that of the request as it ran, the
    output against its own digest. Neither input given means absent input. A mismatch is in the report; only what is no
    result at all raises (`ArgumentError`, `JsonError`).
    """
    request: Dict[str, Any] = {"capabilityId": capability_id}
    if input is not _ABSENT:
        request["input"] = input
    if effective_input is not _ABSENT:
        request["effectiveInput"] = effective_input
    request.update(
        _json.without_none(invocationId=invocation_id, registrationId=registration_id, instanceId=instance_id)
    )
    report = _json.loads(abi.verify_result(_bytes(result), _json.dumps(request)))
    return Report(report["valid"], report["checks"], report.get("reason"))


def _bytes(result: Union[Result, Mapping[str, Any], str]) -> bytes:
    if isinstance(result, Result):
        return result.text.encode("utf-8")
    if isinstance(result, str):
        return result.encode("utf-8")
    return _json.dumps(result)


def canonical_json(value: Any) -> str:
    """The one text of a JSON value (RFC 8785, integers of 64 bits exact): equal values, and only those, share it."""
    return abi.canonical_json(_json.dumps(value))


def request_digest(capability_id: str, input: Any = None) -> str:
    """`sha256:…` over the canonical `{capabilityId, input}`; absent input is `{}`."""
    return abi.request_digest(capability_id, b"" if input is None else _json.dumps(input))
