//! Threads, time and chance: everything that makes one run differ from another, in one place.
//!
//! Futures are polled on the thread that woke them (see [`local`]), host code runs on workers or on
//! the thread that waits (see [`pool`] and [`job`]), and neither ever happens under a lock.

pub mod clock;
mod desk;
pub mod dispatch;
pub mod host;
pub mod job;
pub mod local;
pub mod pool;
pub mod pull;
mod queue;
pub mod random;
pub mod reply;
pub mod signal;
mod standstill;
pub mod task;
pub mod timer;

pub use clock::Clock;
pub use dispatch::Dispatcher;
pub use host::{Hook, HostFn, Serial};
pub use job::Job;
pub use local::{Scope, enter, later};
pub use reply::{Answer, Reply};
pub use signal::Signal;
