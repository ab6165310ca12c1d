//! The gates of observations: so many for each consumer, so many in all (AS-OBS-001 to 003).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use super::{Full, Waiting};
use crate::model::Limits;

pub struct Gate {
    per_consumer: usize,
    total: usize,
    max_queued: usize,
    running: usize,
    /// A lane exists while a call of the consumer is in it.
    lanes: HashMap<Arc<str>, Lane>,
    /// Consumers with waiting calls, in the order of their turns.
    turns: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct Lane {
    holders: Vec<u64>,
    queue: VecDeque<Waiting>,
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

    pub fn enter(&mut self, consumer: &Arc<str>, call: u64) -> Result<(), Full> {
        let lane = self.lanes.entry(consumer.clone()).or_default();
        if lane.holders.len() < self.per_consumer && self.running < self.total {
            lane.holders.push(call);
            self.running += 1;
            return Ok(());
        }
        if lane.queue.len() >= self.max_queued {
            if lane.holders.is_empty() && lane.queue.is_empty() {
                self.lanes.remove(consumer);
            }
            return Err(Full);
        }
        if lane.queue.is_empty() {
            self.turns.push_back(consumer.clone());
        }
        lane.queue.push_back(Waiting { call, waker: None });
        Ok(())
    }

    pub fn holds_or_waits(&mut self, consumer: &Arc<str>, call: u64, waker: &Waker) -> bool {
        let waiting = self.lanes.get_mut(consumer).and_then(|lane| lane.queue.iter_mut().find(|w| w.call == call));
        match waiting {
            Some(waiting) => {
                waiting.note(waker);
                false
            }
            None => true,
        }
    }

    /// Gives up a place or a wait, and hands what became free to those whose turn it is.
    pub fn leave(&mut self, consumer: &Arc<str>, call: u64) -> Vec<Waker> {
        if let Some(lane) = self.lanes.get_mut(consumer) {
            let before = lane.holders.len();
            lane.holders.retain(|holder| *holder != call);
            self.running -= before - lane.holders.len();
            lane.queue.retain(|waiting| waiting.call != call);
            if lane.queue.is_empty() {
                self.turns.retain(|turn| turn != consumer);
                if lane.holders.is_empty() {
                    self.lanes.remove(consumer);
                }
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
            if lane.holders.len() >= self.per_consumer {
                self.turns.push_back(consumer);
                passed += 1;
                continue;
            }
            passed = 0;
            if let Some(next) = lane.queue.pop_front() {
                lane.holders.push(next.call);
                self.running += 1;
                woken.extend(next.waker);
            }
            if !lane.queue.is_empty() {
                self.turns.push_back(consumer);
            }
        }
        woken
    }

    pub fn holders_before(&self, call: u64) -> Option<Vec<u64>> {
        let lane = self.lanes.values().find(|lane| lane.queue.iter().any(|waiting| waiting.call == call))?;
        // Full for this consumer, or full for all: those are the ones it waits for.
        if lane.holders.len() >= self.per_consumer {
            return Some(lane.holders.clone());
        }
        Some(self.lanes.values().flat_map(|lane| lane.holders.iter().copied()).collect())
    }
}
