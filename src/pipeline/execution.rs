//! Phase 9, execution: the handler runs, within its time.

use std::sync::Arc;

use crate::sync::Mutex;
use serde_json::Value;

use super::call::Stop;
use super::envelope;
use super::flight::{Confirmed, EffectiveInput, Flight};
use crate::catalog::Target;
use crate::confirm::Evidence;
use crate::model::ErrorPayload;
use crate::model::definition::{Effect, Kind};
use crate::model::error::Retry;
use crate::policy::context::HostContext;
use crate::runtime::clock::Instant;
use crate::runtime::job::{Job, Label};
use crate::runtime::reply::Owed;
use crate::runtime::{Answer, Hook, Reply};

/// A reserved approval, until the handler begins or the call ends without it, whichever is first: the
/// request may wait longer than the call.
type Held = Option<Arc<Mutex<Option<Evidence>>>>;

/// A handler that was asked, and its time.
struct Asked {
    reply: Arc<Reply>,
    held: Held,
    since: Instant,
    timeout_ms: u64,
}

pub async fn run(
    flight: &mut Flight,
    target: &Target,
    input: &EffectiveInput,
    evidence: Option<Evidence>,
) -> Result<Option<Value>, ErrorPayload> {
    flight.enter()?;
    // Reading the host context is no part of the execution.
    let host = flight.host().await?;
    let Asked { reply, held, since, timeout_ms } = ask(flight, target, &host, input, evidence)?;
    let answered = flight.answer_until(&reply, since.saturating_add(timeout_ms)).await;
    let begun = flight.call.bar();
    if !begun {
        let unspent = take(&held);
        drop(unspent);
    }
    let outcome = match answered {
        Ok(answer) => outcome_of(flight, target, answer),
        Err(stop) => {
            flight.call.signal.raise(&flight.engine.dispatcher);
            if target.capability().concurrency.hold && matches!(stop, Stop::TimedOut | Stop::Deadline) && begun {
                hold(flight, &reply);
            }
            flight.cut_short = true;
            Err(match stop {
                Stop::TimedOut => flight.call.timeout_error(timeout_ms),
                stop => flight.stopped(stop),
            })
        }
    };
    flight.execution_ms = if begun { flight.engine.clock.now() - since } else { 0 };
    outcome
}

/// Sends the handler its call. It begins, and spends the approval, only if the call still stands.
fn ask(
    flight: &Flight,
    target: &Target,
    host: &HostContext,
    input: &EffectiveInput,
    evidence: Option<Evidence>,
) -> Result<Asked, ErrorPayload> {
    let engine = &flight.engine;
    let hook = handler(flight, target)?;
    let timeout_ms = timeout_ms(flight, target);
    let (call, clock) = (flight.call.clone(), engine.clock.clone());
    let since = clock.now();
    let until = since.saturating_add(timeout_ms);
    let ends = call.deadline.map_or(until, |deadline| deadline.min(until));
    let guarded = flight.passed.iter().any(|(_, hooks)| hooks.on_result.is_some());
    call.expect_execution(ends, guarded);

    let bounds = engine.answer_bounds(engine.limits().max_output_bytes);
    let reply = Reply::new(&engine.dispatcher, Owed::Output, bounds, Some(call.signal.clone()));
    reply.report_late_to(call.clone());
    call.keep_reply(&reply);
    let confirmed = evidence.as_ref().map(|e| Confirmed { id: e.id.clone(), approved_at: e.approved_at });
    let context = flight.call_context(target, host, confirmed.as_ref(), Some(ends)).into_bytes();
    let label = Label { what: "call", name: call.ids.capability_id.clone(), phase: None };
    let mut job = Job::new(&engine.dispatcher, hook, label, context);
    job.reply = Some(reply.clone());
    job.belongs_to(call.number, call.ids.consumer.lane);
    job.extra = input.text.clone();
    let held: Held = evidence.map(|evidence| Arc::new(Mutex::new(Some(evidence))));
    let spent = held.clone();
    job.start = Some(Box::new(move || {
        let begins = call.begin(clock.now());
        let evidence = take(&spent);
        // Not begun: the approval goes back as it is dropped.
        if let (true, Some(evidence)) = (begins, evidence) {
            evidence.spend(&call.ids, &call.bound());
        }
        begins
    }));
    engine.dispatcher.submit(job);
    Ok(Asked { reply, held, since, timeout_ms })
}

fn take(held: &Held) -> Option<Evidence> {
    held.as_ref()?.lock().take()
}

fn handler(flight: &Flight, target: &Target) -> Result<Hook, ErrorPayload> {
    let hook = match target.capability().kind {
        Kind::Procedure => flight.engine.executor().map(|executor| executor.hook),
        _ => target.hooks().and_then(|hooks| hooks.handler.clone()),
    };
    // Without one, the registration ended a moment ago and has let go of its functions.
    hook.ok_or_else(|| ErrorPayload::unmounted("mid-flight"))
}

fn timeout_ms(flight: &Flight, target: &Target) -> u64 {
    let capability = target.capability();
    let limits = flight.engine.limits();
    flight.timeout_ms.or(capability.timeout_ms).unwrap_or(match capability.kind {
        Kind::Observation => limits.observation_timeout_ms,
        Kind::Action => limits.action_timeout_ms,
        Kind::Procedure => limits.procedure_timeout_ms,
    })
}

/// `onTimeout: "hold"`: the slot stays taken until the handler has really ended.
fn hold(flight: &mut Flight, reply: &Arc<Reply>) {
    let Some(slot) = flight.slot.take() else { return };
    match reply.hold(Box::new(slot)) {
        None => flight.engine.keep_straggler(reply),
        Some(ended) => flight.slot = ended.downcast().ok().map(|slot| *slot),
    }
}

fn outcome_of(flight: &Flight, target: &Target, answer: Answer) -> Result<Option<Value>, ErrorPayload> {
    if let Some(failure) = envelope::untold(&answer) {
        flight.log_failure("A handler failed.", &target.capability().id, &failure);
    }
    let refused = matches!(answer, Answer::Error(_) | Answer::Nothing | Answer::Misused);
    let navigation = target.capability().effect == Effect::Navigation;
    // A navigation that was told to stop and then refused was abandoned, not failed (AS-NAV-001).
    if refused && navigation && flight.call.signal.is_raised() {
        return Err(ErrorPayload::cancelled(Retry::No));
    }
    envelope::handler_outcome(answer)
}
