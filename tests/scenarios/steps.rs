//! The steps: how one is taken and judged. The rows of the page's table are functions in the files below.

mod invoking;
mod looking;
mod projecting;
mod registering;

use crate::abi::{self, AS_E_CLOSED, AS_E_LATE, AS_E_STALE_HANDLE, Failure, Reply, as_invocation};
use crate::fields::{alias, document, integer, text};
use crate::host::Host;
use crate::json::Json;
use crate::matcher;
use crate::model::{SCRIPTED, Step};
use std::sync::Arc;

/// Real time that the runtime may take to become quiet or to close; on a sound runtime it takes none worth speaking of.
pub const PATIENCE_MS: i64 = 20_000;

/// What a step has done: the library's answer and, where it started one, the invocation.
pub struct Done {
    answer: Reply<Json>,
    started: Option<as_invocation>,
}

pub type Act = Result<Done, String>;

/// One step of the scenario, to the end: done, quiet, and as expected.
pub fn run(host: &Arc<Host>, number: usize, step: &Step) -> Result<(), String> {
    let place = format!("step {number} ({})", step.action);
    host.enter(place.clone());
    let outcome = take(host, step, false).map_err(|why| format!("{place}: {why}"));
    match host.state().failure.take() {
        Some(earlier) => Err(earlier),
        None => outcome,
    }
}

/// Steps inside a handler, in its own thread. What fails there fails the scenario; the handler goes on and answers.
pub fn nested(host: &Arc<Host>, steps: &[Step]) {
    let outer = host.place();
    for (i, step) in steps.iter().enumerate() {
        if let Err(why) = take(host, step, true) {
            let failure = format!("{outer}, doing {} ({}): {why}", i + 1, step.action);
            host.state().failure.get_or_insert(failure);
        }
    }
}

/// Waits until nothing is ready to run.
pub fn quiet(host: &Host) -> Result<(), String> {
    match host.pump.get() {
        None => settle(host),
        Some(pump) => loop {
            settle(host)?;
            let before = pump.served();
            pump.drain();
            settle(host)?;
            if pump.served() == before {
                return Ok(());
            }
        },
    }
}

fn settle(host: &Host) -> Result<(), String> {
    match abi::quiesce(host.registry(), PATIENCE_MS) {
        Err(failure) if ![AS_E_CLOSED, AS_E_STALE_HANDLE].contains(&failure.code) => {
            Err(format!("the runtime does not become quiet: {}", failure.name()))
        }
        _ => Ok(()),
    }
}

fn take(host: &Arc<Host>, step: &Step, nested: bool) -> Result<(), String> {
    let fields = resolved(host, &step.fields)?;
    let Done { mut answer, started } = act(host, step.action, &fields, nested)?;
    if let Err(failure) = &answer {
        host.name_failure(alias(&fields), failure);
    }
    if !nested {
        quiet(host)?;
        if let (Some(invocation), Some(_)) = (started, fields.get("expect")) {
            answer = invoking::result(invocation, "it")?;
        }
    }
    judge(step.action, &fields, &answer)
}

/// The fields with their references replaced; those with scripts in them wait until a script runs.
fn resolved(host: &Host, fields: &Json) -> Result<Json, String> {
    let member = |(key, value): &(String, Json)| {
        let value = if SCRIPTED.contains(&key.as_str()) { value.clone() } else { host.resolve(value)? };
        Ok((key.clone(), value))
    };
    fields.members().iter().map(member).collect::<Result<_, String>>().map(Json::Object)
}

/// Holds the answer against `code` or `expect`, or against AS_OK where the step has neither.
fn judge(action: &str, fields: &Json, answer: &Reply<Json>) -> Result<(), String> {
    if let Some(wanted) = fields.get("code") {
        let code = answer.as_ref().map_or_else(Failure::name, |_| abi::code_name(abi::AS_OK));
        return matcher::check(wanted, &Json::text(code)).map_err(|why| format!("{why} as code{}", said(answer)));
    }
    let late = matches!(answer, Err(failure) if failure.code == AS_E_LATE) && ["finish", "decide"].contains(&action);
    let value = match answer {
        Ok(value) => value.clone(),
        Err(_) if late => Json::text("late"),
        Err(failure) => failure.value(),
    };
    match (fields.get("expect"), answer) {
        (Some(Json::Array(wanted)), Ok(_)) if is_subsequence(action, fields) => {
            matcher::subsequence(wanted, value.items())
        }
        (Some(wanted), _) => matcher::check(wanted, &value)
            .map_err(|why| if why.starts_with("at ") { format!("{why}, in {}", matcher::short(&value)) } else { why }),
        (None, Err(failure)) if !late => Err(format!("expected AS_OK, saw {}{}", failure.name(), said(answer))),
        (None, Ok(value)) if action == "register" => matcher::check(&active(), value),
        (None, _) => Ok(()),
    }
}

fn active() -> Json {
    Json::object([("status", Json::text("active"))])
}

fn is_subsequence(action: &str, fields: &Json) -> bool {
    ["events", "audit"].contains(&action) && fields.get("mode").and_then(Json::as_str) != Some("exact")
}

fn said(answer: &Reply<Json>) -> String {
    match answer {
        Ok(_) => String::new(),
        Err(failure) => format!(" {}", matcher::short(&failure.value())),
    }
}

fn act(host: &Arc<Host>, action: &str, fields: &Json, nested: bool) -> Act {
    // Inside a handler nothing that waits for the handler can come to an end.
    let patience = if nested { 0 } else { PATIENCE_MS };
    match action {
        "register" => registering::register(host, fields),
        "update" => registering::update(host, fields),
        "invalidate" => registering::invalidate(host, fields),
        "unregister" => registering::unregister(host, fields),
        "swap" => registering::swap(host, fields),
        "invoke" => invoking::invoke(host, fields),
        "await" => invoking::wait(host, fields, nested),
        "unsettled" => invoking::unsettled(host, fields),
        "cancel" => invoking::cancel(host, fields),
        "finish" => invoking::finish(host, fields),
        "decide" => invoking::decide(host, fields),
        "aborted" => invoking::aborted(host, fields),
        "advance" => value_of(abi::advance(host.registry(), integer(fields, "ms")?, patience)),
        "set" => set(host, fields),
        "confirm" => looking::confirm(host, fields),
        "pending" => looking::look(host, fields, abi::confirmations(host.registry())),
        "snapshot" => looking::look(host, fields, abi::snapshot(host.registry(), &looking::view(fields))),
        "explain" => looking::look(host, fields, abi::explain(host.registry(), &looking::view(fields))),
        "version" => answered(looking::version(host)),
        "events" => looking::events(host, fields),
        "audit" => looking::audit(host, fields),
        "calls" => looking::calls(host, fields),
        "contexts" => looking::contexts(host, fields),
        "toolset" => projecting::toolset(host, fields),
        "tools" => projecting::tools(host, fields),
        "call" => projecting::call(host, fields),
        "disposeToolset" => projecting::dispose(host, fields),
        "verify" => invoking::verify(host, fields),
        "outcome" => invoking::outcome(host, fields),
        "closeConsumer" => value_of(abi::consumer_close(host.registry(), document(fields, "consumer"))),
        "dispose" => value_of(abi::registry_close(host.registry(), patience)),
        _ => Err("no such step".into()),
    }
}

fn set(host: &Host, fields: &Json) -> Act {
    host.state().vars.insert(text(fields, "var")?.to_string(), document(fields, "to").clone());
    answered(Ok(Json::Null))
}

fn answered(answer: Reply<Json>) -> Act {
    Ok(Done { answer, started: None })
}

/// A call that answers no document has the value null.
fn value_of(answer: Reply<()>) -> Act {
    answered(answer.map(|()| Json::Null))
}
