//! Binding a result to its request, offline: no registry, no state (AS-BINDING-004).

use serde_json::Value;

use crate::json;
use crate::model::fields::{self, Fields};
use crate::model::writer::ObjectWriter;
use crate::model::{ApiError, Code, id};

/// The canonical form of a document (RFC 8785, integers exact).
pub fn canonical_json(text: &[u8]) -> Result<String, ApiError> {
    Ok(json::canonical(&fields::deep_document(text)?))
}

/// `sha256:` + hex over canonical `{capabilityId, input}`; empty input is `{}`.
pub fn request_digest(capability_id: &[u8], input: &[u8]) -> Result<String, ApiError> {
    let capability_id =
        std::str::from_utf8(capability_id).map_err(|_| ApiError::new(Code::Utf8, "The capability id is not UTF-8."))?;
    if !id::is_capability_id(capability_id) {
        return Err(ApiError::new(Code::Argument, "This is not a capability id."));
    }
    let input = if input.is_empty() { Value::Null } else { fields::deep_document(input)? };
    Ok(json::request_digest(capability_id, &or_empty(Some(&input))))
}

/// A null input is an absent one, and an absent one is `{}`.
fn or_empty(input: Option<&Value>) -> Value {
    match input {
        None | Some(Value::Null) => Value::Object(serde_json::Map::new()),
        Some(value) => value.clone(),
    }
}

/// Holds a result against the request it should belong to; gives `{valid, checks, reason?}`.
pub fn verify_result(result: &[u8], request: &[u8]) -> Result<String, ApiError> {
    let result = fields::deep_document(result)?;
    if !result.is_object() {
        return Err(ApiError::at(Code::Argument, "", "Give a result here."));
    }
    let request = fields::deep_document(request)?;
    let mut fields = Fields::new(&request, "", fields::argument)?;
    let capability_id = fields.required_string("capabilityId")?;
    let input = fields.get("input");
    let effective = fields.get("effectiveInput");
    let mut checks = vec![("capabilityId", same(&result, "capabilityId", capability_id))];
    for name in ["invocationId", "registrationId", "instanceId"] {
        if let Some(expected) = fields.string(name)? {
            checks.push((name, same(&result, name, expected)));
        }
    }
    fields.finish()?;
    let digest = |input| json::request_digest(capability_id, &or_empty(input));
    if input.is_some() || effective.is_none() {
        checks.push(("issuedDigest", same(&result, "issuedDigest", &digest(input))));
    }
    if effective.is_some() {
        checks.push(("requestDigest", same(&result, "requestDigest", &digest(effective))));
    }
    if let Some(matches) = output_matches(&result) {
        checks.push(("outputDigest", matches));
    }
    Ok(report(&checks))
}

fn same(result: &Value, name: &str, expected: &str) -> bool {
    result.get(name).and_then(Value::as_str) == Some(expected)
}

/// Output and digest belong together: both or neither. `None` where a result rightly has neither.
fn output_matches(result: &Value) -> Option<bool> {
    match (result.get("output"), result.get("outputDigest")) {
        (None, None) => None,
        (Some(output), Some(digest)) => Some(digest.as_str() == Some(&*json::digest_value(output))),
        _ => Some(false),
    }
}

fn report(checks: &[(&str, bool)]) -> String {
    let failed = checks.iter().find(|(_, holds)| !holds);
    let mut out = ObjectWriter::new();
    out.boolean("valid", failed.is_none());
    out.object("checks", |out| checks.iter().for_each(|(name, holds)| out.boolean(name, *holds)));
    if let Some((name, _)) = failed {
        out.string("reason", &format!("{name} does not match"));
    }
    out.finish()
}
