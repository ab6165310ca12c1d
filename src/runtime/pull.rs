//! Pull dispatch: the host fetches its work.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

use super::dispatch::Patience;
use super::job::Job;

#[derive(Default)]
pub struct Pull {
    state: Mutex<State>,
    pushed: Condvar,
}

#[derive(Default)]
struct State {
    /// A job belongs to an admitted call or to a listener with at most one job out.
    queue: VecDeque<Job>,
    closed: bool,
}

pub enum Taken {
    Job(Box<Job>),
    Nothing,
    Closed,
}

impl Pull {
    pub fn push(&self, job: Job) {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return drop(job);
        }
        state.queue.push_back(job);
        drop(state);
        self.pushed.notify_one();
    }

    /// The next job, waiting for one as long as patience lasts.
    pub fn take(&self, patience: Patience) -> Taken {
        let mut state = self.state.lock();
        let taken = patience.wait(&self.pushed, &mut state, |state| match state.queue.pop_front() {
            Some(job) => Some(Taken::Job(Box::new(job))),
            None => state.closed.then_some(Taken::Closed),
        });
        taken.unwrap_or(Taken::Nothing)
    }

    /// Nothing is handed out any more; what was waiting is returned, to be dropped outside locks.
    pub fn close(&self) -> VecDeque<Job> {
        let mut state = self.state.lock();
        state.closed = true;
        let rest = std::mem::take(&mut state.queue);
        drop(state);
        self.pushed.notify_all();
        rest
    }
}
