//! Calls that come when a thread, or the process, is on its way out.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::cell::RefCell;
use std::sync::mpsc::{Sender, channel};

/// Closes a registry as its thread ends.
struct Last(as_registry, Sender<as_code>);

impl Drop for Last {
    fn drop(&mut self) {
        self.1.send(close(self.0, PATIENCE_MS)).unwrap();
        // SAFETY: our own handle.
        self.1.send(unsafe { as_registry_free(self.0) }).unwrap();
    }
}

thread_local! {
    static FIRST: RefCell<Option<Last>> = const { RefCell::new(None) };
    static SECOND: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// Closing is safe from finalizers and `atexit`, also after the library's own thread-local state has come to its end:
/// whichever way the destructors of one thread are ordered, one of the two runs later than the library's.
#[test]
fn a_registry_can_be_closed_by_what_runs_last() {
    let (send, codes) = channel();
    let thread = std::thread::spawn(move || {
        FIRST.set(None);
        let (first, second) = (registry(json!({}), None), registry(json!({}), None));
        FIRST.set(Some(Last(first, send.clone())));
        SECOND.set(Some(Last(second, send)));
    });
    thread.join().unwrap();
    assert_eq!(codes.iter().collect::<Vec<_>>(), [AS_OK; 4]);
}
