"""Everything this package raises.

Three kinds, never mixed: an `AgentSurfaceError` says that this program used the library wrongly; a `CallError` is what
`Result.raise_for_error()` makes of a call that failed; a `Failure` is what a handler or policy raises to tell the agent why.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from ._native.codes import (
    AgentSurfaceError,
    ArgumentError,
    ClosedError,
    DefinitionError,
    ErrorCode,
    ForkedError,
    HostErrorCode,
    JsonError,
    LateError,
    LimitError,
    NotFoundError,
    NullHandleError,
    PanicError,
    Retry,
    SettledError,
    StaleHandleError,
    Utf8Error,
    WaitTimeoutError,
    WouldDeadlockError,
    WrongHandleError,
)
from ._native.library import LibraryError

if TYPE_CHECKING:
    from .result import Result


class CallError(Exception):
    """A call that failed, as an exception. `code`, `retry` and `details` are those of the result's error."""

    def __init__(self, result: Result) -> None:
        error = result.error
        assert error is not None
        super().__init__(f"{error.code} (retry: {error.retry}): {error.message}")
        self.result = result
        self.code = error.code
        self.retry = error.retry
        self.details = error.details


class Failure(Exception):
    """Raised by a handler or a policy: a typed failure that the agent is told.

    Any other exception reaches the log of this program only, and the agent sees `EXECUTION_FAILED`. `message` should tell
    an agent what to do; `retry` and `details` go along.
    """

    def __init__(
        self,
        code: HostErrorCode,
        message: str,
        *,
        retry: Optional[Retry] = None,
        details: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retry = retry
        self.details = details

    def payload(self) -> Dict[str, Any]:
        """The document that the library takes."""
        document: Dict[str, Any] = {"code": self.code, "message": self.message}
        if self.retry is not None:
            document["retry"] = self.retry
        if self.details is not None:
            document["details"] = dict(self.details)
        return document


__all__ = [
    "AgentSurfaceError",
    "ArgumentError",
    "CallError",
    "ClosedError",
    "DefinitionError",
    "ErrorCode",
    "Failure",
    "ForkedError",
    "HostErrorCode",
    "JsonError",
    "LateError",
    "LibraryError",
    "LimitError",
    "NotFoundError",
    "NullHandleError",
    "PanicError",
    "Retry",
    "SettledError",
    "StaleHandleError",
    "Utf8Error",
    "WaitTimeoutError",
    "WouldDeadlockError",
    "WrongHandleError",
]
