//! What waits for a worker. Each consumer of a registry has a lane, and the lanes take turns: whoever floods the registry
//! waits behind itself.

use std::collections::{HashMap, VecDeque};

use crate::sync::{Condvar, Mutex};

use super::job::Job;
use super::local::Released;

pub enum Work {
    Job(Job),
    Release(Vec<Released>),
}

/// The registry, as its address, and the consumer, as [`crate::model::Consumer::lane`]; no consumer is 0.
type Lane = (usize, u64);

/// Without a bound of its own: a job belongs to an admitted call, to a listener with at most one job out, or to a callback
/// that is being released.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    /// None is empty.
    lanes: HashMap<Lane, VecDeque<Work>>,
    /// Every lane, in the order of their turns.
    turns: VecDeque<Lane>,
}

impl Queue {
    pub fn push(&self, work: Work) {
        let lane = work.lane();
        let mut state = self.state.lock();
        let waiting = state.lanes.entry(lane).or_default();
        waiting.push_back(work);
        if waiting.len() == 1 {
            state.turns.push_back(lane);
        }
        drop(state);
        self.filled.notify_one();
    }

    /// The next work; waits until there is some.
    pub fn take(&self) -> Work {
        let mut state = self.state.lock();
        loop {
            if let Some(work) = state.next() {
                return work;
            }
            self.filled.wait(&mut state);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.state.lock().turns.is_empty()
    }
}

impl State {
    fn next(&mut self) -> Option<Work> {
        let lane = self.turns.pop_front()?;
        let waiting = self.lanes.get_mut(&lane)?;
        let work = waiting.pop_front();
        match waiting.is_empty() {
            true => drop(self.lanes.remove(&lane)),
            false => self.turns.push_back(lane),
        }
        work
    }
}

impl Work {
    fn lane(&self) -> Lane {
        match self {
            Work::Job(job) => (std::sync::Arc::as_ptr(&job.dispatcher) as usize, job.lane),
            Work::Release(_) => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dispatch::Dispatcher;
    use super::super::host::{Hook, HostFn};
    use super::super::job::Label;
    use super::super::pool::Pool;
    use super::super::reply::Reply;
    use super::*;
    use std::sync::Arc;

    struct Nothing;

    impl HostFn for Nothing {
        fn call(&self, _: Option<&Arc<Reply>>, _: &[u8], _: &[u8]) {}
    }

    /// AS-OBS-003: whoever has much to do does not keep others waiting.
    #[test]
    fn consumers_take_turns() {
        let dispatcher = Dispatcher::new(Pool::get(None).unwrap().0, false, 1000);
        let queue = Queue::default();
        let push = |call, lane| {
            let hook: Hook = Arc::new(Nothing);
            let mut job = Job::new(&dispatcher, hook, Label { what: "call", name: "".into(), phase: None }, Vec::new());
            job.belongs_to(call, lane);
            queue.push(Work::Job(job));
        };
        [(1, 7), (2, 7), (3, 7), (4, 8), (5, 9), (6, 8)].into_iter().for_each(|(call, lane)| push(call, lane));
        let calls: Vec<u64> = (0..6)
            .map(|_| match queue.take() {
                Work::Job(job) => job.call,
                Work::Release(_) => 0,
            })
            .collect();
        assert_eq!(calls, [1, 4, 5, 2, 6, 3]);
        assert!(queue.is_empty());
    }
}
