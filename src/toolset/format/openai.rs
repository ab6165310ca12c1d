//! OpenAI's function tools (Chat Completions).

use serde_json::Value;

use super::schema::{object_root, walk};
use super::{Answer, Losses, Spec, ToolCall, provider_call, read_arguments, reply_id, text};
use crate::model::ApiError;
use crate::model::writer::ObjectWriter;

/// What may not stand at the root of a function's parameters.
const NOT_AT_ROOT: &[&str] = &["anyOf", "enum", "const"];

/// What a strict function's schema may hold.
const STRICT: &[&str] = &[
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "anyOf",
    "description",
    "title",
    "$defs",
    "$ref",
];
const STRICT_FORMATS: &[&str] = &["date-time", "date", "email", "uuid"];

/// `{type: "function", function: {name, description, parameters, strict?}}`.
pub fn tool(spec: &Spec, losses: &mut Losses) -> Vec<u8> {
    let mut parameters = object_root(spec.input, NOT_AT_ROOT, losses).unwrap_or_else(|| spec.input.clone());
    let strict = is_strict(&parameters);
    walk(&mut parameters, &mut String::new(), &mut |schema, pointer| {
        if strict {
            keep_strict(schema, pointer, losses);
        }
        // The provider refuses objects and arrays that do not say what they hold.
        for (kind, holds) in [("object", "properties"), ("array", "items")] {
            if schema.get("type").is_some_and(|types| types == kind) {
                schema.entry(holds).or_insert_with(|| Value::Object(Default::default()));
            }
        }
    });
    let mut out = ObjectWriter::with_capacity(spec.input_text.len() + 384);
    out.string("type", "function");
    out.object("function", |out| {
        out.string("name", spec.name);
        out.string("description", spec.description);
        out.value("parameters", &parameters);
        if strict {
            out.boolean("strict", true);
        }
    });
    out.into_bytes()
}

/// Strict mode knows no optional property and no additional one.
fn is_strict(schema: &Value) -> bool {
    let mut strict = true;
    walk(&mut schema.clone(), &mut String::new(), &mut |schema, _| {
        let object = schema.get("type").is_some_and(|types| super::schema::names_type(types, "object"));
        if object || schema.contains_key("properties") {
            let properties = schema.get("properties").and_then(Value::as_object);
            let required = schema.get("required").and_then(Value::as_array);
            let all = properties.into_iter().flatten().all(|(name, _)| {
                required.is_some_and(|required| required.iter().any(|required| required == name.as_str()))
            });
            strict &= all && schema.get("additionalProperties") == Some(&Value::Bool(false));
        }
        let array = schema.get("type").is_some_and(|types| super::schema::names_type(types, "array"));
        strict &= !array || schema.contains_key("items");
        // A schema that allows anything has no grammar.
        strict &= ["type", "enum", "const", "anyOf", "$ref"].iter().any(|keyword| schema.contains_key(*keyword));
    });
    strict
}

fn keep_strict(schema: &mut serde_json::Map<String, Value>, pointer: &str, losses: &mut Losses) {
    schema.retain(|keyword, value| {
        let known = match keyword.as_str() {
            "format" => value.as_str().is_some_and(|format| STRICT_FORMATS.contains(&format)),
            keyword => STRICT.contains(&keyword),
        };
        if !known {
            losses.add(pointer, keyword);
        }
        known
    });
}

/// `{id, type: "function", function: {name, arguments}}`; the arguments are a text.
pub fn call(mut call: Value) -> Result<ToolCall, ApiError> {
    let mut function = call["function"].take();
    let mut call = provider_call(&mut function, "/function", "arguments", call.get("id"))?;
    read_arguments(&mut call);
    Ok(call)
}

/// `{role: "tool", tool_call_id, content}`.
pub fn result(answer: &Answer) -> String {
    let mut out = ObjectWriter::new();
    out.string("role", "tool");
    out.string("tool_call_id", reply_id(answer));
    out.string("content", &text(answer));
    out.finish()
}
