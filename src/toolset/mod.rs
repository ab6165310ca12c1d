//! Projects a surface to the tool catalog of a language model, and its calls back (section 12).
//!
//! [`options`] says how; [`direct`] and [`meta`] are the two catalogs, [`wire`] the names in them, [`format`] the forms
//! of the providers; [`repair`] mends what models get wrong, [`memory`] knows a call that comes again, and [`wait`] is
//! a call from beginning to end.

mod direct;
mod format;
mod memory;
mod meta;
mod options;
mod repair;
mod wait;
mod wire;

use std::sync::{Arc, OnceLock};

use crate::sync::Mutex;
use serde_json::{Map, Value, json};

use crate::json::{self, digest, request_digest};
use crate::model::fields;
use crate::model::request::{self, Adapted, BadInput, Reach, Request};
use crate::model::{ApiError, Code, ErrorPayload, id};
use crate::observe::{Bound, CallIds};
use crate::pipeline::call::{Caller, would_deadlock};
use crate::pipeline::engine::Engine;
use crate::pipeline::envelope::Envelope;
use crate::pipeline::identity;
use crate::runtime::{Hook, enter};
use crate::schema::Schema;
use crate::surface::{Invocation, Surface};
use direct::Catalog;
use format::{Answer, Format, Outcome, ToolCall};
use memory::{Memory, Name};
use meta::Verb;
use options::{Mode, Options, ToolCallIds};
use wait::{Errand, Waits};

/// Longest name and id of a provider that is kept for the way back, in bytes.
const MAX_KEPT: usize = 1024;

/// A surface as the tools of one model. Cheap to clone; all clones are the same one.
#[derive(Clone)]
pub struct Toolset {
    inner: Arc<Inner>,
}

struct Inner {
    surface: Surface,
    options: Options,
    /// Direct mode: the catalog taken last, and the one before, whose names stay callable.
    catalogs: Mutex<(Arc<Catalog>, Option<Arc<Catalog>>)>,
    meta_texts: [OnceLock<String>; format::COUNT],
    memory: Memory,
    waits: Waits,
}

/// What is to be done about a call.
enum Plan {
    Run(Box<Errand>),
    /// The toolset knows the answer itself.
    Answered(Arc<[u8]>),
}

impl Inner {
    fn engine(&self) -> &Arc<Engine> {
        self.surface.engine()
    }

    fn check_open(&self) -> Result<(), ApiError> {
        match self.waits.is_over() {
            true => Err(ApiError::new(Code::Closed, "The toolset is closed.")),
            false => self.engine().check_open(),
        }
    }
}

impl Toolset {
    /// `options` is `{consumer?, mode?, topology?, confirmations?, scope?, budget?, toolCallIds?}`.
    pub fn new(surface: &Surface, options: &[u8]) -> Result<Toolset, ApiError> {
        let engine = surface.engine();
        let options = Options::parse(options, || engine.random.id("tls_"))?;
        let first = surface.look(|engine| match options.mode {
            Mode::Direct => Catalog::take(engine, &options.view(options.scope.clone()), None),
            Mode::Meta => Arc::default(),
        })?;
        let inner = Inner {
            catalogs: Mutex::new((first, None)),
            meta_texts: Default::default(),
            memory: Memory::new(engine.limits()),
            waits: Waits::new(engine.limits()),
            surface: surface.clone(),
            options,
        };
        Ok(Toolset { inner: Arc::new(inner) })
    }

    /// Takes the catalog anew: `{tools, wireNameMap, loss, state?}`.
    pub fn tools(&self, format: &[u8]) -> Result<String, ApiError> {
        let inner = &self.inner;
        let format = Format::parse(format)?;
        inner.check_open()?;
        if inner.options.mode == Mode::Meta {
            return inner.surface.look(|_| copy(inner.meta_texts[format as usize].get_or_init(|| meta::text(format))));
        }
        let before = inner.catalogs.lock().0.clone();
        let view = inner.options.view(inner.options.scope.clone());
        let taken = inner.surface.look(|engine| Catalog::take(engine, &view, Some(&before)))?;
        inner.check_open()?;
        {
            let mut catalogs = inner.catalogs.lock();
            let last = std::mem::replace(&mut catalogs.0, taken.clone());
            catalogs.1 = Some(last);
        }
        Ok(copy(taken.text(format)))
    }

    /// The options as they came out.
    pub fn info(&self) -> Result<String, ApiError> {
        Ok(self.inner.options.describe())
    }

    /// A result envelope as the provider's tool result.
    pub fn render(&self, format: &[u8], result: &[u8]) -> Result<String, ApiError> {
        let format = Format::parse(format)?;
        let result = fields::deep_document(result)?;
        let wrong = |path: &str, message: &str| fields::argument(path.into(), message.into());
        let text = |name: &'static str| {
            let text = result.get(name).and_then(Value::as_str);
            text.ok_or_else(|| wrong(&format!("/{name}"), "Give a result envelope; it has a text here."))
        };
        let outcome = match (text("status")?, result.get("error")) {
            ("ok", _) => Outcome::Ok(result.get("output")),
            ("error", Some(error @ Value::Object(_))) => Outcome::Error(error),
            ("error", _) => return Err(wrong("/error", "Give a result envelope; it has an object here.")),
            _ => return Err(wrong("/status", "Give a result envelope; its status is ok or error.")),
        };
        let (invocation_id, capability_id) = (text("invocationId")?, text("capabilityId")?);
        let known = self.inner.memory.name(invocation_id, result["issuedDigest"].as_str().unwrap_or_default());
        let name = known.unwrap_or_else(|| self.guess(invocation_id, capability_id, result["instanceId"].as_str()));
        let tool_call_id = name.tool_call_id.as_deref();
        Ok(format.result(&Answer { tool_call_id, name: &name.tool, invocation_id, outcome }))
    }

    /// What a call that is not remembered was most likely called.
    fn guess(&self, invocation_id: &str, capability_id: &str, instance_id: Option<&str>) -> Name {
        let catalog = self.inner.catalogs.lock().0.clone();
        let tool = match self.inner.options.mode {
            Mode::Meta if meta::verb(capability_id).is_none() => meta::ACT,
            _ => catalog.name_of(capability_id, instance_id).unwrap_or(capability_id),
        };
        Name { tool_call_id: Some(invocation_id.to_owned()), tool: tool.to_owned() }
    }

    /// Starts a model's call of a tool. `on_result` gets its result, exactly once.
    pub fn call(&self, call: &[u8], on_result: Option<Hook>) -> Result<Invocation, ApiError> {
        let _scope = enter();
        let engine = self.inner.engine();
        // Open until the result is on its way.
        let _busy = engine.open()?;
        engine.check_backlog()?;
        match self.plan(call)? {
            Plan::Run(errand) => wait::start(*errand, on_result),
            Plan::Answered(result) => {
                let caller = Caller::new(on_result);
                caller.settle(engine, result);
                Ok(Invocation::new(engine, caller))
            }
        }
    }

    /// Runs a model's call of a tool, on this thread as far as it goes.
    pub fn call_wait(&self, call: &[u8]) -> Result<Arc<[u8]>, ApiError> {
        if self.inner.engine().dispatcher.pull.is_some() {
            return Err(would_deadlock());
        }
        let plan = {
            let _scope = enter();
            self.plan(call)?
        };
        match plan {
            Plan::Run(errand) => wait::drive(*errand),
            Plan::Answered(result) => Ok(result),
        }
    }

    /// Ends the toolset: what waits for a person ends at once, with the result that says so.
    pub fn dispose(&self) {
        let _scope = enter();
        self.inner.waits.end();
    }

    fn plan(&self, call: &[u8]) -> Result<Plan, ApiError> {
        self.inner.check_open()?;
        let bytes = call.len();
        let call = format::read_call(fields::deep_document(call)?)?;
        match self.inner.options.mode {
            Mode::Direct => Ok(Plan::Run(Box::new(self.direct(call, bytes)))),
            Mode::Meta => match meta::verb(&call.name) {
                Some(verb) => self.meta(verb, call, bytes),
                None => Ok(Plan::Run(Box::new(self.unknown(call, bytes)))),
            },
        }
    }

    fn direct(&self, mut call: ToolCall, bytes: usize) -> Errand {
        let Some((target, version)) = self.find(&call.name) else { return self.unknown(call, bytes) };
        let capability = target.capability();
        let mut adapted = Adapted::default();
        let bad_input = self.mend(capability.agent_input.as_ref(), &mut call, "", &mut adapted);
        let request = Request {
            capability_id: capability.id.clone(),
            input: call.input.take(),
            invocation_id: None,
            instance_id: Some(target.registration.instance_id.to_string()),
            registration_id: Some(target.registration.id.to_string()),
            surface_version: Some(version.to_string()),
            confirmation_id: None,
            bad_input,
        };
        self.errand(request, call, bytes, adapted, self.inner.options.reach(false))
    }

    /// The tool of this name in the catalog taken last, or in the one before.
    fn find(&self, name: &str) -> Option<(crate::catalog::Target, u64)> {
        let catalogs = self.inner.catalogs.lock();
        let (last, before) = &*catalogs;
        let found = |catalog: &Arc<Catalog>| Some((catalog.find(name)?.target.clone(), catalog.version));
        found(last).or_else(|| found(before.as_ref()?))
    }

    /// A tool that nobody offers goes the way of a capability that nobody offers.
    fn unknown(&self, mut call: ToolCall, bytes: usize) -> Errand {
        let request = Request {
            capability_id: call.name[..cut(&call.name, id::MAX_ID)].to_owned(),
            input: call.input.take(),
            invocation_id: None,
            instance_id: None,
            registration_id: None,
            surface_version: None,
            confirmation_id: None,
            bad_input: None,
        };
        let nowhere = Reach { scope: Some(Vec::new()), observations_only: false };
        self.errand(request, call, bytes, Adapted::default(), Some(Arc::new(nowhere)))
    }

    fn meta(&self, verb: Verb, mut call: ToolCall, bytes: usize) -> Result<Plan, ApiError> {
        let mut adapted = Adapted::default();
        self.mend(meta::schema(verb), &mut call, "", &mut adapted);
        let issued = call.input.take().unwrap_or_else(|| json!({}));
        let (arguments, input) = match meta::check(verb, issued.clone()) {
            Ok(checked) => checked,
            Err(error) => return Ok(Plan::Answered(self.refuse(call, &issued, &adapted, &error))),
        };
        if verb == Verb::Discover {
            return self.discover(call, &issued, &arguments, &adapted);
        }
        let mut request = meta::request(&arguments, input);
        let reach = self.inner.options.reach(verb == Verb::Read);
        let engine = self.inner.engine();
        let live = engine.catalog.matches(&request, reach.as_deref(), engine.clock.now()).live;
        if let [target] = live.as_slice() {
            call.input = request.input.take();
            request.bad_input = self.mend(target.capability().agent_input.as_ref(), &mut call, "/input", &mut adapted);
            request.input = call.input.take();
        }
        Ok(Plan::Run(Box::new(self.errand(request, call, bytes, adapted, reach))))
    }

    /// Mends the input of a call after a schema; tells where it is no object though it could be one.
    fn mend(&self, schema: Option<&Schema>, call: &mut ToolCall, at: &str, adapted: &mut Adapted) -> Option<BadInput> {
        let (Some(schema), Some(input)) = (schema, &mut call.input) else { return None };
        let mended = repair::repair(schema.source(), input);
        adapted.repaired.extend(mended.into_iter().map(|pointer| format!("{at}{pointer}")));
        let refused =
            call.unreadable && input.is_string() || !input.is_object() && repair::may_be_object(schema.source());
        refused.then_some(BadInput::NotAnObject)
    }

    fn errand(
        &self,
        mut request: Request,
        call: ToolCall,
        bytes: usize,
        mut adapted: Adapted,
        reach: Option<Arc<Reach>>,
    ) -> Errand {
        let inner = &self.inner;
        let limits = inner.engine().limits();
        let bad_input = request.bad_input;
        request.check_input_bounds(bytes as u64, limits.max_input_bytes, limits.max_json_depth);
        request.bad_input = request.bad_input.or(bad_input);
        if request.invocation_id.is_none() {
            request.invocation_id = Some(self.invocation_id(call.id.as_deref(), &mut adapted, || {
                let digest = memory::issued_digest(&request);
                json!([digest, request.instance_id])
            }));
        }
        let options = request::Options {
            reach,
            adapted: (adapted != Adapted::default()).then_some(adapted),
            ..request::Options::new(inner.options.consumer.clone())
        };
        Errand { toolset: inner.clone(), request, options, name: name(call) }
    }

    /// The tool-call id, made what it must be; `request` says what is asked for.
    fn invocation_id(&self, given: Option<&str>, adapted: &mut Adapted, request: impl FnOnce() -> Value) -> String {
        let mint = || self.inner.engine().random.id("inv_");
        match (given, self.inner.options.tool_call_ids) {
            (None | Some(""), _) => mint(),
            (Some(given), _) if !id::is_caller_id(given) => {
                adapted.replaced_id = true;
                mint()
            }
            (Some(given), ToolCallIds::Unique) => given.to_owned(),
            // Another request under the same id is another call; the same one is the same.
            (Some(given), ToolCallIds::Reused) => {
                let hash = digest(json::canonical(&json!([given, request()])).as_bytes());
                format!("inv_{}", &hash["sha256:".len()..][..40])
            }
        }
    }

    /// Answers a call that never was a request.
    fn refuse(&self, call: ToolCall, issued: &Value, adapted: &Adapted, error: &ErrorPayload) -> Arc<[u8]> {
        self.answer(call, issued, adapted.clone(), |envelope| envelope.error(error))
    }

    fn discover(
        &self,
        call: ToolCall,
        issued: &Value,
        arguments: &Map<String, Value>,
        adapted: &Adapted,
    ) -> Result<Plan, ApiError> {
        let catalog = self.inner.surface.look(|engine| meta::discover(engine, &self.inner.options, arguments))?;
        let text = catalog.as_ref().map(json::canonical).unwrap_or_default();
        let hash = digest(text.as_bytes());
        Ok(Plan::Answered(self.answer(call, issued, adapted.clone(), |envelope| {
            envelope.ok(catalog.as_ref().map(|_| (text.as_bytes(), &*hash)))
        })))
    }

    fn answer(
        &self,
        call: ToolCall,
        issued: &Value,
        mut adapted: Adapted,
        write: impl FnOnce(&Envelope) -> Vec<u8>,
    ) -> Arc<[u8]> {
        let engine = self.inner.engine();
        let issued_digest = request_digest(&call.name, issued);
        let invocation_id = self.invocation_id(call.id.as_deref(), &mut adapted, || json!([issued_digest, null]));
        let ids = Arc::new(CallIds {
            invocation_id: invocation_id.into(),
            attempt_id: engine.random.id("att_"),
            capability_id: call.name.as_str().into(),
            consumer: self.inner.options.consumer.clone(),
            issued_digest: issued_digest.into(),
            traceparent: None,
        });
        let bound = Bound::default();
        let adapted = (adapted != Adapted::default()).then_some(adapted);
        identity::tell_adapted(engine, adapted.as_ref(), &ids, &bound);
        self.inner.memory.answered(engine, &ids, &name(call));
        let envelope = Envelope { ids: &ids, bound: &bound, version: engine.catalog.version(), changed: false };
        write(&envelope).into()
    }
}

fn name(mut call: ToolCall) -> Name {
    call.name.truncate(cut(&call.name, MAX_KEPT));
    Name { tool_call_id: call.id.filter(|id| !id.is_empty() && id.len() <= MAX_KEPT), tool: call.name }
}

/// The longest beginning of at most `max` bytes.
fn cut(text: &str, max: usize) -> usize {
    (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
}

/// With room for the NUL that a host gets after it.
fn copy(text: &str) -> String {
    let mut copy = String::with_capacity(text.len() + 1);
    copy.push_str(text);
    copy
}
