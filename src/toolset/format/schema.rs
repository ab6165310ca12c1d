//! What the providers' forms of a schema have in common.

use serde_json::{Map, Value, json};

use super::Losses;
use crate::json::lookup;
use crate::schema::reference_pointer;

/// Longest chain of `$ref` that is followed; a registered schema has no circle without a value between.
const MAX_REFS: usize = 16;

/// What a schema refers to; a reference that leads nowhere is left as it is.
pub fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    for _ in 0..MAX_REFS {
        match reference(root, schema) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// What the schema's own `$ref` stands for.
pub fn reference<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    lookup(root, &reference_pointer(schema.get("$ref")?.as_str()?)?)
}

/// Whether `type` names this one.
pub fn names_type(types: &Value, wanted: &str) -> bool {
    match types {
        Value::String(name) => name == wanted,
        Value::Array(names) => names.iter().any(|name| name == wanted),
        _ => false,
    }
}

/// The schema as every provider wants its root: of type object, spelt out, and without the combinations named in
/// `banned`. `None` where it is that already.
pub fn object_root(schema: &Value, banned: &[&str], losses: &mut Losses) -> Option<Value> {
    let fits = schema.get("type").is_some_and(|types| types == "object")
        && schema.get("$ref").is_none()
        && banned.iter().all(|keyword| schema.get(keyword).is_none());
    if fits {
        return None;
    }
    let mut root = match schema {
        Value::Object(members) => members.clone(),
        _ => Map::new(),
    };
    for _ in 0..MAX_REFS {
        let Some(target) = reference(schema, &Value::Object(root.clone())).and_then(Value::as_object) else { break };
        root.remove("$ref");
        for (keyword, value) in target {
            if root.contains_key(keyword) && root[keyword] != *value {
                losses.add("", keyword);
            }
            root.entry(keyword.clone()).or_insert_with(|| value.clone());
        }
    }
    if root.get("type").is_some_and(|types| types != "object") {
        losses.add("", "type");
    }
    if root.get("type").is_some_and(|types| !names_type(types, "object")) {
        // Nothing of it is about objects.
        return Some(json!({ "type": "object" }));
    }
    for keyword in banned {
        if root.remove(*keyword).is_some() {
            losses.add("", keyword);
        }
    }
    root.insert("type".into(), "object".into());
    Some(Value::Object(root))
}

/// Takes properties out whose names a provider refuses: a model cannot give what it cannot name.
pub fn drop_properties(schema: &mut Map<String, Value>, pointer: &str, allowed: fn(&str) -> bool, losses: &mut Losses) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    let refused: Vec<String> = properties.keys().filter(|name| !allowed(name)).cloned().collect();
    for name in &refused {
        properties.remove(name);
        losses.add(&format!("{pointer}/properties/{}", crate::json::escape_pointer(name)), "properties");
    }
    if let (false, Some(Value::Array(required))) = (refused.is_empty(), schema.get_mut("required")) {
        required.retain(|name| !refused.iter().any(|refused| name == refused.as_str()));
    }
}

/// Calls `each` on a schema and every schema inside it, with its pointer.
pub fn walk(schema: &mut Value, pointer: &mut String, each: &mut impl FnMut(&mut Map<String, Value>, &str)) {
    let Value::Object(members) = schema else { return };
    each(members, pointer);
    let enter = |schema: &mut Value, step: String, pointer: &mut String, each: &mut _| {
        let parent = pointer.len();
        pointer.push_str(&step);
        walk(schema, pointer, each);
        pointer.truncate(parent);
    };
    for keyword in ["properties", "$defs"] {
        if let Some(Value::Object(schemas)) = members.get_mut(keyword) {
            for (name, schema) in schemas {
                enter(schema, format!("/{keyword}/{}", crate::json::escape_pointer(name)), pointer, each);
            }
        }
    }
    if let Some(Value::Array(schemas)) = members.get_mut("anyOf") {
        for (index, schema) in schemas.iter_mut().enumerate() {
            enter(schema, format!("/anyOf/{index}"), pointer, each);
        }
    }
    if let Some(items) = members.get_mut("items") {
        enter(items, "/items".into(), pointer, each);
    }
}

/// Whether `test` holds for a schema and for every schema inside it.
pub fn all(schema: &Value, test: &impl Fn(&Map<String, Value>) -> bool) -> bool {
    let Value::Object(members) = schema else { return true };
    let inside = |keyword: &str| members.get(keyword);
    let members_of = |keyword| inside(keyword).and_then(Value::as_object).into_iter().flat_map(Map::values);
    test(members)
        && members_of("properties").chain(members_of("$defs")).all(|schema| all(schema, test))
        && inside("anyOf").and_then(Value::as_array).into_iter().flatten().all(|schema| all(schema, test))
        && inside("items").is_none_or(|schema| all(schema, test))
}
