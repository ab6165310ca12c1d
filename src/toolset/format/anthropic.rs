//! Anthropic's tools and tool-use blocks (Messages).

use serde_json::Value;

use super::schema::{drop_properties, object_root};
use super::{Answer, Losses, Outcome, Spec, ToolCall, provider_call, reply_id, text};
use crate::model::ApiError;
use crate::model::writer::ObjectWriter;

/// What may not stand at the root of an input schema.
const NOT_AT_ROOT: &[&str] = &["anyOf"];

/// `{name, description, input_schema}`.
pub fn tool(spec: &Spec, losses: &mut Losses, out: &mut ObjectWriter) {
    let mut schema = object_root(spec.input, NOT_AT_ROOT, losses);
    let refused = spec.input.get("properties").and_then(Value::as_object).into_iter().flatten();
    if schema.is_some() || refused.into_iter().any(|(name, _)| !is_key(name)) {
        let mut changed = schema.unwrap_or_else(|| spec.input.clone());
        if let Value::Object(members) = &mut changed {
            // At the root only: further down the provider takes any name.
            drop_properties(members, "", is_key, losses);
        }
        schema = Some(changed);
    }
    out.string("name", spec.name);
    out.string("description", spec.description);
    match &schema {
        Some(schema) => out.value("input_schema", schema),
        None => out.raw("input_schema", spec.input_text),
    }
}

fn is_key(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// `{type: "tool_use", id, name, input}`.
pub fn call(mut call: Value) -> Result<ToolCall, ApiError> {
    let id = call.get("id").cloned();
    provider_call(&mut call, "", "input", id.as_ref())
}

/// `{type: "tool_result", tool_use_id, content, is_error?}`.
pub fn result(answer: &Answer) -> String {
    let mut out = ObjectWriter::new();
    out.string("type", "tool_result");
    out.string("tool_use_id", reply_id(answer));
    out.string("content", &text(answer));
    if let Outcome::Error(_) = answer.outcome {
        out.boolean("is_error", true);
    }
    out.finish()
}
