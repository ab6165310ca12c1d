//! Tools of the Model Context Protocol.

use serde_json::Value;

use super::schema::object_root;
use super::{Answer, Losses, Outcome, Spec, ToolCall, provider_call, text};
use crate::model::ApiError;
use crate::model::fields;
use crate::model::writer::ObjectWriter;

/// `{name, description, inputSchema, outputSchema?, annotations, _meta?: {capabilityId}}`.
pub fn tool(spec: &Spec, losses: &mut Losses, out: &mut ObjectWriter) {
    out.string("name", spec.name);
    out.string("description", spec.description);
    match object_root(spec.input, &[], losses) {
        Some(schema) => out.value("inputSchema", &schema),
        None => out.raw("inputSchema", spec.input_text),
    }
    match spec.output {
        Some(schema) if structured(schema) => out.value("outputSchema", schema),
        Some(_) => losses.add("/outputSchema", "type"),
        None => {}
    }
    out.object("annotations", |out| {
        out.boolean("readOnlyHint", spec.read_only);
        out.boolean("destructiveHint", spec.destructive);
        out.boolean("idempotentHint", spec.idempotent);
    });
    if let Some(id) = spec.capability_id {
        out.object("_meta", |out| out.string("capabilityId", id));
    }
}

/// Structured content is an object, so only an object's schema can be told.
fn structured(schema: &Value) -> bool {
    schema.get("type").is_some_and(|types| types == "object")
}

/// The request `{method: "tools/call", id?, params: {name, arguments?}}`.
pub fn call(mut call: Value) -> Result<ToolCall, ApiError> {
    if call["method"] != "tools/call" {
        return Err(fields::argument("/method".into(), "Give a tools/call request here.".into()));
    }
    let id = call.get("id").cloned();
    let mut params = call.get_mut("params").map(Value::take).unwrap_or_default();
    provider_call(&mut params, "/params", "arguments", id.as_ref())
}

/// The result of the request: `{content: [{type: "text", text}], structuredContent?, isError, _meta: {invocationId}}`.
pub fn result(answer: &Answer) -> String {
    let mut out = ObjectWriter::new();
    out.array("content", [text(answer)], |text, out| {
        let mut block = ObjectWriter::new();
        block.string("type", "text");
        block.string("text", &text);
        out.extend(block.into_bytes());
    });
    if let Outcome::Ok(Some(output @ Value::Object(_))) = answer.outcome {
        out.value("structuredContent", output);
    }
    out.boolean("isError", matches!(answer.outcome, Outcome::Error(_)));
    out.object("_meta", |out| out.string("invocationId", answer.invocation_id));
    out.finish()
}
