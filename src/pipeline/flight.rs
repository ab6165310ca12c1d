//! A call under way: what its phases know and share.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;

use super::call::{Call, Interrupt, Stop};
use super::engine::Engine;
use crate::admit::Slot;
use crate::catalog::Target;
use crate::model::ErrorPayload;
use crate::model::policy::AuditLevel;
use crate::model::request::{Options, Reach};
use crate::model::time::{self, UnixMs};
use crate::model::writer::ObjectWriter;
use crate::observe::Entry;
use crate::policy::context::HostContext;
use crate::policy::{PolicyHooks, context};
use crate::registry::Asked;
use crate::runtime::clock::Instant;
use crate::runtime::job::Label;
use crate::runtime::{Answer, Hook, Reply};

/// The validated effective input: its canonical text. The value is let go of once all have looked at
/// it, since a call may wait for long.
#[derive(Clone)]
pub struct EffectiveInput {
    pub text: Arc<[u8]>,
    pub digest: Arc<str>,
}

/// Given to handlers of a call that a person confirmed.
#[derive(Clone)]
pub struct Confirmed {
    pub id: String,
    pub approved_at: UnixMs,
}

type Asking<F> = Pin<Box<F>>;

pub struct Flight {
    pub engine: Arc<Engine>,
    pub call: Arc<Call>,
    /// The canonical text of the input as issued.
    issued: Arc<[u8]>,
    pub timeout_ms: Option<u64>,
    pub reach: Option<Arc<Reach>>,
    /// What is asked now must be known whatever becomes of the call: whether it is hidden, and how what
    /// has executed is settled. Only the end of the registry hurries it.
    pub patient: bool,
    /// Ended by something other than its own phases.
    pub cut_short: bool,
    host: Option<Arc<HostContext>>,
    /// Approved evidence has spared the call a charge, and is still to be redeemed.
    pub spared: bool,
    pub audit_level: AuditLevel,
    pub audit_started: bool,
    /// Host policies that were passed on the way in, outermost first, with their names.
    pub passed: Vec<(String, Arc<PolicyHooks>)>,
    pub input: Option<EffectiveInput>,
    pub slot: Option<Slot>,
    pub version_before: u64,
    pub queue_wait_ms: u64,
    pub execution_ms: u64,
}

impl Flight {
    pub fn new(engine: &Arc<Engine>, call: Arc<Call>, issued: Arc<[u8]>, options: Options) -> Flight {
        Flight {
            engine: engine.clone(),
            call,
            issued,
            timeout_ms: options.timeout_ms,
            reach: options.reach,
            patient: false,
            cut_short: false,
            host: None,
            spared: false,
            audit_level: AuditLevel::Metadata,
            audit_started: false,
            passed: Vec::new(),
            input: None,
            slot: None,
            version_before: engine.catalog.version(),
            queue_wait_ms: 0,
            execution_ms: 0,
        }
    }

    /// Begins a phase; not where the call is over already.
    pub fn enter(&mut self) -> Result<(), ErrorPayload> {
        if let Some(interrupt) = self.call.interrupted() {
            return Err(self.stopped(Stop::Interrupted(interrupt)));
        }
        match self.call.deadline {
            Some(deadline) if self.engine.clock.now() >= deadline => Err(self.stopped(Stop::Deadline)),
            _ => Ok(()),
        }
    }

    /// What the agent is told of a wait that was cut short.
    pub fn stopped(&mut self, stop: Stop) -> ErrorPayload {
        self.cut_short = true;
        match stop {
            Stop::Interrupted(interrupt) => self.call.interrupt_error(interrupt),
            Stop::Deadline => {
                let deadline = self.call.deadline.unwrap_or(self.call.started);
                self.call.timeout_error(deadline - self.call.started)
            }
            Stop::TimedOut => self.call.timeout_error(0),
        }
    }

    /// Tells the operator what the agent is not told.
    pub fn log_failure(&self, message: &str, name: &str, failure: &str) {
        self.engine.observer.log_with("warning", message, |out| {
            out.string("name", name);
            out.string("capabilityId", &self.call.ids.capability_id);
            out.string("invocationId", &self.call.ids.invocation_id);
            out.string("attemptId", &self.call.ids.attempt_id);
            out.string("failure", failure);
        });
    }

    /// The host context, read at most once.
    pub async fn host(&mut self) -> Result<Arc<HostContext>, ErrorPayload> {
        if let Some(host) = &self.host {
            return Ok(host.clone());
        }
        let asked = match self.engine.context_hook() {
            Some(hook) => self.ask(&hook, "context", b"{}".to_vec()).await?,
            None => None,
        };
        Ok(self.host.insert(HostContext::of(asked)).clone())
    }

    /// Asks a hook that must answer before it returns. `None` where it failed or took too long. Boxed, so that a call is
    /// no larger for what it might ask.
    pub fn ask<'a>(
        &'a mut self,
        hook: &'a Hook,
        name: &'a str,
        context: Vec<u8>,
    ) -> Asking<impl Future<Output = Result<Asked, ErrorPayload>> + 'a> {
        self.ask_with(hook, name, context, Arc::default())
    }

    pub fn ask_with<'a>(
        &'a mut self,
        hook: &'a Hook,
        name: &'a str,
        context: Vec<u8>,
        extra: Arc<[u8]>,
    ) -> Asking<impl Future<Output = Result<Asked, ErrorPayload>> + 'a> {
        Box::pin(self.ask_here(hook, name, context, extra))
    }

    async fn ask_here(
        &mut self,
        hook: &Hook,
        name: &str,
        context: Vec<u8>,
        extra: Arc<[u8]>,
    ) -> Result<Asked, ErrorPayload> {
        let label = Label { what: "hook", name: name.into(), phase: None };
        let (mut job, reply) = self.engine.immediate(hook, label, context, name_is_look(name));
        job.belongs_to(self.call.number, self.call.ids.consumer.lane);
        job.extra = extra;
        self.engine.dispatcher.submit(job);
        match self.answer(&reply).await {
            Ok(answer) => Ok(self.engine.read_answer(name, answer)),
            Err(Stop::TimedOut) => Ok(self.engine.read_answer(name, Answer::Nothing)),
            Err(stop) => Err(self.stopped(stop)),
        }
    }

    /// Waits for an answer, as long as a decision may take.
    pub async fn answer(&mut self, reply: &Arc<Reply>) -> Result<Answer, Stop> {
        let until = self.engine.clock.now().saturating_add(self.engine.limits().policy_timeout_ms);
        self.answer_until(reply, until).await
    }

    pub async fn answer_until(&mut self, reply: &Arc<Reply>, until: Instant) -> Result<Answer, Stop> {
        let answered = |cx: &mut Context| reply.poll(cx.waker());
        let patient = self.patient;
        let deadline = if patient { None } else { self.call.deadline };
        let heeds = |interrupt| !patient || interrupt == Interrupt::Disposed;
        let waited = self.call.wait(&self.engine.clock, answered, Some(until), deadline, heeds).await;
        match waited {
            Ok(answer) => Ok(answer),
            // Whichever was first counts, also when both came before this poll.
            Err(stop) => reply.leave().ok_or(stop),
        }
    }

    /// The context of policies that have seen the input (AS-INVOKE-002).
    pub fn policy_context(&self, target: &Target, host: &HostContext) -> Vec<u8> {
        let mut out = context::context(&self.engine, target, &self.call.ids.consumer, host);
        if let Some(input) = &self.input {
            out.string("invocationId", &self.call.ids.invocation_id);
            out.raw("effectiveInput", &input.text);
            out.string("issuedDigest", &self.call.ids.issued_digest);
            out.string("requestDigest", &input.digest);
        }
        out.into_bytes()
    }

    /// The context of handlers, `bind` and `precondition`.
    pub fn call_context(
        &self,
        target: &Target,
        host: &HostContext,
        confirmed: Option<&Confirmed>,
        until: Option<Instant>,
    ) -> ObjectWriter {
        let ids = &self.call.ids;
        let capability = target.capability();
        let mut out = ObjectWriter::with_capacity(512);
        out.string("capabilityId", &capability.id);
        out.string("registrationId", &target.registration.id);
        out.string("instanceId", &target.registration.instance_id);
        out.string("invocationId", &ids.invocation_id);
        out.string("attemptId", &ids.attempt_id);
        out.raw("consumer", ids.consumer.json.as_bytes());
        out.raw("host", &host.text);
        if let Some(input) = &self.input {
            out.string("requestDigest", &input.digest);
        }
        if let Some(until) = until {
            let left = until.saturating_sub(self.engine.clock.now());
            out.string("deadline", &time::format(self.engine.clock.unix().saturating_add(left as i64)));
        }
        if let Some(confirmed) = confirmed {
            out.object("confirmation", |out| {
                out.string("id", &confirmed.id);
                out.string("approvedAt", &time::format(confirmed.approved_at));
            });
        }
        if capability.kind == crate::model::definition::Kind::Procedure {
            out.string("path", &capability.name);
        }
        out
    }

    /// Sets how much the audit keeps, and writes the start once it keeps anything.
    pub fn audit_at(&mut self, level: AuditLevel) {
        self.audit_level = level;
        if level != AuditLevel::None && !self.audit_started {
            self.audit_started = true;
            self.engine.observer.audit(Entry::of_call("invocation-started", &self.call.ids, &self.call.bound()));
        }
    }

    /// The input as issued, made effective with nothing bound or defaulted.
    pub fn issued_input(&self) -> EffectiveInput {
        EffectiveInput { text: self.issued.clone(), digest: self.call.ids.issued_digest.clone() }
    }
}

/// Hooks that must not look at the surface (they are part of looking at it).
fn name_is_look(name: &str) -> bool {
    matches!(name, "when" | "describe" | "on_discovery")
}
