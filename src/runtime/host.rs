//! What a host gives us to call.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sync::{Condvar, Mutex};

use super::dispatch::{Dispatcher, Patience};
use super::job::Job;
use super::local;
use super::reply::Reply;

/// One function of the host.
///
/// Called without any lock of ours held, and never from inside a poll. Calls may be concurrent
/// unless [`HostFn::serial`] says otherwise, on a worker unless [`HostFn::inline`] does. Dropping the last `Hook` of a table releases it.
pub trait HostFn: Send + Sync {
    /// `reply` is `None` where no answer is owed (events, results, log, abort notices).
    /// `context` is the JSON document; `extra` the effective input (handlers) or the result
    /// (`on_result`), else empty.
    fn call(&self, reply: Option<&Arc<Reply>>, context: &[u8], extra: &[u8]);

    /// The queue that keeps calls of one table apart, where the host asked for that.
    fn serial(&self) -> Option<&Arc<Serial>> {
        None
    }

    /// It returns at once, so it runs on the thread that comes to it, and no worker is asked.
    fn inline(&self) -> bool {
        false
    }
}

pub type Hook = Arc<dyn HostFn>;

/// Keeps the calls of one table apart: a queue, so that no thread waits for another's callback, but for one that needs
/// the answer at once.
#[derive(Default)]
pub struct Serial {
    state: Mutex<SerialState>,
    granted: Condvar,
}

#[derive(Default)]
struct SerialState {
    busy: bool,
    queue: VecDeque<Turn>,
    /// The length at which the queue is rid of what is over.
    full: usize,
    last_ticket: u64,
    /// Whose turn it is, where it is a thread's.
    granted: u64,
    /// A thread has waited in vain for what runs now.
    jammed: bool,
}

/// What waits for the table.
enum Turn {
    Job(Job),
    Thread { ticket: u64 },
}

/// The queue is looked through no sooner than at this length.
const FULL: usize = 64;

impl Serial {
    pub fn new() -> Arc<Serial> {
        Arc::default()
    }

    /// Takes the table for `job`, or queues the job and gives nothing back.
    pub fn enter(&self, mut job: Job) -> Option<Job> {
        if job.holds_serial {
            return Some(job);
        }
        let over = {
            let mut state = self.state.lock();
            if !state.busy {
                state.busy = true;
                job.holds_serial = true;
                return Some(job);
            }
            state.queue.push_back(Turn::Job(job));
            state.sweep()
        };
        over.into_iter().for_each(Job::skip);
        None
    }

    /// For hooks that must answer on this thread. `false` where this very thread holds the table, so that waiting could
    /// never end, and where it did not end in time.
    pub fn enter_blocking(self: &Arc<Self>, patience: Patience) -> bool {
        let mut state = self.state.lock();
        if !state.busy {
            state.busy = true;
            return true;
        }
        if local::holds_serial(self) {
            local::knot();
            return false;
        }
        if state.jammed {
            return false;
        }
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        state.queue.push_back(Turn::Thread { ticket });
        if patience.wait(&self.granted, &mut state, |state| (state.granted == ticket).then_some(())).is_some() {
            return true;
        }
        state.queue.retain(|turn| !matches!(turn, Turn::Thread { ticket: other } if *other == ticket));
        state.jammed = true;
        false
    }

    /// Gives the table to what was waiting longest, or back.
    pub fn pass_on(&self) {
        let next = {
            let mut state = self.state.lock();
            state.jammed = false;
            let next = state.queue.pop_front();
            state.busy = next.is_some();
            if let Some(Turn::Thread { ticket }) = next {
                state.granted = ticket;
            }
            next
        };
        match next {
            Some(Turn::Job(mut next)) => {
                next.holds_serial = true;
                next.dispatcher.clone().resubmit(next);
            }
            Some(Turn::Thread { .. }) => {
                self.granted.notify_all();
            }
            None => {}
        }
    }

    /// Whether host code of this call waits for the table.
    pub fn keeps_waiting(&self, dispatcher: &Arc<Dispatcher>, call: u64) -> bool {
        self.state.lock().queue.iter().any(|turn| match turn {
            Turn::Job(job) => job.call == call && Arc::ptr_eq(&job.dispatcher, dispatcher),
            Turn::Thread { .. } => false,
        })
    }
}

impl SerialState {
    /// Behind a callback that hangs, calls come and go: what they leave in the queue is taken out now and then, so that
    /// it holds at most twice what is in flight.
    fn sweep(&mut self) -> Vec<Job> {
        if self.queue.len() < self.full.max(FULL) {
            return Vec::new();
        }
        let mut over = Vec::new();
        for turn in std::mem::take(&mut self.queue) {
            match turn {
                Turn::Job(job) if job.is_over() => over.push(job),
                turn => self.queue.push_back(turn),
            }
        }
        self.full = 2 * self.queue.len();
        over
    }
}
