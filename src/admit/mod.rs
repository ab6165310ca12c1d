//! Admission (phase 8): which calls of a registry may execute at the same time.
//!
//! Actions and procedures wait in groups, observations at gates. A place is a [`Slot`], taken or
//! waited for, and given up when it is dropped, whatever way the call ends.

mod gate;
mod group;
mod line;

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::Mutex;

use crate::model::Limits;
use gate::Gate;
use group::Group;

/// Which calls wait for each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GroupKey {
    Registration(Arc<str>),
    Capability(String),
    Key(String),
    /// One capability of one registration.
    CapabilityOf(Arc<str>, String),
}

#[derive(Clone)]
enum Place {
    Group(GroupKey),
    Gate(Arc<str>),
}

/// No room, not even to wait.
#[derive(Debug)]
pub struct Full;

pub struct Admission {
    state: Mutex<State>,
}

struct State {
    /// A group exists while a call is in it.
    groups: HashMap<GroupKey, Group>,
    gate: Gate,
}

/// When a call's turn is: at once, or when its ticket is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Now,
    Later(u64),
}

/// A call's place: waiting until [`Slot::poll`] is ready, then held. Dropping it gives it up.
pub struct Slot {
    admission: Arc<Admission>,
    place: Place,
    call: u64,
    turn: Turn,
}

impl Admission {
    pub fn new(limits: &Limits) -> Arc<Admission> {
        Arc::new(Admission { state: Mutex::new(State { groups: HashMap::new(), gate: Gate::new(limits) }) })
    }

    pub fn enter_group(self: &Arc<Self>, key: GroupKey, max: usize, depth: usize, call: u64) -> Result<Slot, Full> {
        let turn = self.state.lock().groups.entry(key.clone()).or_default().enter(call, max, depth)?;
        Ok(Slot { admission: self.clone(), place: Place::Group(key), call, turn })
    }

    pub fn enter_gate(self: &Arc<Self>, consumer_key: &Arc<str>, call: u64) -> Result<Slot, Full> {
        let turn = self.state.lock().gate.enter(consumer_key, call)?;
        Ok(Slot { admission: self.clone(), place: Place::Gate(consumer_key.clone()), call, turn })
    }

    /// Whether `call` waits behind calls of `holders` alone, so that waiting on their thread could
    /// never end.
    pub fn blocked_by(&self, call: u64, holders: &[u64]) -> bool {
        if holders.is_empty() {
            return false;
        }
        let state = self.state.lock();
        let mut lines = state.groups.values().filter_map(|group| group.holders_before(call));
        let running = lines.next().or_else(|| state.gate.holders_before(call));
        running.is_some_and(|running| !running.is_empty() && running.iter().all(|call| holders.contains(call)))
    }
}

impl Slot {
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let Turn::Later(ticket) = self.turn else { return Poll::Ready(()) };
        let mut state = self.admission.state.lock();
        let waits = match &self.place {
            Place::Group(key) => state.groups.get_mut(key).is_some_and(|group| group.still_waits(ticket, cx.waker())),
            Place::Gate(consumer) => state.gate.still_waits(consumer, ticket, cx.waker()),
        };
        if waits { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let next: Vec<Waker> = {
            let mut state = self.admission.state.lock();
            match &self.place {
                Place::Group(key) => {
                    let Some(group) = state.groups.get_mut(key) else { return };
                    let next = group.leave(self.call, self.turn);
                    if group.is_empty() {
                        state.groups.remove(key);
                    }
                    next.into_iter().collect()
                }
                Place::Gate(consumer) => state.gate.leave(consumer, self.call, self.turn),
            }
        };
        next.into_iter().for_each(Waker::wake);
    }
}

#[cfg(all(test, feature = "models"))]
#[path = "../../tests/models/slots.rs"]
mod models;
