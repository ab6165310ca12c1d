//! Component definitions (section 3): read strictly, checked in the order the specification gives,
//! with the place of the first error.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::error::ApiError;
use super::fields::{self, Fields};
use super::id;
use super::limits::Limits;
use super::policy::{AUDIT_LEVELS, AuditLevel, PolicyRef};
use crate::json;
use crate::schema::{Schema, SchemaError};

pub const INVALID_ID: &str = "INVALID_ID";
pub const INVALID_DEFINITION: &str = "INVALID_DEFINITION";
pub const UNSUPPORTED_SCHEMA: &str = "UNSUPPORTED_SCHEMA";
pub const PLANE_VIOLATION: &str = "PLANE_VIOLATION";
pub const DUPLICATE_CAPABILITY: &str = "DUPLICATE_CAPABILITY";
pub const LIMIT_EXCEEDED: &str = "LIMIT_EXCEEDED";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Observation,
    Action,
    Procedure,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Observation => "observation",
            Kind::Action => "action",
            Kind::Procedure => "procedure",
        }
    }

    pub fn plane(self) -> &'static str {
        match self {
            Kind::Procedure => "domain",
            _ => "view",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Read,
    LocalState,
    Navigation,
    ServerQuery,
    ServerMutation,
    ExternalSideEffect,
    Destructive,
}

const EFFECTS: &[(&str, Effect)] = &[
    ("read", Effect::Read),
    ("local-state", Effect::LocalState),
    ("navigation", Effect::Navigation),
    ("server-query", Effect::ServerQuery),
    ("server-mutation", Effect::ServerMutation),
    ("external-side-effect", Effect::ExternalSideEffect),
    ("destructive", Effect::Destructive),
];

impl Effect {
    pub fn as_str(self) -> &'static str {
        EFFECTS[self as usize].0
    }

    fn is_view(self) -> bool {
        matches!(self, Effect::Read | Effect::LocalState | Effect::Navigation)
    }

    /// Effects for which a request's `surfaceVersion` is enforced (AS-STALE-002).
    pub fn enforces_version(self) -> bool {
        matches!(self, Effect::ExternalSideEffect | Effect::Destructive)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confirmation {
    Never,
    Optional,
    Required,
}

const CONFIRMATIONS: &[(&str, Confirmation)] =
    &[("never", Confirmation::Never), ("optional", Confirmation::Optional), ("required", Confirmation::Required)];

impl Confirmation {
    pub fn as_str(self) -> &'static str {
        CONFIRMATIONS[self as usize].0
    }
}

/// Which calls wait for each other (section 10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConcurrencyMode {
    Instance,
    Capability,
    Key(String),
    Parallel(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// `None` is the default of the kind: the instance for actions, the procedure itself for procedures.
    pub mode: Option<ConcurrencyMode>,
    pub queue_depth: Option<usize>,
    /// The slot stays taken until a handler that timed out has really ended.
    pub hold: bool,
}

#[derive(Debug)]
pub struct Capability {
    pub kind: Kind,
    pub id: String,
    /// The capability's name, or the procedure's path.
    pub name: String,
    /// Where it stands in the definition.
    pub pointer: String,
    pub description: String,
    pub effect: Effect,
    pub input: Option<Schema>,
    /// The input schema as the agent sees it: bound fields cut.
    pub agent_input: Option<Schema>,
    pub output: Option<Schema>,
    pub idempotent: bool,
    pub reversible: bool,
    pub confirmation: Confirmation,
    pub audit: AuditLevel,
    pub unavailable_reason: Option<String>,
    pub policies: Vec<PolicyRef>,
    pub meta: Option<Value>,
    pub timeout_ms: Option<u64>,
    pub concurrency: Concurrency,
    pub bound_fields: Vec<String>,
    pub overridable_fields: Vec<String>,
    pub context: Option<Value>,
}

impl Capability {
    /// What bindings and availability patches call it: the name, or `domain:` + path.
    pub fn binding_name(&self) -> &str {
        match self.kind {
            Kind::Procedure => &self.id,
            _ => &self.name,
        }
    }

    pub fn locked_fields(&self) -> impl Iterator<Item = &str> {
        self.bound_fields.iter().filter(|field| !self.overridable_fields.contains(field)).map(String::as_str)
    }
}

#[derive(Debug)]
pub struct Definition {
    pub component_type: String,
    pub instance_id: String,
    pub description: String,
    pub parent: Option<String>,
    pub meta: Option<Value>,
    pub internal: Value,
    pub policies: Vec<PolicyRef>,
    pub origin: String,
    pub priority: f64,
    pub enabled: bool,
    pub capabilities: Vec<Capability>,
}

fn refuse(path: String, message: String) -> ApiError {
    ApiError::definition(INVALID_DEFINITION, path, message)
}

/// The input of a procedure whose author says nothing of it: a call's input is an object.
static ANY_OBJECT: LazyLock<Value> = LazyLock::new(|| json!({ "type": "object" }));

/// The schemas of one capability, read but not yet compiled.
struct Sources<'a> {
    input: Option<&'a Value>,
    output: Option<&'a Value>,
}

impl Definition {
    /// `executor` is what the executor serves, `None` while there is none.
    ///
    /// The checks, in this order: unknown fields and shape, ids, plane and executor, schemas,
    /// limits. Callbacks are matched by the registry afterwards.
    pub fn parse(
        value: &Value,
        limits: &Limits,
        executor: Option<&dyn Fn(&str) -> bool>,
    ) -> Result<Definition, ApiError> {
        let (mut definition, sources) = read(value)?;
        definition.check_ids()?;
        definition.check_planes(executor)?;
        definition.compile(&sources)?;
        definition.check_limits(&sources, limits)?;
        Ok(definition)
    }

    fn check_ids(&self) -> Result<(), ApiError> {
        let bad = |path: &str, what: &str| Err(ApiError::definition(INVALID_ID, path, what));
        if !id::is_component_type(&self.component_type) {
            return bad("/type", "Give lower-case segments separated by dots, 128 bytes at most.");
        }
        if !id::is_instance_id(&self.instance_id) {
            return bad("/instanceId", "Give letters, digits, - and _ here, 128 bytes at most.");
        }
        if self.parent.as_ref().is_some_and(|parent| parent.is_empty() || parent.len() > id::MAX_ID) {
            return bad("/parent", "Give 1 to 128 bytes here.");
        }
        let mut ids = HashSet::new();
        for capability in &self.capabilities {
            let named = capability.kind == Kind::Procedure || id::is_capability_name(&capability.name);
            if !named || !id::is_capability_id(&capability.id) {
                let path = match capability.kind {
                    Kind::Procedure => format!("{}/path", capability.pointer),
                    _ => capability.pointer.clone(),
                };
                return bad(&path, "This is not a valid capability name or path, or the whole id is over 128 bytes.");
            }
            if !ids.insert(capability.id.as_str()) {
                return Err(ApiError::definition(
                    DUPLICATE_CAPABILITY,
                    &*capability.pointer,
                    "Two capabilities of this definition have the same id.",
                ));
            }
        }
        Ok(())
    }

    fn check_planes(&self, executor: Option<&dyn Fn(&str) -> bool>) -> Result<(), ApiError> {
        for capability in &self.capabilities {
            let violation = |member: &str, message: &str| {
                Err(ApiError::definition(PLANE_VIOLATION, format!("{}/{member}", capability.pointer), message))
            };
            match capability.kind {
                Kind::Observation => {}
                Kind::Action if !capability.effect.is_view() => {
                    return violation(
                        "effect",
                        "An action of the view plane cannot have a server effect; make it a procedure.",
                    );
                }
                Kind::Action => {}
                Kind::Procedure if capability.effect.is_view() => {
                    return violation(
                        "effect",
                        "A procedure cannot have an effect of the view plane; make it an action.",
                    );
                }
                Kind::Procedure => match executor {
                    None => return violation("path", "Set the procedure executor before registering a procedure."),
                    Some(serves) if !serves(&capability.name) => {
                        return violation("path", "The procedure executor does not serve this path.");
                    }
                    Some(_) => {}
                },
            }
        }
        Ok(())
    }

    fn compile(&mut self, sources: &[Sources]) -> Result<(), ApiError> {
        for (capability, source) in self.capabilities.iter_mut().zip(sources) {
            let compile = |schema: Option<&Value>, member: &str| {
                schema
                    .map(|schema| Schema::compile(schema, &format!("{}/{member}", capability.pointer)))
                    .transpose()
                    .map_err(unsupported)
            };
            capability.input = compile(source.input, "input")?;
            capability.output = compile(source.output, "output")?;
            capability.agent_input = match (&capability.input, capability.bound_fields.is_empty()) {
                (Some(input), false) => {
                    let overridable: Vec<_> = capability.overridable_fields.iter().map(String::as_str).collect();
                    let locked: Vec<_> = capability.locked_fields().collect();
                    let cut = crate::schema::cut(input.source(), &locked, &overridable);
                    Some(Schema::compile(&cut, &format!("{}/input", capability.pointer)).map_err(unsupported)?)
                }
                (input, _) => input.clone(),
            };
        }
        Ok(())
    }

    fn check_limits(&self, sources: &[Sources], limits: &Limits) -> Result<(), ApiError> {
        let exceeded = |path: String, message: String| Err(ApiError::definition(LIMIT_EXCEEDED, path, message));
        let characters = |text: &str, max: u64| text.chars().count() as u64 > max;
        let check_meta = |meta: &Option<Value>, path: String| match meta {
            Some(meta) if json::canonical(meta).len() as u64 > limits.max_meta_bytes => {
                exceeded(path, format!("Give at most {} bytes of meta.", limits.max_meta_bytes))
            }
            _ => Ok(()),
        };
        if characters(&self.description, limits.max_component_description) {
            return exceeded(
                "/description".into(),
                format!("Give at most {} characters.", limits.max_component_description),
            );
        }
        check_meta(&self.meta, "/meta".into())?;
        for (capability, source) in self.capabilities.iter().zip(sources) {
            let at = |member: &str| format!("{}/{member}", capability.pointer);
            if characters(&capability.description, limits.max_capability_description) {
                return exceeded(
                    at("description"),
                    format!("Give at most {} characters.", limits.max_capability_description),
                );
            }
            check_meta(&capability.meta, at("meta"))?;
            check_meta(&capability.context, at("context"))?;
            for (schema, member) in [(source.input, "input"), (source.output, "output")] {
                if let Some(schema) = schema {
                    let (depth, bytes) = (limits.max_schema_depth as usize, limits.max_schema_bytes as usize);
                    Schema::check_limits(schema, &at(member), depth, bytes)
                        .map_err(|error| ApiError::definition(LIMIT_EXCEEDED, error.path, error.message))?;
                }
            }
        }
        Ok(())
    }
}

fn unsupported(error: SchemaError) -> ApiError {
    let message = match error.keyword {
        Some(keyword) => format!("{keyword}: {}", error.message),
        None => error.message,
    };
    ApiError::definition(UNSUPPORTED_SCHEMA, error.path, message)
}

/// Shape and unknown fields of the whole document.
fn read(value: &Value) -> Result<(Definition, Vec<Sources<'_>>), ApiError> {
    let mut fields = Fields::new(value, "", refuse)?;
    let component_type = fields.required_string("type")?.to_string();
    let mut definition = Definition {
        instance_id: fields.string("instanceId")?.unwrap_or("default").into(),
        description: fields.required_string("description")?.into(),
        parent: fields.string("parent")?.map(String::from),
        meta: fields.object("meta")?.cloned().map(Value::Object),
        internal: fields.object("internal")?.cloned().map_or_else(|| json!({}), Value::Object),
        policies: PolicyRef::read_list(&mut fields, "policies")?,
        origin: fields.string("origin")?.unwrap_or("first-party").into(),
        priority: fields.number("priority")?.unwrap_or(0.0),
        enabled: fields.boolean("enabled")?.unwrap_or(true),
        capabilities: Vec::new(),
        component_type,
    };
    let mut sources = Vec::new();
    for (kind, member) in [(Kind::Observation, "observations"), (Kind::Action, "actions")] {
        let path = fields.child(member);
        for (name, body) in fields.object(member)?.into_iter().flatten() {
            let pointer = format!("{path}/{}", json::escape_pointer(name));
            let id = id::view_id(&definition.component_type, name);
            let body = Fields::new(body, &*pointer, refuse)?;
            let (capability, source) = read_capability(kind, id, name.clone(), pointer, body)?;
            definition.capabilities.push(capability);
            sources.push(source);
        }
    }
    let path = fields.child("procedures");
    for (index, body) in fields.list("procedures")?.into_iter().flatten().enumerate() {
        let pointer = format!("{path}/{index}");
        let mut body = Fields::new(body, &*pointer, refuse)?;
        let name = body.required_string("path")?.to_string();
        let id = id::domain_id(&name);
        let (capability, source) = read_capability(Kind::Procedure, id, name, pointer, body)?;
        definition.capabilities.push(capability);
        sources.push(source);
    }
    fields.finish()?;
    Ok((definition, sources))
}

fn read_capability<'a>(
    kind: Kind,
    id: String,
    name: String,
    pointer: String,
    mut fields: Fields<'a>,
) -> Result<(Capability, Sources<'a>), ApiError> {
    let description = fields.required_string("description")?.to_string();
    let effect = match kind {
        Kind::Observation => Effect::Read,
        _ => {
            fields.required("effect")?;
            fields.word("effect", EFFECTS)?.unwrap_or(Effect::Read)
        }
    };
    if kind == Kind::Action && effect == Effect::Read {
        return Err(fields.error("effect", "Give local-state or navigation here; what only reads is an observation."));
    }
    let input = match kind {
        Kind::Observation => None,
        Kind::Action => Some(fields.required("input")?),
        Kind::Procedure => Some(fields.get("input").unwrap_or(&ANY_OBJECT)),
    };
    let output = match kind {
        Kind::Observation => Some(fields.required("output")?),
        _ => fields.get("output"),
    };
    let mut capability = Capability {
        kind,
        id,
        name,
        pointer,
        description,
        effect,
        input: None,
        agent_input: None,
        output: None,
        idempotent: matches!(effect, Effect::Read | Effect::ServerQuery),
        reversible: effect.is_view(),
        confirmation: default_confirmation(effect),
        audit: default_audit(effect),
        unavailable_reason: None,
        policies: PolicyRef::read_list(&mut fields, "policies")?,
        meta: fields.object("meta")?.cloned().map(Value::Object),
        timeout_ms: fields.integer("timeoutMs", 1, 86_400_000)?,
        concurrency: Concurrency { mode: None, queue_depth: None, hold: false },
        bound_fields: Vec::new(),
        overridable_fields: Vec::new(),
        context: None,
    };
    if kind != Kind::Procedure {
        capability.unavailable_reason = fields.string("unavailableReason")?.map(String::from);
        capability.audit = fields.word("audit", AUDIT_LEVELS)?.unwrap_or(capability.audit);
    }
    if kind == Kind::Action {
        capability.idempotent = fields.boolean("idempotent")?.unwrap_or(capability.idempotent);
        capability.reversible = fields.boolean("reversible")?.unwrap_or(capability.reversible);
    }
    if kind != Kind::Observation {
        let level = fields.word("confirmation", CONFIRMATIONS)?.unwrap_or(capability.confirmation);
        capability.confirmation = match effect {
            Effect::Destructive => level.max(Confirmation::Optional),
            _ => level,
        };
        capability.concurrency = read_concurrency(&mut fields)?;
    }
    if kind == Kind::Procedure {
        if fields.boolean("requiresApproval")? == Some(true) {
            capability.confirmation = Confirmation::Required;
        }
        read_bound_fields(&mut fields, &mut capability)?;
        capability.context = fields.get("context").cloned();
    }
    // Not asked for above where the kind has none, so that `finish` refuses it.
    fields.finish()?;
    Ok((capability, Sources { input, output }))
}

fn read_bound_fields(fields: &mut Fields, capability: &mut Capability) -> Result<(), ApiError> {
    let mut names = |name| -> Result<Vec<String>, ApiError> {
        Ok(fields.strings(name)?.unwrap_or_default().into_iter().map(String::from).collect())
    };
    capability.bound_fields = names("boundFields")?;
    capability.overridable_fields = names("overridableFields")?;
    let stray = capability.overridable_fields.iter().position(|field| !capability.bound_fields.contains(field));
    match stray {
        None => Ok(()),
        Some(index) => Err(refuse(
            format!("{}/overridableFields/{index}", capability.pointer),
            "Name only bound fields here.".into(),
        )),
    }
}

fn read_concurrency(fields: &mut Fields) -> Result<Concurrency, ApiError> {
    #[derive(Clone, Copy)]
    enum Mode {
        Instance,
        Capability,
        Key,
        Parallel,
    }
    const MODES: &[(&str, Mode)] = &[
        ("instance", Mode::Instance),
        ("capability", Mode::Capability),
        ("key", Mode::Key),
        ("parallel", Mode::Parallel),
    ];
    let Some(mut fields) = fields.fields("concurrency")? else {
        return Ok(Concurrency { mode: None, queue_depth: None, hold: false });
    };
    let mode = match fields.word("mode", MODES)? {
        None => None,
        Some(Mode::Instance) => Some(ConcurrencyMode::Instance),
        Some(Mode::Capability) => Some(ConcurrencyMode::Capability),
        Some(Mode::Key) => {
            let key = fields.required_string("key")?;
            if !id::is_caller_id(key) {
                return Err(fields.error("key", "Give 1 to 256 bytes without control characters here."));
            }
            Some(ConcurrencyMode::Key(key.into()))
        }
        Some(Mode::Parallel) => {
            fields.required("max")?;
            fields.integer("max", 1, 100_000)?.map(|max| ConcurrencyMode::Parallel(max as usize))
        }
    };
    let concurrency = Concurrency {
        mode,
        queue_depth: fields.integer("queueDepth", 0, 100_000)?.map(|depth| depth as usize),
        hold: fields.word("onTimeout", &[("hold", true), ("release", false)])?.unwrap_or(false),
    };
    fields.finish()?;
    Ok(concurrency)
}

fn default_confirmation(effect: Effect) -> Confirmation {
    match effect {
        Effect::ServerMutation => Confirmation::Optional,
        Effect::ExternalSideEffect | Effect::Destructive => Confirmation::Required,
        _ => Confirmation::Never,
    }
}

fn default_audit(effect: Effect) -> AuditLevel {
    match effect {
        Effect::Read => AuditLevel::None,
        Effect::ExternalSideEffect | Effect::Destructive => AuditLevel::Full,
        _ => AuditLevel::Metadata,
    }
}

/// `{enabled?, availability?: {name or path: {available, reason?}}}` of `as_registration_update`.
#[derive(Debug, Default)]
pub struct Patch {
    pub enabled: Option<bool>,
    pub availability: Vec<(String, bool, Option<String>)>,
}

impl Patch {
    pub fn parse(text: &[u8]) -> Result<Patch, ApiError> {
        let value = fields::document(text, None)?;
        let mut fields = Fields::new(&value, "", fields::argument)?;
        let mut patch = Patch { enabled: fields.boolean("enabled")?, availability: Vec::new() };
        let path = fields.child("availability");
        for (name, entry) in fields.object("availability")?.into_iter().flatten() {
            let mut entry = Fields::new(entry, format!("{path}/{}", json::escape_pointer(name)), fields::argument)?;
            entry.required("available")?;
            let available = entry.boolean("available")?.unwrap_or(true);
            let reason = entry.string("reason")?.map(String::from);
            entry.finish()?;
            patch.availability.push((name.clone(), available, reason));
        }
        fields.finish()?;
        Ok(patch)
    }
}
