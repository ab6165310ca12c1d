//! What is registered: live components, their versions, and what is left of the dead ones.

mod descriptor;
pub mod explain;
pub mod judge;
mod registration;
pub mod resolve;
pub mod snapshot;
mod tombstone;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use crate::sync::RwLock;

pub use registration::{CapabilityHooks, OrderKey, Registration, Status, Target};

use crate::model::Limits;
use crate::model::config::OnDuplicate;
use crate::runtime::clock::Instant;
use tombstone::Tombstones;

pub struct Catalog {
    state: RwLock<State>,
    max_registrations: usize,
}

/// By instance id. Procedures may share one across component types, so there may be several.
type Instances = BTreeMap<Arc<str>, Vec<Target>>;

/// Live registrations in catalog order.
pub type Live = Arc<[Arc<Registration>]>;

struct State {
    version: u64,
    by_id: HashMap<Arc<str>, Arc<Registration>>,
    by_instance: HashMap<(String, String), Arc<Registration>>,
    /// Live instances of each capability.
    by_capability: HashMap<String, Instances>,
    /// Priority descending, type, instance (AS-SNAP-003).
    ordered: BTreeMap<OrderKey, Arc<Registration>>,
    /// The same as a list, made when it is first asked for after a change.
    listed: OnceLock<Live>,
    tombstones: Tombstones,
}

/// What became of a registration.
pub enum Admitted {
    Live { replaced: Option<Arc<Registration>> },
    Duplicate,
    Full,
}

impl Catalog {
    pub fn new(limits: &Limits) -> Catalog {
        Catalog {
            state: RwLock::new(State {
                version: 0,
                by_id: HashMap::new(),
                by_instance: HashMap::new(),
                by_capability: HashMap::new(),
                ordered: BTreeMap::new(),
                listed: OnceLock::new(),
                tombstones: Tombstones::new(limits.tombstone_size as usize, limits.tombstone_ttl_ms),
            }),
            max_registrations: limits.max_registrations as usize,
        }
    }

    pub fn version(&self) -> u64 {
        self.state.read().version
    }

    pub fn len(&self) -> usize {
        self.state.read().by_id.len()
    }

    /// Makes a registration live at once (AS-LIFE-001). `after` runs under the lock, so that what
    /// it emits is in the order of the changes.
    pub fn add(
        &self,
        registration: &Arc<Registration>,
        on_duplicate: OnDuplicate,
        now: Instant,
        after: impl FnOnce(&Admitted, u64),
    ) -> Admitted {
        let mut state = self.state.write();
        let duplicate = state.by_instance.get(&registration.instance_key()).cloned();
        let admitted = match (duplicate, on_duplicate) {
            (Some(_), OnDuplicate::Reject) => Admitted::Duplicate,
            (None, _) if state.by_id.len() >= self.max_registrations => Admitted::Full,
            (replaced, _) => {
                if let Some(old) = &replaced {
                    state.remove(old, now);
                }
                state.insert(registration);
                state.version += 1;
                Admitted::Live { replaced }
            }
        };
        after(&admitted, state.version);
        admitted
    }

    /// Takes a registration out; `false` if it was out already.
    pub fn remove(&self, registration: &Arc<Registration>, now: Instant, after: impl FnOnce(u64)) -> bool {
        let mut state = self.state.write();
        if !state.by_id.contains_key(&registration.id) {
            return false;
        }
        state.remove(registration, now);
        state.version += 1;
        after(state.version);
        true
    }

    /// Changes something of a live registration. `change` says whether the surface is affected.
    pub fn change(&self, registration: &Registration, change: impl FnOnce() -> bool, after: impl FnOnce(u64)) -> bool {
        let mut state = self.state.write();
        if !state.by_id.contains_key(&registration.id) {
            return false;
        }
        if change() {
            state.version += 1;
            after(state.version);
        }
        true
    }

    /// Every live registration in catalog order, with the version they belong to.
    pub fn live(&self) -> (u64, Live) {
        let state = self.state.read();
        (state.version, state.listed.get_or_init(|| state.ordered.values().cloned().collect()).clone())
    }

    /// Empties the catalog without tombstones.
    pub fn clear(&self) -> Vec<Arc<Registration>> {
        let mut state = self.state.write();
        state.listed.take();
        let live = std::mem::take(&mut state.ordered).into_values().collect();
        state.by_id.clear();
        state.by_instance.clear();
        state.by_capability.clear();
        live
    }
}

impl State {
    fn insert(&mut self, registration: &Arc<Registration>) {
        for (index, capability) in registration.definition.capabilities.iter().enumerate() {
            let target = Target { registration: registration.clone(), index };
            let instances = self.by_capability.entry(capability.id.clone()).or_default();
            instances.entry(registration.instance_id.clone()).or_default().push(target);
        }
        self.listed.take();
        self.by_instance.insert(registration.instance_key(), registration.clone());
        self.ordered.insert(registration.order.clone(), registration.clone());
        self.by_id.insert(registration.id.clone(), registration.clone());
    }

    fn remove(&mut self, registration: &Arc<Registration>, now: Instant) {
        for capability in &registration.definition.capabilities {
            if let Some(instances) = self.by_capability.get_mut(&capability.id) {
                if let Some(same) = instances.get_mut(&registration.instance_id) {
                    same.retain(|target| !Arc::ptr_eq(&target.registration, registration));
                    if same.is_empty() {
                        instances.remove(&registration.instance_id);
                    }
                }
                if instances.is_empty() {
                    self.by_capability.remove(&capability.id);
                }
            }
        }
        self.listed.take();
        self.by_instance.remove(&registration.instance_key());
        self.ordered.remove(&registration.order);
        self.by_id.remove(&registration.id);
        self.tombstones.add(registration, now);
    }
}
