//! One group of actions: at most `max` execute, the rest wait in order.

use std::collections::VecDeque;
use std::task::Waker;

use super::{Full, Waiting};
use crate::fault;

#[derive(Default)]
pub struct Group {
    holders: Vec<u64>,
    queue: VecDeque<Waiting>,
    max: usize,
}

impl Group {
    pub fn enter(&mut self, call: u64, max: usize, depth: usize) -> Result<(), Full> {
        self.max = max;
        if self.holders.len() < max && self.queue.is_empty() {
            self.holders.push(call);
            return Ok(());
        }
        if self.queue.len() >= depth {
            return Err(Full);
        }
        self.queue.push_back(Waiting { call, waker: None });
        Ok(())
    }

    /// Whether `call` holds a place; if not, it will be woken when it does.
    pub fn holds_or_waits(&mut self, call: u64, waker: &Waker) -> bool {
        match self.queue.iter_mut().find(|waiting| waiting.call == call) {
            Some(waiting) => {
                waiting.note(waker);
                false
            }
            None => true,
        }
    }

    /// Gives up a place or a wait. A place that was held is handed straight to the next in line, so
    /// that nobody can slip in between.
    pub fn leave(&mut self, call: u64) -> Option<Waker> {
        self.holders.retain(|holder| *holder != call);
        if !fault::is("slot-leaked") {
            self.queue.retain(|waiting| waiting.call != call);
        }
        if self.holders.len() >= self.max {
            return None;
        }
        let next = self.queue.pop_front()?;
        self.holders.push(next.call);
        next.waker
    }

    pub fn holders_before(&self, call: u64) -> Option<Vec<u64>> {
        self.queue.iter().any(|waiting| waiting.call == call).then(|| self.holders.clone())
    }

    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }
}
