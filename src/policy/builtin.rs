//! The built-in policies: configured as JSON, no host code (AS-POLICY-004).

use serde_json::Value;

use super::{Link, RateTable, Scope, Vote};
use crate::json;
use crate::model::ErrorPayload;
use crate::model::config::Environment;
use crate::model::definition::Kind;
use crate::model::error::ErrorCode;
use crate::model::policy::{BuiltIn, PolicyRef};
use crate::runtime::clock::Instant;

/// What built-ins look at. There is no input here, by construction (AS-INVOKE-001).
pub struct Facts<'a> {
    pub host: &'a Value,
    pub internal: &'a Value,
    pub environment: Environment,
}

/// A built-in's vote on discovery.
pub fn discovery(built_in: &BuiltIn, facts: &Facts) -> Vote {
    let admits = match built_in {
        BuiltIn::Authenticated { path } => present(json::lookup(facts.host, path)),
        BuiltIn::HasPermission { permission, path } => holds(json::lookup(facts.host, path), permission),
        BuiltIn::TenantBoundary { current, expected, optional } => {
            let set = |value: Option<&Value>| value.filter(|value| !value.is_null()).cloned();
            match (set(json::lookup(facts.host, current)), set(json::lookup(facts.internal, expected))) {
                (_, None) => *optional,
                (None, Some(_)) => false,
                (Some(current), Some(expected)) => json::equal(&current, &expected),
            }
        }
        BuiltIn::Environment { allowed } => allowed.iter().any(|name| name == facts.environment.as_str()),
        BuiltIn::RateLimit { .. } | BuiltIn::RequireConfirmation { .. } | BuiltIn::Audit { .. } => true,
    };
    if admits { Vote::Expose } else { Vote::Hide }
}

/// Present and not null, false or "".
fn present(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) | Some(Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    }
}

/// A list that names the permission, or an object that grants it with `true`.
fn holds(value: Option<&Value>, permission: &str) -> bool {
    match value {
        Some(Value::Array(items)) => items.iter().any(|item| item.as_str() == Some(permission)),
        Some(Value::Object(map)) => map.get(permission) == Some(&Value::Bool(true)),
        _ => false,
    }
}

/// The built-ins whose objection is told as such, not as "not found" (section 8).
pub fn authority(policy: &PolicyRef) -> Option<ErrorPayload> {
    match policy {
        PolicyRef::BuiltIn(BuiltIn::Authenticated { .. }) => Some(ErrorPayload::new(
            ErrorCode::NotAuthenticated,
            "Nobody is signed in. The user must sign in before this can be called.",
        )),
        PolicyRef::BuiltIn(BuiltIn::HasPermission { .. }) => Some(
            ErrorPayload::new(ErrorCode::NotAuthorized, "The user may not do this.")
                .details(serde_json::json!({ "origin": "client" })),
        ),
        _ => None,
    }
}

/// Charges a rate limit; the others have nothing to add at phase 4.
pub fn charge(
    link: &Link,
    table: &RateTable,
    consumer_key: &str,
    capability_id: &str,
    now: Instant,
) -> Result<(), ErrorPayload> {
    match link.policy {
        PolicyRef::BuiltIn(BuiltIn::RateLimit { limit, window_ms }) => table
            .charge((link.scope, link.index), consumer_key, capability_id, (*limit, *window_ms), now)
            .map_err(|retry_after_ms| ErrorPayload::rate_limited("rate", retry_after_ms)),
        _ => Ok(()),
    }
}

/// Whether this is a `requireConfirmation` that can ask a person here: wider scopes skip what only
/// reads; attached to the observation itself, it applies.
pub fn may_confirm(link: &Link, kind: Kind) -> bool {
    let asks = matches!(link.policy, PolicyRef::BuiltIn(BuiltIn::RequireConfirmation { .. }));
    asks && (kind != Kind::Observation || link.scope == Scope::Capability)
}

/// Whether a `requireConfirmation` asks a person about this input; `Some(summary)` if it does.
pub fn confirms<'a>(link: &Link<'a>, kind: Kind, input: &Value) -> Option<Option<&'a str>> {
    let PolicyRef::BuiltIn(BuiltIn::RequireConfirmation { condition, summary }) = link.policy else { return None };
    if !may_confirm(link, kind) {
        return None;
    }
    let asks = condition.as_ref().is_none_or(|condition| condition.holds(input).unwrap_or(true));
    asks.then_some(summary.as_deref())
}
