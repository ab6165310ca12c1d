//! How one registry's host is called, and whether anything of it is still going on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex};

use super::job::Job;
use super::local::{self, Role};
use super::pool::Pool;
use super::pull::Pull;

pub struct Dispatcher {
    pub pool: Arc<Pool>,
    /// Set where the host fetches its work instead of being called.
    pub pull: Option<Pull>,
    /// Futures woken and host code submitted or running.
    busy: AtomicUsize,
    /// Someone wants to know when `busy` reaches zero.
    watched: AtomicBool,
    idle: Mutex<Idle>,
    changed: Condvar,
    /// Workers whose callback outlived its call, or hangs where no call waits for it.
    stuck: AtomicUsize,
    /// Host code that waits until fewer are stuck. No call is taken where much waits already.
    parked: Mutex<VecDeque<Job>>,
    /// How long a callback that no call waits for may run before its worker counts as stuck.
    patience_ms: u64,
}

#[derive(Default)]
struct Idle {
    watchers: usize,
    /// Runs once, when the registry is closing and the last host code has returned.
    at_last: Option<Box<dyn FnOnce() + Send>>,
    /// It runs, or has run: no host code begins any more.
    ended: bool,
    closed: bool,
}

/// How long to wait: -1 for ever, 0 not at all, else milliseconds of real time.
#[derive(Clone, Copy)]
pub struct Patience(Option<Instant>);

impl Patience {
    pub fn new(timeout_ms: i64) -> Patience {
        match u64::try_from(timeout_ms) {
            Err(_) => Patience(None),
            // A wait longer than the clock can count is a wait for ever.
            Ok(ms) => Patience(Instant::now().checked_add(Duration::from_millis(ms))),
        }
    }

    /// At most `ms` milliseconds of it, from now on.
    pub fn at_most(self, ms: u64) -> Patience {
        let soon = Instant::now() + Duration::from_millis(ms);
        Patience(Some(self.0.map_or(soon, |until| until.min(soon))))
    }

    pub fn is_over(self) -> bool {
        self.0.is_some_and(|until| until <= Instant::now())
    }

    pub fn endless(self) -> bool {
        self.0.is_none()
    }

    /// Waits on `changed` until `ready` gives something, or patience ends.
    pub fn wait<T, R>(
        self,
        changed: &Condvar,
        state: &mut crate::sync::MutexGuard<'_, T>,
        mut ready: impl FnMut(&mut T) -> Option<R>,
    ) -> Option<R> {
        loop {
            if let Some(value) = ready(state) {
                return Some(value);
            }
            match self.0 {
                None => changed.wait(state),
                Some(until) => {
                    if changed.wait_until(state, until) {
                        return ready(state);
                    }
                }
            }
        }
    }
}

/// See [`Dispatcher::hold`].
pub struct Busy(Arc<Dispatcher>);

impl Drop for Busy {
    fn drop(&mut self) {
        local::done(self.0.clone());
    }
}

impl Dispatcher {
    pub fn new(pool: Arc<Pool>, pull: bool, patience_ms: u64) -> Arc<Dispatcher> {
        Arc::new(Dispatcher {
            pool,
            pull: pull.then(Pull::default),
            busy: AtomicUsize::new(0),
            watched: AtomicBool::new(false),
            idle: Mutex::default(),
            changed: Condvar::new(),
            stuck: AtomicUsize::new(0),
            parked: Mutex::default(),
            patience_ms,
        })
    }

    /// Sends host code to where it runs: this thread if it drives the call, a worker, or the host.
    pub fn submit(self: &Arc<Self>, job: Job) {
        match &self.pull {
            // Host code that is too deep in itself comes to an end first.
            Some(_) if job.immediate && local::role() == Role::Host && local::depth() < local::MAX_FRAMES => {
                self.begin();
                local::push_hook(job);
            }
            // Not counted as busy: it is the host's turn now.
            Some(pull) => {
                if let Some(after) = pull.push(job) {
                    let busy = self.hold();
                    // Not here: what follows may be the next event, and so on.
                    local::later(move || {
                        after();
                        drop(busy);
                    });
                }
            }
            None => {
                self.begin();
                // It comes from a thread that nobody waits for, and comes too late.
                if self.has_ended() {
                    return job.skip();
                }
                // In its table's queue from here on, so that its turn is in the order of submission.
                let Some(job) = job.take_turn() else { return };
                // The timer thread runs no host code, and host code that is too deep in itself comes to an end first.
                if job.hook.inline() && local::role() != Role::Timer && local::depth() < local::MAX_FRAMES {
                    local::push_hook(job);
                } else if let Some(job) = local::keep_own(job) {
                    self.pool.send(job);
                }
            }
        }
    }

    /// For a job that is counted already and comes from its table's queue.
    pub(super) fn resubmit(self: &Arc<Self>, job: Job) {
        match &self.pull {
            Some(_) => {
                self.submit(job);
                self.done();
            }
            None => self.pool.send(job),
        }
    }

    pub fn begin(&self) {
        self.busy.fetch_add(1, Ordering::SeqCst);
    }

    pub fn done(self: &Arc<Self>) {
        // In one order with `wait_quiet`: this sees that someone watches, or they see that nothing is busy.
        if self.busy.fetch_sub(1, Ordering::SeqCst) == 1 && self.watched.load(Ordering::SeqCst) {
            self.became_idle();
        }
    }

    fn became_idle(self: &Arc<Self>) {
        let at_last = {
            let mut idle = self.idle.lock();
            self.changed.notify_all();
            let at_last = match self.busy.load(Ordering::SeqCst) {
                0 => idle.at_last.take(),
                _ => None,
            };
            idle.ended |= at_last.is_some();
            at_last
        };
        if let Some(at_last) = at_last {
            let _scope = local::enter();
            at_last();
            // Behind whatever `at_last` released.
            local::closed(self.clone());
        }
    }

    pub(super) fn closed(&self) {
        self.idle.lock().closed = true;
        self.changed.notify_all();
    }

    /// Keeps the registry from being quiet, or closed, as long as the result lives.
    pub fn hold(self: &Arc<Self>) -> Busy {
        self.begin();
        Busy(self.clone())
    }

    /// Whether the last host code has run. Of what is counted as busy before it asks, the answer stays true.
    fn has_ended(&self) -> bool {
        // As long as nobody watches, nobody has seen the end.
        self.watched.load(Ordering::SeqCst) && self.idle.lock().ended
    }

    /// Waits until nothing is ready to run. `false` when patience ended first, `None` where it would wait for itself.
    pub fn wait_quiet(self: &Arc<Self>, patience: Patience) -> Option<bool> {
        local::drain();
        self.rest(patience, || {
            let mut idle = self.idle.lock();
            // Under the lock, under which the watcher before takes it back.
            self.watched.store(true, Ordering::SeqCst);
            idle.watchers += 1;
            let ready = |_: &mut Idle| (self.busy.load(Ordering::SeqCst) == 0).then_some(());
            let quiet = patience.wait(&self.changed, &mut idle, ready).is_some();
            idle.watchers -= 1;
            if idle.watchers == 0 && idle.at_last.is_none() && !idle.ended {
                self.watched.store(false, Ordering::SeqCst);
            }
            quiet
        })
    }

    /// Has `f` run once, as soon as no host code of this registry runs or is about to.
    pub fn at_last(self: &Arc<Self>, f: impl FnOnce() + Send + 'static) {
        self.begin();
        self.idle.lock().at_last = Some(Box::new(f));
        self.watched.store(true, Ordering::SeqCst);
        self.done();
    }

    /// Waits until what [`Dispatcher::at_last`] was given has run. `false` when patience ended first, `None` where it
    /// would wait for itself.
    pub fn wait_closed(self: &Arc<Self>, patience: Patience) -> Option<bool> {
        local::drain();
        self.rest(patience, || {
            let mut idle = self.idle.lock();
            patience.wait(&self.changed, &mut idle, |idle| idle.closed.then_some(())).is_some()
        })
    }

    /// Has this thread wait, without taking a worker away from the others.
    fn rest(self: &Arc<Self>, patience: Patience, wait: impl FnOnce() -> bool) -> Option<bool> {
        let inside = local::around();
        let wait = || self.pool.blocking(wait);
        if inside.iter().any(|around| Arc::ptr_eq(around, self)) {
            return None;
        }
        // A wait that ends by itself ends the others with it.
        match inside.is_empty() || !patience.endless() {
            true => Some(wait()),
            false => self.pool.standstill.avoid(inside, self, wait),
        }
    }

    pub(super) fn patience_ms(&self) -> u64 {
        self.patience_ms
    }

    /// A worker hangs in host code: another one takes its place, so that other registries go on. What bounds the
    /// stand-ins is that past their number no host code of this registry is begun.
    pub(super) fn worker_stuck(&self) {
        self.stuck.fetch_add(1, Ordering::AcqRel);
        self.pool.add_worker();
    }

    pub(super) fn worker_back(&self) {
        self.stuck.fetch_sub(1, Ordering::AcqRel);
        self.pool.remove_worker();
        let ready = {
            let mut parked = self.parked.lock();
            if self.exhausted() { VecDeque::new() } else { std::mem::take(&mut *parked) }
        };
        for job in ready {
            self.pool.send(job);
        }
    }

    /// Callbacks that hang have used up the stand-ins: the registry takes no new calls.
    pub fn exhausted(&self) -> bool {
        self.stuck.load(Ordering::Acquire) > self.pool.config().max_replacement_workers
    }

    /// How much host code waits though nobody comes for it: what the host has not fetched, or what is parked.
    pub fn left_waiting(&self) -> usize {
        match &self.pull {
            Some(pull) => pull.waiting(),
            None if self.exhausted() => self.parked.lock().len(),
            None => 0,
        }
    }

    /// Gives `job` back if a worker may run it; else it waits until workers are back.
    pub(super) fn admit(&self, job: Job) -> Option<Job> {
        if !self.exhausted() {
            return Some(job);
        }
        let mut parked = self.parked.lock();
        // Seen under the lock under which a worker that is back looks for what is parked.
        if !self.exhausted() {
            return Some(job);
        }
        parked.push_back(job);
        None
    }
}

#[cfg(all(test, feature = "models"))]
#[path = "../../tests/models/quiet.rs"]
mod models;
