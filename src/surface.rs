//! The registry as a Rust type: the one public face. Every function opens a scope, so that what it
//! woke is polled and what it released is destroyed before it returns.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::catalog::snapshot::{self, View};
use crate::catalog::{Admitted, CapabilityHooks, Status, Target, explain};
use crate::confirm::Decision;
use crate::model::config::{Config, SuffixPolicy};
use crate::model::definition::{
    Capability, DUPLICATE_CAPABILITY, Definition, INVALID_DEFINITION, Kind, LIMIT_EXCEEDED, Patch,
};
use crate::model::policy::PolicyRef;
use crate::model::request::{self, Options, Request};
use crate::model::writer::ObjectWriter;
use crate::model::{ApiError, Code, Consumer, fields, id};
use crate::observe::{Bound, Entry, Listener, Topic};
use crate::pipeline;
use crate::pipeline::call::{Call, Caller, would_deadlock};
use crate::pipeline::engine::Engine;
use crate::registry::Executor;
use crate::runtime::clock::Clock;
use crate::runtime::dispatch::Patience;
use crate::runtime::pull::Taken;
use crate::runtime::{Hook, Reply, enter, local};

pub use crate::policy::PolicyHooks;
pub use crate::registry::HostHooks;
pub use crate::verify::{canonical_json, request_digest, verify_result};

/// The ABI this library speaks; part of the registry info.
pub const ABI_VERSION: u32 = 1;

/// The host's functions for one capability: its name, or `domain:` + path for a procedure.
#[derive(Default)]
pub struct Binding {
    pub name: String,
    pub handler: Option<Hook>,
    pub when: Option<Hook>,
    pub precondition: Option<Hook>,
    pub bind: Option<Hook>,
    pub describe: Option<Hook>,
}

/// A registry. Cheap to clone; all clones are the same one.
#[derive(Clone)]
pub struct Surface {
    engine: Arc<Engine>,
}

impl Surface {
    pub fn new(config: &[u8], hooks: HostHooks) -> Result<Surface, ApiError> {
        let _scope = enter();
        let engine = Engine::new(Config::parse(config)?, hooks)?;
        Ok(Surface { engine })
    }

    /// Closes: takes nothing new, settles what is pending, waits until no host code runs and all
    /// that is the host's has been released.
    pub fn close(&self, timeout_ms: i64) -> Result<(), ApiError> {
        self.release();
        if local::inside(&self.engine.dispatcher) {
            return Err(would_deadlock());
        }
        match self.engine.dispatcher.wait_closed(Patience::new(timeout_ms)) {
            true => Ok(()),
            false => Err(ApiError::new(Code::Timeout, "Host code is still running; the registry goes on closing.")),
        }
    }

    /// Begins to close, and does not wait.
    pub fn release(&self) {
        let _scope = enter();
        self.engine.close();
    }

    pub fn info(&self) -> Result<String, ApiError> {
        let engine = &self.engine;
        engine.check_open()?;
        let mut out = ObjectWriter::new();
        out.string("surfaceId", &engine.surface_id);
        out.string("surfaceVersion", &engine.catalog.version().to_string());
        out.number("registrations", engine.catalog.len() as i64);
        out.number("inFlight", engine.in_flight() as i64);
        out.number("pendingConfirmations", engine.confirmations.pending() as i64);
        out.number("workers", engine.dispatcher.pool.workers() as i64);
        out.object("limits", |out| {
            for (name, value) in engine.limits().entries() {
                out.number(name, value as i64);
            }
        });
        out.number("abiVersion", ABI_VERSION.into());
        Ok(out.finish())
    }

    pub fn define_policy(&self, name: &[u8], hooks: PolicyHooks) -> Result<(), ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        let name = utf8(name)?;
        if !id::is_caller_id(name) {
            return Err(ApiError::new(
                Code::Argument,
                "Give a policy name of 1 to 256 bytes without control characters.",
            ));
        }
        self.engine.policies.define(name, hooks)
    }

    /// `paths` is a JSON array; a second call replaces the first.
    pub fn set_executor(&self, paths: &[u8], hook: Hook) -> Result<(), ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        let value = fields::document(paths, None)?;
        let wrong = || ApiError::at(Code::Argument, "", "Give a list of procedure paths here.");
        let paths: Option<HashSet<String>> =
            value.as_array().ok_or_else(wrong)?.iter().map(|path| path.as_str().map(String::from)).collect();
        let paths = paths.ok_or_else(wrong)?;
        if let Some(bad) = paths.iter().find(|path| !id::is_capability_id(&id::domain_id(path))) {
            let message = format!("A procedure path is 1 to {} bytes.", id::MAX_ID - "domain:".len());
            let at = value.as_array().and_then(|list| list.iter().position(|path| path.as_str() == Some(bad)));
            return Err(ApiError::at(Code::Argument, format!("/{}", at.unwrap_or_default()), message));
        }
        self.engine.set_executor(Executor { paths: Arc::new(paths), hook });
        Ok(())
    }

    /// Registers a component. A newcomer that is not admitted gets a dead handle, not an error.
    pub fn register(&self, definition: &[u8], bindings: Vec<Binding>) -> Result<Registration, ApiError> {
        let _scope = enter();
        let engine = &self.engine;
        engine.check_open()?;
        let value = fields::document(definition, None)?;
        let executor = engine.executor();
        let serves = executor.as_ref().map(|executor| |path: &str| executor.paths.contains(path));
        let definition =
            Definition::parse(&value, engine.limits(), serves.as_ref().map(|serves| serves as &dyn Fn(&str) -> bool))?;
        let hooks = match_bindings(&definition.capabilities, bindings)?;
        self.check_policies(&value, &definition)?;
        let suspects = collisions(&definition, executor.as_ref());
        if let (Some(suspect), SuffixPolicy::Error) = (suspects.first(), engine.config.suffix_policy) {
            return Err(ApiError::definition(
                DUPLICATE_CAPABILITY,
                suspect.pointer.as_str(),
                "The executor serves a procedure of the same name.",
            ));
        }
        let guarded = self.guard_rejects(&value, &definition);
        let collision_ids: Vec<String> = suspects.iter().map(|capability| capability.id.clone()).collect();
        let id = engine.random.id(&format!("reg_{}_", engine.next_number()));
        let inner = crate::catalog::Registration::new(id, definition, hooks);
        let registration = Registration { engine: engine.clone(), inner };
        match guarded {
            true => registration.reject("guard"),
            false => registration.admit()?,
        }
        if registration.inner.is_active() && engine.config.suffix_policy == SuffixPolicy::Warn {
            collision_ids.iter().for_each(|id| registration.tell_collision(id));
        }
        Ok(registration)
    }

    /// Every policy that a definition names must be defined.
    fn check_policies(&self, value: &Value, definition: &Definition) -> Result<(), ApiError> {
        let places =
            definition.capabilities.iter().map(|capability| (capability.pointer.as_str(), &capability.policies));
        for (pointer, policies) in std::iter::once(("", &definition.policies)).chain(places) {
            for (index, policy) in policies.iter().enumerate() {
                if let PolicyRef::Host(name) = policy
                    && self.engine.policies.get(name).is_none()
                {
                    let path = format!("{pointer}/policies/{index}");
                    debug_assert!(crate::json::lookup(value, &path).is_some());
                    return Err(ApiError::definition(INVALID_DEFINITION, path, "No policy of this name is defined."));
                }
            }
        }
        Ok(())
    }

    fn guard_rejects(&self, value: &Value, definition: &Definition) -> bool {
        let Some(hook) = self.engine.hooks().on_register else { return false };
        let mut context = ObjectWriter::new();
        context.value("definition", value);
        context.string("origin", &definition.origin);
        // A guard that fails lets nothing in.
        let answer = self.engine.ask_now(&hook, "on_register", context.into_bytes(), false);
        answer.as_ref().and_then(Value::as_str) != Some("accept")
    }

    /// Pull dispatch: the next request, as JSON. `name_reply` gives the handle of its answer.
    pub fn next(&self, timeout_ms: i64, name_reply: &dyn Fn(&Arc<Reply>) -> u64) -> Result<Vec<u8>, ApiError> {
        let Some(pull) = &self.engine.dispatcher.pull else {
            return Err(ApiError::new(Code::Argument, "This registry was not made with \"dispatch\": \"pull\"."));
        };
        let patience = Patience::new(timeout_ms);
        loop {
            local::drain();
            let job = match pull.take(patience) {
                Taken::Job(job) => job,
                Taken::Nothing => return Err(ApiError::new(Code::Timeout, "There is nothing to do.")),
                Taken::Closed => return Err(ApiError::closed()),
            };
            let _scope = enter();
            if let Some(request) = job.hand_out(name_reply) {
                return Ok(request);
            }
        }
    }

    /// Starts a call. `on_result` gets its result, exactly once.
    pub fn invoke(&self, request: &[u8], options: &[u8], on_result: Option<Hook>) -> Result<Invocation, ApiError> {
        let _scope = enter();
        let (request, options) = self.parse_call(request, options)?;
        self.start(request, options, on_result)
    }

    pub(crate) fn start(
        &self,
        request: Request,
        options: Options,
        on_result: Option<Hook>,
    ) -> Result<Invocation, ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        let caller = Caller::new(on_result);
        pipeline::invoke(&self.engine, self.engine.next_number(), request, options, &caller, Vec::new())?;
        Ok(Invocation { engine: self.engine.clone(), caller })
    }

    /// Calls, and drives the call on this thread as far as it goes.
    pub fn invoke_wait(&self, request: &[u8], options: &[u8]) -> Result<Arc<[u8]>, ApiError> {
        let (request, options) = self.parse_call(request, options)?;
        self.call_wait(request, options)
    }

    pub(crate) fn call_wait(&self, request: Request, mut options: Options) -> Result<Arc<[u8]>, ApiError> {
        let engine = &self.engine;
        engine.check_open()?;
        let dispatcher = &engine.dispatcher;
        if dispatcher.pull.is_some() || local::looking(dispatcher) {
            return Err(would_deadlock());
        }
        if local::depth() >= local::MAX_FRAMES {
            return Err(ApiError::new(Code::Limit, format!("Calls nest at most {} deep.", local::MAX_FRAMES)));
        }
        let ancestors = local::stacked_calls(dispatcher);
        self.inherit_deadline(&ancestors, &mut options);
        let number = engine.next_number();
        let caller = Caller::new(None);
        let driving = local::drive(number);
        let call = {
            let _scope = enter();
            pipeline::invoke(engine, number, request, options, &caller, ancestors.clone())?
        };
        let mut free = true;
        loop {
            local::drain();
            let Some(job) = local::take_own(number) else { break };
            let _scope = enter();
            free &= job.run();
        }
        drop(driving);
        if !caller.is_settled()
            && let Some(call) = call
            && (!free || self.never_ends(&call, &ancestors))
        {
            caller.cancel();
            local::drain();
            return Err(would_deadlock());
        }
        self.wait(&caller, Patience::new(-1))
    }

    /// A call inside another one ends with it at the latest.
    fn inherit_deadline(&self, ancestors: &[u64], options: &mut Options) {
        let outer = ancestors.iter().filter_map(|number| self.engine.flight(*number)?.until()).min();
        if let Some(until) = outer {
            let left = until.saturating_sub(self.engine.clock.now());
            options.deadline_ms = Some(options.deadline_ms.map_or(left, |own| own.min(left)));
        }
    }

    /// Whether waiting for `call` on a thread with `stack` on it could never end.
    fn never_ends(&self, call: &Call, stack: &[u64]) -> bool {
        !stack.is_empty() && (stack.contains(&call.number) || self.engine.admission.blocked_by(call.number, stack))
    }

    fn wait(&self, caller: &Caller, patience: Patience) -> Result<Arc<[u8]>, ApiError> {
        if caller.is_settled() {
            return caller.wait(patience);
        }
        self.engine.dispatcher.pool.blocking(|| caller.wait(patience))
    }

    fn parse_call(&self, request: &[u8], options: &[u8]) -> Result<(Request, Options), ApiError> {
        self.engine.check_open()?;
        let limits = self.engine.limits();
        let request = Request::parse(request, limits.max_input_bytes, limits.max_json_depth)?;
        Ok((request, Options::parse(options)?))
    }

    pub fn consumer_close(&self, consumer: &[u8]) -> Result<(), ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        let value = fields::document(consumer, None)?;
        let consumer = Consumer::read(Some(&value), "")?;
        self.engine.end_consumer(&consumer.key);
        Ok(())
    }

    /// What became of a call: `{result, late?}` or `{"state": "running"}`.
    pub fn outcome(&self, query: &[u8]) -> Result<String, ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        let (consumer, id) = request::parse_outcome_query(query)?;
        match self.engine.dedupe.find(&consumer.key, &id, self.engine.clock.now()) {
            Some(call) => Ok(call.outcome()),
            None => Err(ApiError::new(Code::NotFound, "No call of this consumer and id is remembered.")),
        }
    }

    pub fn confirm(&self, decision: &[u8]) -> Result<(), ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        self.engine.confirmations.decide(Decision::parse(decision)?)
    }

    pub fn confirmations(&self) -> Result<String, ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        Ok(self.engine.confirmations.list())
    }

    pub fn confirmation_subscribe(&self, hook: Hook) -> Result<Subscription, ApiError> {
        self.listen(Topic::Confirmations, hook)
    }

    pub fn confirmation_wait(&self, id: &[u8], timeout_ms: i64) -> Result<String, ApiError> {
        self.engine.check_open()?;
        local::drain();
        let patience = Patience::new(timeout_ms);
        let pool = &self.engine.dispatcher.pool;
        self.engine.confirmations.wait(utf8(id)?, patience, |wait| pool.blocking(wait))
    }

    pub fn snapshot(&self, context: &[u8]) -> Result<Vec<u8>, ApiError> {
        let view = View::parse(context)?;
        self.look()?;
        let _scope = enter();
        Ok(snapshot::take(&self.engine, &view))
    }

    /// Why each capability is shown as it is. For developers.
    pub fn explain(&self, context: &[u8]) -> Result<String, ApiError> {
        let view = View::parse(context)?;
        self.look()?;
        let _scope = enter();
        Ok(explain::explain(&self.engine, &view))
    }

    /// Looking inside a hook that is part of looking would never end.
    fn look(&self) -> Result<(), ApiError> {
        self.engine.check_open()?;
        match local::looking(&self.engine.dispatcher) {
            true => Err(would_deadlock()),
            false => Ok(()),
        }
    }

    pub fn subscribe(&self, hook: Hook) -> Result<Subscription, ApiError> {
        self.listen(Topic::All, hook)
    }

    fn listen(&self, topic: Topic, hook: Hook) -> Result<Subscription, ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        let listener = self.engine.observer.subscribe(topic, hook)?;
        Ok(Subscription { engine: self.engine.clone(), listener })
    }

    /// The audit entries in memory with a `seq` above `after`, as a JSON array.
    pub fn audit_read(&self, after: u64) -> Result<String, ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        Ok(self.engine.observer.audit_read(after))
    }

    /// Moves the manual clock, instant by instant, and lets everything that is due happen.
    pub fn advance(&self, ms: i64, timeout_ms: i64) -> Result<(), ApiError> {
        self.engine.check_open()?;
        let Clock::Manual { now, timers, .. } = &*self.engine.clock else {
            return Err(ApiError::new(Code::Argument, "This registry runs by the system clock."));
        };
        let Ok(ms) = u64::try_from(ms) else {
            return Err(ApiError::new(Code::Argument, "Give a number of milliseconds of 0 or more."));
        };
        let patience = Patience::new(timeout_ms);
        let target = self.engine.clock.now().saturating_add(ms);
        loop {
            self.quiet(patience)?;
            match timers.next_due().filter(|due| *due <= target) {
                None => break,
                Some(due) => {
                    let at = due.max(self.engine.clock.now());
                    now.store(at, std::sync::atomic::Ordering::Release);
                    while let Some(waker) = timers.take_due(at) {
                        let _scope = enter();
                        waker.wake();
                    }
                }
            }
        }
        now.store(target, std::sync::atomic::Ordering::Release);
        Ok(())
    }

    /// Waits until nothing is ready to run.
    pub fn quiesce(&self, timeout_ms: i64) -> Result<(), ApiError> {
        self.quiet(Patience::new(timeout_ms))
    }

    fn quiet(&self, patience: Patience) -> Result<(), ApiError> {
        if local::inside(&self.engine.dispatcher) {
            return Err(would_deadlock());
        }
        match self.engine.dispatcher.wait_quiet(patience) {
            true => Ok(()),
            false => Err(ApiError::new(Code::Timeout, "Something is still running.")),
        }
    }
}

/// Puts the host's functions where the definition has their capabilities.
fn match_bindings(capabilities: &[Capability], bindings: Vec<Binding>) -> Result<Vec<Arc<CapabilityHooks>>, ApiError> {
    let mut hooks: Vec<Option<CapabilityHooks>> = capabilities.iter().map(|_| None).collect();
    for binding in bindings {
        let index = capabilities.iter().position(|capability| capability.binding_name() == binding.name);
        let index = index.ok_or_else(|| {
            ApiError::definition(
                INVALID_DEFINITION,
                "",
                format!("A binding names \"{}\", which is not defined.", shown(&binding.name)),
            )
        })?;
        if hooks[index].is_some() {
            return Err(ApiError::definition(
                INVALID_DEFINITION,
                &*capabilities[index].pointer,
                "Two bindings name this.",
            ));
        }
        hooks[index] = Some(check_binding(&capabilities[index], binding)?);
    }
    capabilities
        .iter()
        .zip(hooks)
        .map(|(capability, hooks)| {
            let missing = |what: &str| {
                Err(ApiError::definition(INVALID_DEFINITION, &*capability.pointer, format!("Bind a {what} for this.")))
            };
            let hooks = hooks.unwrap_or_default();
            match capability.kind {
                Kind::Procedure if !capability.bound_fields.is_empty() && hooks.bind.is_none() => {
                    missing("\"bind\" function")
                }
                Kind::Procedure => Ok(Arc::new(hooks)),
                _ if hooks.handler.is_none() => missing("handler"),
                _ => Ok(Arc::new(hooks)),
            }
        })
        .collect()
}

/// Refuses a function that its capability would never call.
fn check_binding(capability: &Capability, binding: Binding) -> Result<CapabilityHooks, ApiError> {
    let stray = match capability.kind {
        Kind::Observation => [binding.precondition.is_some(), binding.bind.is_some(), binding.describe.is_some()],
        Kind::Action => [false, binding.bind.is_some(), binding.describe.is_some()],
        Kind::Procedure => [binding.precondition.is_some(), binding.handler.is_some(), false],
    };
    if stray.contains(&true) {
        let message = format!("A binding has a function that no {} calls.", capability.kind.as_str());
        return Err(ApiError::definition(INVALID_DEFINITION, &*capability.pointer, message));
    }
    let Binding { handler, when, precondition, bind, describe, .. } = binding;
    Ok(CapabilityHooks { handler, when, precondition, bind, describe })
}

fn shown(name: &str) -> &str {
    crate::model::error::truncate(name, 64)
}

/// View capabilities whose name the executor serves as a procedure, too.
fn collisions<'a>(definition: &'a Definition, executor: Option<&Executor>) -> Vec<&'a Capability> {
    let serves = |capability: &&Capability| {
        let suffix = capability.id.strip_prefix("view:");
        executor.zip(suffix).is_some_and(|(executor, suffix)| executor.paths.contains(suffix))
    };
    definition.capabilities.iter().filter(serves).collect()
}

fn utf8(text: &[u8]) -> Result<&str, ApiError> {
    std::str::from_utf8(text).map_err(|_| ApiError::new(Code::Utf8, "This is not UTF-8."))
}

/// One lifetime of a component instance, or the dead handle of one that was not admitted.
#[derive(Clone)]
pub struct Registration {
    engine: Arc<Engine>,
    inner: Arc<crate::catalog::Registration>,
}

impl Registration {
    fn admit(&self) -> Result<(), ApiError> {
        let engine = &self.engine;
        let admitted =
            engine.catalog.add(&self.inner, engine.config.on_duplicate, engine.clock.now(), |admitted, version| {
                if let Admitted::Live { replaced } = admitted {
                    if let Some(old) = replaced {
                        self.tell(old, "component-unregistered", "unregistration", None);
                    }
                    self.tell(&self.inner, "component-registered", "registration", None);
                    self.surface_changed(version);
                }
            });
        match admitted {
            Admitted::Live { replaced } => {
                if let Some(old) = replaced {
                    engine.end_registration(&old, Status::Replaced);
                }
                // The registry may have closed while this was under way; then nothing stays.
                if engine.is_closed() {
                    engine.catalog.remove(&self.inner, engine.clock.now(), |_| {});
                    self.inner.end(Status::Closed);
                    return Err(ApiError::closed());
                }
                Ok(())
            }
            Admitted::Duplicate => {
                self.reject("duplicate");
                Ok(())
            }
            Admitted::Full => {
                let max = engine.limits().max_registrations;
                Err(ApiError::definition(LIMIT_EXCEEDED, "", format!("A registry has at most {max} registrations.")))
            }
        }
    }

    fn reject(&self, reason: &str) {
        self.inner.end(Status::Rejected);
        self.tell(&self.inner, "component-rejected", "registration-rejected", Some(reason));
    }

    fn tell(
        &self,
        whose: &crate::catalog::Registration,
        event: &'static str,
        audit: &'static str,
        reason: Option<&str>,
    ) {
        self.engine.observer.emit(Topic::All, event, |out| {
            component(whose, out);
            out.optional_string("reason", reason);
        });
        let mut entry = self.entry(whose, audit);
        if let Some(reason) = reason {
            entry = entry.with("reason", reason);
        }
        self.engine.observer.audit(entry);
    }

    fn entry(&self, whose: &crate::catalog::Registration, kind: &'static str) -> Entry {
        let mut entry = Entry::new(kind).with("componentType", whose.definition.component_type.as_str());
        entry.bound = Bound {
            registration_id: Some(whose.id.clone()),
            instance_id: Some(whose.instance_id.clone()),
            request_digest: None,
        };
        entry
    }

    fn tell_collision(&self, capability_id: &str) {
        self.engine.observer.emit(Topic::All, "collision-suspected", |out| {
            component(&self.inner, out);
            out.string("capabilityId", capability_id);
        });
        let entry = self.entry(&self.inner, "collision-suspected").with("capabilityId", capability_id);
        self.engine.observer.audit(entry);
    }

    fn surface_changed(&self, version: u64) {
        self.engine.observer.emit(Topic::All, "surface-changed", |out| {
            out.string("surfaceVersion", &version.to_string());
        });
    }

    pub fn info(&self) -> Result<String, ApiError> {
        Ok(self.inner.describe_status())
    }

    /// Changes `enabled` and pushed availability: all of the patch or nothing.
    pub fn update(&self, patch: &[u8]) -> Result<(), ApiError> {
        let _scope = enter();
        let patch = Patch::parse(patch)?;
        let mut pushes = Vec::new();
        for (name, available, reason) in patch.availability {
            let index = self.inner.find(&name).ok_or_else(|| {
                let path = format!("/availability/{}", crate::json::escape_pointer(&name));
                ApiError::at(Code::Argument, path, "This registration has no such capability.")
            })?;
            pushes.push((index, available, reason));
        }
        let change = || {
            let mut changed = patch.enabled.is_some_and(|enabled| self.inner.set_enabled(enabled));
            for (index, available, reason) in pushes {
                changed |= self.inner.push_availability(index, available, reason);
            }
            changed
        };
        let live = self.engine.catalog.change(&self.inner, change, |version| {
            self.engine.observer.emit(Topic::All, "availability-changed", |out| component(&self.inner, out));
            self.surface_changed(version);
        });
        if live { Ok(()) } else { Err(over()) }
    }

    /// Swaps the host's functions of the capabilities that the bindings name.
    pub fn rebind(&self, bindings: Vec<Binding>) -> Result<(), ApiError> {
        let _scope = enter();
        let mut swaps = Vec::new();
        for binding in bindings {
            let name = binding.name.clone();
            let index = self.inner.find(&name).ok_or_else(|| {
                ApiError::definition(
                    INVALID_DEFINITION,
                    "",
                    format!("A binding names \"{}\", which is not defined.", shown(&name)),
                )
            })?;
            let capability = Target { registration: self.inner.clone(), index };
            let hooks = check_binding(capability.capability(), binding)?;
            let lacks = match capability.capability().kind {
                Kind::Procedure => !capability.capability().bound_fields.is_empty() && hooks.bind.is_none(),
                _ => hooks.handler.is_none(),
            };
            if lacks {
                let message = format!("The binding of \"{}\" lacks the function it needs.", shown(&name));
                return Err(ApiError::definition(INVALID_DEFINITION, &*capability.capability().pointer, message));
            }
            swaps.push((index, hooks));
        }
        self.inner.rebind(swaps).map(drop).ok_or_else(over)
    }

    /// Says that the surface changed in a way only the host knows.
    pub fn invalidate(&self) -> Result<(), ApiError> {
        let _scope = enter();
        match self.engine.catalog.change(&self.inner, || true, |version| self.surface_changed(version)) {
            true => Ok(()),
            false => Err(over()),
        }
    }

    /// Ends the registration; again, it does nothing.
    pub fn unregister(&self) {
        let _scope = enter();
        let removed = self.engine.catalog.remove(&self.inner, self.engine.clock.now(), |version| {
            self.tell(&self.inner, "component-unregistered", "unregistration", None);
            self.surface_changed(version);
        });
        if removed {
            self.engine.end_registration(&self.inner, Status::Unregistered);
        }
    }
}

fn component(registration: &crate::catalog::Registration, out: &mut ObjectWriter) {
    out.string("componentType", &registration.definition.component_type);
    out.string("instanceId", &registration.instance_id);
    out.string("registrationId", &registration.id);
}

fn over() -> ApiError {
    ApiError::new(Code::Closed, "This registration is not active.")
}

/// One caller's hold on a call.
#[derive(Clone)]
pub struct Invocation {
    engine: Arc<Engine>,
    caller: Arc<Caller>,
}

impl Invocation {
    /// Waits for the result: -1 for ever, 0 looks only.
    pub fn wait(&self, timeout_ms: i64) -> Result<Arc<[u8]>, ApiError> {
        local::drain();
        let patience = Patience::new(timeout_ms);
        let surface = Surface { engine: self.engine.clone() };
        if !self.caller.is_settled() && timeout_ms != 0 {
            let dispatcher = &self.engine.dispatcher;
            let stack = local::stacked_calls(dispatcher);
            let stuck = self.caller.call().is_some_and(|call| surface.never_ends(&call, &stack));
            if stuck || (patience.endless() && dispatcher.pull.is_some()) {
                return Err(would_deadlock());
            }
        }
        surface.wait(&self.caller, patience)
    }

    /// Cancels this caller's call; others who joined it wait on. Settled, it does nothing.
    pub fn cancel(&self) -> Result<(), ApiError> {
        let _scope = enter();
        self.caller.cancel();
        Ok(())
    }
}

/// One listener's place.
#[derive(Clone)]
pub struct Subscription {
    engine: Arc<Engine>,
    listener: Arc<Listener>,
}

impl Subscription {
    /// Ends it. A call of the listener that is running ends by itself.
    pub fn cancel(&self) {
        let _scope = enter();
        self.engine.observer.unsubscribe(&self.listener);
    }
}
