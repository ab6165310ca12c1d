//! What a host gives us to call.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::job::Job;
use super::local;
use super::reply::Reply;

/// One function of the host.
///
/// Called without any lock of ours held, and never from inside a poll. Calls may be concurrent
/// unless [`HostFn::serial`] says otherwise. Dropping the last `Hook` of a table releases it.
pub trait HostFn: Send + Sync {
    /// `reply` is `None` where no answer is owed (events, results, log, abort notices).
    /// `context` is the JSON document; `extra` the effective input (handlers) or the result
    /// (`on_result`), else empty.
    fn call(&self, reply: Option<&Arc<Reply>>, context: &[u8], extra: &[u8]);

    /// The queue that keeps calls of one table apart, where the host asked for that.
    fn serial(&self) -> Option<&Arc<Serial>> {
        None
    }
}

pub type Hook = Arc<dyn HostFn>;

/// Keeps the calls of one table apart: a queue, so that no thread waits for another's callback.
#[derive(Default)]
pub struct Serial {
    state: Mutex<SerialState>,
    freed: Condvar,
}

#[derive(Default)]
struct SerialState {
    busy: bool,
    /// At most a few entries for each admitted call, so admission bounds it.
    queue: VecDeque<Job>,
}

impl Serial {
    pub fn new() -> Arc<Serial> {
        Arc::default()
    }

    /// Takes the table for `job`, or queues the job and gives nothing back.
    pub fn enter(&self, mut job: Job) -> Option<Job> {
        let mut state = self.state.lock();
        if state.busy && !job.holds_serial {
            state.queue.push_back(job);
            return None;
        }
        state.busy = true;
        job.holds_serial = true;
        Some(job)
    }

    /// For hooks that must answer on this thread. `false` where this very thread holds the table,
    /// so that waiting could never end.
    pub fn enter_blocking(self: &Arc<Self>) -> bool {
        let mut state = self.state.lock();
        while state.busy {
            if local::holds_serial(self) {
                return false;
            }
            self.freed.wait(&mut state);
        }
        state.busy = true;
        true
    }

    /// Gives the table to the job that was waiting longest, or back.
    pub fn pass_on(&self) {
        let next = {
            let mut state = self.state.lock();
            let next = state.queue.pop_front();
            state.busy = next.is_some();
            next
        };
        match next {
            Some(mut next) => {
                next.holds_serial = true;
                next.dispatcher.clone().resubmit(next);
            }
            None => {
                self.freed.notify_one();
            }
        }
    }
}
