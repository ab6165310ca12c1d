//! One group of actions: at most `max` execute, the rest wait in order.

use std::task::Waker;

use super::line::Line;
use super::{Full, Turn};
use crate::fault;

#[derive(Default)]
pub struct Group {
    line: Line,
    max: usize,
}

impl Group {
    pub fn enter(&mut self, call: u64, max: usize, depth: usize) -> Result<Turn, Full> {
        self.max = max;
        if self.line.held() < max && self.line.waiting() == 0 {
            self.line.hold(call);
            return Ok(Turn::Now);
        }
        if self.line.waiting() >= depth {
            return Err(Full);
        }
        Ok(Turn::Later(self.line.join(call)))
    }

    pub fn still_waits(&mut self, ticket: u64, waker: &Waker) -> bool {
        self.line.still_waits(ticket, waker)
    }

    /// Gives up a place or a wait, and hands what became free to the next.
    pub fn leave(&mut self, call: u64, turn: Turn) -> Option<Waker> {
        self.line.release(call);
        if let (Turn::Later(ticket), false) = (turn, fault::is("slot-leaked")) {
            self.line.quit(ticket);
        }
        if self.line.held() < self.max { self.line.promote() } else { None }
    }

    pub fn holders_before(&self, call: u64) -> Option<Vec<u64>> {
        self.line.has_waiting(call).then(|| self.line.holders().collect())
    }

    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}
