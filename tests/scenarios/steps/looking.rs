//! Steps that look: confirmations, catalogs, events and audit, and what the scripts have seen.

use super::registering::binding_name;
use super::{Act, answered, value_of};
use crate::abi::{self, Reply};
use crate::fields::{alias, document, some_of, text};
use crate::host::{Host, Named, lock};
use crate::json::Json;
use crate::matcher;
use std::sync::atomic::Ordering;

pub fn confirm(host: &Host, fields: &Json) -> Act {
    let approved = match fields.get("approve") {
        Some(flag) => flag.as_bool().ok_or("`approve` must be true or false")?,
        None => true,
    };
    let mut decision = vec![("confirmationId", document(fields, "id").clone()), ("approved", Json::Bool(approved))];
    decision.extend(fields.get("reason").map(|reason| ("reason", reason.clone())));
    value_of(abi::confirm(host.registry(), &Json::object(decision)))
}

pub fn view(fields: &Json) -> Json {
    some_of(fields, &["consumer", "scope", "includeUnavailable", "budget"])
}

/// A document that an `as` may name.
pub fn look(host: &Host, fields: &Json, answer: Reply<Json>) -> Act {
    if let Ok(value) = &answer {
        host.name(alias(fields), Named::Value(value.clone()));
    }
    answered(answer)
}

pub fn version(host: &Host) -> Reply<Json> {
    let info = abi::registry_info(host.registry())?;
    Ok(info.get("surfaceVersion").cloned().unwrap_or(Json::Null))
}

pub fn events(host: &Host, fields: &Json) -> Act {
    let seen = host.state().events.clone();
    log(fields, Ok(Json::Array(seen)))
}

pub fn audit(host: &Host, fields: &Json) -> Act {
    let shown = host.state().audit.clone();
    if !shown.is_empty() {
        return log(fields, Ok(Json::Array(shown)));
    }
    log(fields, abi::audit_read(host.registry(), 0))
}

fn log(fields: &Json, entries: Reply<Json>) -> Act {
    let entries = match entries {
        Ok(entries) => entries,
        failure => return answered(failure),
    };
    let types = fields.get("types").map(Json::items);
    let wanted =
        |entry: &&Json| types.is_none_or(|types| types.iter().any(|t| entry.get("type").is_some_and(|e| e.same(t))));
    let list: Vec<Json> = entries.items().iter().filter(wanted).cloned().collect();
    if let Some(count) = fields.get("count") {
        let names = Json::Array(list.iter().filter_map(|entry| entry.get("type").cloned()).collect());
        matcher::check(count, &Json::count(list.len()))
            .map_err(|why| format!("{why} as count of {}", matcher::short(&names)))?;
    }
    answered(Ok(Json::Array(list)))
}

pub fn calls(host: &Host, fields: &Json) -> Act {
    let handler = text(fields, "handler")?;
    let ran = if handler == "executor" || handler.starts_with("executor:") {
        executor_calls(host, handler)?
    } else {
        handler_calls(host, handler)?
    };
    answered(Ok(Json::count(ran)))
}

fn executor_calls(host: &Host, handler: &str) -> Result<usize, String> {
    let executor = host.executor.as_ref().ok_or("the scenario has no executor")?;
    Ok(match handler.strip_prefix("executor:") {
        Some(path) => lock(&executor.ran_path).get(path).copied().unwrap_or(0),
        None => executor.ran.load(Ordering::SeqCst),
    })
}

fn handler_calls(host: &Host, handler: &str) -> Result<usize, String> {
    let unknown = || format!("no handler {handler:?}");
    let (name, key) = handler.split_once('.').ok_or_else(unknown)?;
    let Named::Registration { component, .. } = host.named(name)? else { return Err(unknown()) };
    let component = lock(&component);
    let bound = binding_name(&component.definition, key);
    component.sites.get(&bound).map(|site| site.ran.load(Ordering::SeqCst)).ok_or_else(unknown)
}

pub fn contexts(host: &Host, fields: &Json) -> Act {
    let policy = text(fields, "policy")?;
    if !host.policies.contains_key(policy) {
        return Err(format!("no policy {policy:?}"));
    }
    let phase = fields.get("phase").and_then(Json::as_str).map(short_phase);
    let state = host.state();
    let shown = state
        .contexts
        .iter()
        .filter(|shown| shown.policy == policy && phase.as_ref().is_none_or(|phase| *phase == short_phase(shown.phase)))
        .map(|shown| shown.context.clone());
    answered(Ok(Json::Array(shown.collect())))
}

/// `onInvoke` and `invoke` are one phase.
fn short_phase(phase: &str) -> String {
    phase.strip_prefix("on").unwrap_or(phase).to_lowercase()
}
