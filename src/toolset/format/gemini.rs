//! Gemini's function declarations: a subset of OpenAPI's schema object, and no references.

use serde_json::{Map, Value, json};

use super::schema::{drop_properties, object_root, reference};
use super::{Answer, Losses, Outcome, Spec, ToolCall, error_text, provider_call};
use crate::json::escape_pointer;
use crate::model::ApiError;
use crate::model::writer::ObjectWriter;

/// Taken over as they are.
const KEPT: &[&str] = &[
    "type",
    "description",
    "title",
    "default",
    "required",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
];
/// Schemas written for one tool; references that multiply end here.
const MAX_SCHEMAS: usize = 1000;

/// `{name, description, parameters?}`; a function without parameters has none.
pub fn tool(spec: &Spec, losses: &mut Losses, out: &mut ObjectWriter) {
    let root = object_root(spec.input, &[], losses);
    let mut inliner = Inliner { root: spec.input, losses, open: Vec::new(), left: MAX_SCHEMAS };
    let parameters = inliner.convert(root.as_ref().unwrap_or(spec.input), &mut String::new());
    out.string("name", spec.name);
    out.string("description", spec.description);
    if parameters.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty()) {
        out.value("parameters", &Value::Object(parameters));
    }
}

fn is_parameter(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

struct Inliner<'a, 'l> {
    root: &'a Value,
    losses: &'l mut Losses,
    /// References being written, so that a circle is seen.
    open: Vec<String>,
    left: usize,
}

impl Inliner<'_, '_> {
    fn convert(&mut self, schema: &Value, pointer: &mut String) -> Map<String, Value> {
        let Value::Object(members) = schema else { return Map::new() };
        if let Some(name) = members.get("$ref").and_then(Value::as_str) {
            return self.inline(name, members, pointer);
        }
        let Some(left) = self.left.checked_sub(1) else { return self.give_up(pointer, "$ref", schema) };
        self.left = left;
        let mut out = Map::new();
        for (keyword, value) in members {
            match keyword.as_str() {
                "properties" => {
                    let properties = value.as_object().into_iter().flatten();
                    let properties = properties.map(|(name, schema)| {
                        (name.clone(), self.step(schema, pointer, &format!("/properties/{}", escape_pointer(name))))
                    });
                    out.insert("properties".into(), Value::Object(properties.collect()));
                }
                "items" => {
                    out.insert("items".into(), self.step(value, pointer, "/items"));
                }
                "anyOf" => {
                    let schemas = value.as_array().into_iter().flatten().enumerate();
                    let schemas = schemas.map(|(index, schema)| self.step(schema, pointer, &format!("/anyOf/{index}")));
                    out.insert("anyOf".into(), schemas.collect());
                }
                "format" if value == "date-time" => {
                    out.insert("format".into(), value.clone());
                }
                "enum" => self.write_enum(value, members, pointer, &mut out),
                "const" => match value {
                    Value::String(_) => drop(out.insert("enum".into(), json!([value]))),
                    _ => self.losses.add(pointer, "const"),
                },
                "$defs" => {}
                // What is so anyway need not be told.
                "additionalProperties" if *value == Value::Bool(true) => {}
                "uniqueItems" if *value == Value::Bool(false) => {}
                keyword if KEPT.contains(&keyword) => drop(out.insert(keyword.into(), value.clone())),
                keyword => self.losses.add(pointer, keyword),
            }
        }
        drop_properties(&mut out, pointer, is_parameter, self.losses);
        self.settle_required(&mut out, pointer);
        self.settle_type(&mut out, pointer);
        out
    }

    fn step(&mut self, schema: &Value, pointer: &mut String, step: &str) -> Value {
        let parent = pointer.len();
        pointer.push_str(step);
        let converted = self.convert(schema, pointer);
        pointer.truncate(parent);
        Value::Object(converted)
    }

    /// What is referred to, written in place, with what stands beside the reference.
    fn inline(&mut self, name: &str, members: &Map<String, Value>, pointer: &mut String) -> Map<String, Value> {
        let target = reference(self.root, &json!({ "$ref": name }));
        let Some(target) = target.filter(|_| !self.open.iter().any(|open| open == name)) else {
            let target = target.cloned().unwrap_or_default();
            return self.give_up(pointer, "$ref", &target);
        };
        self.open.push(name.to_owned());
        let mut out = self.convert(target, pointer);
        self.open.pop();
        for (keyword, value) in members.iter().filter(|(keyword, _)| *keyword != "$ref" && *keyword != "$defs") {
            match keyword.as_str() {
                "description" | "title" | "default" => drop(out.insert(keyword.clone(), value.clone())),
                _ => self.losses.add(pointer, keyword),
            }
        }
        out
    }

    /// Nothing but the type, of what cannot be written.
    fn give_up(&mut self, pointer: &str, keyword: &str, schema: &Value) -> Map<String, Value> {
        self.losses.add(pointer, keyword);
        let kind = schema.get("type").filter(|kind| kind.is_string()).cloned().unwrap_or_else(|| "object".into());
        Map::from_iter([("type".to_owned(), kind)])
    }

    /// Only texts can be enumerated. Null is said by `nullable`.
    fn write_enum(&mut self, value: &Value, members: &Map<String, Value>, pointer: &str, out: &mut Map<String, Value>) {
        let nullable = members.get("type").is_some_and(|types| super::schema::names_type(types, "null"));
        let values: Vec<&Value> =
            value.as_array().into_iter().flatten().filter(|value| !(nullable && value.is_null())).collect();
        match values.iter().all(|value| value.is_string()) {
            true => drop(out.insert("enum".into(), json!(values))),
            false => self.losses.add(pointer, "enum"),
        }
    }

    /// What is required must be declared.
    fn settle_required(&mut self, out: &mut Map<String, Value>, pointer: &str) {
        let Some(Value::Array(mut required)) = out.remove("required") else { return };
        let before = required.len();
        let properties = out.get("properties").and_then(Value::as_object);
        required.retain(|name| {
            properties.zip(name.as_str()).is_some_and(|(properties, name)| properties.contains_key(name))
        });
        if required.len() < before {
            self.losses.add(pointer, "required");
        }
        if !required.is_empty() {
            out.insert("required".into(), Value::Array(required));
        }
    }

    /// One type each: null is `nullable`, several are alternatives, none is guessed as something the schema allows.
    fn settle_type(&mut self, out: &mut Map<String, Value>, pointer: &str) {
        if let Some(Value::Array(types)) = out.get("type").cloned() {
            let (nulls, others): (Vec<Value>, Vec<Value>) = types.into_iter().partition(|kind| kind == "null");
            if !nulls.is_empty() {
                out.insert("nullable".into(), Value::Bool(true));
            }
            match others.as_slice() {
                [] => drop(out.remove("type")),
                [one] => drop(out.insert("type".into(), one.clone())),
                _ if out.contains_key("anyOf") => {
                    out.remove("type");
                    self.losses.add(pointer, "type");
                }
                _ => {
                    out.remove("type");
                    let kinds: Vec<Value> = others.iter().map(|kind| alternative(kind, out)).collect();
                    out.retain(|keyword, _| {
                        matches!(keyword.as_str(), "description" | "title" | "default" | "nullable")
                    });
                    out.insert("anyOf".into(), Value::Array(kinds));
                }
            }
        }
        if out.get("enum").is_some_and(Value::is_array) {
            out.insert("type".into(), "string".into());
        }
        if !out.contains_key("type") && !out.contains_key("anyOf") {
            let holds = |keyword| out.contains_key(keyword);
            let kind = if holds("properties") {
                "object"
            } else if holds("items") {
                "array"
            } else {
                "string"
            };
            out.insert("type".into(), kind.into());
        }
        if out.get("type").is_some_and(|kind| kind == "array") && !out.contains_key("items") {
            out.insert("items".into(), json!({ "type": "string" }));
        }
    }
}

/// One of several types, with the keywords that speak of it.
fn alternative(kind: &Value, all: &Map<String, Value>) -> Value {
    let about: &[&str] = match kind.as_str() {
        Some("string") => &["minLength", "maxLength", "pattern", "format", "enum"],
        Some("number" | "integer") => &["minimum", "maximum"],
        Some("array") => &["items", "minItems", "maxItems"],
        Some("object") => &["properties", "required"],
        _ => &[],
    };
    let mut out = Map::from_iter([("type".to_owned(), kind.clone())]);
    out.extend(about.iter().filter_map(|keyword| Some(((*keyword).to_owned(), all.get(*keyword)?.clone()))));
    if kind == "array" {
        out.entry("items").or_insert_with(|| json!({ "type": "string" }));
    }
    Value::Object(out)
}

/// `{functionCall: {id?, name, args?}}`.
pub fn call(mut call: Value) -> Result<ToolCall, ApiError> {
    let mut body = call["functionCall"].take();
    let id = body.get("id").cloned();
    provider_call(&mut body, "/functionCall", "args", id.as_ref())
}

/// `{functionResponse: {id?, name, response}}`: `output` or `error` in the response. The id only where the call had one.
pub fn result(answer: &Answer) -> String {
    let mut out = ObjectWriter::new();
    out.object("functionResponse", |out| {
        out.optional_string("id", answer.tool_call_id);
        out.string("name", answer.name);
        match answer.outcome {
            Outcome::Ok(output) => out.object("response", |out| match output {
                Some(output) => out.value("output", output),
                None => out.string("status", "ok"),
            }),
            Outcome::Error(error) => out.raw("response", error_text(answer, error).as_bytes()),
        }
    });
    out.finish()
}
