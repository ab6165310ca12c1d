//! One scenario from its registry to the last freed handle.

use crate::abi;
use crate::callbacks;
use crate::host::{Host, Opened};
use crate::json::Json;
use crate::model::Scenario;
use crate::pull::Pump;
use crate::refs;
use crate::steps;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

pub struct Options {
    pub pull: bool,
    /// Set once a scenario could not be ended: what it holds would be counted against every later one.
    pub stuck: AtomicBool,
}

/// `place` is where the scenario is, for the watchdog.
pub fn run(scenario: Scenario, options: &Options, place: Arc<Mutex<String>>) -> Result<(), String> {
    let Scenario { registry, policies, executor, vars, steps } = scenario;
    let before = live()?;
    let host = Arc::new(Host::new(policies, executor, place));
    // What the scenario says of dispatch is part of it; the option speaks for those that say nothing.
    let pull = registry.get("dispatch").and_then(Json::as_str).map_or(options.pull, |dispatch| dispatch == "pull");
    let outcome = open(&host, &registry, &vars, pull)
        .and_then(|()| steps.iter().enumerate().try_for_each(|(i, step)| steps::run(&host, i + 1, step)));
    host.enter("closing".into());
    let outcome = outcome.and(close(&host, options, pull));
    let kept = if options.stuck.load(Ordering::SeqCst) { Ok(()) } else { nothing_left(&host, &before) };
    outcome.and(kept)
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

/// Closes the registry and gives everything back, whatever goes wrong on the way; the first complaint counts.
fn close(host: &Arc<Host>, options: &Options, pull: bool) -> Result<(), String> {
    let registry = host.registry();
    let closed = if registry == 0 { Ok(()) } else { abi::registry_close(registry, steps::PATIENCE_MS) };
    if closed.is_err() {
        options.stuck.store(true, Ordering::SeqCst);
    }
    if let Some(pump) = host.pump.get() {
        pump.stop();
    }
    let opened = std::mem::take(&mut host.state().opened);
    let reported = if pull || closed.is_err() { Ok(()) } else { reported_once(&opened) };
    let answers = [
        ("as_registry_close", closed),
        ("as_invocation_free", all(opened.invocations.iter().map(|(invocation, _)| abi::invocation_free(*invocation)))),
        ("as_toolset_free", all(opened.toolsets.into_iter().map(abi::toolset_free))),
        ("as_unregister", all(opened.registrations.into_iter().map(abi::unregister))),
        ("as_unsubscribe", all(opened.subscriptions.into_iter().map(abi::unsubscribe))),
        ("as_registry_free", abi::registry_free(registry)),
    ];
    for (function, answer) in answers {
        answer.map_err(|why| format!("closing: {function}: expected AS_OK, saw {}", why.name()))?;
    }
    let failure = host.state().failure.take();
    failure.map_or(reported, Err)
}

/// Does all of it, and answers the first failure.
fn all(answers: impl Iterator<Item = abi::Reply<()>>) -> abi::Reply<()> {
    answers.collect::<Vec<_>>().into_iter().collect()
}

fn reported_once(opened: &Opened) -> Result<(), String> {
    match opened.invocations.iter().map(|(_, count)| count.load(Ordering::SeqCst)).find(|reports| *reports != 1) {
        None => Ok(()),
        Some(reports) => Err(format!("closing: expected every result to be reported once, saw one {reports} times")),
    }
}

/// What this scenario made must be gone: its callback tables, and whatever the library counts.
fn nothing_left(host: &Arc<Host>, before: &Live) -> Result<(), String> {
    let tables = Arc::strong_count(host) - 1;
    let more = |(name, count): &(&String, &i64)| **count > before.get(*name).copied().unwrap_or(0);
    let left = live()?;
    let left: Vec<String> = left.iter().filter(more).map(|(name, count)| format!("{name} {count}")).collect();
    if tables == 0 && left.is_empty() {
        return Ok(());
    }
    Err(format!("leaked {tables} callback tables, never destroyed; as_dev_live: {}", left.join(", ")))
}

/// The library's counters by their JSON Pointers.
type Live = BTreeMap<String, i64>;

fn live() -> Result<Live, String> {
    let document = abi::live().map_err(|why| format!("as_dev_live: {}", why.name()))?;
    let mut counters = Live::new();
    count("", &document, &mut counters);
    Ok(counters)
}

fn count(pointer: &str, json: &Json, counters: &mut Live) {
    if let Some(number) = json.as_int() {
        counters.insert(pointer.to_string(), number);
    }
    json.members().iter().for_each(|(key, value)| count(&format!("{pointer}/{key}"), value, counters));
}
