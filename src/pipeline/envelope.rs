//! The result envelope, and what counts as an answer of the host.

use serde_json::{Value, json};

use crate::catalog::Target;
use crate::model::ErrorPayload;
use crate::model::error::{ErrorCode, MAX_MESSAGE, Retry, truncate};
use crate::model::writer::ObjectWriter;
use crate::observe::{Bound, CallIds};
use crate::runtime::Answer;
use crate::schema::Issue;

/// Everything of a result but its outcome.
pub struct Envelope<'a> {
    pub ids: &'a CallIds,
    pub bound: &'a Bound,
    pub version: u64,
    pub changed: bool,
}

impl Envelope<'_> {
    /// `output` and `digest` are both there or both absent.
    pub fn ok(&self, output: Option<(&[u8], &str)>) -> Vec<u8> {
        self.write("ok", output.map_or(0, |(bytes, _)| bytes.len()), |out| {
            if let Some((bytes, digest)) = output {
                out.raw("output", bytes);
                out.string("outputDigest", digest);
            }
        })
    }

    pub fn error(&self, error: &ErrorPayload) -> Vec<u8> {
        self.write("error", 128, |out| out.object("error", |out| error.write(out)))
    }

    fn write(&self, status: &str, room: usize, outcome: impl FnOnce(&mut ObjectWriter)) -> Vec<u8> {
        let mut out = ObjectWriter::with_capacity(512 + room);
        out.string("status", status);
        out.string("invocationId", &self.ids.invocation_id);
        out.string("capabilityId", &self.ids.capability_id);
        out.optional_string("registrationId", self.bound.registration_id.as_deref());
        out.optional_string("instanceId", self.bound.instance_id.as_deref());
        out.string("issuedDigest", &self.ids.issued_digest);
        out.optional_string("requestDigest", self.bound.request_digest.as_deref());
        outcome(&mut out);
        out.string("surfaceVersion", &self.version.to_string());
        if self.changed {
            out.boolean("surfaceChanged", true);
        }
        out.into_bytes()
    }
}

/// What the host said of a failure that the agent is told nothing of; `None` where the answer is no
/// failure, or a typed one, which passes as it is.
pub fn untold(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Json(_) | Answer::Empty | Answer::Allow | Answer::Confirm(_) | Answer::Deny(None) => None,
        Answer::Error(Some(payload)) | Answer::Deny(Some(payload)) if typed(payload).is_some() => None,
        failure => Some(failure.describe()),
    }
}

/// What a handler's answer means: an output (or none), or a failure.
pub fn handler_outcome(answer: Answer) -> Result<Option<Value>, ErrorPayload> {
    match answer {
        Answer::Json(output) => Ok(Some(output)),
        Answer::Empty => Ok(None),
        Answer::Malformed => Err(ErrorPayload::execution_failed("output-invalid")),
        Answer::TooLarge => Err(ErrorPayload::execution_failed("output-too-large")),
        Answer::Error(Some(payload)) => {
            Err(typed(&payload).unwrap_or_else(|| ErrorPayload::execution_failed("handler-error")))
        }
        _ => Err(ErrorPayload::execution_failed("handler-error")),
    }
}

/// What a policy's answer means; anything unclear denies.
pub fn policy_denial(payload: Option<Value>) -> ErrorPayload {
    payload.as_ref().and_then(typed).unwrap_or_else(ErrorPayload::policy_failed)
}

/// The output, held against its schema.
pub fn check_output(target: &Target, output: Option<Value>) -> Result<Option<Value>, Vec<Issue>> {
    match (&target.capability().output, &output) {
        (Some(schema), Some(value)) => schema.validate(value).map(|()| output),
        _ => Ok(output),
    }
}

/// Codes that a host may type itself (section 13): nobody forges a confirmation.
const TYPED: &[ErrorCode] = &[
    ErrorCode::NotAuthenticated,
    ErrorCode::NotAuthorized,
    ErrorCode::PreconditionFailed,
    ErrorCode::CapabilityNotAvailable,
    ErrorCode::RateLimited,
    ErrorCode::ExecutionFailed,
];

/// `{code, message?, retry?, details?}` of a host; `None` for any other code or shape.
fn typed(payload: &Value) -> Option<ErrorPayload> {
    let map = payload.as_object()?;
    if !map.keys().all(|key| matches!(key.as_str(), "code" | "message" | "retry" | "details")) {
        return None;
    }
    let code = ErrorCode::from_name(map.get("code")?.as_str()?).filter(|code| TYPED.contains(code))?;
    let message = match map.get("message") {
        None => "The capability refused.",
        Some(message) => message.as_str()?,
    };
    let details = match map.get("details") {
        None | Some(Value::Null) => None,
        Some(details) => Some(details.as_object()?),
    };
    let retry = match map.get("retry") {
        None => default_retry(code, details),
        Some(word) => {
            let word = word.as_str()?;
            *code.row().retry.iter().find(|retry| retry.as_str() == word)?
        }
    };
    let mut error = ErrorPayload::new(code, truncate(message, MAX_MESSAGE)).retry(retry);
    error.details = details.cloned().map(Value::Object);
    if code == ErrorCode::ExecutionFailed && error.details.is_none() {
        error.details = Some(json!({ "reason": "handler-error" }));
    }
    Some(error)
}

fn default_retry(code: ErrorCode, details: Option<&serde_json::Map<String, Value>>) -> Retry {
    let transient = details.is_some_and(|details| {
        details.get("transient") == Some(&Value::Bool(true)) || details.contains_key("retryAfterMs")
    });
    match code {
        ErrorCode::ExecutionFailed if transient => Retry::AfterDelay,
        _ => code.row().retry[0],
    }
}
