//! The JSON Schema subset: the gate at registration, compiled validators, and the cutting of bound fields.
//!
//! The validator is the project's own: the subset is small, and a general one would be several times the size of the
//! rest of the library. Its verdicts are those of the JSON Schema 2020-12 test suite.
//!
//! Source: system.md section 3 (AS-SCHEMA-001, AS-SCHEMA-003, AS-BIND-001, AS-BIND-002).

mod compile;
mod cut;
mod defaults;
mod format;
mod limits;
mod numeric;
#[cfg(feature = "patterns")]
mod pattern;
#[cfg(not(feature = "patterns"))]
#[path = "no_pattern.rs"]
mod pattern;
mod validate;

pub use compile::reference_pointer;
pub use cut::cut;
pub use numeric::compare;

use crate::json::Value;
use compile::Compiled;
use std::fmt;
use std::sync::Arc;

/// Issues in one answer.
pub const MAX_ISSUES: usize = 32;

/// A pattern on its own, for conditions on values.
#[derive(Clone, Debug)]
pub struct Pattern(pattern::Regex);

impl Pattern {
    /// `None` where it does not compile for the linear-time engine, or the library has none.
    pub fn compile(pattern: &str) -> Option<Pattern> {
        pattern::compile(pattern).ok().map(Pattern)
    }

    /// Whether the pattern is found anywhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// A schema that passed the gate, compiled. A clone is a reference.
#[derive(Clone)]
pub struct Schema {
    compiled: Arc<Compiled>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaErrorKind {
    /// A keyword outside the subset, or one inside it with a value it cannot have.
    Unsupported,
    /// Too deep or too large.
    Limit,
}

/// Why a schema was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    pub kind: SchemaErrorKind,
    /// JSON Pointer: the caller's prefix, then the place in the schema.
    pub path: String,
    /// The keyword at fault; `None` where the schema as a whole is (not an object, too large, too deep).
    pub keyword: Option<String>,
    /// Imperative, at most 300 characters.
    pub message: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for SchemaError {}

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// JSON Pointer in the value: of the object that lacks a required property, of a member that may not be there.
    pub path: String,
    /// Imperative, at most 300 characters, from a template and the schema; echoes nothing of the value.
    pub message: String,
    /// The keyword that was violated.
    pub keyword: String,
}

impl Schema {
    /// The gate. `path` is put before every pointer in an error. Errors: [`SchemaErrorKind::Unsupported`], for the first
    /// keyword that leaves the subset, has a value it cannot have, or refers to nothing or only to itself.
    pub fn compile(schema: &Value, path: &str) -> Result<Schema, SchemaError> {
        compile::compile(schema, path).map(|compiled| Schema { compiled: Arc::new(compiled) })
    }

    /// Errors: [`SchemaErrorKind::Limit`] when the canonical text has more than `max_bytes`, or schemas are nested more
    /// than `max_depth` deep (the schema itself and every member of `$defs` have depth 1). Needs no gate before it.
    pub fn check_limits(schema: &Value, path: &str, max_depth: usize, max_bytes: usize) -> Result<(), SchemaError> {
        limits::check(schema, path, max_depth, max_bytes)
    }

    /// Errors: the violations in a fixed order, at most [`MAX_ISSUES`]. Time and stack are bounded whatever the schema
    /// and the value; where a bound ends the check, that is an issue too.
    pub fn validate(&self, value: &Value) -> Result<(), Vec<Issue>> {
        validate::validate(&self.compiled, value)
    }

    /// Puts in the `default` of every absent property, through `properties`, `items` and `$ref`, and into the defaults
    /// just put in; never a default into itself. Errors: one issue when the defaults are more than 1 MiB or too deep
    /// for this value; the value then holds a part of them.
    pub fn apply_defaults(&self, value: &mut Value) -> Result<(), Vec<Issue>> {
        defaults::apply(&self.compiled, value)
    }

    /// The schema as it was given.
    pub fn source(&self) -> &Value {
        &self.compiled.source
    }

    /// Whether the schema names this property at the top level, itself or through `$ref` and `anyOf`.
    pub fn declares(&self, property: &str) -> bool {
        self.compiled.same_value_nodes().any(|node| node.properties.contains_key(property))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(self.source()).finish()
    }
}

/// A name of the schema as a message may show it.
fn shown(name: &str) -> String {
    match name.char_indices().nth(100) {
        Some((cut, _)) => format!("\"{}…\"", &name[..cut]),
        None => format!("\"{name}\""),
    }
}
