//! Running a compiled schema over a value.
//!
//! A schema can apply the same node to the same value by many ways (`$ref` beside `properties`, alternatives that share
//! a definition), and doubling at every level is exponential. So the work is bounded by what an evaluation without such
//! repetition needs, nodes times values, and ends as an issue beyond it. The stack is bounded the same way.

use super::compile::{Compiled, Node, NodeId, Type};
use super::numeric::{compare, is_integer};
use super::{Issue, MAX_ISSUES, shown};
use crate::json::{Map, Number, Value, canonical, equal, escape_pointer};
use std::cmp::Ordering;
use std::collections::HashSet;

/// Nodes on the way from the root, about twice what the deepest parsed value needs.
pub(super) const MAX_DEPTH: usize = 1100;
/// Below this the work is never too much.
const FREE_STEPS: usize = 1 << 16;

pub(super) fn validate(schema: &Compiled, value: &Value) -> Result<(), Vec<Issue>> {
    let mut run =
        Run { schema, issues: Vec::new(), silent: false, depth: 0, steps: steps(schema, value), exhausted: false };
    let valid = run.check(0, value, &Path::Root);
    if run.exhausted {
        // From there on nothing was valid, no alternative either: a verdict that was cut short is a refusal.
        run.issues.truncate(MAX_ISSUES - 1);
        run.issues.push(too_complex());
    }
    if valid { Ok(()) } else { Err(run.issues) }
}

/// How many pairs of node and value may be looked at.
pub(super) fn steps(schema: &Compiled, value: &Value) -> usize {
    schema.nodes.len().saturating_mul(count(value)).max(FREE_STEPS)
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

pub(super) fn too_complex() -> Issue {
    let message = "Give a simpler value: this one takes too many steps to check.".to_owned();
    Issue { path: String::new(), message, keyword: "$ref".to_owned() }
}

/// Where the run is. Lives on the stack and becomes text only for an issue.
enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn pointer(&self) -> String {
        match self {
            Path::Root => String::new(),
            Path::Member(parent, name) => format!("{}/{}", parent.pointer(), escape_pointer(name)),
            Path::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

struct Run<'s> {
    schema: &'s Compiled,
    issues: Vec<Issue>,
    /// Inside an alternative of `anyOf` only the verdict counts.
    silent: bool,
    depth: usize,
    steps: usize,
    exhausted: bool,
}

/// `check` is on the stack once a level, so nothing that it calls is inlined into its frame: the worst case then takes
/// less than 200 kB in an optimized build.
impl<'s> Run<'s> {
    fn check(&mut self, id: NodeId, value: &Value, path: &Path) -> bool {
        if self.steps == 0 || self.depth == MAX_DEPTH {
            self.exhausted = true;
        }
        if !self.goes_on(true) {
            return false;
        }
        self.steps -= 1;
        self.depth += 1;
        let schema: &'s Compiled = self.schema;
        let node = &schema.nodes[id];
        let mut valid = self.check_type(node, value, path) & self.check_choice(node, value, path);
        if self.goes_on(valid) {
            valid &= match value {
                Value::Object(members) => self.check_object(node, members, path),
                Value::Array(items) => self.check_array(node, items, path),
                Value::String(text) => self.check_string(node, text, path),
                Value::Number(number) => self.check_number(node, number, path),
                Value::Null | Value::Bool(_) => true,
            };
        }
        if let Some(target) = node.reference.filter(|_| self.goes_on(valid)) {
            valid &= self.check(target, value, path);
        }
        if !node.any_of.is_empty() && self.goes_on(valid) {
            valid &= self.check_any_of(node, value, path);
        }
        self.depth -= 1;
        valid
    }

    /// Whether anything that follows can change the answer.
    fn goes_on(&self, valid: bool) -> bool {
        let enough = self.exhausted || self.issues.len() == MAX_ISSUES;
        !enough && (valid || !self.silent)
    }

    fn require(&mut self, valid: bool, path: &Path, keyword: &str, message: impl FnOnce() -> String) -> bool {
        if !valid && !self.silent && self.issues.len() < MAX_ISSUES {
            self.issues.push(Issue { path: path.pointer(), message: message(), keyword: keyword.to_owned() });
        }
        valid
    }

    #[inline(never)]
    fn check_type(&mut self, node: &Node, value: &Value, path: &Path) -> bool {
        let Some(types) = &node.types else { return true };
        self.require(types.iter().any(|t| has_type(value, *t)), path, "type", || {
            let names: Vec<_> = types.iter().map(|t| t.name()).collect();
            format!("Give a value of type {}.", names.join(" or "))
        })
    }

    #[inline(never)]
    fn check_choice(&mut self, node: &Node, value: &Value, path: &Path) -> bool {
        let allowed = node.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|one| equal(one, value)));
        let constant = node.constant.as_ref().is_none_or(|constant| equal(constant, value));
        self.require(allowed, path, "enum", || "Give one of the values that the schema lists.".to_owned())
            & self.require(constant, path, "const", || "Give the one value that the schema allows.".to_owned())
    }

    #[inline(never)]
    fn check_object(&mut self, node: &'s Node, members: &Map<String, Value>, path: &Path) -> bool {
        let mut valid = true;
        for name in &node.required {
            let message = || format!("Add the required property {}.", shown(name));
            valid &= self.require(members.contains_key(name), path, "required", message);
        }
        if node.properties.is_empty() && !node.closed {
            return valid;
        }
        for (name, value) in members {
            if !self.goes_on(valid) {
                break;
            }
            let path = Path::Member(path, name);
            valid &= match node.properties.get(name) {
                Some(property) => self.check(*property, value, &path),
                None => {
                    let message = || "Remove this property: the schema does not allow it.".to_owned();
                    self.require(!node.closed, &path, "additionalProperties", message)
                }
            };
        }
        valid
    }

    #[inline(never)]
    fn check_array(&mut self, node: &Node, items: &[Value], path: &Path) -> bool {
        let count = items.len() as u64;
        let mut valid =
            self.require(node.item_count.least.is_none_or(|least| count >= least), path, "minItems", || {
                format!("Give at least {}.", quantity(node.item_count.least, "item"))
            }) & self.require(node.item_count.most.is_none_or(|most| count <= most), path, "maxItems", || {
                format!("Give at most {}.", quantity(node.item_count.most, "item"))
            }) & self.require(!node.unique_items || all_different(items), path, "uniqueItems", || {
                "Give every item once.".to_owned()
            });
        let Some(schema) = node.items else { return valid };
        for (index, item) in items.iter().enumerate() {
            if !self.goes_on(valid) {
                break;
            }
            valid &= self.check(schema, item, &Path::Item(path, index));
        }
        valid
    }

    #[inline(never)]
    fn check_string(&mut self, node: &Node, text: &str, path: &Path) -> bool {
        let (least, most) = (node.length.least, node.length.most);
        let bounded = least.is_some() || most.is_some();
        let length = if bounded { text.chars().count() as u64 } else { 0 };
        self.require(least.is_none_or(|least| length >= least), path, "minLength", || {
            format!("Give at least {}.", quantity(least, "character"))
        }) & self.require(most.is_none_or(|most| length <= most), path, "maxLength", || {
            format!("Give at most {}.", quantity(most, "character"))
        }) & self.require(node.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text)), path, "pattern", || {
            "Give a text that matches the pattern of the schema.".to_owned()
        }) & self.require(node.format.is_none_or(|format| format.matches(text)), path, "format", || {
            node.format.map_or("", |format| format.advice()).to_owned()
        })
    }

    #[inline(never)]
    fn check_number(&mut self, node: &Node, number: &Number, path: &Path) -> bool {
        let mut valid = true;
        for (bound, keyword, fits, advice) in [
            (&node.value.least, "minimum", Ordering::is_ge as fn(Ordering) -> bool, "at least"),
            (&node.value.most, "maximum", Ordering::is_le, "at most"),
            (&node.exclusive.least, "exclusiveMinimum", Ordering::is_gt, "above"),
            (&node.exclusive.most, "exclusiveMaximum", Ordering::is_lt, "below"),
        ] {
            if let Some(bound) = bound {
                let message = || format!("Give a number {advice} {}.", text(bound));
                valid &= self.require(fits(compare(number, bound)), path, keyword, message);
            }
        }
        if let Some(multiple) = &node.multiple_of {
            let whole = super::numeric::Decimal::of(number).is_multiple_of(&multiple.decimal);
            valid &= self.require(whole, path, "multipleOf", || format!("Give a multiple of {}.", text(&multiple.of)));
        }
        valid
    }

    #[inline(never)]
    fn check_any_of(&mut self, node: &Node, value: &Value, path: &Path) -> bool {
        let silent = std::mem::replace(&mut self.silent, true);
        let valid = node.any_of.iter().any(|alternative| self.check(*alternative, value, path));
        self.silent = silent;
        let message = || "Give a value that fits one of the alternatives of the schema.".to_owned();
        self.require(valid, path, "anyOf", message)
    }
}

fn has_type(value: &Value, expected: Type) -> bool {
    match (expected, value) {
        (Type::Null, Value::Null)
        | (Type::Boolean, Value::Bool(_))
        | (Type::Object, Value::Object(_))
        | (Type::Array, Value::Array(_))
        | (Type::Number, Value::Number(_))
        | (Type::String, Value::String(_)) => true,
        (Type::Integer, Value::Number(number)) => is_integer(number),
        _ => false,
    }
}

fn all_different(items: &[Value]) -> bool {
    if items.len() <= 8 {
        return items.iter().enumerate().all(|(i, a)| items[..i].iter().all(|b| !equal(a, b)));
    }
    let mut seen = HashSet::with_capacity(items.len());
    items.iter().all(|item| seen.insert(canonical(item)))
}

fn quantity(count: Option<u64>, noun: &str) -> String {
    let count = count.unwrap_or_default();
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn text(number: &Number) -> String {
    canonical(&Value::Number(number.clone()))
}
