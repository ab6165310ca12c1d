//! One listener: told one thing at a time, in order, with a bounded backlog.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sync::Mutex;

use crate::model::time::{self, UnixMs};
use crate::model::writer::ObjectWriter;
use crate::runtime::job::{Job, Label};
use crate::runtime::{Dispatcher, Hook};

pub struct Listener {
    dispatcher: Arc<Dispatcher>,
    what: &'static str,
    max_backlog: usize,
    /// What is on its way is not to begin any more.
    unwanted: Arc<AtomicBool>,
    state: Mutex<State>,
}

struct State {
    /// `None` once closed.
    hook: Option<Hook>,
    /// Documents, at most `max_backlog`, and the losses between them.
    backlog: VecDeque<Entry>,
    documents: usize,
    /// One delivery is out.
    telling: bool,
}

enum Entry {
    Document { kind: &'static str, text: Arc<[u8]> },
    Lost(Lost),
}

/// What found no room, one after the other: how many, and the last of them.
struct Lost {
    count: u64,
    last: Stamp,
}

/// When an entry was made, and its number where its kind has numbers.
#[derive(Clone, Copy)]
pub struct Stamp {
    pub seq: Option<u64>,
    pub at: UnixMs,
}

impl Listener {
    pub fn new(dispatcher: &Arc<Dispatcher>, what: &'static str, hook: Hook, max_backlog: usize) -> Arc<Listener> {
        let state = State { hook: Some(hook), backlog: VecDeque::new(), documents: 0, telling: false };
        let (dispatcher, unwanted) = (dispatcher.clone(), Arc::default());
        Arc::new(Listener { dispatcher, what, max_backlog, unwanted, state: Mutex::new(state) })
    }

    /// Queues one document. A full backlog loses it; the loss is counted, and told in its place.
    pub fn push(self: &Arc<Self>, kind: &'static str, stamp: Stamp, text: Arc<[u8]>) {
        let job = {
            let mut state = self.state.lock();
            if state.hook.is_none() {
                return;
            }
            if kind == "surface-changed" {
                // Coalesced: the newest version says all that the older ones would.
                state.forget(kind);
            }
            if state.documents < self.max_backlog {
                state.documents += 1;
                state.backlog.push_back(Entry::Document { kind, text });
            } else {
                state.lose(stamp);
            }
            if state.telling { None } else { self.next(&mut state) }
        };
        if let Some(job) = job {
            self.dispatcher.submit(job);
        }
    }

    /// Ends it: also what a worker or the host was about to take.
    pub fn cancel(&self) {
        self.unwanted.store(true, Ordering::Release);
        self.close();
    }

    /// Nothing new comes; what is on its way still arrives.
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
        let next = state.backlog.pop_front();
        state.telling = next.is_some();
        let text = match next? {
            Entry::Document { text, .. } => {
                state.documents -= 1;
                text.to_vec()
            }
            Entry::Lost(lost) => lost.render(),
        };
        let label = Label { what: self.what, name: self.what.into(), phase: None };
        let mut job = Job::new(&self.dispatcher, hook, label, text);
        let unwanted = self.unwanted.clone();
        job.start = Some(Box::new(move || !unwanted.load(Ordering::Acquire)));
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

impl State {
    fn forget(&mut self, unwanted: &str) {
        self.backlog.retain(|entry| !matches!(entry, Entry::Document { kind, .. } if *kind == unwanted));
        self.documents = self.backlog.iter().filter(|entry| matches!(entry, Entry::Document { .. })).count();
    }

    fn lose(&mut self, last: Stamp) {
        match self.backlog.back_mut() {
            Some(Entry::Lost(lost)) => *lost = Lost { count: lost.count + 1, last },
            _ => self.backlog.push_back(Entry::Lost(Lost { count: 1, last })),
        }
    }
}

impl Lost {
    fn render(&self) -> Vec<u8> {
        let mut out = ObjectWriter::new();
        if let Some(seq) = self.last.seq {
            out.number("seq", seq as i64);
        }
        out.string("at", &time::format(self.last.at));
        out.string("type", "events-lost");
        out.number("lost", self.count as i64);
        out.into_bytes()
    }
}
