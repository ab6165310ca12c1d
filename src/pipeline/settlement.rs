//! Phase 10, settlement: one result, once, in the order that section 6 gives.

use std::sync::Arc;

use serde_json::{Value, json};

use super::envelope::{self, Envelope};
use super::flight::Flight;
use super::identity;
use crate::fault;
use crate::json as canon;
use crate::model::policy::AuditLevel;
use crate::model::writer::ObjectWriter;
use crate::model::{ErrorCode, ErrorPayload};
use crate::observe::{Bound, Entry, Measures, Topic, trace};
use crate::runtime::Hook;

/// Largest payload that a full audit keeps of one call, in bytes.
const MAX_AUDIT_PAYLOAD: usize = 16_384;

/// An output as it is returned.
struct Output {
    canonical: String,
    digest: Arc<str>,
}

impl Output {
    fn of(value: &Value) -> Output {
        let canonical = canon::canonical(value);
        Output { digest: canon::digest(canonical.as_bytes()).into(), canonical }
    }
}

type Outcome = Result<Option<Output>, ErrorPayload>;

pub async fn settle(flight: &mut Flight, outcome: Result<Option<Value>, ErrorPayload>) {
    flight.patient = true;
    let outcome = validate(flight, outcome).map(|output| output.as_ref().map(Output::of));
    let outcome = match flight.passed.is_empty() {
        true => outcome,
        false => Box::pin(pass_policies(flight, outcome)).await,
    };
    let outcome = measure(flight, outcome);
    let payload = audit_payload(flight, &outcome).await;
    publish(flight, outcome, payload);
}

/// The handler's output is held against its schema (AS-SER-001).
fn validate(flight: &Flight, outcome: Result<Option<Value>, ErrorPayload>) -> Result<Option<Value>, ErrorPayload> {
    let Some(target) = flight.call.target() else { return outcome };
    envelope::check_output(&target, outcome?).map_err(|issues| {
        let lines: Vec<_> =
            issues.iter().map(|issue| format!("{} {}: {}", issue.path, issue.keyword, issue.message)).collect();
        flight.log_failure("An output does not fit its schema.", &target.capability().id, &lines.join("\n"));
        ErrorPayload::execution_failed("output-invalid")
    })
}

/// The onion's way out, innermost first: each policy that let the call in sees its result, and may
/// replace the output. One that fails withholds it.
async fn pass_policies(flight: &mut Flight, mut outcome: Outcome) -> Outcome {
    // A call that was cut short settles at once.
    if flight.cut_short {
        return outcome;
    }
    for (name, hooks) in std::mem::take(&mut flight.passed).into_iter().rev() {
        if let Some(hook) = &hooks.on_result {
            outcome = show(flight, &name, hook, outcome).await;
        }
    }
    outcome
}

async fn show(flight: &mut Flight, name: &str, hook: &Hook, outcome: Outcome) -> Outcome {
    let Some(target) = flight.call.target() else { return outcome };
    let answer = match flight.host().await {
        Ok(host) => {
            let context = flight.policy_context(&target, &host);
            let result = render(flight, &outcome, flight.engine.catalog.version());
            flight.ask_with(hook, name, context, result.into()).await.ok().flatten()
        }
        Err(_) => None,
    };
    match (outcome, answer.as_ref().map(replacement)) {
        (outcome, Some(Some(Replacement::Leave))) => outcome,
        (Ok(_), Some(Some(Replacement::Output(output)))) => Ok(Some(output)),
        // Nothing to withhold in an error.
        (Err(error), _) => Err(error),
        (Ok(_), _) => Err(ErrorPayload::execution_failed("result-policy")),
    }
}

enum Replacement {
    Leave,
    Output(Output),
}

/// `null`, or exactly `{"output": JSON}`.
fn replacement(answer: &Value) -> Option<Replacement> {
    match answer {
        Value::Null => Some(Replacement::Leave),
        Value::Object(map) if map.len() == 1 => map.get("output").map(Output::of).map(Replacement::Output),
        _ => None,
    }
}

/// The output must not be larger than may be returned.
fn measure(flight: &Flight, outcome: Outcome) -> Outcome {
    let max = flight.engine.limits().max_output_bytes as usize;
    match outcome {
        Ok(Some(output)) if output.canonical.len() > max => Err(ErrorPayload::execution_failed("output-too-large")),
        outcome => outcome,
    }
}

/// What a full audit keeps of the call, after the host's redaction.
async fn audit_payload(flight: &mut Flight, outcome: &Outcome) -> Option<String> {
    if flight.audit_level != AuditLevel::Full {
        return None;
    }
    let mut payload = ObjectWriter::new();
    if let Some(input) = &flight.input {
        payload.raw("input", &input.text);
    }
    if let Ok(Some(output)) = outcome {
        payload.raw("output", output.canonical.as_bytes());
    }
    let mut payload = payload.finish();
    if let Some(hook) = flight.engine.redact_hook() {
        let mut context = ObjectWriter::new();
        context.string("capabilityId", &flight.call.ids.capability_id);
        context.string("invocationId", &flight.call.ids.invocation_id);
        context.raw("payload", payload.as_bytes());
        let answer = flight.ask(&hook, "redact", context.into_bytes()).await;
        // Without redaction nothing is kept.
        payload = canon::canonical(&answer.ok().flatten().unwrap_or(Value::Null));
    }
    Some(match payload.len() {
        ..=MAX_AUDIT_PAYLOAD => payload,
        size => json!({ "omitted": "size", "bytes": size }).to_string(),
    })
}

/// Records, audits, emits and delivers.
fn publish(flight: &mut Flight, outcome: Outcome, payload: Option<String>) {
    let engine = flight.engine.clone();
    let call = flight.call.clone();
    let bound = call.bound();
    let now = engine.clock.now();
    let result: Arc<[u8]> = render(flight, &outcome, engine.catalog.version()).into();
    let (status, code) = match &outcome {
        Ok(_) => ("ok", None),
        Err(error) => ("error", Some(error.code)),
    };
    let recorded = code.is_none_or(|code| code.row().recorded);

    trace::settled(bound.request_digest.as_deref(), code);
    let callers = call.publish(result.clone());
    engine.dedupe.settle(&call, recorded, now);
    call.signal.close();
    // A policy may have asked for less after the start was kept; then its end belongs there, too.
    if flight.audit_level != AuditLevel::None || flight.audit_started {
        flight.audit_at(flight.audit_level);
        let mut entry = Entry::of_call("invocation-settled", &call.ids, &bound);
        entry.status = Some(status);
        entry.code = code.map(|code| code.name());
        entry.output_digest = outcome.as_ref().ok().and_then(|output| Some(output.as_ref()?.digest.clone()));
        entry.measures = Some(Measures {
            duration_ms: now - call.started,
            queue_wait_ms: flight.queue_wait_ms,
            execution_ms: flight.execution_ms,
        });
        entry.payload = payload;
        engine.observer.audit(entry);
    }
    engine.observer.emit(Topic::All, "invocation-settled", |out| {
        call.ids.write(&bound, out);
        out.string("status", status);
        out.optional_string("code", code.map(|code| code.name()));
        out.number("durationMs", (now - call.started) as i64);
    });
    if fault::is("started-after-settled") {
        identity::tell_started(&engine, &call);
    }
    // Before anyone has the result: who calls again at once finds the places free.
    engine.land(&call);
    flight.slot.take();
    for caller in callers {
        caller.settle(&engine, result.clone());
    }
}

fn render(flight: &Flight, outcome: &Outcome, version: u64) -> Vec<u8> {
    let hidden = matches!(outcome, Err(error) if error.code == ErrorCode::CapabilityNotFound);
    // What was not found has no registration, also where one was hidden.
    let bound = if hidden { Bound::default() } else { flight.call.bound() };
    let envelope =
        Envelope { ids: &flight.call.ids, bound: &bound, version, changed: version != flight.version_before };
    match outcome {
        Ok(None) => envelope.ok(None),
        Ok(Some(output)) => envelope.ok(Some((output.canonical.as_bytes(), &output.digest))),
        Err(error) => envelope.error(error),
    }
}
