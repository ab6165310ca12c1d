//! Pull dispatch: the host fetches its work.

use std::collections::VecDeque;

use crate::sync::{Condvar, Mutex};

use super::dispatch::Patience;
use super::job::{After, Document, Job};

#[derive(Default)]
pub struct Pull {
    state: Mutex<State>,
    pushed: Condvar,
}

#[derive(Default)]
struct State {
    /// A job belongs to a listener with at most one job out or to a call, which is not taken where much waits already.
    queue: VecDeque<Job>,
    /// Once closing: results, events and the like that the host can still fetch. They hold nothing of it.
    documents: VecDeque<Document>,
    stage: Stage,
}

#[derive(Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    /// The host is asked nothing any more, but told what the end brings.
    Closing,
    /// Nothing will come any more.
    Ended,
}

impl State {
    fn next_document(&mut self) -> Option<Vec<u8>> {
        while let Some(document) = self.documents.pop_front() {
            if let Some(text) = document.fetch() {
                return Some(text);
            }
        }
        None
    }
}

pub enum Taken {
    Job(Box<Job>),
    Document(Vec<u8>),
    Nothing,
    Closed,
}

impl Pull {
    /// Takes `job` in. Of one that is as good as fetched, since the registry closes, gives back what follows.
    pub fn push(&self, job: Job) -> Option<After> {
        let mut state = self.state.lock();
        if state.stage == Stage::Open {
            state.queue.push_back(job);
            drop(state);
            self.pushed.notify_one();
            return None;
        }
        let ended = state.stage == Stage::Ended;
        drop(state);
        // The job is dropped outside the lock, and its table with it.
        let (document, after) = job.into_document()?;
        if !ended {
            self.state.lock().documents.push_back(document);
            self.pushed.notify_one();
        }
        after
    }

    /// How much the host has not fetched yet.
    pub fn waiting(&self) -> usize {
        self.state.lock().queue.len()
    }

    /// The next job, waiting for one as long as patience lasts.
    pub fn take(&self, patience: Patience) -> Taken {
        let mut state = self.state.lock();
        let taken = patience.wait(&self.pushed, &mut state, |state| {
            let job = state.queue.pop_front().map(|job| Taken::Job(Box::new(job)));
            job.or_else(|| state.next_document().map(Taken::Document))
                .or_else(|| (state.stage == Stage::Ended).then_some(Taken::Closed))
        });
        taken.unwrap_or(Taken::Nothing)
    }

    /// From now on the host is only told. What was waiting is returned, to be pushed again.
    pub fn close(&self) -> VecDeque<Job> {
        let mut state = self.state.lock();
        state.stage = Stage::Closing;
        std::mem::take(&mut state.queue)
    }

    pub fn end(&self) {
        self.state.lock().stage = Stage::Ended;
        self.pushed.notify_all();
    }
}
