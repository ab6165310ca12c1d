//! The agent-facing schema of a procedure with bound fields (AS-BIND-001, AS-BIND-002).

use super::compile::reference_pointer;
use crate::json::{Map, Value, lookup};
use std::collections::{BTreeMap, BTreeSet};

/// A copy of `schema` in which the locked properties are gone, from `properties`, from `required` and from the values
/// it shows (`default`, `examples`, `const`, `enum`), and the overridable ones are optional. All of it at the top level
/// of the value only: in the schema itself and in what applies to the same value through `anyOf` and `$ref`. A
/// definition that changes is copied, since properties further down may refer to it as well, and the original leaves
/// `$defs` when nothing refers to it any more.
pub fn cut(schema: &Value, locked: &[&str], overridable: &[&str]) -> Value {
    let Value::Object(root) = schema else { return schema.clone() };
    let mut cutter = Cutter { source: schema, locked, overridable, copies: BTreeMap::new(), new_defs: Map::new() };
    let mut root = cutter.cut(root);
    let mut defs = cutter.new_defs;
    if defs.is_empty() {
        return Value::Object(root);
    }
    if let Some(Value::Object(old)) = root.remove("$defs") {
        defs.extend(old);
    }
    let mut cut = Value::Object(root);
    keep_reachable(&cut, &mut defs);
    cut["$defs"] = Value::Object(defs);
    cut
}

struct Cutter<'a> {
    source: &'a Value,
    locked: &'a [&'a str],
    overridable: &'a [&'a str],
    /// From the pointer of a definition to the `$ref` that takes its place.
    copies: BTreeMap<String, String>,
    new_defs: Map<String, Value>,
}

impl Cutter<'_> {
    fn cut(&mut self, schema: &Map<String, Value>) -> Map<String, Value> {
        let mut schema = schema.clone();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            self.strip(properties);
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            let bound = |name: &str| self.locked.contains(&name) || self.overridable.contains(&name);
            required.retain(|name| !name.as_str().is_some_and(bound));
            if required.is_empty() {
                schema.remove("required");
            }
        }
        for shown in ["default", "const"] {
            if let Some(Value::Object(value)) = schema.get_mut(shown) {
                self.strip(value);
            }
        }
        for shown in ["examples", "enum"] {
            for value in schema.get_mut(shown).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Value::Object(value) = value {
                    self.strip(value);
                }
            }
        }
        for alternative in schema.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::Object(alternative) = alternative {
                *alternative = self.cut(alternative);
            }
        }
        if let Some(Value::String(reference)) = schema.get_mut("$ref") {
            *reference = self.cut_definition(reference);
        }
        schema
    }

    fn strip(&self, members: &mut Map<String, Value>) {
        for name in self.locked {
            members.remove(*name);
        }
    }

    /// The reference to use instead of `reference`.
    fn cut_definition(&mut self, reference: &str) -> String {
        let source = self.source;
        let Some(pointer) = reference_pointer(reference) else { return reference.to_owned() };
        if let Some(copy) = self.copies.get(&pointer) {
            return copy.clone();
        }
        let Some(Value::Object(definition)) = lookup(source, &pointer) else { return reference.to_owned() };
        // Known before the definition is cut, so that a circle ends here.
        let name = self.fresh_name();
        self.copies.insert(pointer.clone(), format!("#/$defs/{name}"));
        self.new_defs.insert(name.clone(), Value::Null);
        let copy = self.cut(definition);
        if copy == *definition {
            self.new_defs.remove(&name);
            self.copies.insert(pointer, reference.to_owned());
            return reference.to_owned();
        }
        self.new_defs.insert(name.clone(), Value::Object(copy));
        format!("#/$defs/{name}")
    }

    fn fresh_name(&self) -> String {
        let taken = |name: &String| {
            self.new_defs.contains_key(name) || self.source.get("$defs").is_some_and(|defs| defs.get(name).is_some())
        };
        (1..).map(|n| format!("cut{n}")).find(|name| !taken(name)).unwrap_or_default()
    }
}

/// Drops the definitions that nothing refers to, directly or through another.
fn keep_reachable(root: &Value, defs: &mut Map<String, Value>) {
    let mut reached = BTreeSet::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                open.extend(members.values());
                let pointer = members.get("$ref").and_then(Value::as_str).and_then(reference_pointer);
                let name = pointer.as_deref().and_then(|pointer| pointer.strip_prefix("/$defs/")?.split('/').next());
                let name = name.map(|name| name.replace("~1", "/").replace("~0", "~"));
                if let Some((name, definition)) = name.and_then(|name| defs.get_key_value(&name))
                    && reached.insert(name.clone())
                {
                    open.push(definition);
                }
            }
            _ => {}
        }
    }
    defs.retain(|name, _| reached.contains(name));
}
