//! References to policies: a host policy by name, or a built-in configured as JSON.

use serde_json::{Number, Value};

use super::error::ApiError;
use super::fields::Fields;
use crate::json;
use crate::schema::{Pattern, compare};

/// Longest list of policies in one place.
const MAX_POLICIES: usize = 64;

#[derive(Clone, Debug)]
pub enum PolicyRef {
    Host(String),
    BuiltIn(BuiltIn),
}

#[derive(Clone, Debug)]
pub enum BuiltIn {
    Authenticated { path: String },
    HasPermission { permission: String, path: String },
    TenantBoundary { current: String, expected: String, optional: bool },
    Environment { allowed: Vec<String> },
    RateLimit { limit: u64, window_ms: u64 },
    RequireConfirmation { condition: Option<Condition>, summary: Option<String> },
    Audit { level: AuditLevel },
}

/// How much of a call the audit keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditLevel {
    None,
    Metadata,
    Full,
}

pub const AUDIT_LEVELS: &[(&str, AuditLevel)] =
    &[("none", AuditLevel::None), ("metadata", AuditLevel::Metadata), ("full", AuditLevel::Full)];

/// `{pointer, op, value?}` over the effective input.
#[derive(Clone, Debug)]
pub struct Condition {
    pub pointer: String,
    pub test: Test,
}

#[derive(Clone, Debug)]
pub enum Test {
    Exists,
    Equals(Value),
    NotEquals(Value),
    Greater(Number),
    Less(Number),
    Matches(Pattern),
}

impl PolicyRef {
    /// A list of references; `path` is where the list stands.
    pub fn read_list(fields: &mut Fields, name: &'static str) -> Result<Vec<PolicyRef>, ApiError> {
        let Some(items) = fields.list(name)? else { return Ok(Vec::new()) };
        if items.len() > MAX_POLICIES {
            return Err(fields.error(name, format!("Give at most {MAX_POLICIES} policies here.")));
        }
        let path = fields.child(name);
        items
            .iter()
            .enumerate()
            .map(|(index, item)| match item {
                Value::String(name) => Ok(PolicyRef::Host(name.clone())),
                _ => {
                    let fields = Fields::new(item, format!("{path}/{index}"), fields.refusal())?;
                    Ok(PolicyRef::BuiltIn(BuiltIn::read(fields)?))
                }
            })
            .collect()
    }

    /// The name a developer reads in an explanation.
    pub fn name(&self) -> &str {
        match self {
            PolicyRef::Host(name) => name,
            PolicyRef::BuiltIn(built_in) => built_in.name(),
        }
    }
}

impl BuiltIn {
    pub fn name(&self) -> &'static str {
        match self {
            BuiltIn::Authenticated { .. } => "authenticated",
            BuiltIn::HasPermission { .. } => "hasPermission",
            BuiltIn::TenantBoundary { .. } => "tenantBoundary",
            BuiltIn::Environment { .. } => "environment",
            BuiltIn::RateLimit { .. } => "rateLimit",
            BuiltIn::RequireConfirmation { .. } => "requireConfirmation",
            BuiltIn::Audit { .. } => "audit",
        }
    }

    fn read(mut fields: Fields) -> Result<BuiltIn, ApiError> {
        let built_in = match fields.required_string("use")? {
            "authenticated" => BuiltIn::Authenticated { path: pointer(&mut fields, "path")?.unwrap_or("/user".into()) },
            "hasPermission" => BuiltIn::HasPermission {
                permission: fields.required_string("permission")?.into(),
                path: pointer(&mut fields, "path")?.unwrap_or("/permissions".into()),
            },
            "tenantBoundary" => BuiltIn::TenantBoundary {
                current: required_pointer(&mut fields, "current")?,
                expected: required_pointer(&mut fields, "expected")?,
                optional: fields.boolean("optional")?.unwrap_or(false),
            },
            "environment" => {
                fields.required("allowed")?;
                let allowed = fields.strings("allowed")?.unwrap_or_default();
                BuiltIn::Environment { allowed: allowed.into_iter().map(String::from).collect() }
            }
            "rateLimit" => {
                fields.required("limit")?;
                fields.required("windowMs")?;
                BuiltIn::RateLimit {
                    limit: fields.integer("limit", 1, 1_000_000_000)?.unwrap_or(1),
                    window_ms: fields.integer("windowMs", 1, 604_800_000)?.unwrap_or(1),
                }
            }
            "requireConfirmation" => BuiltIn::RequireConfirmation {
                condition: fields.fields("if")?.map(Condition::read).transpose()?,
                summary: fields.string("summary")?.map(String::from),
            },
            "audit" => BuiltIn::Audit { level: fields.word("level", AUDIT_LEVELS)?.unwrap_or(AuditLevel::Full) },
            _ => return Err(fields.error("use", "There is no built-in policy of this name.")),
        };
        fields.finish()?;
        Ok(built_in)
    }
}

impl Condition {
    fn read(mut fields: Fields) -> Result<Condition, ApiError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Op {
            Equals,
            NotEquals,
            Greater,
            Less,
            Matches,
            Exists,
        }
        const OPS: &[(&str, Op)] = &[
            ("equals", Op::Equals),
            ("notEquals", Op::NotEquals),
            ("greater", Op::Greater),
            ("less", Op::Less),
            ("matches", Op::Matches),
            ("exists", Op::Exists),
        ];
        let pointer = required_pointer(&mut fields, "pointer")?;
        fields.required("op")?;
        let op = fields.word("op", OPS)?.unwrap_or(Op::Exists);
        if op != Op::Exists {
            fields.required("value")?;
        }
        let value = fields.get("value").cloned().unwrap_or(Value::Null);
        let test = match op {
            Op::Exists => Test::Exists,
            Op::Equals => Test::Equals(value),
            Op::NotEquals => Test::NotEquals(value),
            Op::Greater | Op::Less => {
                fields.number("value")?;
                let bound = value.as_number().cloned().unwrap_or(Number::from(0));
                if op == Op::Greater { Test::Greater(bound) } else { Test::Less(bound) }
            }
            Op::Matches => {
                let text = fields.required_string("value")?;
                let pattern = Pattern::compile(text).ok_or_else(|| {
                    fields.error("value", "Give a pattern without look-around or back-references here.")
                })?;
                Test::Matches(pattern)
            }
        };
        fields.finish()?;
        Ok(Condition { pointer, test })
    }

    /// `None` where the question makes no sense for what stands there: a condition that cannot be
    /// decided confirms.
    pub fn holds(&self, input: &Value) -> Option<bool> {
        let found = json::lookup(input, &self.pointer);
        match &self.test {
            Test::Exists => Some(found.is_some()),
            Test::Equals(value) => Some(found.is_some_and(|found| json::equal(found, value))),
            Test::NotEquals(value) => Some(!found.is_some_and(|found| json::equal(found, value))),
            Test::Greater(bound) => found?.as_number().map(|n| compare(n, bound).is_gt()),
            Test::Less(bound) => found?.as_number().map(|n| compare(n, bound).is_lt()),
            Test::Matches(pattern) => found?.as_str().map(|text| pattern.is_match(text)),
        }
    }
}

/// A JSON Pointer: empty, or a slash before every segment.
fn pointer(fields: &mut Fields, name: &'static str) -> Result<Option<String>, ApiError> {
    match fields.string(name)? {
        Some(text) if !text.is_empty() && !text.starts_with('/') => {
            Err(fields.error(name, "Give a JSON Pointer here, such as \"/user\"."))
        }
        text => Ok(text.map(String::from)),
    }
}

fn required_pointer(fields: &mut Fields, name: &'static str) -> Result<String, ApiError> {
    fields.required(name)?;
    Ok(pointer(fields, name)?.unwrap_or_default())
}
