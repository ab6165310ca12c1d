//! The abort signal of one call: what its handler can ask, or be told.

use std::sync::Arc;

use crate::sync::Mutex;

use super::dispatch::Dispatcher;
use super::host::Hook;
use super::job::Job;

/// Most notices one call may have.
const MAX_NOTICES: usize = 16;

pub struct Signal {
    invocation_id: Arc<str>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    aborted: bool,
    /// The call has ended, aborted or not: nothing will be raised any more.
    closed: bool,
    notices: Vec<Hook>,
}

impl Signal {
    pub fn new(invocation_id: Arc<str>) -> Arc<Signal> {
        Arc::new(Signal { invocation_id, state: Mutex::default() })
    }

    /// Whether to go on would be in vain: the call was aborted, or has ended.
    pub fn is_raised(&self) -> bool {
        let state = self.state.lock();
        state.aborted || state.closed
    }

    /// Raises the signal and calls the notices, each once.
    pub fn raise(&self, dispatcher: &Arc<Dispatcher>) {
        let notices = {
            let mut state = self.state.lock();
            if state.closed {
                return;
            }
            state.aborted = true;
            std::mem::take(&mut state.notices)
        };
        for hook in notices {
            dispatcher.submit(Job::notice(dispatcher, hook, &self.invocation_id));
        }
    }

    /// The call has ended: asking answers yes, but nobody is told of an abort that was none.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let notices = std::mem::take(&mut state.notices);
        drop(state);
        drop(notices);
    }

    /// Tells `hook` of the abort: at once if there was one, never where the call has ended without.
    /// `false` where there are too many already.
    pub fn notify(&self, dispatcher: &Arc<Dispatcher>, hook: Hook) -> bool {
        let mut state = self.state.lock();
        if state.aborted {
            drop(state);
            dispatcher.submit(Job::notice(dispatcher, hook, &self.invocation_id));
            return true;
        }
        if state.closed {
            drop(state);
            drop(hook);
            return true;
        }
        if state.notices.len() >= MAX_NOTICES {
            return false;
        }
        state.notices.push(hook);
        true
    }
}
