//! What is remembered of dead registrations: identifiers and time, nothing else (AS-BOUND-001).

use std::collections::VecDeque;
use std::sync::Arc;

use super::Registration;
use crate::model::id;
use crate::runtime::clock::Instant;

pub struct Tombstones {
    max: usize,
    ttl_ms: u64,
    /// Oldest first; all live equally long.
    graves: VecDeque<Grave>,
}

struct Grave {
    registration_id: Arc<str>,
    instance_id: Arc<str>,
    component_type: String,
    capabilities: Vec<String>,
    until: Instant,
}

impl Tombstones {
    pub fn new(max: usize, ttl_ms: u64) -> Tombstones {
        Tombstones { max, ttl_ms, graves: VecDeque::new() }
    }

    pub fn add(&mut self, registration: &Registration, now: Instant) {
        self.expire(now);
        if self.max == 0 {
            return;
        }
        while self.graves.len() >= self.max {
            self.graves.pop_front();
        }
        self.graves.push_back(Grave {
            registration_id: registration.id.clone(),
            instance_id: registration.instance_id.clone(),
            component_type: registration.definition.component_type.clone(),
            capabilities: registration.definition.capabilities.iter().map(|c| c.id.clone()).collect(),
            until: now.saturating_add(self.ttl_ms),
        });
    }

    /// The instance that a dead registration was of, if it offered the capability.
    pub fn instance_of(&self, registration_id: &str, capability_id: &str, now: Instant) -> Option<Arc<str>> {
        let offered = |grave: &&Grave| grave.capabilities.iter().any(|id| id == capability_id);
        let grave = self.matching(now).filter(offered).find(|grave| &*grave.registration_id == registration_id)?;
        Some(grave.instance_id.clone())
    }

    /// Whether a dead instance (any, where none is named) of a component in scope offered the capability.
    pub fn offered(
        &self,
        capability_id: &str,
        instance_id: Option<&str>,
        scope: Option<&[String]>,
        now: Instant,
    ) -> bool {
        self.matching(now).any(|grave| {
            instance_id.is_none_or(|wanted| wanted == &*grave.instance_id)
                && id::in_scope(&grave.component_type, scope)
                && grave.capabilities.iter().any(|id| id == capability_id)
        })
    }

    fn matching(&self, now: Instant) -> impl Iterator<Item = &Grave> {
        self.graves.iter().filter(move |grave| now < grave.until)
    }

    fn expire(&mut self, now: Instant) {
        while self.graves.front().is_some_and(|grave| grave.until <= now) {
            self.graves.pop_front();
        }
    }
}
