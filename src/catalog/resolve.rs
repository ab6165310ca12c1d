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
            instance.is_none_or(|instance| instance == &*target.registration.instance_id)
                && id::in_scope(&target.registration.definition.component_type, scope)
                && (!observations_only || target.capability().kind == Kind::Observation)
        };
        let live = state.by_capability.get(&request.capability_id);
        Matches {
            live: live.into_iter().flat_map(|instances| instances.values()).filter(wanted).cloned().collect(),
            buried: state.tombstones.offered(&request.capability_id, instance, scope, now),
            buried_instance: request
                .registration_id
                .as_deref()
                .and_then(|id| state.tombstones.instance_of(id, &request.capability_id, now)),
            version: state.version,
        }
    }
}
