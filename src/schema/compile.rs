//! The gate: from a JSON document to nodes that can be run, or a refusal that names keyword and place.

use super::format::Format;
use super::numeric::{Decimal, as_count};
use super::pattern::Regex;
use super::{SchemaError, SchemaErrorKind, pattern, shown};
use crate::json::{Map, Number, Value, escape_pointer, write_canonical};
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) type NodeId = usize;

/// The root is node 0. Nodes refer to each other by number, so that a recursive schema is no recursive structure.
pub(super) struct Compiled {
    pub source: Value,
    pub nodes: Vec<Node>,
    pub has_defaults: bool,
}

/// One schema object.
#[derive(Default)]
pub(super) struct Node {
    pub types: Option<Types>,
    pub allowed: Option<Vec<Value>>,
    pub constant: Option<Value>,
    pub properties: BTreeMap<String, NodeId>,
    pub required: Vec<String>,
    /// `additionalProperties` is false.
    pub closed: bool,
    pub items: Option<NodeId>,
    pub item_count: Range<u64>,
    pub unique_items: bool,
    pub length: Range<u64>,
    pub pattern: Option<Regex>,
    pub format: Option<Format>,
    pub value: Range<Number>,
    pub exclusive: Range<Number>,
    pub multiple_of: Option<Multiple>,
    pub any_of: Vec<NodeId>,
    pub reference: Option<NodeId>,
    pub default: Option<Default>,
}

pub(super) struct Range<T> {
    pub least: Option<T>,
    pub most: Option<T>,
}

impl<T> std::default::Default for Range<T> {
    fn default() -> Self {
        Range { least: None, most: None }
    }
}

pub(super) struct Multiple {
    pub of: Number,
    pub decimal: Decimal,
}

pub(super) struct Default {
    pub value: Value,
    /// Length of its canonical text.
    pub bytes: usize,
}

/// Allowed types, in the order of the schema.
pub(super) type Types = Vec<Type>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Object,
    Array,
    Number,
    Integer,
    String,
}

impl Type {
    const ALL: [Type; 7] =
        [Type::Null, Type::Boolean, Type::Object, Type::Array, Type::Number, Type::Integer, Type::String];

    pub fn name(self) -> &'static str {
        match self {
            Type::Null => "null",
            Type::Boolean => "boolean",
            Type::Object => "object",
            Type::Array => "array",
            Type::Number => "number",
            Type::Integer => "integer",
            Type::String => "string",
        }
    }
}

impl Compiled {
    /// The root and what applies to the same value through `$ref` and `anyOf`.
    pub fn same_value_nodes(&self) -> impl Iterator<Item = &Node> {
        let mut seen = vec![false; self.nodes.len()];
        let mut open = vec![0];
        std::iter::from_fn(move || {
            while let Some(id) = open.pop() {
                if !std::mem::replace(&mut seen[id], true) {
                    open.extend(self.nodes[id].same_value());
                    return Some(&self.nodes[id]);
                }
            }
            None
        })
    }
}

impl Node {
    /// The nodes that apply to the same value.
    fn same_value(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.reference.iter().chain(&self.any_of).copied()
    }
}

pub(super) fn compile(schema: &Value, path: &str) -> Result<Compiled, SchemaError> {
    let mut gate =
        Gate { prefix: path, nodes: Vec::new(), open: Vec::new(), places: HashMap::new(), references: Vec::new() };
    gate.enter(schema, String::new(), 0, None)?;
    while let Some(place) = gate.open.pop() {
        gate.read(place)?;
    }
    gate.resolve()?;
    let has_defaults = gate.nodes.iter().any(|node| node.default.is_some());
    Ok(Compiled { source: schema.clone(), nodes: gate.nodes, has_defaults })
}

/// A schema that was met and is not read yet.
struct Place<'s> {
    id: NodeId,
    schema: &'s Map<String, Value>,
    pointer: String,
    /// Length of the part of the pointer that leads to the nearest schema with an `$id`: what `#` means here.
    base: usize,
}

struct Reference {
    from: NodeId,
    /// Where in the schema the `$ref` stands, and what it names.
    place: String,
    target: String,
}

/// Iterative, so that no nesting of a schema can exhaust the stack.
struct Gate<'s, 'p> {
    prefix: &'p str,
    nodes: Vec<Node>,
    open: Vec<Place<'s>>,
    places: HashMap<String, NodeId>,
    references: Vec<Reference>,
}

type Step<T> = Result<T, SchemaError>;

impl<'s> Gate<'s, '_> {
    /// Gives a schema its number; `keyword` is the one it stands under.
    fn enter(&mut self, schema: &'s Value, pointer: String, base: usize, keyword: Option<&str>) -> Step<NodeId> {
        let Value::Object(schema) = schema else {
            let message = "Write every schema as an object: boolean schemas are not supported.";
            return Err(self.refuse(keyword, &pointer, message));
        };
        let id = self.nodes.len();
        let base = if schema.contains_key("$id") { pointer.len() } else { base };
        self.nodes.push(Node::default());
        self.places.insert(pointer.clone(), id);
        self.open.push(Place { id, schema, pointer, base });
        Ok(id)
    }

    fn read(&mut self, Place { id, schema, pointer, base }: Place<'s>) -> Step<()> {
        let mut node = Node::default();
        for (keyword, value) in schema {
            let place = format!("{pointer}/{}", escape_pointer(keyword));
            let must = |gate: &Self, message: &str| gate.refuse(Some(keyword), &place, message);
            let text = || value.as_str().ok_or("Give a string here.");
            let count = || value.as_number().and_then(as_count).ok_or("Give an integer from 0 here.");
            let number = || value.as_number().cloned().ok_or("Give a number here.");
            let boolean = || value.as_bool().ok_or("Give true or false here.");
            let refuse = |message: &str| must(self, message);
            match keyword.as_str() {
                "type" => node.types = Some(types(value).map_err(refuse)?),
                "enum" => {
                    let allowed = value.as_array().ok_or("Give a list of values here.").map_err(refuse)?;
                    node.allowed = Some(allowed.clone());
                }
                "const" => node.constant = Some(value.clone()),
                "required" => node.required = names(value).map_err(refuse)?,
                "additionalProperties" => node.closed = !boolean().map_err(refuse)?,
                "minItems" => node.item_count.least = Some(count().map_err(refuse)?),
                "maxItems" => node.item_count.most = Some(count().map_err(refuse)?),
                "uniqueItems" => node.unique_items = boolean().map_err(refuse)?,
                "minLength" => node.length.least = Some(count().map_err(refuse)?),
                "maxLength" => node.length.most = Some(count().map_err(refuse)?),
                "pattern" => node.pattern = Some(text().and_then(pattern::compile).map_err(refuse)?),
                "format" => {
                    let format = text().ok().and_then(Format::from_name);
                    let known = "Use one of the formats date-time, date, uuid, email and uri.";
                    node.format = Some(format.ok_or(known).map_err(refuse)?);
                }
                "minimum" => node.value.least = Some(number().map_err(refuse)?),
                "maximum" => node.value.most = Some(number().map_err(refuse)?),
                "exclusiveMinimum" => node.exclusive.least = Some(number().map_err(refuse)?),
                "exclusiveMaximum" => node.exclusive.most = Some(number().map_err(refuse)?),
                "multipleOf" => {
                    let of = number().ok().filter(|of| of.as_f64().is_some_and(|of| of > 0.0));
                    let of = of.ok_or("Give a number above 0 here.").map_err(refuse)?;
                    node.multiple_of = Some(Multiple { decimal: Decimal::of(&of), of });
                }
                "default" => {
                    let mut text = Vec::new();
                    write_canonical(value, &mut text);
                    node.default = Some(Default { value: value.clone(), bytes: text.len() });
                }
                "title" | "description" | "$schema" | "$id" => drop(text().map_err(refuse)?),
                "deprecated" => drop(boolean().map_err(refuse)?),
                "examples" => drop(value.as_array().ok_or("Give a list of values here.").map_err(refuse)?),
                "$ref" => {
                    let target = text().ok().and_then(reference_pointer);
                    let target = target.ok_or("Refer to #/$defs/… of the same schema only.").map_err(refuse)?;
                    let target = format!("{}{target}", &pointer[..base]);
                    self.references.push(Reference { from: id, place, target });
                }
                "properties" | "$defs" => {
                    let members = value.as_object().ok_or("Give an object of schemas here.").map_err(refuse)?;
                    for (name, schema) in members {
                        let pointer = format!("{place}/{}", escape_pointer(name));
                        let inner = self.enter(schema, pointer, base, Some(keyword))?;
                        if keyword == "properties" {
                            node.properties.insert(name.clone(), inner);
                        }
                    }
                }
                "items" => node.items = Some(self.enter(value, place, base, Some(keyword))?),
                "anyOf" => {
                    let alternatives = value.as_array().filter(|alternatives| !alternatives.is_empty());
                    let alternatives =
                        alternatives.ok_or("Give a list of one or more schemas here.").map_err(refuse)?;
                    for (i, schema) in alternatives.iter().enumerate() {
                        node.any_of.push(self.enter(schema, format!("{place}/{i}"), base, Some(keyword))?);
                    }
                }
                _ => {
                    let message =
                        format!("Leave out {}: it is outside the supported JSON Schema subset.", shown(keyword));
                    return Err(refuse(&message));
                }
            }
        }
        self.nodes[id] = node;
        Ok(())
    }

    fn refuse(&self, keyword: Option<&str>, place: &str, message: &str) -> SchemaError {
        SchemaError {
            kind: SchemaErrorKind::Unsupported,
            path: format!("{}{place}", self.prefix),
            keyword: keyword.map(str::to_owned),
            message: message.to_owned(),
        }
    }

    /// Ties every `$ref` to its node and refuses those that come back to themselves without consuming input.
    fn resolve(&mut self) -> Step<()> {
        for Reference { from, place, target } in &self.references {
            let Some(target) = self.places.get(target) else {
                return Err(self.refuse(Some("$ref"), place, "Refer to a schema that exists."));
            };
            self.nodes[*from].reference = Some(*target);
        }
        match self.idle_cycle() {
            Some(from) => {
                let place = self.references.iter().find(|reference| reference.from == from).map_or("", |r| &r.place);
                let message = "Break this circle of references: it leads back to itself without entering the value.";
                Err(self.refuse(Some("$ref"), place, message))
            }
            None => Ok(()),
        }
    }

    /// A node whose `$ref` is part of a circle through `$ref` and `anyOf` alone. Depth-first, with the path as a stack.
    fn idle_cycle(&self) -> Option<NodeId> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            OnPath,
            Done,
        }
        let mut states = vec![State::New; self.nodes.len()];
        for root in 0..self.nodes.len() {
            let mut path = Vec::new();
            let mut entering = Some(root).filter(|root| states[*root] == State::New);
            loop {
                if let Some(id) = entering.take() {
                    states[id] = State::OnPath;
                    path.push((id, self.nodes[id].same_value()));
                }
                let Some((id, edges)) = path.last_mut() else { break };
                let id = *id;
                match edges.next() {
                    Some(next) if states[next] == State::OnPath => {
                        // Without a `$ref` there is no circle, so one is met before the path leaves it.
                        return path.iter().rev().map(|(id, _)| *id).find(|id| self.nodes[*id].reference.is_some());
                    }
                    Some(next) if states[next] == State::New => entering = Some(next),
                    Some(_) => {}
                    None => {
                        states[id] = State::Done;
                        path.pop();
                    }
                }
            }
        }
        None
    }
}

fn types(value: &Value) -> Result<Types, &'static str> {
    let advice = "Give one or more different names of JSON types here.";
    let named = |value: &Value| Type::ALL.into_iter().find(|t| value.as_str() == Some(t.name()));
    let types: Option<Types> = match value {
        Value::Array(names) => names.iter().map(named).collect(),
        name => named(name).map(|t| vec![t]),
    };
    let distinct = |types: &Types| !types.is_empty() && types.iter().enumerate().all(|(i, t)| !types[..i].contains(t));
    types.filter(distinct).ok_or(advice)
}

fn names(value: &Value) -> Result<Vec<String>, &'static str> {
    let names: Option<Vec<String>> =
        value.as_array().and_then(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    let distinct = |names: &Vec<String>| names.iter().collect::<HashSet<_>>().len() == names.len();
    names.filter(distinct).ok_or("Give a list of different property names here.")
}

/// The JSON Pointer that a `$ref` of the supported form holds, percent-decoded.
pub fn reference_pointer(reference: &str) -> Option<String> {
    let pointer = reference.strip_prefix('#')?;
    let mut decoded = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        decoded.push(match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                let digit = |byte: &u8| (*byte as char).to_digit(16);
                (digit(high)? * 16 + digit(low)?) as u8
            }
            (b'%', _) => return None,
            _ => *byte,
        });
    }
    String::from_utf8(decoded).ok().filter(|pointer| pointer.starts_with("/$defs/"))
}
