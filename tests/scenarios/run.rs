//! One scenario from its registry to the last freed handle.

use crate::abi;
use crate::callbacks;
use crate::host::Host;
use crate::json::Json;
use crate::model::Scenario;
use crate::pull::Pump;
use crate::refs;
use crate::steps;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

pub struct Options {
    pub pull: bool,
    /// Off once a scenario has hung: what it holds would be counted against every later one.
    pub leaks: bool,
}

/// `place` is where the scenario is, for the watchdog.
pub fn run(scenario: Scenario, options: &Options, place: Arc<Mutex<String>>) -> Result<(), String> {
    let Scenario { registry, policies, executor, vars, steps } = scenario;
    let host = Arc::new(Host::new(policies, executor, place));
    let outcome = open(&host, &registry, &vars, options.pull)
        .and_then(|()| steps.iter().enumerate().try_for_each(|(i, step)| steps::run(&host, i + 1, step)));
    host.enter("closing".into());
    let closed = close(&host, options);
    outcome.and(closed.map_err(|why| format!("closing: {why}")))
}

fn open(host: &Arc<Host>, registry: &Json, vars: &[(String, Json)], pull: bool) -> Result<(), String> {
    host.enter("opening".into());
    let plain = |json: &Json| refs::resolve(json, &|_| Err("no step has run yet".into()));
    for (name, value) in vars {
        host.state().vars.insert(name.clone(), plain(value)?);
    }
    host.state().vars.entry("host".into()).or_insert(Json::Object(Vec::new()));
    let config = config(&plain(registry)?, pull);
    let audit = config.get("audit").and_then(|audit| audit.get("sink")).and_then(Json::as_str) == Some("callback");
    let made = abi::registry_new(&config, &callbacks::host_table(host, audit));
    host.set_registry(made.map_err(|why| refused("the registry", &why))?);
    if pull {
        host.pump.get_or_init(|| Pump::start(host));
    }
    let subscription = abi::subscribe(host.registry(), &callbacks::event_table(host));
    host.state().opened.subscriptions.push(subscription.map_err(|why| refused("subscribing to events", &why))?);
    for name in host.policies.keys() {
        abi::policy_define(host.registry(), name, &callbacks::policy_table(host, name))
            .map_err(|why| refused(&format!("policy {name:?}"), &why))?;
    }
    if let Some(executor) = &host.executor {
        abi::executor_set(host.registry(), &executor.script.paths, &callbacks::executor_table(host))
            .map_err(|why| refused("the executor", &why))?;
    }
    steps::quiet(host).map_err(|why| format!("opening: {why}"))
}

fn refused(what: &str, why: &abi::Failure) -> String {
    format!("opening: {what}: expected AS_OK, saw {} {}", why.name(), why.value())
}

fn config(registry: &Json, pull: bool) -> Json {
    let mut members = registry.members().to_vec();
    if registry.get("clock").is_none() {
        let start = Json::object([("start", Json::text("2026-01-01T00:00:00.000Z"))]);
        members.push(("clock".into(), Json::object([("manual", start)])));
    }
    if pull && registry.get("dispatch").is_none() {
        members.push(("dispatch".into(), Json::text("pull")));
    }
    Json::Object(members)
}

/// Closes the registry and gives everything back; then nothing may be left alive.
fn close(host: &Arc<Host>, options: &Options) -> Result<(), String> {
    let registry = host.registry();
    if registry != 0 {
        answered("as_registry_close", abi::registry_close(registry, steps::PATIENCE_MS))?;
    }
    if let Some(pump) = host.pump.get() {
        pump.stop();
    }
    let opened = std::mem::take(&mut host.state().opened);
    for (invocation, count) in &opened.invocations {
        let reports = count.load(Ordering::SeqCst);
        if !options.pull && reports != 1 {
            return Err(format!("expected every result to be reported once, saw one reported {reports} times"));
        }
        answered("as_invocation_free", abi::invocation_free(*invocation))?;
    }
    for toolset in opened.toolsets {
        let _freed_by_the_scenario_perhaps = abi::toolset_free(toolset);
    }
    for registration in opened.registrations {
        answered("as_unregister", abi::unregister(registration))?;
    }
    for subscription in opened.subscriptions {
        answered("as_unsubscribe", abi::unsubscribe(subscription))?;
    }
    if registry != 0 {
        answered("as_registry_free", abi::registry_free(registry))?;
    }
    if let Some(failure) = host.state().failure.take() {
        return Err(failure);
    }
    if options.leaks { nothing_left(host) } else { Ok(()) }
}

fn answered(function: &str, answer: abi::Reply<()>) -> Result<(), String> {
    answer.map_err(|why| format!("{function}: expected AS_OK, saw {}", why.name()))
}

fn nothing_left(host: &Arc<Host>) -> Result<(), String> {
    let tables = Arc::strong_count(host) - 1;
    if tables > 0 {
        return Err(format!("leaked {tables} callback tables, never destroyed"));
    }
    let live = abi::live().map_err(|why| format!("as_dev_live: {}", why.name()))?;
    let mut left = Vec::new();
    alive("", &live, &mut left);
    if left.is_empty() { Ok(()) } else { Err(format!("leaked {}", left.join(", "))) }
}

fn alive(name: &str, live: &Json, left: &mut Vec<String>) {
    match live {
        Json::Number(count) if count != "0" => left.push(format!("{name} {count}")),
        _ => live.members().iter().for_each(|(key, value)| alive(&format!("{name}/{key}"), value, left)),
    }
}
