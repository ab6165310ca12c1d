//! The dedupe window as section 7 describes it, kept beside the real one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::program::consumer;
use crate::world::{Checked, Violation, World, broken, started_count};

/// What becomes of a call in phase 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Started,
    Joined,
    Replayed,
    Conflict,
    /// Too many in flight.
    Refused,
}

impl Fate {
    /// The fates that are told by the result alone.
    pub fn refused(result: &Value) -> Option<Fate> {
        let error = &result["error"];
        match error["code"].as_str()? {
            "INVOCATION_CONFLICT" => Some(Fate::Conflict),
            // Whatever is refused later has found its registration.
            "RATE_LIMITED" if result.get("registrationId").is_none() => Some(Fate::Refused),
            _ => None,
        }
    }
}

type Key = (String, String);

pub struct Window {
    size: usize,
    ttl_ms: u64,
    max_in_flight: usize,
    records: BTreeMap<Key, Record>,
    in_flight: usize,
    uses: u64,
    /// Every key that was ever used.
    pub keys: BTreeMap<Key, ()>,
}

#[derive(Clone)]
struct Record {
    attempt: usize,
    fingerprint: String,
    /// Until when it counts, and when it was last used.
    settled: Option<(u64, u64)>,
}

impl Window {
    pub fn new(size: usize, ttl_ms: u64, max_in_flight: u64) -> Window {
        Window {
            size,
            ttl_ms,
            max_in_flight: max_in_flight as usize,
            records: BTreeMap::new(),
            in_flight: 0,
            uses: 0,
            keys: BTreeMap::new(),
        }
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn live(&self, key: &Key, now: u64) -> Option<&Record> {
        self.records.get(key).filter(|record| record.settled.is_none_or(|(until, _)| now < until))
    }

    /// What must become of a call made now.
    pub fn foretell(&self, consumer: &str, id: Option<&str>, fingerprint: &str, now: u64) -> Fate {
        if self.in_flight >= self.max_in_flight {
            return Fate::Refused;
        }
        let Some(id) = id else { return Fate::Started };
        match self.live(&(consumer.into(), id.into()), now) {
            None => Fate::Started,
            Some(record) if record.fingerprint != fingerprint => Fate::Conflict,
            Some(Record { settled: None, .. }) => Fate::Joined,
            Some(_) => Fate::Replayed,
        }
    }

    /// A call was started, joined or replayed; whether it may have been.
    pub fn called(
        &mut self,
        fate: Fate,
        attempt: usize,
        consumer: &str,
        id: &str,
        fingerprint: &str,
        now: u64,
    ) -> Checked {
        let key = (consumer.to_string(), id.to_string());
        self.keys.insert(key.clone(), ());
        let known = self.live(&key, now).cloned();
        let same = known.as_ref().is_some_and(|record| record.attempt == attempt && record.fingerprint == fingerprint);
        let settled = known.as_ref().and_then(|record| record.settled);
        match (fate, &known) {
            (Fate::Started, None) => {
                let record = Record { attempt, fingerprint: fingerprint.into(), settled: None };
                self.records.insert(key, record);
                self.in_flight += 1;
                Ok(())
            }
            (Fate::Joined, Some(_)) if same && settled.is_none() => Ok(()),
            (Fate::Replayed, Some(_)) if same && settled.is_some() => {
                self.uses += 1;
                let uses = self.uses;
                if let Some(Record { settled: Some((_, used)), .. }) = self.records.get_mut(&key) {
                    *used = uses;
                }
                Ok(())
            }
            _ => broken("the window is as section 7 has it", format!("{fate:?} of {consumer} {id:?}"), Vec::new()),
        }
    }

    pub fn settled(&mut self, attempt: usize, consumer: &str, id: &str, code: Option<&str>, now: u64) {
        let key = (consumer.to_string(), id.to_string());
        self.in_flight -= 1;
        let recorded = !matches!(
            code,
            Some("CONFIRMATION_REQUIRED" | "CONFIRMATION_INVALID" | "RATE_LIMITED" | "INVOCATION_CONFLICT")
        );
        // What is over takes no place.
        self.records.retain(|_, record| record.settled.is_none_or(|(until, _)| now < until));
        if !recorded || self.size == 0 {
            self.records.remove(&key);
            return;
        }
        self.uses += 1;
        let uses = self.uses;
        if let Some(record) = self.records.get_mut(&key).filter(|record| record.attempt == attempt) {
            record.settled = Some((now + self.ttl_ms, uses));
        }
        loop {
            let settled = self.records.iter().filter_map(|(key, record)| Some((record.settled?.1, key)));
            let (count, oldest) =
                settled.fold((0, None), |(n, least), next| (n + 1, Some(least.map_or(next, |l| next.min(l)))));
            let Some((_, oldest)) = oldest.filter(|_| count > self.size) else { return };
            let oldest = oldest.clone();
            self.records.remove(&oldest);
        }
    }
}

impl World {
    pub fn check_identity(&self) -> Checked {
        for caller in self.callers.iter().filter(|caller| caller.step == self.step) {
            let Some(foretold) = caller.foretold else { continue };
            if caller.fate != Some(foretold) {
                let what = format!(
                    "the call {} of {} {:?} should have been {foretold:?}, and was {:?}",
                    caller.call.name, caller.consumer, caller.id, caller.fate
                );
                return broken(
                    "a call is what section 7 says",
                    what,
                    fate_proof(foretold, &caller.call.name, self.started()),
                );
            }
        }
        if let (Some(index), false) = (self.unheard.front(), self.disposed) {
            let what = format!("the call {} made no event", self.callers[*index].call.name);
            return broken("events match calls", what, Vec::new());
        }
        if self.disposed {
            return Ok(());
        }
        self.window.keys.keys().try_for_each(|key| self.check_record(key))
    }

    /// What `as_outcome` tells of an id.
    pub fn remembered(&self, consumer_key: &str, id: &str) -> Option<Value> {
        let query = json!({"consumer": who(consumer_key), "invocationId": id});
        let outcome = self.surface.outcome(query.to_string().as_bytes()).ok()?;
        serde_json::from_str(&outcome).ok()
    }

    /// It tells what is remembered of every id.
    fn check_record(&self, key: &Key) -> Checked {
        let (consumer_key, id) = key;
        let told = self.remembered(consumer_key, id);
        let mut wanted = json!({"do": "outcome", "consumer": who(consumer_key), "id": id});
        let record = self.window.live(key, self.now);
        let attempt = record.map(|record| &self.attempts[record.attempt]);
        let right = match (record, attempt, &told) {
            (None, _, told) => {
                wanted["code"] = json!("AS_E_NOT_FOUND");
                told.is_none()
            }
            (Some(Record { settled: None, .. }), _, told) => {
                wanted["expect"] = json!({"state": "running"});
                told.as_ref() == Some(&json!({"state": "running"}))
            }
            (Some(_), Some(attempt), told) => {
                wanted["expect"] = json!({"result": {"$exact": attempt.result}});
                let told = told.as_ref();
                told.is_some_and(|told| Some(&told["result"]) == attempt.result.as_ref())
                    && told.is_some_and(|told| told.get("late").is_some() == (attempt.late_entries > 0))
            }
            _ => false,
        };
        if right {
            return Ok(());
        }
        let what =
            format!("of {consumer_key} {id:?} the window tells {}, and should {wanted}", told.unwrap_or_default());
        Err(Violation { rule: "the window remembers what it should", what, proof: vec![wanted] })
    }
}

fn who(consumer_key: &str) -> Value {
    consumer(consumer_key.strip_prefix("test:").unwrap_or_default())
}

fn fate_proof(foretold: Fate, name: &str, started: usize) -> Vec<Value> {
    let code = |matcher: Value| json!({"do": "await", "invocation": name, "expect": {"error": {"code": matcher}}});
    match foretold {
        Fate::Conflict => vec![code(json!("INVOCATION_CONFLICT"))],
        Fate::Refused => vec![code(json!("RATE_LIMITED"))],
        // One more than those that did start.
        Fate::Started => vec![started_count(started + 1)],
        Fate::Joined | Fate::Replayed => vec![started_count(started.saturating_sub(1))],
    }
}
