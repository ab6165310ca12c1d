//! Timers: what to wake, and when.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::{Condvar, Mutex};

use super::clock::{Clock, Instant};

/// Ordered by due time, then by when they were set, so that equal times fire in order.
pub type Key = (Instant, u64);

#[derive(Default)]
pub struct Timers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// At most a few for each admitted call or stored record, so admission bounds it.
    entries: BTreeMap<Key, Waker>,
    next: u64,
    /// When the timer thread means to look again; `None` while it is not asleep.
    sleeps_until: Option<Instant>,
}

impl Timers {
    pub fn set(&self, due: Instant, waker: Waker) -> Key {
        let mut state = self.state.lock();
        let key = (due, state.next);
        state.next += 1;
        state.entries.insert(key, waker);
        // A thread that wakes early enough anyway is left asleep: no system call for most timers.
        if state.sleeps_until.is_some_and(|until| due < until) {
            state.sleeps_until = None;
            self.changed.notify_one();
        }
        key
    }

    pub fn clear(&self, key: Key) {
        // The waker is dropped outside the lock: it may be the last owner of a task.
        let removed = self.state.lock().entries.remove(&key);
        drop(removed);
    }

    /// Due time of the earliest entry.
    pub fn next_due(&self) -> Option<Instant> {
        self.state.lock().entries.keys().next().map(|key| key.0)
    }

    /// Takes the earliest entry that is due at `now`.
    pub fn take_due(&self, now: Instant) -> Option<Waker> {
        let mut state = self.state.lock();
        let entry = state.entries.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Sleeps until an entry is due. For the timer thread of the system clock.
    pub fn wait_due(&self, now: impl Fn() -> Instant) {
        let mut state = self.state.lock();
        loop {
            let due = state.entries.keys().next().map_or(Instant::MAX, |key| key.0);
            let current = now();
            if due <= current {
                return;
            }
            state.sleeps_until = Some(due);
            match due {
                Instant::MAX => self.changed.wait(&mut state),
                _ => {
                    let pause = std::time::Duration::from_millis(due - current);
                    self.changed.wait_for(&mut state, pause);
                }
            }
            state.sleeps_until = None;
        }
    }
}

/// A future that is ready once the clock reads `due`.
pub struct Sleep {
    clock: Arc<Clock>,
    due: Instant,
    key: Option<Key>,
}

impl Sleep {
    pub fn until(clock: &Arc<Clock>, due: Instant) -> Sleep {
        Sleep { clock: clock.clone(), due, key: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() >= self.due {
            return Poll::Ready(());
        }
        // A future here is polled by one task only, so the first waker stays the right one.
        if self.key.is_none() {
            self.key = Some(self.clock.timers().set(self.due, cx.waker().clone()));
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.clock.timers().clear(key);
        }
    }
}
