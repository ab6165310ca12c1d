//! A scenario, read and checked against the page: every field known, of its type, and every reference to a name that exists.

use crate::json::Json;
use crate::refs;
use crate::script::{Decision, Policy, Script};
use crate::table::{Kind::*, STEPS, check};
use std::sync::Arc;

pub struct Scenario {
    pub registry: Json,
    pub policies: Vec<(String, Policy)>,
    pub executor: Option<Executor>,
    pub vars: Vec<(String, Json)>,
    pub steps: Vec<Step>,
}

/// The registry's procedure executor: one script for all paths, or one for each.
pub struct Executor {
    pub paths: Json,
    pub script: Option<Arc<Script>>,
    pub scripts: Vec<(String, Arc<Script>)>,
}

pub struct Step {
    pub action: &'static str,
    pub fields: Json,
}

/// What is wrong with a file, and where (a JSON Pointer).
pub type Fault = String;

/// The fields of a step that hold scripts; references in them wait until the script runs.
pub const SCRIPTED: [&str; 5] = ["handlers", "when", "precondition", "bind", "describe"];

impl Scenario {
    pub fn parse(json: &Json) -> Result<Scenario, Fault> {
        const FIELDS: [&str; 7] = ["name", "requirements", "registry", "policies", "executor", "vars", "steps"];
        for (key, _) in object(json, "")? {
            if !FIELDS.contains(&key.as_str()) {
                return fault(&join("", key), "unknown field of a scenario");
            }
        }
        check(json.get("name"), Name, "/name", true)?;
        check(json.get("registry"), Object, "/registry", false)?;
        check(json.get("vars"), Object, "/vars", false)?;
        let Some(list) = json.get("steps") else { return fault("/steps", "missing") };
        let scenario = Scenario {
            registry: json.get("registry").cloned().unwrap_or(Json::Object(Vec::new())),
            policies: policies(json.get("policies"))?,
            executor: json.get("executor").map(Executor::parse).transpose()?,
            vars: json.get("vars").map_or(&[][..], Json::members).to_vec(),
            steps: steps(list, "/steps", false)?,
        };
        known_references(json)?;
        Ok(scenario)
    }
}

fn policies(json: Option<&Json>) -> Result<Vec<(String, Policy)>, Fault> {
    let Some(json) = json else { return Ok(Vec::new()) };
    object(json, "/policies")?
        .iter()
        .map(|(name, policy)| Ok((name.clone(), Policy::parse(policy, &join("/policies", name))?)))
        .collect()
}

impl Executor {
    fn parse(json: &Json) -> Result<Executor, Fault> {
        for (key, _) in object(json, "/executor")? {
            if !["paths", "script", "scripts"].contains(&key.as_str()) {
                return fault(&join("/executor", key), "unknown field of the executor");
            }
        }
        check(json.get("paths"), Texts, "/executor/paths", true)?;
        if json.get("script").is_some() == json.get("scripts").is_some() {
            return fault("/executor", "either `script` or `scripts` wanted");
        }
        let script = json.get("script").map(|script| Script::parse(script, "/executor/script")).transpose()?;
        let scripts = match json.get("scripts") {
            Some(scripts) => object(scripts, "/executor/scripts")?,
            None => &[],
        };
        Ok(Executor {
            paths: json.get("paths").cloned().unwrap_or(Json::Null),
            script: script.map(Arc::new),
            scripts: scripts
                .iter()
                .map(|(path, script)| {
                    Ok((path.clone(), Arc::new(Script::parse(script, &join("/executor/scripts", path))?)))
                })
                .collect::<Result<_, Fault>>()?,
        })
    }
}

/// A list of steps; `nested` ones run inside a handler, where nothing may wait for a result.
pub fn steps(json: &Json, at: &str, nested: bool) -> Result<Vec<Step>, Fault> {
    let Json::Array(items) = json else { return fault(at, "an array of steps wanted") };
    items.iter().enumerate().map(|(i, item)| step(item, &format!("{at}/{i}"), nested)).collect()
}

fn step(json: &Json, at: &str, nested: bool) -> Result<Step, Fault> {
    let members = object(json, at)?;
    let Some(action) = json.get("do").and_then(Json::as_str) else {
        return fault(&join(at, "do"), "a step's name wanted");
    };
    let Some((action, fields)) = STEPS.iter().find(|(name, _)| *name == action) else {
        return fault(&join(at, "do"), &format!("no such step: {action}"));
    };
    for (key, _) in members {
        let known = ["do", "expect", "code"].contains(&key.as_str()) || fields.iter().any(|field| field.name == key);
        if !known {
            return fault(&join(at, key), &format!("unknown field of `{action}`"));
        }
    }
    for field in *fields {
        check(json.get(field.name), field.kind, &join(at, field.name), field.required)?;
    }
    check(json.get("expect"), Matcher, &join(at, "expect"), false)?;
    check(json.get("code"), Matcher, &join(at, "code"), false)?;
    if json.get("expect").is_some() && json.get("code").is_some() {
        return fault(&join(at, "code"), "`code` stands instead of `expect`");
    }
    if nested && json.get("expect").is_some() && ["invoke", "await", "call"].contains(action) {
        return fault(&join(at, "expect"), "nothing waits for a result inside `doing`");
    }
    match *action {
        "finish" => exactly_one(json, &["return", "reject", "fail"], at)?,
        "decide" => exactly_one(json, &["allow", "deny", "confirm"], at)?,
        _ => {}
    }
    if json.get("allow").is_some_and(|allow| allow.as_bool() == Some(false)) {
        return fault(&join(at, "allow"), "only `true` here; `deny` refuses");
    }
    Ok(Step { action, fields: json.clone() })
}

fn exactly_one(json: &Json, keys: &[&str], at: &str) -> Result<(), Fault> {
    match keys.iter().filter(|key| json.get(key).is_some()).count() {
        1 => Ok(()),
        _ => fault(at, &format!("exactly one of {} wanted", keys.join(", "))),
    }
}

/// A reference to a name that no `as` ever gives can never be resolved, also where the script that holds it never runs.
fn known_references(json: &Json) -> Result<(), Fault> {
    let mut given = Vec::new();
    aliases(json, &mut given);
    for field in ["registry", "policies", "executor", "vars", "steps"] {
        let mut used = Vec::new();
        json.get(field).iter().for_each(|part| refs::names(part, &mut used));
        if let Some(name) = used.iter().find(|name| !given.contains(name)) {
            return fault(&join("", field), &format!("unresolved reference: no step is `as` {name:?}"));
        }
    }
    Ok(())
}

fn aliases(json: &Json, given: &mut Vec<String>) {
    if json.get("do").is_some() {
        given.extend(json.get("as").and_then(Json::as_str).map(str::to_string));
    }
    json.items().iter().for_each(|item| aliases(item, given));
    json.members().iter().for_each(|(_, value)| aliases(value, given));
}

/// A decision held in a variable, `confirm` allowed: the library itself refuses it where it does not belong.
pub fn decision(json: &Json) -> Result<Decision, Fault> {
    Decision::parse(json, "", true)
}

pub fn object<'a>(json: &'a Json, at: &str) -> Result<&'a [(String, Json)], Fault> {
    match json {
        Json::Object(members) => Ok(members),
        _ => fault(at, "an object wanted"),
    }
}

pub fn join(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

pub fn fault<T>(at: &str, what: &str) -> Result<T, Fault> {
    Err(format!("at {}: {what}", if at.is_empty() { "the top" } else { at }))
}
