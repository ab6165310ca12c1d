//! Phase 1, identity: which call a request is (RFC correction 2, section 7).
//!
//! A call is known by its consumer and its id, and is the same call only if it asks for the same.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::sync::Mutex;
use serde_json::json;

use super::call::{Call, Caller};
use super::engine::{Engine, RETRY_AFTER_MS, Refused};
use super::envelope::Envelope;
use crate::fault;
use crate::json;
use crate::model::request::{Adapted, Options, Request};
use crate::model::writer::ObjectWriter;
use crate::model::{ApiError, ErrorCode, ErrorPayload, Limits};
use crate::observe::{Bound, CallIds, Entry, Topic};
use crate::runtime::clock::Instant;

/// A request as it was issued. The fast key finds it, the strong one tells it apart: a crafted
/// collision of the first can neither join nor replay another request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    fast: u64,
    strong: [u8; 32],
}

impl Fingerprint {
    fn of(request: &Request, input: Option<&[u8]>) -> Fingerprint {
        // Canonical: members in order, absent ones null.
        let text = |out: &mut ObjectWriter, key, value: &Option<String>| match value {
            Some(text) => out.string(key, text),
            None => out.raw(key, b"null"),
        };
        let mut out = ObjectWriter::with_capacity(256 + input.map_or(0, <[u8]>::len));
        out.string("capabilityId", &request.capability_id);
        text(&mut out, "confirmationId", &request.confirmation_id);
        out.raw("input", input.unwrap_or(b"null"));
        text(&mut out, "instanceId", &request.instance_id);
        text(&mut out, "registrationId", &request.registration_id);
        text(&mut out, "surfaceVersion", &request.surface_version);
        let canonical = out.into_bytes();
        Fingerprint { fast: json::fnv1a64(&canonical), strong: json::sha256(&canonical) }
    }
}

/// The calls of the dedupe window. A pair of strings as key: whatever characters they hold, no two
/// pairs meet.
pub struct Dedupe {
    size: usize,
    ttl_ms: u64,
    state: Mutex<State>,
}

type Key = (Arc<str>, Arc<str>);

fn key(consumer_key: &Arc<str>, id: &Arc<str>) -> Key {
    match fault::is("key-concatenated") {
        true => (Arc::from(""), format!("{consumer_key}{id}").into()),
        false => (consumer_key.clone(), id.clone()),
    }
}

#[derive(Default)]
struct State {
    records: HashMap<Key, Record>,
    /// Settled records, least recently used first. Those in flight are not among them, so a long
    /// call neither counts nor keeps others from being evicted.
    settled: BTreeMap<u64, Key>,
    /// The same by the end of their lifetime, so that none that is over takes the place of one that counts.
    expiring: BTreeMap<(Instant, u64), Key>,
    uses: u64,
}

struct Record {
    call: Arc<Call>,
    settled: Option<Settled>,
}

/// The places of a settled record in the two orders: when its lifetime ends, and by use.
#[derive(Clone, Copy)]
struct Settled {
    until: (Instant, u64),
    used: u64,
}

enum Known {
    New(Arc<Call>),
    InFlight(Arc<Call>),
    Settled(Arc<Call>),
    Refused(Refused),
}

impl Dedupe {
    pub fn new(limits: &Limits) -> Dedupe {
        Dedupe { size: limits.dedupe_cache_size as usize, ttl_ms: limits.dedupe_cache_ttl_ms, state: Mutex::default() }
    }

    /// Finds the record of `key`, or makes the call that `admit` admits the record.
    fn claim(&self, key: &Key, now: Instant, admit: impl FnOnce() -> Result<Arc<Call>, Refused>) -> Known {
        let mut state = self.state.lock();
        let expired = state.expire(now);
        let known = match state.records.get(key) {
            Some(record) if record.settled.is_none() => Known::InFlight(record.call.clone()),
            Some(record) => Known::Settled(record.call.clone()),
            None => match admit() {
                Ok(call) => {
                    state.records.insert(key.clone(), Record { call: call.clone(), settled: None });
                    Known::New(call)
                }
                Err(refused) => Known::Refused(refused),
            },
        };
        drop(state);
        expired.iter().for_each(Record::forget);
        known
    }

    /// The record was used: it is the last to be evicted. Its lifetime stays.
    fn touch(&self, key: &Key) {
        let mut state = self.state.lock();
        state.uses += 1;
        let uses = state.uses;
        let Some(settled) = state.records.get_mut(key).and_then(|record| record.settled.as_mut()) else { return };
        let before = std::mem::replace(&mut settled.used, uses);
        state.settled.remove(&before);
        state.settled.insert(uses, key.clone());
    }

    /// The call has settled; it stays as a record, or goes.
    pub fn settle(&self, call: &Call, recorded: bool, now: Instant) {
        let key = key(&call.ids.consumer.key, &call.ids.invocation_id);
        let mut state = self.state.lock();
        let mut forgotten = state.expire(now);
        if recorded && self.size > 0 {
            state.keep(key, now.saturating_add(self.ttl_ms));
            while state.settled.len() > self.size
                && !(fault::is("eviction-stops") && state.records.len() > state.settled.len())
            {
                forgotten.extend(state.forget_least_used());
            }
        } else {
            forgotten.extend(state.records.remove(&key));
        }
        drop(state);
        forgotten.iter().for_each(Record::forget);
    }

    pub fn find(&self, consumer_key: &Arc<str>, id: &str, now: Instant) -> Option<Arc<Call>> {
        let key = key(consumer_key, &Arc::from(id));
        let mut state = self.state.lock();
        let expired = state.expire(now);
        let call = state.records.get(&key).map(|record| record.call.clone());
        drop(state);
        expired.iter().for_each(Record::forget);
        call
    }

    pub fn clear(&self) {
        let state = std::mem::take(&mut *self.state.lock());
        state.records.values().for_each(Record::forget);
    }
}

impl Record {
    /// The record is gone, and with it the handles of the answers its call asked for, whoever still
    /// holds the call.
    fn forget(&self) {
        self.call.forget_replies();
    }
}

impl State {
    fn keep(&mut self, key: Key, until: Instant) {
        self.uses += 1;
        let settled = Settled { until: (until, self.uses), used: self.uses };
        let Some(record) = self.records.get_mut(&key) else { return };
        record.settled = Some(settled);
        self.settled.insert(settled.used, key.clone());
        self.expiring.insert(settled.until, key);
    }

    fn forget_least_used(&mut self) -> Option<Record> {
        let (_, key) = self.settled.pop_first()?;
        let record = self.records.remove(&key)?;
        self.expiring.remove(&record.settled?.until);
        Some(record)
    }

    /// Takes out every record whose lifetime is over.
    fn expire(&mut self, now: Instant) -> Vec<Record> {
        let mut gone = Vec::new();
        while let Some(first) = self.expiring.first_entry()
            && first.key().0 <= now
        {
            let Some(record) = self.records.remove(&first.remove()) else { continue };
            if let Some(settled) = record.settled {
                self.settled.remove(&settled.used);
            }
            gone.push(record);
        }
        gone
    }
}

/// What phase 1 made of a request.
pub enum Identity {
    /// A call of its own, to be run, and the canonical text of its input as issued.
    New(Arc<Call>, Arc<[u8]>),
    /// One that is running; the caller waits with the others.
    Joined(Arc<Call>),
    /// The caller has its result.
    Answered,
}

/// Phase 1: join, replay, conflict, or a new call.
pub fn identify(
    engine: &Arc<Engine>,
    number: u64,
    request: &mut Request,
    options: &Options,
    caller: &Arc<Caller>,
) -> Result<Identity, ApiError> {
    let invocation_id: Arc<str> = match request.invocation_id.take() {
        Some(id) => id.into(),
        None => engine.random.id("inv_").into(),
    };
    let input = request.input.as_ref().map(json::canonical);
    let fingerprint = Fingerprint::of(request, input.as_deref().map(str::as_bytes));
    let ids = Arc::new(CallIds {
        invocation_id: invocation_id.clone(),
        attempt_id: engine.random.id("att_"),
        capability_id: request.capability_id.as_str().into(),
        consumer: options.consumer.clone(),
        issued_digest: issued_digest(&request.capability_id, input.as_deref().unwrap_or("{}")).into(),
        traceparent: options.traceparent.clone(),
    });
    let adapted = options.adapted.as_ref();
    if !engine.has_room() {
        refuse(engine, &ids, adapted, caller, &ErrorPayload::queue_full(RETRY_AFTER_MS));
        return Ok(Identity::Answered);
    }
    let key = key(&options.consumer.key, &invocation_id);
    let admit = || {
        let call = Call::new(engine, number, ids.clone(), fingerprint, options, caller.clone());
        admit(engine, call, caller)
    };
    match engine.dedupe.claim(&key, engine.clock.now(), admit) {
        Known::New(call) => {
            tell_adapted(engine, adapted, &ids, &Bound::default());
            Ok(Identity::New(call, input.as_deref().unwrap_or("{}").as_bytes().into()))
        }
        Known::Refused(Refused::Closed) => Err(ApiError::closed()),
        Known::Refused(Refused::Full) => {
            refuse(engine, &ids, adapted, caller, &ErrorPayload::queue_full(RETRY_AFTER_MS));
            Ok(Identity::Answered)
        }
        Known::InFlight(call) | Known::Settled(call) if call.fingerprint != fingerprint => {
            refuse(engine, &ids, adapted, caller, &conflict());
            Ok(Identity::Answered)
        }
        Known::InFlight(call) if call.is_crowded() => {
            refuse(engine, &ids, adapted, caller, &ErrorPayload::queue_full(RETRY_AFTER_MS));
            Ok(Identity::Answered)
        }
        Known::InFlight(call) => {
            caller.wait_for(&call);
            match call.attach(caller) {
                None => {
                    tell(engine, "invocation-joined", &call, adapted);
                    Ok(Identity::Joined(call))
                }
                // It settled between the look and the wait.
                Some(result) => {
                    tell(engine, "invocation-replayed", &call, adapted);
                    caller.settle(engine, result);
                    Ok(Identity::Answered)
                }
            }
        }
        Known::Settled(call) => {
            engine.dedupe.touch(&key);
            tell(engine, "invocation-replayed", &call, adapted);
            if let Some(result) = call.result() {
                caller.settle(engine, result);
            }
            Ok(Identity::Answered)
        }
    }
}

/// Runs while the record is being made, so that nobody joins a call that is then refused, or is told of
/// a join before the start.
fn admit(engine: &Arc<Engine>, call: Arc<Call>, caller: &Arc<Caller>) -> Result<Arc<Call>, Refused> {
    engine.take_off(&call)?;
    caller.wait_for(&call);
    if !fault::is("started-after-settled") {
        tell_started(engine, &call);
    }
    Ok(call)
}

pub fn tell_started(engine: &Engine, call: &Call) {
    engine.observer.emit(Topic::All, "invocation-started", |out| call.ids.write(&Bound::default(), out));
}

/// `sha256:` + hex of canonical `{capabilityId, input}`; `input` is canonical already.
pub fn issued_digest(capability_id: &str, input: &str) -> String {
    let mut out = ObjectWriter::with_capacity(capability_id.len() + input.len() + 32);
    out.string("capabilityId", capability_id);
    out.raw("input", input.as_bytes());
    json::digest(&out.into_bytes())
}

/// The RFC's words. Nothing about the earlier request is in it.
fn conflict() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::InvocationConflict, "This invocation id was already used for a different request.")
        .details(json!({ "reason": "id-reused-with-different-request" }))
}

/// What an adapter changed is told with the call that it belongs to.
pub fn tell_adapted(engine: &Engine, adapted: Option<&Adapted>, ids: &Arc<CallIds>, bound: &Bound) {
    let Some(adapted) = adapted else { return };
    let mut entry = Entry::of_call("tool-call-adapted", ids, bound);
    if adapted.replaced_id {
        entry = entry.with("replacedId", true);
    }
    if !adapted.repaired.is_empty() {
        entry = entry.with("repaired", adapted.repaired.clone());
    }
    engine.observer.audit(entry);
}

/// A result without a call: neither started nor settled, and never recorded.
fn refuse(engine: &Engine, ids: &Arc<CallIds>, adapted: Option<&Adapted>, caller: &Caller, error: &ErrorPayload) {
    tell_adapted(engine, adapted, ids, &Bound::default());
    let envelope = Envelope { ids, bound: &Bound::default(), version: engine.catalog.version(), changed: false };
    caller.settle(engine, envelope.error(error).into());
}

fn tell(engine: &Engine, kind: &'static str, call: &Call, adapted: Option<&Adapted>) {
    let bound = call.bound();
    tell_adapted(engine, adapted, &call.ids, &bound);
    engine.observer.emit(Topic::All, kind, |out| call.ids.write(&bound, out));
    engine.observer.audit(Entry::of_call(kind, &call.ids, &bound));
}
