//! The gates of observations: so many for each consumer, so many in all (AS-OBS-001 to 003).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use super::line::Line;
use super::{Full, Turn};
use crate::model::Limits;

pub struct Gate {
    per_consumer: usize,
    total: usize,
    max_queued: usize,
    running: usize,
    /// A lane exists while a call of the consumer is in it.
    lanes: HashMap<Arc<str>, Line>,
    /// Consumers with waiting calls, in the order of their turns.
    turns: VecDeque<Arc<str>>,
}

impl Gate {
    pub fn new(limits: &Limits) -> Gate {
        Gate {
            per_consumer: limits.max_concurrent_observations_per_consumer as usize,
            total: limits.max_concurrent_observations_total as usize,
            max_queued: limits.max_queued_observations_per_consumer as usize,
            running: 0,
            lanes: HashMap::new(),
            turns: VecDeque::new(),
        }
    }

    pub fn enter(&mut self, consumer: &Arc<str>, call: u64) -> Result<Turn, Full> {
        let lane = self.lanes.entry(consumer.clone()).or_default();
        if lane.held() < self.per_consumer && self.running < self.total {
            lane.hold(call);
            self.running += 1;
            return Ok(Turn::Now);
        }
        if lane.waiting() >= self.max_queued {
            if lane.is_empty() {
                self.lanes.remove(consumer);
            }
            return Err(Full);
        }
        if lane.waiting() == 0 {
            self.turns.push_back(consumer.clone());
        }
        Ok(Turn::Later(lane.join(call)))
    }

    pub fn still_waits(&mut self, consumer: &Arc<str>, ticket: u64, waker: &Waker) -> bool {
        self.lanes.get_mut(consumer).is_some_and(|lane| lane.still_waits(ticket, waker))
    }

    /// Gives up a place or a wait, and hands what became free to those whose turn it is.
    pub fn leave(&mut self, consumer: &Arc<str>, call: u64, turn: Turn) -> Vec<Waker> {
        if let Some(lane) = self.lanes.get_mut(consumer) {
            if lane.release(call) {
                self.running -= 1;
            }
            if let Turn::Later(ticket) = turn
                && lane.quit(ticket)
                && lane.waiting() == 0
            {
                self.turns.retain(|turn| turn != consumer);
            }
            if lane.is_empty() {
                self.lanes.remove(consumer);
            }
        }
        self.hand_over()
    }

    /// Serves the waiting consumers round-robin, so that none starves another.
    fn hand_over(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        let mut passed = 0;
        while self.running < self.total && passed < self.turns.len() {
            let Some(consumer) = self.turns.pop_front() else { break };
            let Some(lane) = self.lanes.get_mut(&consumer) else { continue };
            if lane.held() >= self.per_consumer {
                self.turns.push_back(consumer);
                passed += 1;
                continue;
            }
            passed = 0;
            // Whose turn it is has a call waiting.
            woken.extend(lane.promote());
            self.running += 1;
            if lane.waiting() > 0 {
                self.turns.push_back(consumer);
            }
        }
        woken
    }

    pub fn holders_before(&self, call: u64) -> Option<Vec<u64>> {
        let lane = self.lanes.values().find(|lane| lane.has_waiting(call))?;
        // Full for this consumer, or full for all: those are the ones it waits for.
        if lane.held() >= self.per_consumer {
            return Some(lane.holders().collect());
        }
        Some(self.lanes.values().flat_map(Line::holders).collect())
    }
}
