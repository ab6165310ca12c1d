//! Direct mode: a catalog with a tool for each capability, and the way from a tool's name back to it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::{Value, json};

use super::format::{self, Format, Losses, Spec};
use super::wire::{self, Subject};
use crate::catalog::judge::Look;
use crate::catalog::snapshot::{self, Seen, State, View};
use crate::catalog::{Registration, Target};
use crate::json;
use crate::model::definition::{Effect, Kind};
use crate::model::writer::ObjectWriter;
use crate::registry::Registry;
use crate::schema::Schema;

/// The input of an observation.
static NOTHING: LazyLock<Value> =
    LazyLock::new(|| json!({ "type": "object", "properties": {}, "additionalProperties": false }));
static NOTHING_TEXT: LazyLock<String> = LazyLock::new(|| json::canonical(&NOTHING));

/// What one consumer was shown at one time. It never changes, so what is rendered of it is rendered once.
#[derive(Default)]
pub struct Catalog {
    pub version: u64,
    /// See [`Registry::unversioned`].
    unversioned: u64,
    /// What is in scope.
    live: Vec<Arc<Registration>>,
    seen: Vec<Seen>,
    /// Nothing of it is of the moment.
    plain: bool,
    tools: Vec<Tool>,
    by_name: OnceLock<HashMap<String, usize>>,
    texts: [OnceLock<String>; format::COUNT],
}

pub struct Tool {
    name: String,
    pub target: Target,
    /// Where in what was seen its state is.
    place: usize,
}

impl Catalog {
    /// Takes the catalog of now; the one `before` where nothing of it has changed.
    pub fn take(registry: &Registry, view: &View, before: Option<&Arc<Catalog>>) -> Arc<Catalog> {
        let unversioned = registry.unversioned();
        let before = before.filter(|before| before.version == registry.catalog.version());
        if let Some(before) = before.filter(|before| before.plain && before.unversioned == unversioned) {
            return before.clone();
        }
        let look = Look::new(registry, &view.consumer);
        let (version, live) = match before {
            Some(before) => (before.version, before.live.clone()),
            None => {
                let (version, live) = registry.catalog.live();
                let in_view = |r: &&Arc<Registration>| view.covers(&r.definition.component_type);
                (version, live.iter().filter(in_view).cloned().collect())
            }
        };
        let seen = snapshot::see(&look, view, &live);
        match before.filter(|before| before.shows(&seen)) {
            Some(before) => before.clone(),
            None => Arc::new(Catalog::new(version, unversioned, live, seen)),
        }
    }

    fn new(version: u64, unversioned: u64, live: Vec<Arc<Registration>>, seen: Vec<Seen>) -> Catalog {
        let targets = targets(&seen);
        let names = wire::names(&targets.iter().map(|(_, target)| subject(target)).collect::<Vec<_>>());
        let tools =
            targets.into_iter().zip(names).map(|((place, target), name)| Tool { name, target, place }).collect();
        let plain = seen.len() == live.len() && seen.iter().all(|seen| seen.states.is_none());
        Catalog { version, unversioned, live, seen, plain, tools, by_name: OnceLock::new(), texts: Default::default() }
    }

    fn shows(&self, seen: &[Seen]) -> bool {
        let same = |(a, b): (&Seen, &Seen)| Arc::ptr_eq(&a.registration, &b.registration) && a.states == b.states;
        self.seen.len() == seen.len() && self.seen.iter().zip(seen).all(same)
    }

    pub fn find(&self, name: &str) -> Option<&Tool> {
        let by_name = self
            .by_name
            .get_or_init(|| self.tools.iter().enumerate().map(|(index, tool)| (tool.name.clone(), index)).collect());
        by_name.get(name).map(|index| &self.tools[*index])
    }

    /// The name of a capability's tool; any of its instances where none is given.
    pub fn name_of(&self, capability_id: &str, instance_id: Option<&str>) -> Option<&str> {
        let tool = self.tools.iter().find(|tool| {
            tool.target.capability().id == capability_id
                && instance_id.is_none_or(|instance| instance == &*tool.target.registration.instance_id)
        });
        tool.map(|tool| &*tool.name)
    }

    /// `{tools, wireNameMap, loss, state?}`.
    pub fn text(&self, format: Format) -> &str {
        self.texts[format as usize].get_or_init(|| self.render(format))
    }

    fn render(&self, format: Format) -> String {
        let schemas: usize = self.tools.iter().map(|tool| tool.input_text().len()).sum();
        let mut out = ObjectWriter::with_capacity(schemas + 768 * self.tools.len() + 64);
        let mut description = Description::default();
        let mut losses = Vec::new();
        out.array("tools", &self.tools, |tool, out| {
            let mut lost = Losses::default();
            format.tool(&description.spec(tool, self.state(tool)), &mut lost, out);
            losses.extend(lost.found.into_iter().map(|(pointer, keyword)| (&*tool.name, pointer, keyword)));
        });
        out.object("wireNameMap", |out| {
            for tool in &self.tools {
                out.object(&tool.name, |out| {
                    out.string("capabilityId", &tool.target.capability().id);
                    out.string("instanceId", &tool.target.registration.instance_id);
                    out.string("registrationId", &tool.target.registration.id);
                });
            }
        });
        format::write_losses(losses.iter().map(|(tool, pointer, keyword)| (*tool, &**pointer, &**keyword)), &mut out);
        if format != Format::Neutral {
            // A provider has no place for it in a tool, and a prompt cache none for what changes.
            out.object("state", |out| {
                for tool in &self.tools {
                    out.object(&tool.name, |out| format::write_state(self.state(tool), out));
                }
            });
        }
        out.finish()
    }

    fn state(&self, tool: &Tool) -> &State {
        static USUAL: State = State { unavailable: None, note: None };
        let states = self.seen[tool.place].states.as_ref();
        states.and_then(|states| states.get(tool.target.index)?.as_ref()).unwrap_or(&USUAL)
    }
}

fn subject(target: &Target) -> Subject<'_> {
    Subject {
        capability_id: &target.capability().id,
        instance_id: &target.registration.instance_id,
        component_type: &target.registration.definition.component_type,
    }
}

impl Tool {
    fn schema(&self) -> Option<&Schema> {
        self.target.capability().agent_input.as_ref().filter(|_| self.target.capability().kind != Kind::Observation)
    }

    fn input(&self) -> &Value {
        self.schema().map_or(&NOTHING, Schema::source)
    }

    fn input_text(&self) -> &[u8] {
        match self.schema() {
            Some(_) => self.target.registration.input_text(self.target.index),
            None => NOTHING_TEXT.as_bytes(),
        }
    }
}

/// What is shown, as in a snapshot: the components one after the other, then the procedures.
fn targets(seen: &[Seen]) -> Vec<(usize, Target)> {
    let mut targets = Vec::new();
    for procedures in [false, true] {
        for (place, seen) in seen.iter().enumerate() {
            let capabilities = seen.registration.definition.capabilities.iter().enumerate();
            let shown = capabilities.filter(|(index, capability)| {
                (capability.kind == Kind::Procedure) == procedures
                    && seen.states.as_ref().is_none_or(|states| states[*index].is_some())
            });
            let target = |(index, _)| (place, Target { registration: seen.registration.clone(), index });
            targets.extend(shown.map(target));
        }
    }
    targets
}

/// Writes descriptions one after the other into one text.
#[derive(Default)]
struct Description {
    text: String,
}

impl Description {
    fn spec<'a>(&'a mut self, tool: &'a Tool, state: &'a State) -> Spec<'a> {
        let capability = tool.target.capability();
        self.text.clear();
        let (plane, effect) = (capability.kind.plane(), capability.effect.as_str());
        let confirmation = capability.confirmation.as_str();
        for part in ["[", plane, ", ", effect, ", confirmation ", confirmation, "] ", &capability.description] {
            self.text.push_str(part);
        }
        Spec {
            name: &tool.name,
            description: &self.text,
            input: tool.input(),
            input_text: tool.input_text(),
            output: capability.output.as_ref().map(|schema| schema.source()),
            read_only: matches!(capability.effect, Effect::Read | Effect::ServerQuery),
            destructive: capability.effect == Effect::Destructive,
            idempotent: capability.idempotent,
            capability_id: Some(&capability.id),
            state,
        }
    }
}
