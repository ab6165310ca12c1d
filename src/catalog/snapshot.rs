//! An immutable catalog for one consumer. It never runs a `read` (AS-SNAP-001).

use std::sync::Arc;

use serde_json::Value;

use super::descriptor::Moment;
use super::judge::{self, Look};
use super::{Registration, Target};
use crate::model::fields::{self, Fields};
use crate::model::policy::PolicyRef;
use crate::model::writer::ObjectWriter;
use crate::model::{ApiError, Consumer, id, time};
use crate::registry::Registry;

/// `{consumer?, scope?, includeUnavailable?, budget?}`.
pub struct View {
    pub consumer: Arc<Consumer>,
    /// Component-type prefixes, on segment boundaries; `None` is everything.
    pub scope: Option<Vec<String>>,
    pub include_unavailable: bool,
    pub max_components: Option<usize>,
    pub max_bytes: Option<usize>,
}

impl View {
    pub fn parse(text: &[u8]) -> Result<View, ApiError> {
        let value = fields::document(text, Some(Value::Object(Default::default())))?;
        let mut fields = Fields::new(&value, "", fields::argument)?;
        let path = fields.child("consumer");
        let mut view = View {
            consumer: Consumer::read(fields.get("consumer"), &path)?,
            scope: fields.strings("scope")?.map(|scope| scope.into_iter().map(String::from).collect()),
            include_unavailable: fields.boolean("includeUnavailable")?.unwrap_or(true),
            max_components: None,
            max_bytes: None,
        };
        (view.max_components, view.max_bytes) = read_budget(&mut fields)?;
        fields.finish()?;
        Ok(view)
    }

    pub fn covers(&self, component_type: &str) -> bool {
        id::in_scope(component_type, self.scope.as_deref())
    }
}

/// `budget {maxComponents, maxBytes}`.
pub fn read_budget(fields: &mut Fields) -> Result<(Option<usize>, Option<usize>), ApiError> {
    let Some(mut budget) = fields.fields("budget")? else { return Ok((None, None)) };
    let components = budget.integer("maxComponents", 0, 1_000_000_000)?.map(|n| n as usize);
    let bytes = budget.integer("maxBytes", 0, 1_000_000_000)?.map(|n| n as usize);
    budget.finish()?;
    Ok((components, bytes))
}

/// One component as the consumer sees it.
pub struct Seen {
    pub registration: Arc<Registration>,
    /// By capability, `None` where it is hidden; none at all where nothing but the descriptor decides.
    pub states: Option<Vec<Option<State>>>,
}

/// What of a capability is of the moment.
#[derive(Default, PartialEq)]
pub struct State {
    /// Why it cannot be used now.
    pub unavailable: Option<String>,
    pub note: Option<String>,
}

impl State {
    fn moment(&self) -> Moment<'_> {
        Moment { unavailable: self.unavailable.as_deref(), note: self.note.as_deref() }
    }
}

/// What the view shows of the live registrations, in their order. Hooks of the host are asked on this thread.
pub fn see<'a>(look: &Look, view: &View, live: impl IntoIterator<Item = &'a Arc<Registration>>) -> Vec<Seen> {
    let registry = look.registry;
    let common = registry.config.policies.iter().all(|policy| is_silent(registry, policy));
    let in_view = live.into_iter().filter(|registration| view.covers(&registration.definition.component_type));
    in_view
        .filter_map(|registration| {
            let states = match common && is_plain(registry, registration) {
                true => None,
                false => Some(judge(look, view, registration)?),
            };
            Some(Seen { registration: registration.clone(), states })
        })
        .collect()
}

/// One component as it is written, and its procedures separated by commas.
enum Part {
    Plain(Arc<Registration>),
    Live(Vec<u8>, Vec<u8>),
}

impl Part {
    fn new(seen: Seen) -> Part {
        let Some(states) = seen.states else { return Part::Plain(seen.registration) };
        let moments: Vec<_> = states.iter().map(|state| state.as_ref().map(State::moment)).collect();
        let (component, procedures) = seen.registration.descriptor.render(&moments);
        Part::Live(component, procedures)
    }

    fn component(&self) -> &[u8] {
        match self {
            Part::Plain(registration) => &registration.descriptor.whole,
            Part::Live(component, _) => component,
        }
    }

    fn procedures(&self) -> &[u8] {
        match self {
            Part::Plain(registration) => &registration.descriptor.procedures,
            Part::Live(_, procedures) => procedures,
        }
    }
}

/// Takes a snapshot. Hooks of the host are asked on this thread.
pub fn take(registry: &Registry, view: &View) -> Vec<u8> {
    let look = Look::new(registry, &view.consumer);
    let route = route(registry);
    let (version, live) = registry.catalog.live();
    let mut parts: Vec<Part> = Vec::with_capacity(live.len());
    let mut size = 0;
    let mut dropped = 0;
    for seen in see(&look, view, &*live) {
        let part = Part::new(seen);
        let bytes = part.component().len() + part.procedures().len();
        let over = view.max_components.is_some_and(|max| parts.len() >= max)
            || view.max_bytes.is_some_and(|max| size + bytes > max);
        // The order is by priority, so from the first one that does not fit all are dropped.
        if over || dropped > 0 {
            dropped += 1;
            continue;
        }
        size += bytes;
        parts.push(part);
    }
    let mut out = ObjectWriter::with_capacity(size + 2 * parts.len() + 512);
    out.string("surfaceId", &registry.surface_id);
    out.string("surfaceVersion", &version.to_string());
    out.string("capturedAt", &time::format(registry.clock.unix()));
    if let Some(route) = &route {
        out.value("route", route);
    }
    out.array("components", &parts, |part, out| out.extend_from_slice(part.component()));
    let procedures = parts.iter().map(Part::procedures).filter(|procedures| !procedures.is_empty());
    out.array("procedures", procedures, |procedures, out| out.extend_from_slice(procedures));
    if dropped > 0 {
        out.object("truncated", |out| out.number("droppedComponents", dropped));
    }
    out.into_bytes()
}

/// `{path, params?}` where the host answers it.
fn route(registry: &Registry) -> Option<Value> {
    let hook = registry.hooks().route?;
    let route = registry.ask_now(&hook, "route", b"{}".to_vec(), true)?;
    let map = route.as_object()?;
    let known = map.keys().all(|key| key == "path" || key == "params");
    (known && map.get("path").is_some_and(Value::is_string)).then_some(route)
}

/// The policy has nothing to say about what is shown.
fn is_silent(registry: &Registry, policy: &PolicyRef) -> bool {
    match policy {
        PolicyRef::BuiltIn(built_in) => !judge::decides_discovery(built_in),
        PolicyRef::Host(name) => registry.policies.get(name).is_some_and(|hooks| hooks.on_discovery.is_none()),
    }
}

fn is_plain(registry: &Registry, registration: &Registration) -> bool {
    let silent = |policies: &[PolicyRef]| policies.iter().all(|policy| is_silent(registry, policy));
    let definition = &registration.definition;
    let all_silent = || {
        silent(&definition.policies) && definition.capabilities.iter().all(|capability| silent(&capability.policies))
    };
    registration.is_plain() && (!registration.has_policies || all_silent())
}

/// `None` when nothing of the component is shown.
fn judge(look: &Look, view: &View, registration: &Arc<Registration>) -> Option<Vec<Option<State>>> {
    let count = registration.definition.capabilities.len();
    let states: Vec<Option<State>> = (0..count)
        .map(|index| {
            let target = Target { registration: registration.clone(), index };
            let judged = look.judge(&target);
            let shown = !judged.hidden && (view.include_unavailable || judged.disabled.is_none());
            shown.then(|| State { unavailable: judged.disabled, note: look.note(&target) })
        })
        .collect();
    let nothing = count > 0 && states.iter().all(Option::is_none);
    (!nothing).then_some(states)
}
