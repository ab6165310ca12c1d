//! OpenAI's function tools (Chat Completions).

use serde_json::{Map, Value};

use super::schema::{all, names_type, object_root, walk};
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
pub fn tool(spec: &Spec, losses: &mut Losses, out: &mut ObjectWriter) {
    let root = object_root(spec.input, NOT_AT_ROOT, losses);
    let schema = root.as_ref().unwrap_or(spec.input);
    let strict = all(schema, &is_strict);
    let parameters = match strict || root.is_some() || !all(schema, &says_what_it_holds) {
        true => Some(rewrite(schema.clone(), strict, losses)),
        false => None,
    };
    out.string("type", "function");
    out.object("function", |out| {
        out.string("name", spec.name);
        out.string("description", spec.description);
        match &parameters {
            Some(parameters) => out.value("parameters", parameters),
            None => out.raw("parameters", spec.input_text),
        }
        if strict {
            out.boolean("strict", true);
        }
    });
}

fn is_type(schema: &Map<String, Value>, kind: &str) -> bool {
    schema.get("type").is_some_and(|types| names_type(types, kind))
}

/// Strict mode knows no optional property and no additional one, and no schema that allows anything.
fn is_strict(schema: &Map<String, Value>) -> bool {
    let describes = ["type", "enum", "const", "anyOf", "$ref"].iter().any(|keyword| schema.contains_key(*keyword));
    let object = is_type(schema, "object") || schema.contains_key("properties");
    describes && (!object || is_closed(schema)) && (!is_type(schema, "array") || schema.contains_key("items"))
}

fn is_closed(schema: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|required| required.iter().any(|other| other == name));
    let mut properties = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    schema.get("additionalProperties") == Some(&Value::Bool(false)) && properties.all(is_required)
}

/// The provider refuses objects and arrays that do not.
fn says_what_it_holds(schema: &Map<String, Value>) -> bool {
    (!is_type(schema, "object") || schema.contains_key("properties"))
        && (!is_type(schema, "array") || schema.contains_key("items"))
}

fn rewrite(mut schema: Value, strict: bool, losses: &mut Losses) -> Value {
    walk(&mut schema, &mut String::new(), &mut |schema, pointer| {
        if strict {
            keep_strict(schema, pointer, losses);
        }
        for (kind, holds) in [("object", "properties"), ("array", "items")] {
            if is_type(schema, kind) {
                schema.entry(holds).or_insert_with(|| Value::Object(Map::new()));
            }
        }
    });
    schema
}

fn keep_strict(schema: &mut Map<String, Value>, pointer: &str, losses: &mut Losses) {
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
