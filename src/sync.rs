//! Locks for a library that lives through a fork. The standard library's keep their state in themselves: a forked child that
//! makes its own registry never meets one that a thread of its parent held. A lock with a table shared by the process would
//! be such a one. None is poisoned: what a lock guards here is whole at every point where host code could panic.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

/// `None` only while a condition variable has it.
pub struct MutexGuard<'a, T>(Option<std::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
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
    inner: std::sync::Condvar,
    waiting: AtomicUsize,
}

impl Condvar {
    pub const fn new() -> Self {
        Condvar { inner: std::sync::Condvar::new(), waiting: AtomicUsize::new(0) }
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
pub struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub const fn new(value: T) -> Self {
        RwLock(std::sync::RwLock::new(value))
    }

    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
