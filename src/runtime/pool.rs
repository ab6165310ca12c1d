//! The process's one pool: workers for host code and a timer thread. The only global state.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::time::Instant;

use crate::sync::Mutex;
use once_cell::race::OnceBox;

use super::clock;
use super::desk::Desk;
use super::job::Job;
use super::local::{self, Released, Role};
use super::queue::{Queue, Work};
use super::standstill::Standstill;
use super::timer::Timers;
use crate::model::config::PoolConfig;
use crate::model::{ApiError, Code};

/// Most threads that stand in for workers that wait, over all registries.
const MAX_WORKERS: usize = 1024;

/// How often to look at what the threads do while something waits for them, in milliseconds.
const LOOK_MS: clock::Instant = 10;

pub struct Pool {
    config: PoolConfig,
    queue: Queue,
    timers: Timers,
    origin: Instant,
    started: AtomicBool,
    workers: Mutex<Workers>,
    /// One for each worker, and for each thread of the host that has driven a call.
    desks: Mutex<Vec<Arc<Desk>>>,
    /// A look at them is due.
    watched: AtomicBool,
    last_call: AtomicU64,
    pub(super) standstill: Standstill,
}

#[derive(Default)]
struct Workers {
    live: usize,
    wanted: usize,
}

/// One pool for each process: a forked child finds no thread of its parent's pool and makes its own.
/// A list that only grows needs no lock that a fork could leave taken.
struct Node {
    process: u32,
    pool: Arc<Pool>,
    next: OnceBox<Node>,
}

static FIRST: OnceBox<Node> = OnceBox::new();

impl Pool {
    /// The pool of this process, made as `config` says if it is the first call; tells whether it was.
    pub fn get(config: Option<PoolConfig>) -> Result<(Arc<Pool>, bool), ApiError> {
        let process = std::process::id();
        let mut place = &FIRST;
        loop {
            let node = place.get_or_init(|| {
                let pool = Pool::new(config.unwrap_or_default());
                Box::new(Node { process, pool: Arc::new(pool), next: OnceBox::new() })
            });
            if node.process == process {
                let first = node.pool.start()?;
                return Ok((node.pool.clone(), first));
            }
            place = &node.next;
        }
    }

    pub(super) fn new(config: PoolConfig) -> Pool {
        Pool {
            config,
            queue: Queue::default(),
            timers: Timers::default(),
            origin: Instant::now(),
            started: AtomicBool::new(false),
            workers: Mutex::default(),
            desks: Mutex::default(),
            watched: AtomicBool::new(false),
            last_call: AtomicU64::new(0),
            standstill: Standstill::default(),
        }
    }

    fn start(self: &Arc<Self>) -> Result<bool, ApiError> {
        if self.started.swap(true, Ordering::AcqRel) {
            return Ok(false);
        }
        let timers = self.clone();
        spawn("agent-surface-timer", move || timers.run_timers())?;
        for _ in 0..self.config.workers {
            self.workers.lock().wanted += 1;
            self.spawn_worker()?;
        }
        Ok(true)
    }

    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    pub fn now(&self) -> clock::Instant {
        self.origin.elapsed().as_millis() as clock::Instant
    }

    /// The number of a call to come: never 0, and no other call of any registry has it.
    pub fn next_call(&self) -> u64 {
        self.last_call.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn timers(&self) -> &Timers {
        &self.timers
    }

    pub fn workers(&self) -> usize {
        self.workers.lock().live
    }

    pub fn send(self: &Arc<Self>, job: Job) {
        self.queue.push(Work::Job(job));
        self.watch();
    }

    /// Has somebody look, soon, whether the threads get on.
    pub(super) fn watch(self: &Arc<Self>) {
        if !self.watched.load(Ordering::Relaxed) && !self.watched.swap(true, Ordering::AcqRel) {
            self.timers.set(self.now() + LOOK_MS, Waker::from(Arc::new(Look(self.clone()))));
        }
    }

    fn look(self: &Arc<Self>) {
        self.watched.store(false, Ordering::Release);
        let (desks, now) = (self.desks.lock().clone(), self.now());
        let mut again = !self.queue.is_empty();
        for desk in desks {
            let seen = desk.look(now);
            again |= seen.again;
            seen.left.into_iter().for_each(|job| self.send(job));
        }
        if again {
            self.watch();
        }
    }

    pub(super) fn set_up(&self) -> Arc<Desk> {
        let desk = Arc::<Desk>::default();
        self.desks.lock().push(desk.clone());
        desk
    }

    /// The thread of this desk is gone.
    pub(super) fn clear_away(&self, desk: &Arc<Desk>) {
        self.desks.lock().retain(|other| !Arc::ptr_eq(other, desk));
    }

    /// Waits without taking a worker away from the others.
    pub fn blocking<R>(self: &Arc<Self>, wait: impl FnOnce() -> R) -> R {
        let worker = local::role() == Role::Worker;
        if worker {
            self.add_worker();
        }
        let result = wait();
        if worker {
            self.remove_worker();
        }
        result
    }

    pub fn add_worker(self: &Arc<Self>) {
        {
            let mut workers = self.workers.lock();
            workers.wanted += 1;
            if workers.live >= workers.wanted || workers.live >= MAX_WORKERS {
                return;
            }
        }
        // Without a thread to be had, the others go on alone.
        let _ = self.spawn_worker();
    }

    pub fn remove_worker(&self) {
        self.workers.lock().wanted -= 1;
    }

    fn spawn_worker(self: &Arc<Self>) -> Result<(), ApiError> {
        self.workers.lock().live += 1;
        let pool = self.clone();
        let spawned = spawn("agent-surface-worker", move || pool.run_jobs());
        if spawned.is_err() {
            self.workers.lock().live -= 1;
        }
        spawned
    }

    fn run_jobs(self: &Arc<Self>) {
        local::set_role(Role::Worker);
        let desk = local::desk(self);
        loop {
            let work = self.queue.take();
            // A panic of ours ends the job, not the worker.
            let _ = catch_unwind(AssertUnwindSafe(|| run(work, &desk)));
            desk.rest();
            let mut workers = self.workers.lock();
            if workers.live > workers.wanted {
                workers.live -= 1;
                return;
            }
        }
    }

    fn run_timers(&self) {
        local::set_role(Role::Timer);
        loop {
            self.timers.wait_due(|| self.now());
            let _ = catch_unwind(AssertUnwindSafe(|| {
                while let Some(waker) = self.timers.take_due(self.now()) {
                    let _scope = local::enter();
                    waker.wake();
                }
            }));
        }
    }
}

struct Look(Arc<Pool>);

impl Wake for Look {
    fn wake(self: Arc<Self>) {
        self.0.look();
    }
}

/// Runs one piece of host code, and then what follows from it for the same call.
fn run(work: Work, desk: &Desk) {
    match work {
        Work::Release(released) => {
            let _scope = local::enter();
            if let Some(dispatcher) = released.iter().find_map(Released::dispatcher) {
                desk.run(dispatcher, None);
            }
            local::release(released);
        }
        Work::Job(job) => {
            if let Some(job) = job.dispatcher.clone().admit(job) {
                run_call(job);
            }
        }
    }
}

/// Runs `job` and every job of the same call that this thread gets as a consequence.
fn run_call(job: Job) {
    let call = job.call;
    let _driving = local::drive(call);
    let mut next = Some(job);
    while let Some(job) = next {
        let scope = local::enter();
        job.run();
        drop(scope);
        next = local::take_own(call);
    }
}

/// For host code that came up on the timer thread.
pub(super) fn release_on_worker(released: Vec<Released>) {
    if let Ok((pool, _)) = Pool::get(None) {
        pool.queue.push(Work::Release(released));
        pool.watch();
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), ApiError> {
    let spawned = std::thread::Builder::new().name(name.into()).spawn(run);
    spawned.map(drop).map_err(|_| ApiError::new(Code::Limit, "The system gives no more threads."))
}
