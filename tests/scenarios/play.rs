//! What scripts do when the runtime calls: the same for callbacks and for requests taken with `as_next`.

use crate::abi::{self, as_reply};
use crate::host::{Host, Shown, Site, lock};
use crate::json::Json;
use crate::model;
use crate::script::{Answer, Decision, OnResult, Script};
use crate::steps;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub fn handle(host: &Arc<Host>, site: &Site, reply: as_reply, context: &Json, input: &[u8]) {
    site.ran.fetch_add(1, Ordering::SeqCst);
    play(host, site.script.next(), reply, context, input);
}

pub fn execute(host: &Arc<Host>, reply: as_reply, context: &Json, input: &[u8]) {
    let path = context.get("path").and_then(Json::as_str).unwrap_or_default();
    let Some(executor) = &host.executor else {
        return fail_hook(host, reply, "an executor ran that was never set".into());
    };
    executor.ran.fetch_add(1, Ordering::SeqCst);
    *lock(&executor.ran_path).entry(path.to_string()).or_default() += 1;
    let for_path = executor.script.scripts.iter().find(|(name, _)| name == path).map(|(_, script)| script);
    match for_path.or(executor.script.script.as_ref()) {
        Some(script) => play(host, script.next(), reply, context, input),
        None => fail_hook(host, reply, format!("the executor has no script for {path:?}")),
    }
}

pub fn discover(host: &Host, policy: &str, reply: as_reply, context: Json) {
    shown(host, policy, "onDiscovery", context);
    give_answer(host, host.policies[policy].on_discovery.as_ref(), reply);
}

pub fn decide(host: &Host, policy: &str, phase: &'static str, reply: as_reply, context: Json) {
    shown(host, policy, phase, context);
    let policy = &host.policies[policy];
    let decision = if phase == "onInvoke" { &policy.on_invoke } else { &policy.on_authorize };
    match decision {
        Some(decision) => give_decision(host, decision, reply, &|value| host.resolve(value)),
        None => fail_hook(host, reply, format!("{phase} ran and was never given")),
    }
}

pub fn review(host: &Host, policy: &str, reply: as_reply, context: Json, result: Json) {
    let mut members = context.members().to_vec();
    members.push(("result".to_string(), result));
    shown(host, policy, "onResult", Json::Object(members));
    match &host.policies[policy].on_result {
        Some(OnResult::Output(output)) => match host.resolve(output) {
            Ok(output) => answer_json(reply, &Json::object([("output", output)])),
            Err(why) => fail_hook(host, reply, why),
        },
        _ => answer_json(reply, &Json::Null),
    }
}

fn play(host: &Arc<Host>, script: &Script, reply: as_reply, context: &Json, input: &[u8]) {
    match script {
        Script::Return(value) => answer_resolved(host, reply, value),
        Script::Echo => ignore(abi::reply_json(reply, input)),
        Script::Confirmation => answer_json(reply, context.get("confirmation").unwrap_or(&Json::Null)),
        Script::Var(name) => match host.var(name) {
            Ok(value) => answer_json(reply, &value),
            Err(why) => fail_hook(host, reply, why),
        },
        Script::Reject(payload) => match host.resolve(payload) {
            Ok(payload) => ignore(abi::reply_error(reply, payload.to_string().as_bytes())),
            Err(why) => fail_hook(host, reply, why),
        },
        Script::Fail(text) => ignore(untyped(reply, text)),
        Script::Raw(text) => ignore(abi::reply_json(reply, text.as_bytes())),
        Script::Pend(token) => pend(host, token, reply),
        Script::Sequence(..) => play(host, script.next(), reply, context, input),
        Script::Doing(nested, then) => {
            steps::nested(host, nested);
            play(host, then.next(), reply, context, input);
        }
        Script::None => ignore(abi::reply_json(reply, b"")),
    }
}

/// An untyped failure. The text goes along, so that a scenario can see that it never reaches an agent.
pub fn untyped(reply: as_reply, text: &str) -> abi::Reply<()> {
    abi::reply_error(reply, Json::text(text).to_string().as_bytes())
}

/// `resolve` turns the JSON of the decision into what is sent: a script has references in it, a variable no longer has.
pub fn give_decision(
    host: &Host,
    decision: &Decision,
    reply: as_reply,
    resolve: &dyn Fn(&Json) -> Result<Json, String>,
) {
    match decision {
        Decision::Allow => ignore(abi::reply_allow(reply)),
        Decision::Deny(payload) => match resolve(payload) {
            Ok(payload) => ignore(abi::reply_deny(reply, payload.to_string().as_bytes())),
            Err(why) => fail_hook(host, reply, why),
        },
        Decision::Confirm(summary) => match summary.as_ref().map(resolve).transpose() {
            Ok(summary) => ignore(abi::reply_confirm(reply, summary_text(summary.as_ref()).as_bytes())),
            Err(why) => fail_hook(host, reply, why),
        },
        Decision::Pend(token) => pend(host, token, reply),
        Decision::Fail => ignore(abi::reply_error(reply, b"")),
        Decision::Var(name) => match host.var(name).and_then(|value| model::decision(&value)) {
            Ok(Decision::Var(_)) => fail_hook(host, reply, format!("variable {name:?} must not name a variable")),
            Ok(decision) => give_decision(host, &decision, reply, &|value| Ok(value.clone())),
            Err(why) => fail_hook(host, reply, format!("variable {name:?}: {why}")),
        },
    }
}

/// Empty where the policy leaves the summary to the runtime.
pub fn summary_text(summary: Option<&Json>) -> &str {
    summary.and_then(Json::as_str).unwrap_or_default()
}

pub fn give_answer(host: &Host, answer: Option<&Answer>, reply: as_reply) {
    match answer {
        Some(Answer::Const(value)) => answer_resolved(host, reply, value),
        Some(Answer::Var(name)) => match host.var(name) {
            Ok(value) => answer_json(reply, &value),
            Err(why) => fail_hook(host, reply, why),
        },
        Some(Answer::Fail) => ignore(abi::reply_error(reply, b"")),
        None => fail_hook(host, reply, "a hook ran that was never given".into()),
    }
}

fn answer_resolved(host: &Host, reply: as_reply, value: &Json) {
    match host.resolve(value) {
        Ok(value) => answer_json(reply, &value),
        Err(why) => fail_hook(host, reply, why),
    }
}

pub fn answer_json(reply: as_reply, value: &Json) {
    ignore(abi::reply_json(reply, value.to_string().as_bytes()));
}

/// The entry comes before the deferral, so that whoever sees the call pending finds it under its token.
fn pend(host: &Host, token: &str, reply: as_reply) {
    host.pend(token, reply);
    ignore(abi::reply_defer(reply));
}

fn shown(host: &Host, policy: &str, phase: &'static str, context: Json) {
    host.state().contexts.push(Shown { policy: policy.to_string(), phase, context });
}

/// The scenario is wrong: it fails, and so does the hook, so that nothing waits for it.
pub fn fail_hook(host: &Host, reply: as_reply, why: String) {
    host.fail(why);
    ignore(abi::reply_error(reply, b""));
}

/// A script answers once and has done its part; that the library found the answer late or malformed shows in the result.
fn ignore(_: abi::Reply<()>) {}
