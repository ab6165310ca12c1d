//! The confirmation store (section 9): what a person is asked, what they said, and that an approval
//! is spent at most once.

mod summary;

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use crate::sync::{Condvar, Mutex};
use serde_json::{Value, json};

pub use summary::{Summary, compose};

use crate::fault;
use crate::model::error::{ErrorCode, Retry};
use crate::model::fields::{self, Fields};
use crate::model::time::{self, UnixMs};
use crate::model::writer::{self, ObjectWriter};
use crate::model::{ApiError, Code, ErrorPayload, Limits};
use crate::observe::{Bound, CallIds, Entry, Observer, Topic};
use crate::runtime::Clock;
use crate::runtime::clock::Instant;
use crate::runtime::dispatch::Patience;
use crate::runtime::timer;

/// Most records kept after they were resolved.
const MAX_RESOLVED: usize = 256;
/// What a full store asks an agent to wait.
const RETRY_AFTER_MS: u64 = 1000;

pub struct Confirmations {
    clock: Arc<Clock>,
    observer: Arc<Observer>,
    ttl_ms: u64,
    redeem_ms: u64,
    max_pending: usize,
    state: Mutex<Store>,
    changed: Condvar,
}

#[derive(Default)]
struct Store {
    records: HashMap<String, Record>,
    next: u64,
}

/// Exactly what is asked for, and by which call.
pub struct Ask {
    /// Canonical `{surfaceId, registrationId, capabilityId, consumerKey, effectiveInput, effect}`.
    pub binding: String,
    pub ids: Arc<CallIds>,
    pub bound: Bound,
    pub effect: &'static str,
    pub summary: String,
    pub input: Value,
}

struct Record {
    order: u64,
    ask: Ask,
    requested_at: UnixMs,
    expires_at: UnixMs,
    expires: Instant,
    state: State,
    timer: Option<timer::Key>,
    /// Futures that wait for the decision.
    waiting: Waiting,
}

type Waiting = BTreeMap<u64, Waker>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Pending,
    Approved {
        at: UnixMs,
        until: Instant,
    },
    /// A retry holds the approval; it comes back if nothing runs.
    Reserved {
        at: UnixMs,
        until: Instant,
    },
    Denied,
    Consumed,
    Expired,
}

/// What became of a retry's evidence.
pub enum Redeemed {
    Evidence(Evidence),
    /// Not decided yet: the same question again.
    Pending(ErrorPayload),
    Invalid(&'static str, Retry),
}

/// An approval reserved for one call. Dropped unspent, it goes back.
pub struct Evidence {
    store: Arc<Confirmations>,
    pub id: String,
    pub approved_at: UnixMs,
    spent: bool,
}

struct Expire {
    store: Weak<Confirmations>,
    id: String,
}

impl Wake for Expire {
    fn wake(self: Arc<Self>) {
        if let Some(store) = self.store.upgrade() {
            store.expire(&self.id);
        }
    }
}

impl Confirmations {
    pub fn new(clock: &Arc<Clock>, observer: &Arc<Observer>, limits: &Limits) -> Arc<Confirmations> {
        Arc::new(Confirmations {
            clock: clock.clone(),
            observer: observer.clone(),
            ttl_ms: limits.confirmation_ttl_ms,
            redeem_ms: limits.confirmation_redeem_ms,
            max_pending: limits.max_pending_confirmations as usize,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The error that asks for confirmation; a new record, or the pending one of the same request.
    pub fn request(self: &Arc<Self>, ask: Ask, mint: impl FnOnce() -> String) -> ErrorPayload {
        let now = self.clock.now();
        let mut store = self.state.lock();
        let pending = |record: &&Record| record.state == State::Pending && record.expires > now;
        let same = store.records.iter().find(|(_, record)| pending(record) && record.ask.binding == ask.binding);
        if let Some((id, record)) = same {
            return record.required(id);
        }
        if store.records.values().filter(pending).count() >= self.max_pending {
            return ErrorPayload::queue_full(RETRY_AFTER_MS);
        }
        let id = mint();
        let requested_at = self.clock.unix();
        let order = store.next;
        store.next += 1;
        let mut record = Record {
            order,
            ask,
            requested_at,
            expires_at: requested_at.saturating_add(self.ttl_ms as i64),
            expires: now.saturating_add(self.ttl_ms),
            state: State::Pending,
            timer: None,
            waiting: Waiting::new(),
        };
        record.timer = Some(self.expire_at(&id, record.expires));
        let required = record.required(&id);
        self.tell("confirmation-requested", &id, &record, |out| {
            out.string("effect", record.ask.effect);
            out.string("summary", &record.ask.summary);
            out.string("expiresAt", &time::format(record.expires_at));
        });
        let entry = Entry::of_call("confirmation-requested", &record.ask.ids, &record.ask.bound);
        self.observer.audit(entry.with("confirmationId", &*id));
        store.records.insert(id, record);
        let forgotten = store.forget_oldest();
        drop(store);
        if let Some(key) = forgotten.and_then(|record| record.timer) {
            self.clock.timers().clear(key);
        }
        required
    }

    /// Holds a retry's evidence against what it is for, in the order of section 9, and reserves it.
    pub fn redeem(self: &Arc<Self>, id: &str, binding: &str) -> Redeemed {
        self.expire(id);
        let mut store = self.state.lock();
        // A record of another binding is not touched, and its state not told.
        let Some(record) = store.records.get_mut(id).filter(|record| record.ask.binding == binding) else {
            return Redeemed::Invalid("mismatch", Retry::No);
        };
        match record.state {
            State::Denied => Redeemed::Invalid("denied", Retry::No),
            State::Consumed => Redeemed::Invalid("consumed", Retry::No),
            State::Reserved { .. } => Redeemed::Invalid("reserved", Retry::WithConfirmation),
            State::Expired => Redeemed::Invalid("expired", Retry::WithConfirmation),
            State::Pending => Redeemed::Pending(record.required(id)),
            State::Approved { at, until } => {
                record.state = State::Reserved { at, until };
                Redeemed::Evidence(Evidence { store: self.clone(), id: id.into(), approved_at: at, spent: false })
            }
        }
    }

    /// Whether `id` is approved evidence of this consumer for this capability.
    pub fn approves(&self, id: &str, consumer_key: &str, capability_id: &str) -> bool {
        let now = self.clock.now();
        self.state.lock().records.get(id).is_some_and(|record| {
            matches!(record.state, State::Approved { until, .. } if now < until)
                && &*record.ask.ids.consumer.key == consumer_key
                && *record.ask.ids.capability_id == *capability_id
        })
    }

    /// A person's decision.
    pub fn decide(self: &Arc<Self>, decision: Decision) -> Result<(), ApiError> {
        self.expire(&decision.id);
        let mut store = self.state.lock();
        let record = store
            .records
            .get_mut(&decision.id)
            .ok_or_else(|| ApiError::new(Code::NotFound, "No confirmation of this id is known."))?;
        if record.state != State::Pending {
            return Err(ApiError::new(Code::Settled, "This confirmation was resolved before."));
        }
        if let Some(key) = record.timer.take() {
            self.clock.timers().clear(key);
        }
        let outcome = match decision.approved {
            false => {
                record.state = State::Denied;
                "denied"
            }
            true => {
                let until = record.expires.max(self.clock.now().saturating_add(self.redeem_ms));
                record.state = State::Approved { at: self.clock.unix(), until };
                record.timer = Some(self.expire_at(&decision.id, until));
                "approved"
            }
        };
        self.resolved(&decision.id, record, outcome, &decision);
        let waiting = std::mem::take(&mut record.waiting);
        drop(store);
        self.tell_waiting(waiting);
        Ok(())
    }

    fn expire_at(self: &Arc<Self>, id: &str, due: Instant) -> timer::Key {
        let expire = Expire { store: Arc::downgrade(self), id: id.into() };
        self.clock.timers().set(due, Waker::from(Arc::new(expire)))
    }

    /// Lets `id` expire if its time has come.
    fn expire(&self, id: &str) {
        let now = self.clock.now();
        let mut store = self.state.lock();
        if let Some(record) = store.records.get_mut(id) {
            match record.state {
                State::Pending if now >= record.expires => self.expire_record(id, record),
                State::Approved { until, .. } if now >= until => self.expire_record(id, record),
                _ => return,
            }
            let waiting = std::mem::take(&mut record.waiting);
            drop(store);
            self.tell_waiting(waiting);
        }
    }

    fn expire_record(&self, id: &str, record: &mut Record) {
        let pending = record.state == State::Pending;
        record.state = State::Expired;
        if let Some(key) = record.timer.take() {
            self.clock.timers().clear(key);
        }
        if pending {
            return self.resolved(id, record, "expired", &Decision::default());
        }
        // Approved and never used: it was resolved before, so the audit alone hears of it.
        let entry = Entry::of_call("confirmation-expired", &record.ask.ids, &record.ask.bound);
        self.observer.audit(entry.with("confirmationId", id));
    }

    fn resolved(&self, id: &str, record: &Record, outcome: &'static str, decision: &Decision) {
        self.tell("confirmation-resolved", id, record, |out| {
            out.string("outcome", outcome);
            out.optional_string("approver", decision.approver.as_deref());
        });
        let kind = match outcome {
            "approved" => "confirmation-approved",
            "denied" => "confirmation-denied",
            _ => "confirmation-expired",
        };
        let mut entry = Entry::of_call(kind, &record.ask.ids, &record.ask.bound).with("confirmationId", id);
        if let Some(approver) = &decision.approver {
            entry = entry.with("approver", &**approver);
        }
        if let Some(reason) = &decision.reason {
            entry = entry.with("reason", &**reason);
        }
        self.observer.audit(entry);
    }

    fn tell(&self, kind: &'static str, id: &str, record: &Record, write: impl FnOnce(&mut ObjectWriter)) {
        self.observer.emit(Topic::Confirmations, kind, |out| {
            out.string("confirmationId", id);
            record.ask.ids.write(&record.ask.bound, out);
            write(out);
        });
    }

    /// Ends what is pending, for one consumer or (`None`) for all.
    pub fn expire_pending(&self, consumer_key: Option<&str>) {
        self.end_pending(|_, record| consumer_key.is_none_or(|key| &*record.ask.ids.consumer.key == key));
    }

    /// Ends one question that nobody will ask again.
    pub fn withdraw(&self, id: &str) {
        self.end_pending(|other, _| other == id);
    }

    fn end_pending(&self, concerned: impl Fn(&str, &Record) -> bool) {
        let mut waiting = Vec::new();
        let mut store = self.state.lock();
        for (id, record) in &mut store.records {
            if record.state == State::Pending && concerned(id, record) {
                self.expire_record(id, record);
                waiting.push(std::mem::take(&mut record.waiting));
            }
        }
        drop(store);
        waiting.into_iter().for_each(|waiting| self.tell_waiting(waiting));
        self.changed.notify_all();
    }

    fn tell_waiting(&self, waiting: Waiting) {
        self.changed.notify_all();
        waiting.into_values().for_each(Waker::wake);
    }

    /// A future that is ready once `id` waits for nobody's decision any more.
    pub fn decided(self: &Arc<Self>, id: &str) -> Decided {
        Decided { store: self.clone(), id: id.into(), place: None }
    }

    /// Forgets everything, timers included.
    pub fn clear(&self) {
        let records = std::mem::take(&mut self.state.lock().records);
        for record in records.into_values() {
            if let Some(key) = record.timer {
                self.clock.timers().clear(key);
            }
            self.tell_waiting(record.waiting);
        }
        self.changed.notify_all();
    }

    pub fn pending(&self) -> usize {
        self.state.lock().records.values().filter(|record| record.state == State::Pending).count()
    }

    /// What waits for a person, oldest first.
    pub fn list(&self) -> String {
        let store = self.state.lock();
        let mut pending: Vec<_> = store.records.iter().filter(|(_, record)| record.state == State::Pending).collect();
        pending.sort_by_key(|(_, record)| record.order);
        let mut out = Vec::new();
        writer::write_array(&mut out, pending, |(id, record), out| out.extend(record.describe(id)));
        writer::text(out)
    }

    /// Waits for a decision: `{"outcome": "approved" | "denied" | "expired"}`.
    pub fn wait(
        &self,
        id: &str,
        patience: Patience,
        blocking: impl FnOnce(&mut dyn FnMut()),
    ) -> Result<String, ApiError> {
        self.expire(id);
        let mut outcome = None;
        blocking(&mut || {
            let mut store = self.state.lock();
            outcome = patience.wait(&self.changed, &mut store, |store| match store.records.get(id) {
                None => Some(Err(ApiError::new(Code::NotFound, "No confirmation of this id is known."))),
                Some(record) => match record.state {
                    State::Pending => None,
                    State::Denied => Some(Ok("denied")),
                    State::Expired => Some(Ok("expired")),
                    State::Approved { .. } | State::Reserved { .. } | State::Consumed => Some(Ok("approved")),
                },
            });
        });
        let outcome = outcome.unwrap_or_else(|| Err(ApiError::new(Code::Timeout, "Nobody has decided yet.")))?;
        Ok(format!("{{\"outcome\":\"{outcome}\"}}"))
    }
}

pub struct Decided {
    store: Arc<Confirmations>,
    id: String,
    /// Where its waker is kept.
    place: Option<u64>,
}

impl Future for Decided {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.store.expire(&this.id);
        let mut guard = this.store.state.lock();
        let store = &mut *guard;
        let Some(record) = store.records.get_mut(&this.id).filter(|record| record.state == State::Pending) else {
            return Poll::Ready(());
        };
        let place = *this.place.get_or_insert_with(|| {
            store.next += 1;
            store.next
        });
        let before = record.waiting.insert(place, cx.waker().clone());
        drop(guard);
        // Outside the lock: it may be the last owner of a task.
        drop(before);
        Poll::Pending
    }
}

impl Drop for Decided {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let waker = self.store.state.lock().records.get_mut(&self.id).and_then(|record| record.waiting.remove(&place));
        drop(waker);
    }
}

impl Store {
    /// Keeps the number of resolved records bounded. An approval in use stays, and one that nobody used
    /// yet goes last.
    fn forget_oldest(&mut self) -> Option<Record> {
        let resolved = |record: &Record| !matches!(record.state, State::Pending | State::Reserved { .. });
        if self.records.values().filter(|record| resolved(record)).count() <= MAX_RESOLVED {
            return None;
        }
        let rank = |record: &Record| (matches!(record.state, State::Approved { .. }), record.order);
        let oldest = self.records.iter().filter(|(_, record)| resolved(record)).min_by_key(|(_, record)| rank(record));
        let id = oldest.map(|(id, _)| id.clone())?;
        self.records.remove(&id)
    }
}

impl Record {
    fn required(&self, id: &str) -> ErrorPayload {
        ErrorPayload::new(
            ErrorCode::ConfirmationRequired,
            "A person must confirm this call. Repeat it with the same invocationId and this confirmationId once they have.",
        )
        .details(json!({
            "confirmationId": id,
            "summary": self.ask.summary,
            "expiresAt": time::format(self.expires_at),
            "effect": self.ask.effect,
            "origin": "client",
        }))
    }

    fn describe(&self, id: &str) -> Vec<u8> {
        let mut out = ObjectWriter::new();
        out.string("confirmationId", id);
        out.string("capabilityId", &self.ask.ids.capability_id);
        out.optional_string("registrationId", self.ask.bound.registration_id.as_deref());
        out.string("consumerKey", &self.ask.ids.consumer.key);
        out.string("effect", self.ask.effect);
        out.string("summary", &self.ask.summary);
        out.value("input", &self.ask.input);
        out.string("requestedAt", &time::format(self.requested_at));
        out.string("expiresAt", &time::format(self.expires_at));
        out.into_bytes()
    }
}

impl Evidence {
    /// Spends the approval: the handler of the call that these are of is about to run.
    pub fn spend(mut self, ids: &Arc<CallIds>, bound: &Bound) {
        self.spent = true;
        let mut store = self.store.state.lock();
        if let Some(record) = store.records.get_mut(&self.id) {
            record.state = State::Consumed;
            if let Some(key) = record.timer.take() {
                self.store.clock.timers().clear(key);
            }
            let entry = Entry::of_call("confirmation-consumed", ids, bound);
            self.store.observer.audit(entry.with("confirmationId", &*self.id));
        }
    }
}

impl Drop for Evidence {
    fn drop(&mut self) {
        if self.spent {
            return;
        }
        if let Some(record) = self.store.state.lock().records.get_mut(&self.id)
            && let State::Reserved { at, until } = record.state
        {
            let spends = fault::is("evidence-spent-unused");
            record.state = if spends { State::Consumed } else { State::Approved { at, until } };
        }
        self.store.expire(&self.id);
    }
}

/// `{confirmationId, approved, reason?, approver?}` of `as_confirm`.
#[derive(Default)]
pub struct Decision {
    pub id: String,
    pub approved: bool,
    pub reason: Option<String>,
    pub approver: Option<String>,
}

impl Decision {
    pub fn parse(text: &[u8]) -> Result<Decision, ApiError> {
        let value = fields::document(text, None)?;
        let mut fields = Fields::new(&value, "", fields::argument)?;
        fields.required("approved")?;
        let decision = Decision {
            id: fields.required_string("confirmationId")?.into(),
            approved: fields.boolean("approved")?.unwrap_or(false),
            reason: fields.string("reason")?.map(String::from),
            approver: fields.string("approver")?.map(String::from),
        };
        fields.finish()?;
        Ok(decision)
    }
}

/// What an approval is bound to (section 9, point 2).
pub fn binding(
    surface_id: &str,
    registration_id: &str,
    capability_id: &str,
    consumer_key: &str,
    effective_input: &[u8],
    effect: &str,
) -> String {
    // Members in canonical order; the input is canonical already.
    let mut out = ObjectWriter::with_capacity(effective_input.len() + 256);
    out.string("capabilityId", capability_id);
    out.string("consumerKey", consumer_key);
    out.string("effect", effect);
    out.raw("effectiveInput", effective_input);
    out.string("registrationId", registration_id);
    out.string("surfaceId", surface_id);
    out.finish()
}
