//! One lifetime of one component instance. The descriptor is frozen; `enabled`, pushed availability
//! and the handlers are live (AS-LIFE-002).

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as AtomicOrdering};

use crate::sync::Mutex;

use super::descriptor::Descriptor;
use super::judge::UNAVAILABLE;
use crate::model::definition::{Capability, Definition};
use crate::model::writer::ObjectWriter;
use crate::policy::{Link, Scope};
use crate::runtime::Hook;

/// Priority descending, then type, then instance.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderKey {
    priority: f64,
    component_type: String,
    instance_id: String,
}

impl Eq for OrderKey {}

impl PartialOrd for OrderKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderKey {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .priority
            .total_cmp(&self.priority)
            .then_with(|| self.component_type.cmp(&other.component_type))
            .then_with(|| self.instance_id.cmp(&other.instance_id))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Active,
    Rejected,
    Replaced,
    Unregistered,
    Closed,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Rejected => "rejected",
            Status::Replaced => "replaced",
            Status::Unregistered => "unregistered",
            Status::Closed => "closed",
        }
    }
}

/// The host's functions for one capability.
#[derive(Clone, Default)]
pub struct CapabilityHooks {
    pub handler: Option<Hook>,
    pub when: Option<Hook>,
    pub precondition: Option<Hook>,
    pub bind: Option<Hook>,
    pub describe: Option<Hook>,
}

pub struct Registration {
    pub id: Arc<str>,
    pub instance_id: Arc<str>,
    pub definition: Definition,
    pub order: OrderKey,
    pub(super) descriptor: Descriptor,
    /// Whether a policy of its own has a say.
    pub(super) has_policies: bool,
    /// Whether nothing but the descriptor decides how this looks: no callback, no push, enabled. Kept beside the lock, since
    /// a snapshot asks all.
    plain: AtomicBool,
    live: Mutex<Live>,
}

struct Live {
    status: Status,
    enabled: bool,
    /// Reasons of the capabilities that were pushed unavailable.
    pushed: HashMap<usize, String>,
    /// By capability; empty once the registration is over.
    hooks: Vec<Arc<CapabilityHooks>>,
}

impl Live {
    fn is_plain(&self) -> bool {
        let silent = |hooks: &Arc<CapabilityHooks>| hooks.when.is_none() && hooks.describe.is_none();
        self.enabled && self.pushed.is_empty() && self.hooks.iter().all(silent)
    }
}

impl Registration {
    pub fn new(id: String, definition: Definition, hooks: Vec<Arc<CapabilityHooks>>) -> Arc<Registration> {
        let status = Status::Active;
        let live = Live { status, enabled: definition.enabled, pushed: HashMap::new(), hooks };
        let capabilities = &definition.capabilities;
        Arc::new(Registration {
            has_policies: !definition.policies.is_empty() || capabilities.iter().any(|c| !c.policies.is_empty()),
            plain: AtomicBool::new(live.is_plain()),
            descriptor: Descriptor::new(&id, &definition),
            id: id.into(),
            instance_id: definition.instance_id.as_str().into(),
            order: OrderKey {
                priority: definition.priority,
                component_type: definition.component_type.clone(),
                instance_id: definition.instance_id.clone(),
            },
            definition,
            live: Mutex::new(live),
        })
    }

    pub fn instance_key(&self) -> (String, String) {
        (self.definition.component_type.clone(), self.definition.instance_id.clone())
    }

    pub fn status(&self) -> Status {
        self.live.lock().status
    }

    pub fn is_active(&self) -> bool {
        self.status() == Status::Active
    }

    /// Ends the lifetime and lets go of the host's functions, outside the lock.
    pub fn end(&self, status: Status) {
        let hooks = {
            let mut live = self.live.lock();
            live.status = status;
            std::mem::take(&mut live.hooks)
        };
        drop(hooks);
    }

    pub fn set_enabled(&self, enabled: bool) -> bool {
        self.change(|live| std::mem::replace(&mut live.enabled, enabled) != enabled)
    }

    /// Whether anything changed.
    pub fn push_availability(&self, index: usize, available: bool, reason: Option<String>) -> bool {
        self.change(|live| {
            if available {
                return live.pushed.remove(&index).is_some();
            }
            let authored = self.definition.capabilities.get(index).and_then(|c| c.unavailable_reason.clone());
            let reason = reason.or(authored).unwrap_or_else(|| UNAVAILABLE.into());
            live.pushed.insert(index, reason.clone()) != Some(reason)
        })
    }

    /// Swaps the functions of some capabilities; `None` once the registration is over.
    pub fn rebind(&self, swaps: BTreeMap<usize, CapabilityHooks>) -> Option<Vec<Arc<CapabilityHooks>>> {
        self.change(|live| {
            if live.status != Status::Active {
                return None;
            }
            let mut before = Vec::new();
            for (index, hooks) in swaps {
                if let Some(slot) = live.hooks.get_mut(index) {
                    before.push(std::mem::replace(slot, Arc::new(hooks)));
                }
            }
            Some(before)
        })
    }

    pub fn hooks(&self, index: usize) -> Option<Arc<CapabilityHooks>> {
        self.live.lock().hooks.get(index).cloned()
    }

    /// The agent's input schema as canonical text; empty where there is none.
    pub fn input_text(&self, index: usize) -> &[u8] {
        let fragment = self.descriptor.capabilities.get(index);
        fragment.map_or(&[], |fragment| &fragment.bytes[fragment.input.clone()])
    }

    fn change<R>(&self, change: impl FnOnce(&mut Live) -> R) -> R {
        let mut live = self.live.lock();
        let result = change(&mut live);
        self.plain.store(live.is_plain(), AtomicOrdering::Release);
        result
    }

    pub(super) fn is_plain(&self) -> bool {
        self.plain.load(AtomicOrdering::Acquire)
    }

    /// Availability but for `when` and policies: the reason why not, the first that applies.
    pub fn withheld(&self, index: usize) -> Option<String> {
        let live = self.live.lock();
        match live.enabled {
            false => Some("component-disabled".into()),
            true => live.pushed.get(&index).cloned(),
        }
    }

    pub fn find(&self, binding_name: &str) -> Option<usize> {
        self.definition.capabilities.iter().position(|c| c.binding_name() == binding_name)
    }

    pub fn describe_status(&self) -> String {
        let mut out = ObjectWriter::new();
        out.string("registrationId", &self.id);
        out.string("type", &self.definition.component_type);
        out.string("instanceId", &self.instance_id);
        out.string("status", self.status().as_str());
        out.finish()
    }
}

/// One capability of one registration.
#[derive(Clone)]
pub struct Target {
    pub registration: Arc<Registration>,
    pub index: usize,
}

impl Target {
    pub fn capability(&self) -> &Capability {
        &self.registration.definition.capabilities[self.index]
    }

    pub fn hooks(&self) -> Option<Arc<CapabilityHooks>> {
        self.registration.hooks(self.index)
    }

    /// Whether anything follows from [`Target::links`]. What does is kept on the heap, apart from the call: few have
    /// policies, and all would carry the room for it.
    pub fn has_policies(&self, registry: &[crate::model::policy::PolicyRef]) -> bool {
        self.links(registry).next().is_some()
    }

    /// The policies of the component and of the capability; the registry's come before them.
    pub fn links<'a>(&'a self, registry: &'a [crate::model::policy::PolicyRef]) -> impl Iterator<Item = Link<'a>> {
        let scoped = |scope: Scope, policies: &'a [crate::model::policy::PolicyRef]| {
            policies.iter().enumerate().map(move |(index, policy)| Link { scope, index, policy })
        };
        scoped(Scope::Registry, registry)
            .chain(scoped(Scope::Component, &self.registration.definition.policies))
            .chain(scoped(Scope::Capability, &self.capability().policies))
    }
}
