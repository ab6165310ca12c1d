//! The registry's clock: every time read, timeout and lifetime goes through it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::pool::Pool;
use super::timer::Timers;
use crate::model::config::ClockConfig;
use crate::model::time::UnixMs;

/// Milliseconds on a scale that never goes back.
pub type Instant = u64;

#[cfg_attr(feature = "models", allow(clippy::large_enum_variant))] // the locks of the models are large
pub enum Clock {
    /// Monotonic for durations, the wall for what is shown; timers fire on the pool's timer thread.
    System(Arc<Pool>),
    /// Moved by the host alone; timers fire while it moves.
    Manual { start: UnixMs, now: AtomicU64, timers: Timers },
}

impl Clock {
    pub fn new(config: ClockConfig, pool: &Arc<Pool>) -> Arc<Clock> {
        Arc::new(match config {
            ClockConfig::System => Clock::System(pool.clone()),
            ClockConfig::Manual { start } => Clock::Manual { start, now: AtomicU64::new(0), timers: Timers::default() },
        })
    }

    pub fn now(&self) -> Instant {
        match self {
            Clock::System(pool) => pool.now(),
            Clock::Manual { now, .. } => now.load(Ordering::Acquire),
        }
    }

    /// Milliseconds since the Unix epoch.
    pub fn unix(&self) -> UnixMs {
        match self {
            Clock::System(_) => {
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as UnixMs)
            }
            Clock::Manual { start, now, .. } => start.saturating_add(now.load(Ordering::Acquire) as UnixMs),
        }
    }

    pub fn timers(&self) -> &Timers {
        match self {
            Clock::System(pool) => pool.timers(),
            Clock::Manual { timers, .. } => timers,
        }
    }
}
