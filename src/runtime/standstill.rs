//! Threads inside host code that wait for ever until another registry comes to rest: each keeps the registries that it is
//! inside of busy meanwhile, so that a circle of them would stand still.

use std::sync::Arc;

use crate::sync::Mutex;

use super::dispatch::Dispatcher;

#[derive(Default)]
pub struct Standstill {
    waits: Mutex<Vec<Wait>>,
}

struct Wait {
    inside: Vec<Arc<Dispatcher>>,
    target: Arc<Dispatcher>,
}

impl Standstill {
    /// Runs `wait` for a thread inside of `inside`; `None` where `target` waits, by whatever way, for one of these.
    pub fn avoid<R>(
        &self,
        inside: Vec<Arc<Dispatcher>>,
        target: &Arc<Dispatcher>,
        wait: impl FnOnce() -> R,
    ) -> Option<R> {
        {
            let mut waits = self.waits.lock();
            if closes_circle(&waits, &inside, target) {
                return None;
            }
            waits.push(Wait { inside: inside.clone(), target: target.clone() });
        }
        let result = wait();
        let over = {
            let mut waits = self.waits.lock();
            let same = |wait: &Wait| is(&wait.target, target) && same_all(&wait.inside, &inside);
            waits.iter().position(same).map(|at| waits.swap_remove(at))
        };
        drop(over);
        Some(result)
    }
}

fn closes_circle(waits: &[Wait], inside: &[Arc<Dispatcher>], target: &Arc<Dispatcher>) -> bool {
    let mut reached = vec![target];
    let mut next = 0;
    while let Some(from) = reached.get(next).copied() {
        next += 1;
        for wait in waits.iter().filter(|wait| wait.inside.iter().any(|other| is(other, from))) {
            if !reached.iter().any(|other| is(other, &wait.target)) {
                reached.push(&wait.target);
            }
        }
    }
    reached.iter().any(|reached| inside.iter().any(|other| is(other, reached)))
}

fn same_all(a: &[Arc<Dispatcher>], b: &[Arc<Dispatcher>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is(a, b))
}

fn is(a: &Arc<Dispatcher>, b: &Arc<Dispatcher>) -> bool {
    Arc::ptr_eq(a, b)
}
