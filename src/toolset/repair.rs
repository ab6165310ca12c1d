//! Objects that came as text. Models send `"{\"a\":1}"` where `{"a":1}` is due; this is the one place that mends it.

use serde_json::Value;

use super::format::schema::{names_type, resolve};
use crate::json;
use crate::model::Limits;

/// No input that may run nests deeper.
const MAX_DEPTH: usize = 256;
/// Most pointers that are told of one input.
const MAX_TOLD: usize = 32;

/// Parses the texts in `value` that stand where `schema` expects an object and nothing that a text could be, and that
/// parse to an object. Everything else stays as it came, for the validator to judge. Gives the pointers of what it mended.
pub fn repair(schema: &Value, value: &mut Value) -> Vec<String> {
    let mut repair = Repair { root: schema, mended: Vec::new() };
    repair.visit(schema, value, &mut String::new(), 0);
    repair.mended
}

/// Whether a value of this schema could be an object at all.
pub fn may_be_object(schema: &Value) -> bool {
    let root = schema;
    let schema = resolve(root, schema);
    schema.get("type").is_none_or(|types| names_type(types, "object"))
}

struct Repair<'a> {
    root: &'a Value,
    mended: Vec<String>,
}

impl Repair<'_> {
    fn visit(&mut self, schema: &Value, value: &mut Value, pointer: &mut String, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let schema = resolve(self.root, schema);
        if let (Value::String(text), true) = (&*value, expects_object(schema))
            && let Ok(object @ Value::Object(_)) = json::parse(text.as_bytes(), &Limits::host_bounds())
        {
            *value = object;
            if self.mended.len() < MAX_TOLD {
                self.mended.push(pointer.clone());
            }
        }
        match value {
            Value::Object(members) => {
                let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
                for (name, member) in members {
                    if let Some(property) = properties.get(name) {
                        self.step(property, member, pointer, &json::escape_pointer(name), depth);
                    }
                }
            }
            Value::Array(items) => {
                let Some(item_schema) = schema.get("items") else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.step(item_schema, item, pointer, &index.to_string(), depth);
                }
            }
            _ => {}
        }
    }

    fn step(&mut self, schema: &Value, value: &mut Value, pointer: &mut String, token: &str, depth: usize) {
        let parent = pointer.len();
        pointer.push('/');
        pointer.push_str(token);
        self.visit(schema, value, pointer, depth + 1);
        pointer.truncate(parent);
    }
}

fn expects_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|types| names_type(types, "object") && !names_type(types, "string"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mended(schema: Value, value: Value) -> (Value, Vec<String>) {
        let mut value = value;
        let pointers = repair(&schema, &mut value);
        (value, pointers)
    }

    /// AS-ADAPTER-001: repaired where an object is due and a text parses to one, at any depth, and told where.
    #[test]
    fn an_object_as_text_becomes_one() {
        let schema = json!({"type": "object", "properties": {
            "where": {"type": "object", "properties": {"at/once": {"$ref": "#/$defs/point"}}},
            "all": {"type": "array", "items": {"$ref": "#/$defs/point"}}},
            "$defs": {"point": {"type": ["object", "null"]}}});
        let value = json!(r#"{"where":"{\"at/once\":\"{\\\"x\\\":1}\"}","all":["{}",null]}"#);
        let (value, pointers) = mended(schema, value);
        assert_eq!(value, json!({"where": {"at/once": {"x": 1}}, "all": [{}, null]}));
        assert_eq!(pointers, ["", "/all/0", "/where", "/where/at~1once"]);
    }

    /// Where a text may stand, or the text is no object, it is left alone.
    #[test]
    fn anything_else_stays_as_it_came() {
        let object = json!({"type": "object"});
        for (schema, text) in [
            (json!({"type": "string"}), "{}"),
            (json!({"type": ["object", "string"]}), "{}"),
            (json!({}), "{}"),
            (json!({"type": "array"}), "{}"),
            (json!({"anyOf": [{"type": "object"}]}), "{}"),
            (object.clone(), "[1]"),
            (object.clone(), "1"),
            (object.clone(), "\"{}\""),
            (object.clone(), ""),
            (object.clone(), "{\"a\":1,\"a\":2}"),
            (object, "open the door"),
        ] {
            assert_eq!(mended(schema, json!(text)), (json!(text), vec![]));
        }
    }

    /// A text in a text in a text ends somewhere.
    #[test]
    fn depth_is_bounded() {
        let schema = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"n": {"$ref": "#/$defs/node"}}}}});
        let mut value = json!({});
        for _ in 0..2 * MAX_DEPTH {
            value = json!({ "n": value });
        }
        assert_eq!(mended(schema, value.clone()), (value, vec![]));
        let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
        assert_eq!(mended(circle.clone(), json!("{}")), (json!("{}"), vec![]));
        assert!(
            may_be_object(&circle) && may_be_object(&json!({})) && !may_be_object(&json!({"type": ["string", "null"]}))
        );
    }
}
