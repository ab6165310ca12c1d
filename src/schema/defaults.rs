//! `default`, where the registry option `applyDefaults` is on.

use super::Issue;
use super::compile::{Compiled, NodeId};
use super::validate::{MAX_DEPTH, steps, too_complex};
use crate::json::Value;

/// A small value must not swell without bound: a default in `items` is copied once an item.
const MAX_INSERTED_BYTES: usize = 1 << 20;

pub(super) fn apply(schema: &Compiled, value: &mut Value) -> Result<(), Vec<Issue>> {
    if !schema.has_defaults {
        return Ok(());
    }
    let steps = steps(schema, value);
    let mut fill = Fill { schema, steps, bytes: MAX_INSERTED_BYTES, depth: 0, inserting: Vec::new() };
    fill.visit(0, value).ok_or_else(|| vec![too_complex()])
}

struct Fill<'s> {
    schema: &'s Compiled,
    steps: usize,
    bytes: usize,
    depth: usize,
    /// The nodes whose defaults are being filled in themselves: none goes into its own.
    inserting: Vec<NodeId>,
}

impl<'s> Fill<'s> {
    /// `None` when a bound is reached.
    fn visit(&mut self, id: NodeId, value: &mut Value) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        self.depth = Some(self.depth + 1).filter(|depth| *depth <= MAX_DEPTH)?;
        let schema: &'s Compiled = self.schema;
        let node = &schema.nodes[id];
        match value {
            Value::Object(members) => {
                for (name, property) in &node.properties {
                    match members.get_mut(name) {
                        Some(member) => self.visit(*property, member)?,
                        None => {
                            if let Some(value) = self.default_of(*property, name)? {
                                members.insert(name.clone(), value);
                            }
                        }
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = node.items {
                    items.iter_mut().try_for_each(|item| self.visit(schema, item))?;
                }
            }
            _ => {}
        }
        if let Some(target) = node.reference {
            self.visit(target, value)?;
        }
        self.depth -= 1;
        Some(())
    }

    /// The default of an absent property, filled in itself. It may stand beside a `$ref` or behind it.
    fn default_of(&mut self, id: NodeId, name: &str) -> Option<Option<Value>> {
        let schema: &'s Compiled = self.schema;
        let mut holder = Some(id);
        while let Some(id) = holder {
            let Some(default) = &schema.nodes[id].default else {
                holder = schema.nodes[id].reference;
                continue;
            };
            if self.inserting.contains(&id) {
                return Some(None);
            }
            self.bytes = self.bytes.checked_sub(default.bytes + name.len())?;
            let mut value = default.value.clone();
            self.inserting.push(id);
            self.visit(id, &mut value)?;
            self.inserting.pop();
            return Some(Some(value));
        }
        Some(None)
    }
}
