//! What a toolset remembers of its calls, by invocation id: with which tokens a call was sent, so that the same call
//! sent again is the same request, and what its provider calls it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::sync::Mutex;

use crate::model::Limits;
use crate::model::request::Request;
use crate::observe::CallIds;
use crate::pipeline::engine::Engine;
use crate::runtime::clock::Instant;

pub struct Memory {
    size: usize,
    ttl_ms: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: HashMap<Arc<str>, Entry>,
    /// Least recently used first.
    order: BTreeMap<u64, Arc<str>>,
    uses: u64,
}

struct Entry {
    ids: Arc<CallIds>,
    tokens: Tokens,
    /// What a person was asked about it, and may have answered.
    confirmation_id: Option<String>,
    name: Name,
    used: u64,
    at: Instant,
}

/// What of a request is not the model's.
#[derive(Clone)]
struct Tokens {
    registration_id: Option<String>,
    instance_id: Option<String>,
    surface_version: Option<String>,
    confirmation_id: Option<String>,
}

/// What the provider calls the call and its tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Name {
    pub tool_call_id: Option<String>,
    pub tool: String,
}

impl Memory {
    /// As long as the dedupe window, and wide enough for everything that may wait for a person.
    pub fn new(limits: &Limits) -> Memory {
        Memory {
            size: limits.dedupe_cache_size.max(limits.max_pending_confirmations).max(1) as usize,
            ttl_ms: limits.dedupe_cache_ttl_ms,
            state: Mutex::default(),
        }
    }

    /// Gives the request the tokens of the same call before it, where there was one: while that one runs or is on
    /// record all of them, so that it is joined or replayed; else the confirmation that it asked for.
    pub fn align(&self, engine: &Engine, consumer_key: &Arc<str>, request: &mut Request) {
        let Some(id) = request.invocation_id.as_deref() else { return };
        if request.confirmation_id.is_some() || !self.state.lock().calls.contains_key(id) {
            return;
        }
        let now = engine.clock.now();
        let digest = issued_digest(request);
        let on_record = engine.dedupe.find(consumer_key, id, now).is_some();
        let state = self.state.lock();
        let Some(entry) = state.calls.get(id).filter(|entry| *entry.ids.issued_digest == *digest) else { return };
        if on_record {
            let tokens = entry.tokens.clone();
            request.registration_id = tokens.registration_id;
            request.instance_id = tokens.instance_id;
            request.surface_version = tokens.surface_version;
            request.confirmation_id = tokens.confirmation_id;
        } else if entry.tokens.registration_id == request.registration_id {
            // An answer about a registration that is gone matches nothing.
            request.confirmation_id = entry.confirmation_id.clone();
        }
    }

    /// The call was sent like this.
    pub fn sent(&self, engine: &Engine, ids: &Arc<CallIds>, request: &Request, name: &Name) {
        let tokens = Tokens {
            registration_id: request.registration_id.clone(),
            instance_id: request.instance_id.clone(),
            surface_version: request.surface_version.clone(),
            confirmation_id: request.confirmation_id.clone(),
        };
        let confirmation_id = request.confirmation_id.clone();
        self.keep(
            engine.clock.now(),
            Entry { ids: ids.clone(), tokens, confirmation_id, name: name.clone(), used: 0, at: 0 },
        );
    }

    /// A call that the toolset answered itself; it takes nothing from a call that ran under its id.
    pub fn answered(&self, engine: &Engine, ids: &Arc<CallIds>, name: &Name) {
        if self.state.lock().calls.contains_key(&ids.invocation_id) {
            return;
        }
        let tokens = Tokens { registration_id: None, instance_id: None, surface_version: None, confirmation_id: None };
        let name = name.clone();
        self.keep(engine.clock.now(), Entry { ids: ids.clone(), tokens, confirmation_id: None, name, used: 0, at: 0 });
    }

    fn keep(&self, now: Instant, mut entry: Entry) {
        let mut state = self.state.lock();
        let mut gone = Vec::new();
        state.uses += 1;
        entry.used = state.uses;
        entry.at = now;
        let id = entry.ids.invocation_id.clone();
        let (used, before) = (entry.used, state.calls.insert(id.clone(), entry));
        state.order.insert(used, id);
        if let Some(before) = before {
            state.order.remove(&before.used);
            gone.push(before);
        }
        while let Some((used, oldest)) = state.order.first_key_value().map(|(used, id)| (*used, id.clone())) {
            let expired = state.calls.get(&oldest).is_some_and(|entry| now >= entry.at.saturating_add(self.ttl_ms));
            if !expired && state.calls.len() <= self.size {
                break;
            }
            state.order.remove(&used);
            gone.extend(state.calls.remove(&oldest));
        }
        drop(state);
        drop(gone);
    }

    /// The confirmation that the same call will be sent with; none to have it ask anew.
    pub fn confirm_with(&self, invocation_id: &str, issued_digest: &str, confirmation_id: Option<String>) {
        let mut state = self.state.lock();
        if let Some(entry) = state.calls.get_mut(invocation_id)
            && *entry.ids.issued_digest == *issued_digest
        {
            entry.confirmation_id = confirmation_id;
        }
    }

    /// What the provider calls the call that this result is of.
    pub fn name(&self, invocation_id: &str, issued_digest: &str) -> Option<Name> {
        let state = self.state.lock();
        let entry = state.calls.get(invocation_id).filter(|entry| *entry.ids.issued_digest == *issued_digest)?;
        Some(entry.name.clone())
    }
}

pub fn issued_digest(request: &Request) -> String {
    let empty = serde_json::Value::Object(Default::default());
    crate::json::request_digest(&request.capability_id, request.input.as_ref().unwrap_or(&empty))
}
