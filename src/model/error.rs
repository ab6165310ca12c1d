//! The first two of the three kinds of error: what an agent sees ([`ErrorPayload`], from the closed
//! set of section 13) and what a host programmer got wrong ([`ApiError`]). The third, the
//! operator's, goes to the log callback.

use serde_json::{Value, json};

use super::writer::ObjectWriter;

/// Longest message an agent is given, in characters (section 13).
pub const MAX_MESSAGE: usize = 300;

macro_rules! codes {
    ($($variant:ident = $number:literal, $name:literal;)*) => {
        /// Why a function of the API refused. Numbers are part of the ABI and are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Code { $(#[doc = $name] $variant = $number,)* }

        impl Code {
            /// Every code, for checks against `spec/codes.json`.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The name a C programmer writes, such as `AS_E_JSON`.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }
        }
    };
}

codes! {
    Argument = -1, "AS_E_ARGUMENT";
    NullHandle = -2, "AS_E_NULL_HANDLE";
    StaleHandle = -3, "AS_E_STALE_HANDLE";
    WrongHandle = -4, "AS_E_WRONG_HANDLE";
    Utf8 = -5, "AS_E_UTF8";
    Json = -6, "AS_E_JSON";
    Definition = -7, "AS_E_DEFINITION";
    Limit = -8, "AS_E_LIMIT";
    Closed = -9, "AS_E_CLOSED";
    Settled = -10, "AS_E_SETTLED";
    Late = -11, "AS_E_LATE";
    NotFound = -12, "AS_E_NOT_FOUND";
    Timeout = -13, "AS_E_TIMEOUT";
    WouldDeadlock = -14, "AS_E_WOULD_DEADLOCK";
    Forked = -15, "AS_E_FORKED";
    Panic = -16, "AS_E_PANIC";
}

/// What the host programmer got wrong: a code, a sentence, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    pub code: Code,
    pub message: String,
    /// JSON Pointer into the document that was refused.
    pub path: Option<String>,
    /// For `AS_E_DEFINITION`, the definition error (`INVALID_ID`, …).
    pub reason: Option<&'static str>,
}

impl ApiError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        ApiError { code, message: message.into(), path: None, reason: None }
    }

    pub fn at(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        ApiError { path: Some(path.into()), ..ApiError::new(code, message) }
    }

    pub fn definition(reason: &'static str, path: impl Into<String>, message: impl Into<String>) -> Self {
        ApiError { reason: Some(reason), ..ApiError::at(Code::Definition, path, message) }
    }

    pub fn closed() -> Self {
        ApiError::new(Code::Closed, "The registry is closed.")
    }

    /// The error blob: `{code, name, message, path?, reason?}`.
    pub fn to_json(&self) -> String {
        let mut out = ObjectWriter::new();
        out.number("code", self.code as i64);
        out.string("name", self.code.name());
        out.string("message", &self.message);
        out.optional_string("path", self.path.as_deref());
        out.optional_string("reason", self.reason);
        out.finish()
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for ApiError {}

/// What an agent may do after a failure (section 13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    No,
    Yes,
    AfterRefresh,
    AfterDelay,
    WithConfirmation,
    WithChanges,
}

impl Retry {
    pub fn as_str(self) -> &'static str {
        match self {
            Retry::No => "no",
            Retry::Yes => "yes",
            Retry::AfterRefresh => "after-refresh",
            Retry::AfterDelay => "after-delay",
            Retry::WithConfirmation => "with-confirmation",
            Retry::WithChanges => "with-changes",
        }
    }
}

/// One row of the error matrix: where a code can arise, what an agent may do, what is recorded.
pub struct ErrorRow {
    pub code: ErrorCode,
    pub name: &'static str,
    pub phases: &'static [u8],
    pub retry: &'static [Retry],
    pub recorded: bool,
    pub details: &'static [&'static str],
}

macro_rules! error_matrix {
    ($($variant:ident $name:literal $phases:expr, [$($retry:ident),*], $recorded:literal, $details:expr;)*) => {
        /// The closed set of errors an agent can meet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $(#[doc = $name] $variant,)* }

        /// The matrix of section 13, held against `spec/error-matrix.json` by a test (AS-ERR-001).
        pub const ERROR_MATRIX: &[ErrorRow] = &[$(ErrorRow {
            code: ErrorCode::$variant, name: $name, phases: &$phases,
            retry: &[$(Retry::$retry),*], recorded: $recorded, details: &$details,
        },)*];
    };
}

error_matrix! {
    CapabilityNotFound "CAPABILITY_NOT_FOUND" [2, 3, 4], [AfterRefresh], true, [];
    CapabilityNotAvailable "CAPABILITY_NOT_AVAILABLE" [3, 4, 6, 9], [AfterRefresh], true, ["reason"];
    AmbiguousInstance "AMBIGUOUS_INSTANCE" [2], [WithChanges], true, ["instances"];
    ComponentUnmounted "COMPONENT_UNMOUNTED" [2, 3, 4, 5, 6, 7, 8, 9], [AfterRefresh], true, ["phase"];
    StaleCapability "STALE_CAPABILITY" [2], [AfterRefresh], true, ["reason", "liveRegistrationId"];
    InvocationConflict "INVOCATION_CONFLICT" [1], [WithChanges], false, ["reason"];
    InvalidInput "INVALID_INPUT" [5], [WithChanges], true, ["issues", "lockedFields"];
    NotAuthenticated "NOT_AUTHENTICATED" [4, 6, 9], [No], true, [];
    NotAuthorized "NOT_AUTHORIZED" [4, 6, 9], [No], true, ["origin"];
    PreconditionFailed "PRECONDITION_FAILED" [5, 6, 7, 9], [WithChanges, AfterRefresh], true, ["reason"];
    ConfirmationRequired "CONFIRMATION_REQUIRED" [6], [WithConfirmation], false,
        ["confirmationId", "summary", "expiresAt", "effect", "origin"];
    ConfirmationInvalid "CONFIRMATION_INVALID" [6], [No, WithConfirmation], false, ["reason"];
    RateLimited "RATE_LIMITED" [1, 4, 6, 8, 9], [AfterDelay], false, ["reason", "retryAfterMs"];
    Timeout "TIMEOUT" [3, 4, 5, 6, 7, 8, 9], [No, Yes], true, ["timeoutMs", "idempotent", "started"];
    Cancelled "CANCELLED" [3, 4, 5, 6, 7, 8, 9], [Yes, No], true, [];
    ExecutionFailed "EXECUTION_FAILED" [4, 6, 9, 10], [No, AfterDelay], true,
        ["reason", "transient", "retryAfterMs"];
}

impl ErrorCode {
    pub fn row(self) -> &'static ErrorRow {
        &ERROR_MATRIX[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub fn from_name(name: &str) -> Option<ErrorCode> {
        ERROR_MATRIX.iter().find(|row| row.name == name).map(|row| row.code)
    }
}

/// What an agent is told when its call did not succeed. Messages come from templates: nothing of a
/// host's exception and no value of the input passes through.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorPayload {
    pub code: ErrorCode,
    pub message: String,
    pub retry: Retry,
    pub details: Option<Value>,
}

impl ErrorPayload {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ErrorPayload { code, message: message.into(), retry: code.row().retry[0], details: None }
    }

    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    pub fn reason(self, reason: &str) -> Self {
        self.details(json!({ "reason": reason }))
    }

    pub fn write(&self, out: &mut ObjectWriter) {
        out.string("code", self.code.name());
        out.string("message", &self.message);
        out.string("retry", self.retry.as_str());
        if let Some(details) = &self.details {
            out.value("details", details);
        }
    }

    // The templates. One place, so that two ways to the same failure read the same.

    /// Constant on purpose: hidden and absent must be indistinguishable.
    pub fn not_found() -> Self {
        ErrorPayload::new(
            ErrorCode::CapabilityNotFound,
            "No such capability is available to you. Refresh the catalog and choose one that it lists.",
        )
    }

    pub fn not_available(reason: &str) -> Self {
        ErrorPayload::new(
            ErrorCode::CapabilityNotAvailable,
            "This capability cannot be used at the moment. Refresh the catalog to see when it can.",
        )
        .reason(reason)
    }

    pub fn unmounted(phase: &str) -> Self {
        ErrorPayload::new(
            ErrorCode::ComponentUnmounted,
            "The component that offered this capability is gone. Refresh the catalog.",
        )
        .details(json!({ "phase": phase }))
    }

    pub fn queue_full(retry_after_ms: u64) -> Self {
        ErrorPayload::rate_limited("queue-full", retry_after_ms)
    }

    pub fn rate_limited(reason: &str, retry_after_ms: u64) -> Self {
        ErrorPayload::new(ErrorCode::RateLimited, "Too many calls at the moment. Wait and try again.")
            .details(json!({ "reason": reason, "retryAfterMs": retry_after_ms }))
    }

    pub fn cancelled(retry: Retry) -> Self {
        ErrorPayload::new(ErrorCode::Cancelled, "The call was cancelled.").retry(retry)
    }

    pub fn execution_failed(reason: &str) -> Self {
        let message = match reason {
            "output-invalid" => "The capability answered with something that its output schema does not allow.",
            "output-too-large" => "The capability answered with more than may be returned.",
            "result-policy" => "The result was withheld by a policy.",
            _ => "The capability failed.",
        };
        ErrorPayload::new(ErrorCode::ExecutionFailed, message).reason(reason)
    }

    /// A policy that failed or never answered denies (section 8).
    pub fn policy_failed() -> Self {
        ErrorPayload::new(ErrorCode::NotAuthorized, "A policy does not allow this call.")
            .details(json!({ "origin": "policy" }))
    }
}

/// Cuts `text` to at most `max` characters, on a character boundary.
pub fn truncate(text: &str, max: usize) -> &str {
    match text.char_indices().nth(max) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AS-ERR-001: `row` indexes the matrix by the code itself.
    #[test]
    fn every_code_finds_its_own_row() {
        for row in ERROR_MATRIX {
            assert_eq!(row.code.row().name, row.name);
            assert_eq!(ErrorCode::from_name(row.name), Some(row.code));
        }
    }
}
