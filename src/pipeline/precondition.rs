//! Phase 7, precondition: the capability's own last word on this very input.

use serde_json::{Value, json};

use super::flight::{EffectiveInput, Flight};
use crate::catalog::Target;
use crate::model::ErrorPayload;
use crate::model::error::{ErrorCode, MAX_MESSAGE, truncate};

pub async fn check(flight: &mut Flight, target: &Target, input: &EffectiveInput) -> Result<(), ErrorPayload> {
    flight.enter()?;
    let Some(hook) = target.hooks().and_then(|hooks| hooks.precondition.clone()) else { return Ok(()) };
    let host = flight.host().await?;
    let mut context = flight.call_context(target, &host, None, None);
    context.raw("effectiveInput", &input.text);
    match flight.ask(&hook, "precondition", context.into_bytes()).await? {
        Some(Value::Null) => Ok(()),
        Some(answer) => Err(refusal(&answer).unwrap_or_else(failed)),
        None => Err(failed()),
    }
}

/// `{message, details?}`.
fn refusal(answer: &Value) -> Option<ErrorPayload> {
    let map = answer.as_object()?;
    let message = map.get("message")?.as_str()?;
    let mut error = ErrorPayload::new(ErrorCode::PreconditionFailed, truncate(message, MAX_MESSAGE));
    error.details = map.get("details").filter(|details| details.is_object()).cloned();
    Some(error)
}

/// A precondition that cannot be asked does not hold.
fn failed() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::PreconditionFailed, "It cannot be told whether this may be done now.")
        .details(json!({ "reason": "precondition-error" }))
}
