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

type Outcome = Result<Option<Value>, ErrorPayload>;

pub async fn settle(mut flight: Flight, outcome: Outcome) {
    flight.patient = true;
    let outcome = validate(&flight, outcome);
    let outcome = pass_policies(&mut flight, outcome).await;
    let outcome = measure(&flight, outcome);
    let payload = audit_payload(&mut flight, &outcome).await;
    publish(flight, outcome, payload);
}

/// The handler's output is held against its schema (AS-SER-001).
fn validate(flight: &Flight, outcome: Outcome) -> Outcome {
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
    let answer = match flight.policy_context(&target).await {
        Ok(context) => {
            let result = render(flight, &outcome, flight.engine.catalog.version());
            ask_about(flight, name, hook, context.into_bytes(), result).await
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

async fn ask_about(flight: &mut Flight, name: &str, hook: &Hook, context: Vec<u8>, result: Vec<u8>) -> Option<Value> {
    flight.ask_with(hook, name, context, result.into()).await.ok().flatten()
}

enum Replacement {
    Leave,
    Output(Value),
}

/// `null`, or exactly `{"output": JSON}`.
fn replacement(answer: &Value) -> Option<Replacement> {
    match answer {
        Value::Null => Some(Replacement::Leave),
        Value::Object(map) if map.len() == 1 => map.get("output").cloned().map(Replacement::Output),
        _ => None,
    }
}

/// The output must not be larger than may be returned.
fn measure(flight: &Flight, outcome: Outcome) -> Outcome {
    let max = flight.engine.limits().max_output_bytes as usize;
    match outcome {
        Ok(Some(output)) if canon::canonical(&output).len() > max => {
            Err(ErrorPayload::execution_failed("output-too-large"))
        }
        outcome => outcome,
    }
}

/// What a full audit keeps of the call, after the host's redaction.
async fn audit_payload(flight: &mut Flight, outcome: &Outcome) -> Option<Value> {
    if flight.audit_level != AuditLevel::Full {
        return None;
    }
    let mut payload = json!({});
    if let Some(input) = &flight.input {
        payload["input"] = (*input.value).clone();
    }
    if let Ok(Some(output)) = outcome {
        payload["output"] = output.clone();
    }
    if let Some(hook) = flight.engine.redact_hook() {
        let mut context = ObjectWriter::new();
        context.string("capabilityId", &flight.call.ids.capability_id);
        context.string("invocationId", &flight.call.ids.invocation_id);
        context.value("payload", &payload);
        let answer = flight.ask(&hook, "redact", context.into_bytes()).await;
        // Without redaction nothing is kept.
        payload = answer.ok().flatten().unwrap_or(Value::Null);
    }
    let size = canon::canonical(&payload).len();
    Some(if size <= MAX_AUDIT_PAYLOAD { payload } else { json!({ "omitted": "size", "bytes": size }) })
}

/// Records, audits, emits and delivers.
fn publish(mut flight: Flight, outcome: Outcome, payload: Option<Value>) {
    let engine = flight.engine.clone();
    let call = flight.call.clone();
    let bound = call.bound();
    let now = engine.clock.now();
    let result: Arc<[u8]> = render(&flight, &outcome, engine.catalog.version()).into();
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
        entry.output_digest = match &outcome {
            Ok(Some(output)) => Some(canon::digest_value(output).into()),
            _ => None,
        };
        entry.measures = Some(Measures {
            duration_ms: now - call.started,
            queue_wait_ms: flight.queue_wait_ms,
            execution_ms: flight.execution_ms,
        });
        if let Some(payload) = payload {
            entry = entry.with("payload", payload);
        }
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
        Ok(Some(output)) => {
            let text = canon::canonical(output);
            envelope.ok(Some((text.as_bytes(), &canon::digest(text.as_bytes()))))
        }
        Err(error) => envelope.error(error),
    }
}
