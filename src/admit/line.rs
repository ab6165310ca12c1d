//! Calls in line: those that hold a place, and those that wait for one in the order they came.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

#[derive(Default)]
pub struct Line {
    holders: BTreeSet<u64>,
    /// By ticket. Tickets only grow, so the first is the next.
    waiting: BTreeMap<u64, Waiting>,
    last_ticket: u64,
}

struct Waiting {
    call: u64,
    waker: Option<Waker>,
}

impl Line {
    pub fn held(&self) -> usize {
        self.holders.len()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiting.is_empty()
    }

    pub fn hold(&mut self, call: u64) {
        self.holders.insert(call);
    }

    /// Waits behind all others; gives the ticket.
    pub fn join(&mut self, call: u64) -> u64 {
        self.last_ticket += 1;
        self.waiting.insert(self.last_ticket, Waiting { call, waker: None });
        self.last_ticket
    }

    /// Whether the ticket still waits; if so, `waker` is woken when it holds a place.
    pub fn still_waits(&mut self, ticket: u64, waker: &Waker) -> bool {
        let Some(waiting) = self.waiting.get_mut(&ticket) else { return false };
        if !waiting.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            waiting.waker = Some(waker.clone());
        }
        true
    }

    /// Gives up a place; whether it was held.
    pub fn release(&mut self, call: u64) -> bool {
        self.holders.remove(&call)
    }

    /// Gives up waiting; whether it still did.
    pub fn quit(&mut self, ticket: u64) -> bool {
        self.waiting.remove(&ticket).is_some()
    }

    /// Hands a place to the next in line, so that nobody can slip in between. Gives whom to wake.
    pub fn promote(&mut self) -> Option<Waker> {
        let (_, next) = self.waiting.pop_first()?;
        self.holders.insert(next.call);
        next.waker
    }

    pub fn has_waiting(&self, call: u64) -> bool {
        self.waiting.values().any(|waiting| waiting.call == call)
    }

    pub fn holders(&self) -> impl Iterator<Item = u64> {
        self.holders.iter().copied()
    }
}
