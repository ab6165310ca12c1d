//! What the ABI holds for this process, and how it notices that it woke up in the child of a fork.
//!
//! The process id is noted here and compared on every call that takes a handle, before any lock: in a child, another
//! thread of the parent may have held one at the fork, and will never release it. The child then gets a state of its
//! own, with the next epoch; the inherited one is never touched again, so what it holds leaks on purpose. Handles
//! carry the epoch, so an inherited one is known by its bits. `getpid` costs some 75 ns a call; a `pthread_atfork`
//! handler would be free, but it is a process-wide hook that is not ours to set, and misses children of `clone`.

use super::handle::Handles;
use super::table::TABLE_KINDS;
use crate::runtime::Reply;
use crate::surface::{Invocation, Registration, Subscription, Surface};
use crate::toolset::Toolset;
use std::ptr;
use std::sync::Weak;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

pub(super) struct Process {
    pid: u32,
    pub(super) epoch: u64,
    pub(super) registries: Handles<Surface>,
    pub(super) registrations: Handles<Registration>,
    pub(super) invocations: Handles<Invocation>,
    pub(super) replies: Handles<Weak<Reply>>,
    pub(super) subscriptions: Handles<Subscription>,
    pub(super) toolsets: Handles<Toolset>,
    /// Blobs that the host has not given back.
    pub(super) blobs: AtomicUsize,
    /// Callback tables whose `destroy` has not returned, by kind.
    pub(super) tables: [AtomicUsize; TABLE_KINDS],
    /// Keeps what leaks on purpose reachable, so that leak checkers in a child stay quiet.
    _inherited: Option<&'static Process>,
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// The state of the process this thread runs in; made when there is none yet, or only an inherited one.
pub(super) fn arrive() -> &'static Process {
    let pid = std::process::id();
    let found = CURRENT.load(Ordering::Acquire);
    // SAFETY: what CURRENT points to is never freed.
    let inherited = unsafe { found.as_ref() };
    match inherited {
        Some(process) if process.pid == pid => process,
        _ => install(Process::new(pid, inherited), found),
    }
}

/// The state that the last `arrive` found. For code that runs below an export, which has just arrived.
pub(super) fn here() -> &'static Process {
    // SAFETY: what CURRENT points to is never freed.
    match unsafe { CURRENT.load(Ordering::Acquire).as_ref() } {
        Some(process) => process,
        None => arrive(),
    }
}

/// Lock-free, since the locks of the inherited state may be held for ever. When two threads race, one state wins.
fn install(process: Process, found: *mut Process) -> &'static Process {
    let made = Box::into_raw(Box::new(process));
    let installed = match CURRENT.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => made,
        Err(winner) => {
            // SAFETY: `made` came out of a box just now and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            winner
        }
    };
    // SAFETY: not null, and what CURRENT points to is never freed.
    unsafe { &*installed }
}

impl Process {
    fn new(pid: u32, inherited: Option<&'static Process>) -> Process {
        let epoch = inherited.map_or(0, |parent| parent.epoch + 1);
        Process {
            pid,
            epoch,
            registries: Handles::new(epoch),
            registrations: Handles::new(epoch),
            invocations: Handles::new(epoch),
            replies: Handles::new(epoch),
            subscriptions: Handles::new(epoch),
            toolsets: Handles::new(epoch),
            blobs: AtomicUsize::new(0),
            tables: Default::default(),
            _inherited: inherited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;

    #[test]
    fn a_process_keeps_its_state() {
        assert!(ptr::eq(arrive(), arrive()));
        assert!(ptr::eq(arrive(), here()));
    }

    /// What a child does on its first call, without a fork: the epoch moves on, and tables are new.
    #[test]
    fn an_inherited_state_is_left_behind() {
        static PARENT: OnceLock<Process> = OnceLock::new();
        let parent = PARENT.get_or_init(|| Process::new(1, None));
        let child = Process::new(2, Some(parent));
        assert_eq!((parent.epoch, child.epoch), (0, 1));
        assert_eq!(child.registries.live(), 0);
    }
}
