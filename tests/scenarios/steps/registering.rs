//! Steps on registrations: register, update, invalidate, unregister, swap.

use super::{Act, answered, value_of};
use crate::abi::{self, as_binding, as_registration};
use crate::callbacks;
use crate::fields::{alias, document, members, text};
use crate::host::{Answers, Component, Host, Named, Site, lock};
use crate::json::Json;
use crate::script::{Answer, Script};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

pub fn register(host: &Arc<Host>, fields: &Json) -> Act {
    let definition = document(fields, "definition");
    let component = component(fields, definition)?;
    let tables = tables(host, &component);
    let component = Arc::new(Mutex::new(component));
    let made = abi::register(host.registry(), definition, &tables);
    let handle = made.as_ref().ok().copied();
    host.state().opened.registrations.extend(handle);
    let answer = made.and_then(abi::registration_info).map(|info| {
        let told = ["status", "registrationId"].into_iter().filter_map(|key| Some((key, info.get(key)?.clone())));
        Json::object(told)
    });
    let value = match &answer {
        Ok(value) => value.clone(),
        Err(failure) => failure.value(),
    };
    if let Some(id) = value.get("registrationId").and_then(Json::as_str) {
        host.state().registered.insert(id.to_string(), component.clone());
    }
    host.name(alias(fields), Named::Registration { value, handle, component });
    answered(answer)
}

fn component(fields: &Json, definition: &Json) -> Result<Component, String> {
    let mut component = Component { definition: definition.clone(), sites: HashMap::new(), answers: HashMap::new() };
    for (key, script) in members(fields, "handlers") {
        let site = Site { script: Arc::new(Script::parse(script, "")?), ran: Arc::default() };
        component.sites.insert(binding_name(definition, key), site);
    }
    let mut answers = HashMap::<String, Answers>::new();
    for hook in ["when", "precondition", "bind", "describe"] {
        for (key, script) in members(fields, hook) {
            let answer = Some(Answer::parse(script, "")?);
            let by_path = ["bind", "describe"].contains(&hook);
            let name = if by_path { path_name(definition, key) } else { binding_name(definition, key) };
            let answers = answers.entry(name).or_default();
            match hook {
                "when" => answers.when = answer,
                "precondition" => answers.precondition = answer,
                "bind" => answers.bind = answer,
                _ => answers.describe = answer,
            }
        }
    }
    component.answers = answers.into_iter().map(|(name, answers)| (name, Arc::new(answers))).collect();
    Ok(component)
}

/// One table for every name that has a callback, sorted, so that a run is like the one before.
fn tables(host: &Arc<Host>, component: &Component) -> Vec<as_binding> {
    let names: BTreeSet<&String> = component.sites.keys().chain(component.answers.keys()).collect();
    let table = |name: &String| {
        let site = component.sites.get(name).cloned();
        callbacks::binding_table(host, name, site, component.answers.get(name).cloned().unwrap_or_default())
    };
    names.into_iter().map(table).collect()
}

/// The name a binding has: an observation's or action's as it is, a procedure's with `domain:` before its path.
pub fn binding_name(definition: &Json, key: &str) -> String {
    let is_view =
        ["observations", "actions"].iter().any(|kind| definition.get(kind).is_some_and(|k| k.get(key).is_some()));
    if !is_view && has_path(definition, key) { format!("domain:{key}") } else { key.to_string() }
}

fn path_name(definition: &Json, key: &str) -> String {
    if key.starts_with("domain:") && !has_path(definition, key) { key.to_string() } else { format!("domain:{key}") }
}

fn has_path(definition: &Json, path: &str) -> bool {
    let procedures = definition.get("procedures").map_or(&[][..], Json::items);
    procedures.iter().any(|procedure| procedure.get("path").and_then(Json::as_str) == Some(path))
}

/// A rebinding replaces every callback, so those that the step does not name are passed again.
pub fn swap(host: &Arc<Host>, fields: &Json) -> Act {
    let name = text(fields, "registration")?;
    let Named::Registration { handle: Some(handle), component, .. } = host.named(name)? else {
        return Err(format!("{name:?} is no registration"));
    };
    let mut new = lock(&component).clone();
    for (key, script) in members(fields, "handlers") {
        let name = binding_name(&new.definition, key);
        let ran = new.sites.get(&name).map_or_else(Arc::default, |site| site.ran.clone());
        new.sites.insert(name, Site { script: Arc::new(Script::parse(script, "")?), ran });
    }
    let answer = abi::registration_rebind(handle, &tables(host, &new));
    if answer.is_ok() {
        *lock(&component) = new;
    }
    value_of(answer)
}

pub fn update(host: &Host, fields: &Json) -> Act {
    value_of(abi::registration_update(handle(host, fields)?, document(fields, "patch")))
}

pub fn invalidate(host: &Host, fields: &Json) -> Act {
    value_of(abi::registration_invalidate(handle(host, fields)?))
}

pub fn unregister(host: &Host, fields: &Json) -> Act {
    value_of(abi::unregister(handle(host, fields)?))
}

fn handle(host: &Host, fields: &Json) -> Result<as_registration, String> {
    let name = text(fields, "registration")?;
    match host.named(name)? {
        Named::Registration { handle: Some(handle), .. } => Ok(handle),
        _ => Err(format!("{name:?} is no registration")),
    }
}
