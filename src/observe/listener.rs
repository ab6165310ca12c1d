//! One listener: told one thing at a time, in order, with a bounded backlog.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::model::writer::ObjectWriter;
use crate::runtime::job::{Job, Label};
use crate::runtime::{Dispatcher, Hook};

pub struct Listener {
    dispatcher: Arc<Dispatcher>,
    what: &'static str,
    max_backlog: usize,
    state: Mutex<State>,
}

struct State {
    /// `None` once closed.
    hook: Option<Hook>,
    backlog: VecDeque<(&'static str, Arc<[u8]>)>,
    /// One delivery is out.
    telling: bool,
    lost: u64,
}

impl Listener {
    pub fn new(dispatcher: &Arc<Dispatcher>, what: &'static str, hook: Hook, max_backlog: usize) -> Arc<Listener> {
        Arc::new(Listener {
            dispatcher: dispatcher.clone(),
            what,
            max_backlog,
            state: Mutex::new(State { hook: Some(hook), backlog: VecDeque::new(), telling: false, lost: 0 }),
        })
    }

    /// Queues one document. A full backlog loses it; the loss is counted, and told next.
    pub fn push(self: &Arc<Self>, kind: &'static str, text: Arc<[u8]>) {
        let job = {
            let mut state = self.state.lock();
            if state.hook.is_none() {
                return;
            }
            if kind == "surface-changed" {
                // Coalesced: the newest version says all that the older ones would.
                state.backlog.retain(|(queued, _)| *queued != kind);
            }
            if state.backlog.len() >= self.max_backlog {
                state.lost += 1;
            } else {
                state.backlog.push_back((kind, text));
            }
            if state.telling { None } else { self.next(&mut state) }
        };
        if let Some(job) = job {
            self.dispatcher.submit(job);
        }
    }

    pub fn close(&self) {
        let (hook, backlog) = {
            let mut state = self.state.lock();
            (state.hook.take(), std::mem::take(&mut state.backlog))
        };
        drop((hook, backlog));
    }

    /// The next delivery, if there is one; marks it as out.
    fn next(self: &Arc<Self>, state: &mut State) -> Option<Job> {
        let hook = state.hook.clone()?;
        let text = match state.backlog.pop_front() {
            Some((_, text)) => text.to_vec(),
            // All that was kept has been told; now the loss.
            None if state.lost > 0 => {
                let mut out = ObjectWriter::new();
                out.string("type", "events-lost");
                out.number("lost", std::mem::take(&mut state.lost) as i64);
                out.into_bytes()
            }
            None => {
                state.telling = false;
                return None;
            }
        };
        state.telling = true;
        let label = Label { what: self.what, name: self.what.into(), phase: None };
        let mut job = Job::new(&self.dispatcher, hook, label, text);
        let listener = self.clone();
        job.after = Some(Box::new(move || listener.told()));
        Some(job)
    }

    fn told(self: &Arc<Self>) {
        let job = self.next(&mut self.state.lock());
        if let Some(job) = job {
            self.dispatcher.submit(job);
        }
    }
}
