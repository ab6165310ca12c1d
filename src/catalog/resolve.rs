//! Phase 2's look-up: which live instance a request means (section 6).

use std::sync::Arc;

use super::{Catalog, Target};
use crate::model::definition::Kind;
use crate::model::id;
use crate::model::request::{Reach, Request};
use crate::runtime::clock::Instant;

/// The live instances that a request could mean, and what the dead ones tell.
pub struct Matches {
    /// Sorted by instance id.
    pub live: Vec<Target>,
    /// A dead instance of what was asked for is remembered.
    pub buried: bool,
    /// The very registration that was asked for is remembered as dead; this was its instance.
    pub buried_instance: Option<Arc<str>>,
    /// The surface as it was when this was looked up.
    pub version: u64,
}

impl Catalog {
    /// What lies beyond `reach` does not exist.
    pub fn matches(&self, request: &Request, reach: Option<&Reach>, now: Instant) -> Matches {
        let state = self.state.read();
        let instance = request.instance_id.as_deref();
        let scope = reach.and_then(|reach| reach.scope.as_deref());
        let observations_only = reach.is_some_and(|reach| reach.observations_only);
        let wanted = |target: &&Target| {
            id::in_scope(&target.registration.definition.component_type, scope)
                && (!observations_only || target.capability().kind == Kind::Observation)
        };
        let capability_id = &request.capability_id;
        let live: Vec<Target> = match (state.by_capability.get(capability_id), instance) {
            (None, _) => Vec::new(),
            (Some(instances), Some(instance)) => {
                instances.get(instance).into_iter().flatten().filter(wanted).cloned().collect()
            }
            (Some(instances), None) => instances.values().flatten().filter(wanted).cloned().collect(),
        };
        // The dead, who may be many, are asked only where the living leave it open.
        let open = match &request.registration_id {
            Some(id) => !live.iter().any(|target| *target.registration.id == **id),
            None => live.len() != 1,
        };
        Matches {
            live,
            buried: open && state.tombstones.offered(capability_id, instance, scope, now),
            buried_instance: request
                .registration_id
                .as_deref()
                .filter(|_| open)
                .and_then(|id| state.tombstones.instance_of(id, capability_id, now)),
            version: state.version,
        }
    }
}
