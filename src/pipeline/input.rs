//! Phase 5, effective input: what would run, validated before any person or policy sees it.
//!
//! Locked fields are refused, the agent's part is validated, the host binds its part, the two are
//! merged, and the whole is held against the original schema.

use std::sync::Arc;

use serde_json::{Value, json};

use super::flight::{EffectiveInput, Flight};
use crate::catalog::Target;
use crate::json as canon;
use crate::model::ErrorPayload;
use crate::model::definition::{Capability, Kind};
use crate::model::error::{ErrorCode, Retry};
use crate::model::request::{BadInput, Request};
use crate::schema::Issue;

pub async fn make_effective(
    flight: &mut Flight,
    target: &Target,
    request: &mut Request,
) -> Result<(EffectiveInput, Value), ErrorPayload> {
    flight.enter()?;
    let capability = target.capability();
    if let Some(bad) = request.bad_input {
        let (keyword, message) = match bad {
            BadInput::Bytes => ("bytes", "Send an input of fewer bytes."),
            BadInput::Depth => ("depth", "Nest the input less deeply."),
            BadInput::NotAnObject => ("type", "Send an object."),
        };
        return Err(invalid(vec![Issue { path: String::new(), message: message.into(), keyword: keyword.into() }]));
    }
    let issued = request.input.take().unwrap_or_else(|| json!({}));
    refuse_locked(capability, &issued)?;
    let defaults = flight.engine.config.apply_defaults;
    let (value, changed) = match (capability.kind, capability.bound_fields.is_empty()) {
        (Kind::Observation, _) => (observation_input(issued)?, false),
        (_, true) if !defaults => {
            validate(capability, &issued)?;
            (issued, false)
        }
        (_, true) => {
            let mut value = issued;
            apply_defaults(capability, &mut value)?;
            validate(capability, &value)?;
            (value, true)
        }
        (_, false) => (Box::pin(merge(flight, target, issued, defaults)).await?, true),
    };
    let input = if changed { changed_input(flight, capability, &value) } else { flight.issued_input() };
    flight.call.bind_digest(input.digest.clone());
    flight.input = Some(input.clone());
    Ok((input, value))
}

/// An observation takes no input.
fn observation_input(issued: Value) -> Result<Value, ErrorPayload> {
    match issued.as_object().is_some_and(serde_json::Map::is_empty) {
        true => Ok(issued),
        false => Err(invalid(vec![Issue {
            path: String::new(),
            message: "Call an observation without input.".into(),
            keyword: "maxProperties".into(),
        }])),
    }
}

fn refuse_locked(capability: &Capability, issued: &Value) -> Result<(), ErrorPayload> {
    let supplied: Vec<&str> = capability.locked_fields().filter(|field| issued.get(field).is_some()).collect();
    if supplied.is_empty() {
        return Ok(());
    }
    Err(ErrorPayload::new(ErrorCode::InvalidInput, "Leave out the fields that the application fills in itself.")
        .details(json!({ "lockedFields": supplied })))
}

/// The agent's part, then the host's, then the whole.
async fn merge(flight: &mut Flight, target: &Target, issued: Value, defaults: bool) -> Result<Value, ErrorPayload> {
    let capability = target.capability();
    if let Some(schema) = &capability.agent_input {
        let mut agent = issued.clone();
        if defaults {
            schema.apply_defaults(&mut agent).map_err(invalid)?;
        }
        schema.validate(&agent).map_err(invalid)?;
    }
    let Value::Object(agent) = issued else {
        return Err(invalid(vec![Issue {
            path: String::new(),
            message: "Send an object.".into(),
            keyword: "type".into(),
        }]));
    };
    let bound = bind(flight, target).await?;
    let mut merged = bound.clone();
    // Locked fields are not in it, so what the agent gives overrides what may be overridden.
    merged.extend(agent);
    let mut value = Value::Object(merged);
    if defaults {
        apply_defaults(capability, &mut value)?;
    }
    let issues = capability.input.as_ref().map_or(Ok(()), |schema| schema.validate(&value));
    match issues {
        Ok(()) => Ok(value),
        Err(issues) if issues.iter().any(|issue| is_bound(capability, issue, &value)) => Err(binding_failed()),
        Err(issues) => Err(invalid(issues)),
    }
}

async fn bind(flight: &mut Flight, target: &Target) -> Result<serde_json::Map<String, Value>, ErrorPayload> {
    let hooks = target.hooks().ok_or_else(|| ErrorPayload::unmounted("mid-flight"))?;
    let hook = hooks.bind.clone().ok_or_else(binding_failed)?;
    let host = flight.host().await?;
    let context = flight.call_context(target, &host, None, None).into_bytes();
    let bound = flight.ask(&hook, "bind", context).await?;
    let capability = target.capability();
    match bound {
        Some(Value::Object(map)) if map.keys().all(|key| capability.bound_fields.contains(key)) => Ok(map),
        _ => Err(binding_failed()),
    }
}

/// Whether an issue lies inside a bound field: then it is the host's, not the agent's.
fn is_bound(capability: &Capability, issue: &Issue, value: &Value) -> bool {
    capability.bound_fields.iter().any(|field| {
        let path = format!("/{}", canon::escape_pointer(field));
        let inside = issue.path.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        // A missing member is reported at its parent.
        inside
            || (issue.keyword == "required"
                && issue.path.is_empty()
                && value.get(field).is_none()
                && requires(capability, field))
    })
}

fn requires(capability: &Capability, field: &str) -> bool {
    let required = capability.input.as_ref().and_then(|schema| schema.source().get("required"));
    required.and_then(Value::as_array).is_some_and(|names| names.iter().any(|name| name.as_str() == Some(field)))
}

fn apply_defaults(capability: &Capability, value: &mut Value) -> Result<(), ErrorPayload> {
    capability.input.as_ref().map_or(Ok(()), |schema| schema.apply_defaults(value)).map_err(invalid)
}

fn validate(capability: &Capability, value: &Value) -> Result<(), ErrorPayload> {
    capability.input.as_ref().map_or(Ok(()), |schema| schema.validate(value)).map_err(invalid)
}

fn changed_input(flight: &Flight, capability: &Capability, value: &Value) -> EffectiveInput {
    let text = canon::canonical(value);
    let digest: Arc<str> = super::identity::issued_digest(&capability.id, &text).into();
    debug_assert_eq!(capability.id, *flight.call.ids.capability_id);
    EffectiveInput { text: text.into_bytes().into(), digest }
}

fn invalid(issues: Vec<Issue>) -> ErrorPayload {
    let issues: Vec<Value> = issues
        .into_iter()
        .map(|issue| json!({ "path": issue.path, "message": issue.message, "keyword": issue.keyword }))
        .collect();
    ErrorPayload::new(ErrorCode::InvalidInput, "The input does not fit. Correct what details.issues lists.")
        .details(json!({ "issues": issues }))
}

fn binding_failed() -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::PreconditionFailed,
        "The application could not fill in its part of the input. Refresh the catalog and try again.",
    )
    .retry(Retry::AfterRefresh)
    .reason("binding-failed")
}
