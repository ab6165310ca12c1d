//! A registry with the calls that are under way in it.

use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::Mutex;

use super::call::{Call, Interrupt};
use super::identity::Dedupe;
use crate::catalog::{Registration, Status};
use crate::model::config::Config;
use crate::model::{ApiError, Code};
use crate::registry::{HostHooks, Registry};
use crate::runtime::Reply;

/// What a full registry asks an agent to wait, in milliseconds.
pub const RETRY_AFTER_MS: u64 = 1000;

/// Why a call is not admitted.
pub enum Refused {
    /// The registry closed in the meantime.
    Closed,
    /// Others took the last places in the meantime.
    Full,
}

pub struct Engine {
    registry: Registry,
    pub dedupe: Dedupe,
    /// Calls that have not settled, by number; at most `maxInFlight`.
    flights: Mutex<HashMap<u64, Arc<Call>>>,
    /// Answers owed by handlers that hold their slots after a timeout: they outlive the records of their
    /// calls. At most `maxInFlight`; beyond that the oldest lets go.
    stragglers: Mutex<VecDeque<Arc<Reply>>>,
    last_registration: AtomicU64,
}

impl Deref for Engine {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        &self.registry
    }
}

impl Engine {
    pub fn new(config: Config, hooks: HostHooks) -> Result<Arc<Engine>, ApiError> {
        let registry = Registry::new(config, hooks)?;
        Ok(Arc::new(Engine {
            dedupe: Dedupe::new(registry.limits()),
            registry,
            flights: Mutex::default(),
            stragglers: Mutex::default(),
            last_registration: AtomicU64::new(0),
        }))
    }

    /// The number of a call to come.
    pub fn next_number(&self) -> u64 {
        self.dispatcher.pool.next_call()
    }

    /// The number of a registration to come.
    pub fn next_registration(&self) -> u64 {
        self.last_registration.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn in_flight(&self) -> usize {
        self.flights.lock().len()
    }

    /// Whether a call may be admitted at all: room among those in flight, workers left.
    pub fn has_room(&self) -> bool {
        self.in_flight() < self.limits().max_in_flight as usize && !self.dispatcher.exhausted()
    }

    /// Refuses a call whose result might wait for ever behind all that waits already.
    pub fn check_backlog(&self) -> Result<(), ApiError> {
        let limits = self.limits();
        match self.dispatcher.left_waiting() as u64 >= limits.max_in_flight + limits.max_event_backlog {
            true => {
                Err(ApiError::new(Code::Limit, "Too much waits to be fetched or run; take no more calls until it is."))
            }
            false => Ok(()),
        }
    }

    /// Puts the call among those in flight.
    pub fn take_off(&self, call: &Arc<Call>) -> Result<(), Refused> {
        let mut flights = self.flights.lock();
        // Closing interrupts what is in flight after it has closed, so none slips in between.
        if self.is_closed() {
            return Err(Refused::Closed);
        }
        if flights.len() >= self.limits().max_in_flight as usize {
            return Err(Refused::Full);
        }
        flights.insert(call.number, call.clone());
        Ok(())
    }

    pub fn land(&self, call: &Call) {
        let landed = self.flights.lock().remove(&call.number);
        drop(landed);
    }

    pub fn keep_straggler(&self, reply: &Arc<Reply>) {
        let gone = {
            let mut stragglers = self.stragglers.lock();
            let (holding, mut gone): (VecDeque<_>, VecDeque<_>) =
                stragglers.drain(..).partition(|reply| reply.is_holding());
            *stragglers = holding;
            stragglers.push_back(reply.clone());
            if stragglers.len() > self.limits().max_in_flight as usize {
                gone.extend(stragglers.pop_front());
            }
            gone
        };
        // Outside the lock: a slot that is let go wakes the next in line.
        drop(gone);
    }

    pub fn flight(&self, number: u64) -> Option<Arc<Call>> {
        self.flights.lock().get(&number).cloned()
    }

    /// Interrupts every call that `concerned` picks.
    pub fn interrupt(&self, interrupt: Interrupt, concerned: impl Fn(&Call) -> bool) {
        let mut calls: Vec<_> = self.flights.lock().values().filter(|call| concerned(call)).cloned().collect();
        calls.sort_by_key(|call| call.number);
        for call in calls {
            call.interrupt(interrupt);
        }
    }

    /// A registration is over: its calls are, too, and the host's functions are let go.
    pub fn end_registration(&self, registration: &Arc<Registration>, status: Status) {
        registration.end(status);
        self.interrupt(Interrupt::Unmounted, |call| call.is_of(&registration.id));
    }

    /// One consumer is gone (section 10).
    pub fn end_consumer(&self, consumer_key: &str) {
        self.interrupt(Interrupt::Cancelled, |call| &*call.ids.consumer.key == consumer_key);
        self.confirmations.expire_pending(Some(consumer_key));
        self.rates.forget(consumer_key);
    }

    /// Begins to close: no new work, everything in flight settles, and once no host code runs any
    /// more, everything of the host is released.
    pub fn close(self: &Arc<Self>) {
        if !self.registry.close() {
            return;
        }
        self.interrupt(Interrupt::Disposed, |_| true);
        self.confirmations.expire_pending(None);
        self.observer.close();
        for registration in self.catalog.clear() {
            registration.end(Status::Closed);
        }
        if let Some(pull) = &self.dispatcher.pull {
            let told = pull.close().into_iter().filter(|job| job.reply.is_none());
            told.for_each(|job| self.dispatcher.submit(job));
        }
        let engine = self.clone();
        self.dispatcher.at_last(move || {
            engine.dedupe.clear();
            let stragglers = std::mem::take(&mut *engine.stragglers.lock());
            drop(stragglers);
            engine.confirmations.clear();
            engine.release_host();
            if let Some(pull) = &engine.dispatcher.pull {
                pull.end();
            }
        });
    }
}
