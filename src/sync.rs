//! Locks for a library that lives through a fork. The standard library's keep their state in themselves: a forked child that
//! makes its own registry never meets one that a thread of its parent held. A lock with a table shared by the process would
//! be such a one. None is poisoned: what a lock guards here is whole at every point where host code could panic.

//!
//! With the feature `models` the same code runs on locks that try one order of threads after the other (`tests/models`).

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

#[cfg(feature = "models")]
use shuttle::sync as locks;
#[cfg(not(feature = "models"))]
use std::sync as locks;

#[cfg(feature = "models")]
pub use shuttle::thread_local;
#[cfg(not(feature = "models"))]
pub use std::thread_local;

pub use locks::atomic;
use locks::{PoisonError, RwLockReadGuard, RwLockWriteGuard};

use atomic::{AtomicUsize, Ordering};

#[derive(Debug, Default)]
pub struct Mutex<T>(locks::Mutex<T>);

/// `None` only while a condition variable has it.
pub struct MutexGuard<'a, T>(Option<locks::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Mutex(locks::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(guard) => guard,
            None => unreachable!("a guard is only lent while its thread waits"),
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(guard) => guard,
            None => unreachable!("a guard is only lent while its thread waits"),
        }
    }
}

/// Counts who waits, under the lock that they wait with: most that is told is told to nobody, and costs no system call.
#[derive(Debug, Default)]
pub struct Condvar {
    inner: locks::Condvar,
    waiting: AtomicUsize,
}

impl Condvar {
    pub const fn new() -> Self {
        Condvar { inner: locks::Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(held) = guard.0.take() {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            guard.0 = Some(self.inner.wait(held).unwrap_or_else(PoisonError::into_inner));
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, pause: Duration) {
        if let Some(held) = guard.0.take() {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            guard.0 = Some(self.inner.wait_timeout(held, pause).unwrap_or_else(PoisonError::into_inner).0);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// `true` when `until` came first.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, until: Instant) -> bool {
        self.wait_for(guard, until.saturating_duration_since(Instant::now()));
        Instant::now() >= until
    }

    /// For after what they wait for was changed under their lock, as [`Condvar::notify_all`].
    pub fn notify_one(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.inner.notify_one();
        }
    }

    pub fn notify_all(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.inner.notify_all();
        }
    }
}

#[derive(Debug, Default)]
pub struct RwLock<T>(locks::RwLock<T>);

impl<T> RwLock<T> {
    pub const fn new(value: T) -> Self {
        RwLock(locks::RwLock::new(value))
    }

    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a model in many orders of its threads. Of one that fails the order is told, for `shuttle::replay`.
#[cfg(all(test, feature = "models"))]
pub fn explore(model: impl Fn() + Send + Sync + 'static) {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    const ORDERS: usize = 2_000;
    let mut config = shuttle::Config::new();
    config.stack_size = 256 * 1024;
    let model = std::sync::Arc::new(model);
    let again = model.clone();
    // By chance, and then such as a defect of few steps needs.
    shuttle::Runner::new(RandomScheduler::new(ORDERS), config.clone()).run(move || model());
    shuttle::Runner::new(PctScheduler::new(3, ORDERS), config).run(move || again());
}
