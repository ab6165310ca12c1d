//! How often a consumer called a capability: one fixed window for each pair.

use std::collections::HashMap;

use crate::sync::Mutex;

use super::Scope;
use crate::runtime::clock::Instant;

/// Most windows kept. Only closed ones are evicted; full of open ones, the table limits.
const MAX_WINDOWS: usize = 10_000;

#[derive(Default)]
pub struct RateTable {
    windows: Mutex<HashMap<Key, Window>>,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    policy: (Scope, usize),
    consumer_key: String,
    capability_id: String,
}

struct Window {
    closes: Instant,
    used: u64,
}

impl RateTable {
    /// Counts one call, or says how long to wait.
    pub fn charge(
        &self,
        policy: (Scope, usize),
        consumer_key: &str,
        capability_id: &str,
        (limit, window_ms): (u64, u64),
        now: Instant,
    ) -> Result<(), u64> {
        let key = Key { policy, consumer_key: consumer_key.into(), capability_id: capability_id.into() };
        let mut windows = self.windows.lock();
        if let Some(window) = windows.get_mut(&key).filter(|window| now < window.closes) {
            if window.used >= limit {
                return Err(window.closes - now);
            }
            window.used += 1;
            return Ok(());
        }
        if windows.len() >= MAX_WINDOWS && !windows.contains_key(&key) {
            windows.retain(|_, window| now < window.closes);
            if windows.len() >= MAX_WINDOWS {
                let soonest = windows.values().map(|window| window.closes).min();
                return Err(soonest.map_or(window_ms, |closes| closes - now));
            }
        }
        windows.insert(key, Window { closes: now.saturating_add(window_ms), used: 1 });
        Ok(())
    }

    /// A consumer is gone.
    pub fn forget(&self, consumer_key: &str) {
        self.windows.lock().retain(|key, _| key.consumer_key != consumer_key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AS-POLICY-004, AS-BOUND-003: the table never grows past its bound, and says so by limiting.
    #[test]
    fn a_table_full_of_open_windows_limits() {
        let table = RateTable::default();
        let charge = |n: usize, now| table.charge((Scope::Registry, 0), &format!("c{n}"), "view:a.b", (1, 1000), now);
        for n in 0..MAX_WINDOWS {
            assert_eq!(charge(n, 0), Ok(()));
        }
        assert_eq!(charge(MAX_WINDOWS, 400), Err(600));
        assert_eq!(charge(0, 400), Err(600));
        assert_eq!(charge(MAX_WINDOWS, 1000), Ok(()));
        assert_eq!(table.windows.lock().len(), 1);
    }
}
