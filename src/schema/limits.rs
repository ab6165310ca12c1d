//! Depth and size of a schema.

use super::{SchemaError, SchemaErrorKind};
use crate::json::{Value, escape_pointer, write_canonical};

pub(super) fn check(schema: &Value, path: &str, max_depth: usize, max_bytes: usize) -> Result<(), SchemaError> {
    let exceeded = |path, message| Err(SchemaError { kind: SchemaErrorKind::Limit, path, keyword: None, message });
    let mut text = Vec::new();
    write_canonical(schema, &mut text);
    if text.len() > max_bytes {
        return exceeded(path.to_owned(), format!("Write the schema in at most {max_bytes} bytes."));
    }
    let mut open = vec![(schema, path.to_owned(), 1)];
    while let Some((schema, path, depth)) = open.pop() {
        if depth > max_depth {
            return exceeded(path, format!("Nest schemas at most {max_depth} deep."));
        }
        let inner = subschemas(schema).into_iter();
        open.extend(
            inner.map(|(schema, step, fresh)| (schema, format!("{path}{step}"), if fresh { 1 } else { depth + 1 })),
        );
    }
    Ok(())
}

/// The schemas directly inside one, their pointers from it, and whether depth is counted anew from there.
fn subschemas(schema: &Value) -> Vec<(&Value, String, bool)> {
    let mut found = Vec::new();
    for (keyword, fresh) in [("properties", false), ("$defs", true)] {
        let members = schema.get(keyword).and_then(Value::as_object).into_iter().flatten();
        found.extend(members.map(|(name, schema)| (schema, format!("/{keyword}/{}", escape_pointer(name)), fresh)));
    }
    let alternatives = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate();
    found.extend(alternatives.map(|(i, schema)| (schema, format!("/anyOf/{i}"), false)));
    found.extend(schema.get("items").map(|schema| (schema, "/items".to_owned(), false)));
    found
}
