//! The steps, one function for each row of the page's table.

use crate::abi::{
    self, AS_E_CLOSED, AS_E_LATE, AS_E_STALE_HANDLE, AS_E_TIMEOUT, Failure, Reply, as_binding, as_invocation,
};
use crate::callbacks;
use crate::host::{Answers, Component, Host, Named, Pending, Site, lock};
use crate::json::Json;
use crate::matcher;
use crate::model::{SCRIPTED, Step};
use crate::play;
use crate::script::{Answer, Script};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Real time that the runtime may take to become quiet or to close; on a sound runtime it takes none worth speaking of.
pub const PATIENCE_MS: i64 = 20_000;

/// What a step has done: the library's answer and, where it started one, the invocation.
struct Done {
    answer: Reply<Json>,
    started: Option<as_invocation>,
}

type Act = Result<Done, String>;

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
            answer = result(invocation, "it")?;
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
    match action {
        "register" => register(host, fields),
        "update" => value_of(abi::registration_update(registration(host, fields)?, document(fields, "patch"))),
        "invalidate" => value_of(abi::registration_invalidate(registration(host, fields)?)),
        "unregister" => value_of(abi::unregister(registration(host, fields)?)),
        "swap" => swap(host, fields),
        "invoke" => invoke(host, fields),
        "await" => wait(host, fields, nested),
        "unsettled" => unsettled(host, fields),
        "cancel" => value_of(abi::invocation_cancel(invocation(host, fields)?)),
        "finish" => finish(host, fields),
        "decide" => decide(host, fields),
        "aborted" => aborted(host, fields),
        "advance" => value_of(abi::advance(host.registry(), integer(fields, "ms")?, PATIENCE_MS)),
        "set" => set(host, fields),
        "confirm" => confirm(host, fields),
        "pending" => look(host, fields, abi::confirmations(host.registry())),
        "snapshot" => look(host, fields, abi::snapshot(host.registry(), &view(fields))),
        "explain" => look(host, fields, abi::explain(host.registry(), &view(fields))),
        "version" => answered(version(host)),
        "events" => events(host, fields),
        "audit" => audit(host, fields),
        "calls" => calls(host, fields),
        "contexts" => contexts(host, fields),
        "toolset" => toolset(host, fields),
        "tools" => tools(host, fields),
        "call" => call(host, fields),
        "disposeToolset" => value_of(abi::toolset_free(toolset_handle(host, fields)?)),
        "verify" => verify(host, fields),
        "outcome" => outcome(host, fields),
        "closeConsumer" => value_of(abi::consumer_close(host.registry(), document(fields, "consumer"))),
        "dispose" => value_of(abi::registry_close(host.registry(), PATIENCE_MS)),
        _ => Err("no such step".into()),
    }
}

/* registrations */

fn register(host: &Arc<Host>, fields: &Json) -> Act {
    let definition = document(fields, "definition");
    let component = component(fields, definition)?;
    let tables = tables(host, &component, &component.names());
    let component = Arc::new(std::sync::Mutex::new(component));
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
    let mut component = Component { definition: Some(definition.clone()), ..Component::default() };
    for (key, script) in members(fields, "handlers") {
        let site = Site { script: Arc::new(Script::parse(script, "")?), ran: Arc::default() };
        component.sites.insert(binding_name(definition, key), site);
    }
    let mut answers = std::collections::HashMap::<String, Answers>::new();
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
    component.bindings = answers.into_iter().map(|(name, answers)| (name, Arc::new(answers))).collect();
    Ok(component)
}

impl Component {
    /// Every name that has a callback, sorted, so that a run is like the one before.
    fn names(&self) -> Vec<String> {
        self.sites.keys().chain(self.bindings.keys()).cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn tables(host: &Arc<Host>, component: &Component, names: &[String]) -> Vec<as_binding> {
    let of = |name: &String| {
        // The table points into `component`, which outlives it, and not into `names`.
        let site = component.sites.get_key_value(name);
        let answers = component.bindings.get_key_value(name);
        let name = site.map(|(name, _)| name).or(answers.map(|(name, _)| name)).unwrap_or(name);
        callbacks::binding_table(
            host,
            name,
            site.map(|(_, site)| site.clone()),
            answers.map(|(_, answers)| answers.clone()).unwrap_or_default(),
        )
    };
    names.iter().map(of).collect()
}

/// The name a binding has: an observation's or action's as it is, a procedure's with `domain:` before its path.
fn binding_name(definition: &Json, key: &str) -> String {
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

fn swap(host: &Arc<Host>, fields: &Json) -> Act {
    let Named::Registration { handle: Some(handle), component: old, .. } = host.named(text(fields, "registration")?)?
    else {
        return Err("no registration by that name".into());
    };
    let (names, new) = {
        let old = lock(&old);
        let definition = old.definition.clone().unwrap_or(Json::Null);
        let mut new =
            Component { definition: old.definition.clone(), sites: old.sites.clone(), bindings: old.bindings.clone() };
        let mut names = Vec::new();
        for (key, script) in members(fields, "handlers") {
            let name = binding_name(&definition, key);
            let ran = old.sites.get(&name).map_or_else(Arc::default, |site| site.ran.clone());
            new.sites.insert(name.clone(), Site { script: Arc::new(Script::parse(script, "")?), ran });
            names.push(name);
        }
        (names, new)
    };
    let answer = abi::registration_rebind(handle, &tables(host, &new, &names));
    if answer.is_ok() {
        *lock(&old) = new;
    }
    value_of(answer)
}

/* invocations */

fn invoke(host: &Arc<Host>, fields: &Json) -> Act {
    let options = some_of(fields, &["consumer", "timeoutMs", "deadlineMs"]);
    let count = Arc::default();
    let hooks = callbacks::result_table(host, &count);
    started(host, fields, count, abi::invoke(host.registry(), document(fields, "request"), &options, &hooks))
}

fn call(host: &Arc<Host>, fields: &Json) -> Act {
    let toolset = toolset_handle(host, fields)?;
    let count = Arc::default();
    let hooks = callbacks::result_table(host, &count);
    let call = some_of(fields, &["name", "input", "toolCallId"]);
    started(host, fields, count, abi::toolset_call(toolset, &call, &hooks))
}

fn started(host: &Host, fields: &Json, count: Arc<AtomicUsize>, made: Reply<as_invocation>) -> Act {
    let started = made.as_ref().ok().copied();
    if let Some(handle) = started {
        host.state().opened.invocations.push((handle, count));
        host.name(alias(fields), Named::Invocation(handle));
    }
    Ok(Done { answer: made.map(|_| Json::Null), started })
}

fn wait(host: &Host, fields: &Json, nested: bool) -> Act {
    let handle = invocation(host, fields)?;
    if nested {
        return answered(abi::invocation_wait(handle, -1));
    }
    if fields.get("code").is_some() {
        return answered(abi::invocation_wait(handle, 0));
    }
    answered(result(handle, text(fields, "invocation")?)?)
}

/// The result of a call when the runtime is quiet: what is pending now, nothing but another step could settle.
fn result(handle: as_invocation, name: &str) -> Result<Reply<Json>, String> {
    match abi::invocation_wait(handle, 0) {
        Err(failure) if failure.code == AS_E_TIMEOUT => {
            Err(format!("expected a result, saw {name} pending, and nothing left to run that could settle it"))
        }
        answer => Ok(answer),
    }
}

fn unsettled(host: &Host, fields: &Json) -> Act {
    match abi::invocation_wait(invocation(host, fields)?, 0) {
        Err(failure) if failure.code == AS_E_TIMEOUT => answered(Ok(Json::Null)),
        Ok(result) => Err(format!("expected it to be pending, saw {}", matcher::short(&result))),
        failure => answered(failure),
    }
}

fn finish(host: &Host, fields: &Json) -> Act {
    let pending = unanswered(host, fields)?;
    value_of(match (fields.get("return"), fields.get("reject")) {
        (Some(output), _) => abi::reply_json(pending.reply, output.to_string().as_bytes()),
        (_, Some(payload)) => abi::reply_error(pending.reply, payload.to_string().as_bytes()),
        _ => play::untyped(pending.reply, text(fields, "fail")?),
    })
}

fn decide(host: &Host, fields: &Json) -> Act {
    let pending = unanswered(host, fields)?;
    value_of(match (fields.get("deny"), fields.get("confirm")) {
        (Some(payload), _) => abi::reply_deny(pending.reply, payload.to_string().as_bytes()),
        (_, Some(confirm)) => abi::reply_confirm(pending.reply, play::summary_text(confirm.get("summary")).as_bytes()),
        _ => abi::reply_allow(pending.reply),
    })
}

/// The call that the step answers, marked as answered. Its handle dies with the answer, so what `aborted` would say of
/// it is kept first.
fn unanswered(host: &Host, fields: &Json) -> Result<Pending, String> {
    let (token, index) = (text(fields, "token")?, index(fields)?);
    let open = |(_, pending): &(usize, &Pending)| !pending.answered;
    let (at, pending) = host
        .state()
        .tokens
        .get(token)
        .and_then(|calls| calls.iter().enumerate().filter(open).nth(index))
        .map(|(at, pending)| (at, pending.clone()))
        .ok_or_else(|| format!("expected an unanswered call {index} under {token:?}, saw none"))?;
    let aborted = abi::reply_aborted(pending.reply).unwrap_or(false);
    if let Some(entry) = host.state().tokens.get_mut(token).and_then(|calls| calls.get_mut(at)) {
        *entry = Pending { answered: true, aborted, ..*entry };
    }
    Ok(pending)
}

fn aborted(host: &Host, fields: &Json) -> Act {
    let (token, index) = (text(fields, "token")?, index(fields)?);
    let pending = host
        .state()
        .tokens
        .get(token)
        .and_then(|calls| calls.get(index).cloned())
        .ok_or_else(|| format!("expected a call {index} under {token:?}, saw none"))?;
    let answer = match abi::reply_aborted(pending.reply) {
        Err(failure) if pending.answered && fields.get("code").is_none() && failure.code == AS_E_STALE_HANDLE => {
            Ok(pending.aborted)
        }
        answer => answer,
    };
    answered(answer.map(Json::Bool))
}

fn set(host: &Host, fields: &Json) -> Act {
    host.state().vars.insert(text(fields, "var")?.to_string(), document(fields, "to").clone());
    answered(Ok(Json::Null))
}

fn outcome(host: &Host, fields: &Json) -> Act {
    let mut query = some_of(fields, &["consumer"]).members().to_vec();
    query.push(("invocationId".to_string(), document(fields, "id").clone()));
    answered(abi::outcome(host.registry(), &Json::Object(query)))
}

/// `result` is a result, or the name of an earlier one.
fn verify(host: &Host, fields: &Json) -> Act {
    let given = document(fields, "result");
    let result = match given.as_str() {
        Some(name) => host.value(name)?,
        None => given.clone(),
    };
    answered(abi::verify_result(&result, document(fields, "request")))
}

/* confirmations */

fn confirm(host: &Host, fields: &Json) -> Act {
    let approved = match fields.get("approve") {
        Some(flag) => flag.as_bool().ok_or("`approve` must be true or false")?,
        None => true,
    };
    let mut decision = vec![("confirmationId", document(fields, "id").clone()), ("approved", Json::Bool(approved))];
    decision.extend(fields.get("reason").map(|reason| ("reason", reason.clone())));
    value_of(abi::confirm(host.registry(), &Json::object(decision)))
}

/* looking */

fn view(fields: &Json) -> Json {
    some_of(fields, &["consumer", "scope", "includeUnavailable", "budget"])
}

/// A document that an `as` may name.
fn look(host: &Host, fields: &Json, answer: Reply<Json>) -> Act {
    if let Ok(value) = &answer {
        host.name(alias(fields), Named::Value(value.clone()));
    }
    answered(answer)
}

fn version(host: &Host) -> Reply<Json> {
    let info = abi::registry_info(host.registry())?;
    Ok(info.get("surfaceVersion").cloned().unwrap_or(Json::Null))
}

fn events(host: &Host, fields: &Json) -> Act {
    let seen = host.state().events.clone();
    log(fields, Ok(Json::Array(seen)))
}

fn audit(host: &Host, fields: &Json) -> Act {
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
    let list = entries.get("entries").unwrap_or(&entries);
    let types = fields.get("types").map(Json::items);
    let wanted =
        |entry: &&Json| types.is_none_or(|types| types.iter().any(|t| entry.get("type").is_some_and(|e| e.same(t))));
    let list: Vec<Json> = list.items().iter().filter(wanted).cloned().collect();
    if let Some(count) = fields.get("count") {
        let names = Json::Array(list.iter().filter_map(|entry| entry.get("type").cloned()).collect());
        matcher::check(count, &Json::count(list.len()))
            .map_err(|why| format!("{why} as count of {}", matcher::short(&names)))?;
    }
    answered(Ok(Json::Array(list)))
}

fn calls(host: &Host, fields: &Json) -> Act {
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
    let bound = binding_name(component.definition.as_ref().unwrap_or(&Json::Null), key);
    component.sites.get(&bound).map(|site| site.ran.load(Ordering::SeqCst)).ok_or_else(unknown)
}

fn contexts(host: &Host, fields: &Json) -> Act {
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

/* toolsets */

fn toolset(host: &Host, fields: &Json) -> Act {
    let options = some_of(fields, &["options"]).get("options").cloned().unwrap_or(Json::Object(Vec::new()));
    let made = abi::toolset_new(host.registry(), &options);
    let handle = made.as_ref().ok().copied();
    host.state().opened.toolsets.extend(handle);
    let answer = made.and_then(abi::toolset_info);
    if let (Some(handle), Ok(value)) = (handle, &answer) {
        host.name(alias(fields), Named::Toolset { value: value.clone(), handle });
    }
    answered(answer)
}

fn tools(host: &Host, fields: &Json) -> Act {
    let format = fields.get("format").and_then(Json::as_str).unwrap_or("neutral");
    let answer = abi::toolset_tools(toolset_handle(host, fields)?, format);
    answered(answer.map(|catalog| catalog.get("tools").cloned().unwrap_or(catalog)))
}

/* fields and names */

fn answered(answer: Reply<Json>) -> Act {
    Ok(Done { answer, started: None })
}

/// A call that answers no document has the value null.
fn value_of(answer: Reply<()>) -> Act {
    answered(answer.map(|()| Json::Null))
}

fn alias(fields: &Json) -> Option<&str> {
    fields.get("as").and_then(Json::as_str)
}

fn document<'a>(fields: &'a Json, name: &str) -> &'a Json {
    fields.get(name).unwrap_or(&Json::Null)
}

fn members<'a>(fields: &'a Json, name: &str) -> &'a [(String, Json)] {
    fields.get(name).map_or(&[], Json::members)
}

fn some_of(fields: &Json, names: &[&str]) -> Json {
    Json::object(names.iter().filter_map(|name| Some((*name, fields.get(name)?.clone()))))
}

fn text<'a>(fields: &'a Json, name: &str) -> Result<&'a str, String> {
    fields.get(name).and_then(Json::as_str).ok_or_else(|| format!("`{name}` must be a string"))
}

fn integer(fields: &Json, name: &str) -> Result<i64, String> {
    fields.get(name).and_then(Json::as_int).ok_or_else(|| format!("`{name}` must be an integer"))
}

fn index(fields: &Json) -> Result<usize, String> {
    match fields.get("index") {
        Some(index) => index.as_index().ok_or_else(|| "`index` must be an integer from 0".to_string()),
        None => Ok(0),
    }
}

fn registration(host: &Host, fields: &Json) -> Result<abi::as_registration, String> {
    let name = text(fields, "registration")?;
    match host.named(name)? {
        Named::Registration { handle: Some(handle), .. } => Ok(handle),
        _ => Err(format!("{name:?} is no registration")),
    }
}

fn invocation(host: &Host, fields: &Json) -> Result<as_invocation, String> {
    let name = text(fields, "invocation")?;
    match host.named(name)? {
        Named::Invocation(handle) => Ok(handle),
        _ => Err(format!("{name:?} is no invocation")),
    }
}

fn toolset_handle(host: &Host, fields: &Json) -> Result<abi::as_toolset, String> {
    let name = text(fields, "toolset")?;
    match host.named(name)? {
        Named::Toolset { handle, .. } => Ok(handle),
        _ => Err(format!("{name:?} is no toolset")),
    }
}
