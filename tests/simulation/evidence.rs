//! Confirmations as section 9 describes them, kept beside the real ones: asked once, decided once, spent at most once and
//! never when nothing ran.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::world::{Checked, World, broken};

pub struct Evidence {
    ttl_ms: u64,
    redeem_ms: u64,
    pub records: BTreeMap<String, Record>,
}

pub struct Record {
    pub state: State,
    until: u64,
    consumer: String,
    capability: String,
    registration: Value,
    digest: Value,
    began: usize,
    spent: usize,
    closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Pending,
    Approved,
    Denied,
    Consumed,
    Expired,
}

impl Evidence {
    pub fn new(ttl_ms: u64, redeem_ms: u64) -> Evidence {
        Evidence { ttl_ms, redeem_ms, records: BTreeMap::new() }
    }

    pub fn pending(&self) -> usize {
        self.records.values().filter(|record| record.state == State::Pending).count()
    }

    /// Fails where fewer have been told to have expired than should have by now.
    fn all_expired(&self, now: u64) -> Value {
        let over = |record: &&Record| match record.state {
            State::Expired => true,
            State::Pending | State::Approved => now >= record.until,
            State::Denied | State::Consumed => false,
        };
        let count = self.records.values().filter(over).count();
        json!({"do": "audit", "types": ["confirmation-expired"], "count": count, "expect": []})
    }

    /// A handler began with this confirmation in its hands.
    pub fn began(&mut self, id: &str) {
        if let Some(record) = self.records.get_mut(id) {
            record.began += 1;
        }
    }

    pub fn closed(&mut self, consumer: &str) {
        self.records.values_mut().filter(|record| record.consumer == consumer).for_each(|record| record.closed = true);
    }

    /// An entry of the audit.
    pub fn hear(&mut self, kind: &str, entry: &Value, now: u64) -> Checked {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_string();
        let id = text("confirmationId");
        if kind == "confirmation-requested" {
            let record = Record {
                state: State::Pending,
                until: now + self.ttl_ms,
                consumer: text("consumerKey"),
                capability: text("capabilityId"),
                registration: entry["registrationId"].clone(),
                digest: entry["requestDigest"].clone(),
                began: 0,
                spent: 0,
                closed: false,
            };
            let twin = self.records.values().any(|other| other.state == State::Pending && other.is_for(&record));
            self.records.insert(id.clone(), record);
            return match twin {
                true => broken("one question, one dialog", format!("{id} asks what is being asked"), Vec::new()),
                false => Ok(()),
            };
        }
        let Some(record) = self.records.get_mut(&id) else {
            return broken("requested precedes resolved", format!("{kind} of {id}"), Vec::new());
        };
        let before = record.state;
        let (after, may) = match kind {
            "confirmation-approved" => {
                record.until = record.until.max(now + self.redeem_ms);
                (State::Approved, before == State::Pending)
            }
            "confirmation-denied" => (State::Denied, before == State::Pending),
            "confirmation-consumed" => {
                record.spent += 1;
                (State::Consumed, before == State::Approved)
            }
            _ => {
                let due = now >= record.until || (record.closed && before == State::Pending);
                (State::Expired, due && matches!(before, State::Pending | State::Approved))
            }
        };
        record.state = after;
        match may {
            true => Ok(()),
            false => {
                broken("a confirmation is resolved once", format!("{id} went from {before:?} to {after:?}"), Vec::new())
            }
        }
    }
}

impl Record {
    fn is_for(&self, other: &Record) -> bool {
        (&self.consumer, &self.capability, &self.registration, &self.digest)
            == (&other.consumer, &other.capability, &other.registration, &other.digest)
    }
}

impl World {
    pub fn check_evidence(&self) -> Checked {
        for (id, record) in &self.evidence.records {
            if record.spent != record.began {
                let what =
                    format!("{id} was spent {} times, and {} handlers began with it", record.spent, record.began);
                return broken("evidence is spent when its handler begins", what, Vec::new());
            }
            let overdue = self.now >= record.until && !self.disposed;
            let held = || self.callers.iter().any(|c| c.result.is_none() && c.confirmation.as_ref() == Some(id));
            if overdue && (record.state == State::Pending || record.state == State::Approved && !held()) {
                let what = format!("{id} is {:?} at {}", record.state, self.now);
                return broken("confirmations expire", what, vec![self.evidence.all_expired(self.now)]);
            }
        }
        self.callers
            .iter()
            .filter(|caller| caller.code() == Some("CONFIRMATION_INVALID"))
            .filter(|caller| caller.attempt.is_some_and(|attempt| self.settled_now(attempt)))
            .try_for_each(|caller| self.check_refusal(caller))
    }

    /// Evidence is refused for a reason that is true.
    fn check_refusal(&self, caller: &crate::world::Caller) -> Checked {
        let Some(result) = &caller.result else { return Ok(()) };
        let reason = result["error"]["details"]["reason"].as_str().unwrap_or_default();
        let id = caller.confirmation.clone().unwrap_or_default();
        let record = self.evidence.records.get(&id);
        let matches = record.is_some_and(|record| {
            record.consumer == caller.consumer
                && record.capability == caller.call.capability
                && record.registration == result["registrationId"]
                && record.digest == result["requestDigest"]
        });
        let others = self.callers.iter().filter(|other| other.confirmation.as_ref() == Some(&id));
        let reserved = others
            .filter(|other| other.attempt != caller.attempt)
            .any(|other| other.result.is_none() || other.attempt.is_some_and(|attempt| self.settled_now(attempt)));
        let state = record.map(|record| record.state);
        let true_reason = match reason {
            "mismatch" => !matches,
            "denied" => matches && state == Some(State::Denied),
            "consumed" => matches && state == Some(State::Consumed),
            "expired" => matches && state == Some(State::Expired),
            "reserved" => matches && reserved,
            _ => false,
        };
        if true_reason {
            return Ok(());
        }
        let what = format!("{} was refused as {reason:?}, and {id} is {state:?}", caller.call.name);
        let not = json!({"details": {"reason": {"$not": reason}}});
        let proof = vec![json!({"do": "await", "invocation": caller.call.name, "expect": {"error": not}})];
        broken("evidence is refused for a true reason", what, proof)
    }

    pub fn settled_now(&self, attempt: usize) -> bool {
        self.attempts[attempt].settled.as_ref().is_some_and(|settled| settled.step == self.step)
    }
}
