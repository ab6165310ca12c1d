"""Agent Surface: decides whether, when and how an AI agent's tool call runs, and proves which request a result belongs to.

    surface = Surface()
    hall = surface.component("hall", description="The entrance")

    @hall.action()
    def greet(name: str) -> str:
        "Greet whoever comes in."
        return f"Hello {name}"

    surface.invoke_sync("view:hall.greet", {"name": "Ada"}).output  # 'Hello Ada'
"""
from ._native.abi import version as _version
from .component import Component, exclusive, parallel
from .confirmation import Confirmation, Confirmations
from .consumer import Consumer
from .context import Confirmed, Context, PolicyContext
from .errors import (
    AgentSurfaceError,
    ArgumentError,
    CallError,
    ClosedError,
    DefinitionError,
    Failure,
    ForkedError,
    JsonError,
    LateError,
    LibraryError,
    LimitError,
    NotFoundError,
    PanicError,
    SettledError,
    StaleHandleError,
    WaitTimeoutError,
    WouldDeadlockError,
)
from .events import Stream, Subscription
from .policies import (
    Allow,
    Condition,
    Confirm,
    Deny,
    Disable,
    Expose,
    Hide,
    Policy,
    Replace,
    audit,
    authenticated,
    environment,
    has_permission,
    rate_limit,
    require_confirmation,
    tenant_boundary,
)
from .result import CallFailure, Result
from .schema import Field
from .surface import Surface
from .testing import TestSurface
from .toolset import Toolset
from .verify import Report, canonical_json, request_digest, verify

__version__ = _version()

__all__ = [
    "AgentSurfaceError",
    "Allow",
    "ArgumentError",
    "CallError",
    "CallFailure",
    "ClosedError",
    "Component",
    "Condition",
    "Confirm",
    "Confirmation",
    "Confirmations",
    "Confirmed",
    "Consumer",
    "Context",
    "DefinitionError",
    "Deny",
    "Disable",
    "Expose",
    "Failure",
    "Field",
    "ForkedError",
    "Hide",
    "JsonError",
    "LateError",
    "LibraryError",
    "LimitError",
    "NotFoundError",
    "PanicError",
    "Policy",
    "PolicyContext",
    "Replace",
    "Report",
    "Result",
    "SettledError",
    "StaleHandleError",
    "Stream",
    "Subscription",
    "Surface",
    "TestSurface",
    "Toolset",
    "WaitTimeoutError",
    "WouldDeadlockError",
    "audit",
    "authenticated",
    "canonical_json",
    "environment",
    "exclusive",
    "has_permission",
    "parallel",
    "rate_limit",
    "request_digest",
    "require_confirmation",
    "tenant_boundary",
    "verify",
]
