//! What a thread has in hand, so that others can tell when it hangs, and take over what waits behind it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sync::Mutex;

use super::clock::Instant;
use super::dispatch::Dispatcher;
use super::job::Job;
use super::reply::Reply;

/// The place of one thread: a worker, or one of the host's that drives a call.
#[derive(Default)]
pub struct Desk {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Grows with everything the thread takes in hand, or puts away.
    turn: u64,
    /// What a worker runs.
    running: Option<Running>,
    /// Another worker stands in for this one.
    stuck: bool,
    /// Host code of the call that the thread drives, for when it has returned from what it runs.
    own: VecDeque<Job>,
    /// The turn it was at when it was last looked at, and since when that had been so.
    seen: (u64, Instant),
}

struct Running {
    dispatcher: Arc<Dispatcher>,
    /// The answer that is owed; `None` where no call waits for what runs.
    reply: Option<Arc<Reply>>,
}

/// What one look at a desk gave.
pub struct Seen {
    /// What was taken from a thread that has not come round to it.
    pub left: VecDeque<Job>,
    /// Whether to look again even if nothing new comes up.
    pub again: bool,
}

impl Desk {
    /// The worker begins host code, or with no reply, what follows from it.
    pub fn run(&self, dispatcher: &Arc<Dispatcher>, reply: Option<&Arc<Reply>>) {
        let running = Running { dispatcher: dispatcher.clone(), reply: reply.cloned() };
        let before = {
            let mut state = self.state.lock();
            state.turn += 1;
            state.running.replace(running)
        };
        drop(before);
    }

    /// The worker has nothing in hand.
    pub fn rest(&self) {
        let (before, stuck) = {
            let mut state = self.state.lock();
            state.turn += 1;
            (state.running.take(), std::mem::take(&mut state.stuck))
        };
        if let (Some(running), true) = (before, stuck) {
            running.dispatcher.worker_back();
        }
    }

    /// What the worker runs has outlived its call.
    pub fn hangs(&self) {
        let dispatcher = {
            let mut state = self.state.lock();
            let Some(running) = &state.running else { return };
            let dispatcher = running.dispatcher.clone();
            if std::mem::replace(&mut state.stuck, true) {
                return;
            }
            dispatcher
        };
        dispatcher.worker_stuck();
    }

    pub fn keep(&self, job: Job) {
        self.state.lock().own.push_back(job);
    }

    /// The next host code of `call` that was kept.
    pub fn take(&self, call: u64) -> Option<Job> {
        let mut state = self.state.lock();
        let at = state.own.iter().position(|job| job.call == call)?;
        state.turn += 1;
        state.own.remove(at)
    }

    /// Looks whether the thread has moved since the last look. What waits behind one that has not is for others; one
    /// that no call waits for hangs, when its registry's patience is over.
    pub fn look(&self, now: Instant) -> Seen {
        let (seen, hangs) = {
            let mut state = self.state.lock();
            let moved = state.seen.0 != state.turn;
            // What a call waits for is told by that call's own timeout.
            let idle = state.running.as_ref().is_none_or(|running| running.reply.as_ref().is_some_and(|r| r.is_open()));
            if moved || idle {
                state.seen = (state.turn, now);
            }
            let left = if moved { VecDeque::new() } else { std::mem::take(&mut state.own) };
            let patience = state.running.as_ref().map_or(0, |running| running.dispatcher.patience_ms());
            let hangs = !idle && !state.stuck && now - state.seen.1 >= patience;
            let again = !state.own.is_empty() || (!idle && !state.stuck && !hangs);
            (Seen { left, again }, hangs)
        };
        if hangs {
            self.hangs();
        }
        seen
    }
}
