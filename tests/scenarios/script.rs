//! Scripts: what a handler, a predicate or a policy of a scenario does when the runtime calls it.
//!
//! JSON inside a script keeps its references; they are resolved when the script runs.

use crate::json::Json;
use crate::model::{self, Fault, Step, fault};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a handler or the executor does.
pub enum Script {
    Return(Json),
    Echo,
    Confirmation,
    Var(String),
    Reject(Json),
    Fail(String),
    Raw(String),
    Pend(String),
    Sequence(Vec<Script>, AtomicUsize),
    Doing(Vec<Step>, Box<Script>),
    None,
}

/// What `when`, `bind`, `describe`, `precondition` and `onDiscovery` answer.
pub enum Answer {
    Const(Json),
    Var(String),
    Fail,
}

/// How a policy decides a call.
pub enum Decision {
    Allow,
    Deny(Json),
    Confirm(Option<Json>),
    Pend(String),
    Fail,
    Var(String),
}

/// What a policy makes of a result.
pub enum OnResult {
    Output(Json),
    Observe,
}

#[derive(Default)]
pub struct Policy {
    pub on_discovery: Option<Answer>,
    pub on_authorize: Option<Decision>,
    pub on_invoke: Option<Decision>,
    pub on_result: Option<OnResult>,
}

impl Script {
    pub fn parse(json: &Json, at: &str) -> Result<Script, Fault> {
        if let Some(steps) = json.get("doing") {
            return Script::parse_doing(json, steps, at);
        }
        let (key, value, place) = only(json, at)?;
        Ok(match key {
            "return" => Script::Return(value.clone()),
            "echo" => yes(value, &place, Script::Echo)?,
            "confirmation" => yes(value, &place, Script::Confirmation)?,
            "var" => Script::Var(text(value, &place)?),
            "reject" => Script::Reject(value.clone()),
            "fail" => Script::Fail(text(value, &place)?),
            "raw" => Script::Raw(text(value, &place)?),
            "pend" => Script::Pend(text(value, &place)?),
            "sequence" => {
                let Json::Array(items) = value else { return fault(&place, "an array of scripts wanted") };
                if items.is_empty() {
                    return fault(&place, "at least one script wanted");
                }
                let scripts = items.iter().enumerate().map(|(i, item)| Script::parse(item, &format!("{place}/{i}")));
                Script::Sequence(scripts.collect::<Result<_, _>>()?, AtomicUsize::new(0))
            }
            "none" => yes(value, &place, Script::None)?,
            _ => return fault(&place, "no such handler script"),
        })
    }

    fn parse_doing(json: &Json, steps: &Json, at: &str) -> Result<Script, Fault> {
        if let Some((key, _)) = json.members().iter().find(|(key, _)| key != "doing" && key != "then") {
            return fault(&model::join(at, key), "nothing but `doing` and `then` here");
        }
        let Some(then) = json.get("then") else { return fault(at, "`doing` needs a `then`") };
        Ok(Script::Doing(
            model::steps(steps, &format!("{at}/doing"), true)?,
            Box::new(Script::parse(then, &format!("{at}/then"))?),
        ))
    }

    /// The script of this call: a sequence gives one per call, and its last one ever after.
    pub fn next(&self) -> &Script {
        match self {
            Script::Sequence(scripts, used) => {
                scripts[used.fetch_add(1, Ordering::SeqCst).min(scripts.len() - 1)].next()
            }
            script => script,
        }
    }
}

impl Answer {
    pub fn parse(json: &Json, at: &str) -> Result<Answer, Fault> {
        let (key, value, place) = only(json, at)?;
        Ok(match key {
            "const" => Answer::Const(value.clone()),
            "var" => Answer::Var(text(value, &place)?),
            "fail" => yes(value, &place, Answer::Fail)?,
            _ => return fault(&place, "`const`, `var` or `fail` wanted"),
        })
    }
}

impl Decision {
    /// `confirms` says whether the phase may ask for a confirmation, which only `onInvoke` may.
    pub fn parse(json: &Json, at: &str, confirms: bool) -> Result<Decision, Fault> {
        let (key, value, place) = only(json, at)?;
        Ok(match key {
            "allow" => yes(value, &place, Decision::Allow)?,
            "deny" => Decision::Deny(value.clone()),
            "confirm" if confirms => Decision::Confirm(summary(value, &place)?),
            "confirm" => return fault(&place, "`confirm` belongs to onInvoke only"),
            "pend" => Decision::Pend(text(value, &place)?),
            "fail" => yes(value, &place, Decision::Fail)?,
            "var" => Decision::Var(text(value, &place)?),
            _ => return fault(&place, "`allow`, `deny`, `confirm`, `pend`, `fail` or `var` wanted"),
        })
    }
}

impl Policy {
    pub fn parse(json: &Json, at: &str) -> Result<Policy, Fault> {
        let mut policy = Policy::default();
        for (key, script) in model::object(json, at)? {
            let place = model::join(at, key);
            match key.as_str() {
                "onDiscovery" => policy.on_discovery = Some(Answer::parse(script, &place)?),
                "onAuthorize" => policy.on_authorize = Some(Decision::parse(script, &place, false)?),
                "onInvoke" => policy.on_invoke = Some(Decision::parse(script, &place, true)?),
                "onResult" => policy.on_result = Some(OnResult::parse(script, &place)?),
                _ => return fault(&place, "no such hook of a policy"),
            }
        }
        Ok(policy)
    }
}

impl OnResult {
    fn parse(json: &Json, at: &str) -> Result<OnResult, Fault> {
        let (key, value, place) = only(json, at)?;
        match key {
            "output" => Ok(OnResult::Output(value.clone())),
            "observe" => yes(value, &place, OnResult::Observe),
            _ => fault(&place, "`output` or `observe` wanted"),
        }
    }
}

/// The summary in `{"summary"?: "…"}`.
pub fn summary(json: &Json, at: &str) -> Result<Option<Json>, Fault> {
    let members = model::object(json, at)?;
    if let Some((key, _)) = members.iter().find(|(key, _)| key != "summary") {
        return fault(&model::join(at, key), "only `summary` here");
    }
    match json.get("summary") {
        Some(summary @ Json::String(_)) => Ok(Some(summary.clone())),
        Some(_) => fault(&format!("{at}/summary"), "a string wanted"),
        None => Ok(None),
    }
}

fn only<'a>(json: &'a Json, at: &str) -> Result<(&'a str, &'a Json, String), Fault> {
    match model::object(json, at)? {
        [(key, value)] => Ok((key, value, model::join(at, key))),
        _ => fault(at, "a script with exactly one key wanted"),
    }
}

fn yes<T>(value: &Json, at: &str, script: T) -> Result<T, Fault> {
    if value.is_true() { Ok(script) } else { fault(at, "only `true` here") }
}

fn text(value: &Json, at: &str) -> Result<String, Fault> {
    match value.as_str() {
        Some(text) => Ok(text.to_string()),
        None => fault(at, "a string wanted"),
    }
}
