//! One owed answer: given once, by whoever is asked, from any thread, in time or late.

use std::any::Any;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

use crate::sync::{Mutex, MutexGuard};
use serde_json::Value;

use super::desk::Desk;
use super::dispatch::Dispatcher;
use super::host::Hook;
use super::job::Handed;
use super::signal::Signal;
use crate::json::{self, Bounds, JsonErrorKind};
use crate::model::error::truncate;
use crate::model::fields::json_error;
use crate::model::{ApiError, Code};

/// Longest description of a failure, in characters.
const MAX_FAILURE: usize = 2000;

/// What kind of answer is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owed {
    /// A JSON value, before the callback returns.
    Value,
    /// The output of a handler, or its error; may be deferred.
    Output,
    /// Allow or deny; may be deferred. With `confirm`, a person may be asked as well.
    Decision { confirm: bool },
}

#[derive(Debug)]
pub enum Answer {
    Json(Value),
    /// Completed without output.
    Empty,
    /// A failure; the payload where one was given.
    Error(Option<Value>),
    Allow,
    Deny(Option<Value>),
    Confirm(Option<String>),
    /// The callback returned and nobody answered.
    Nothing,
    /// An answer of another kind than the one owed, or deferred where that is not possible.
    Misused,
    Malformed,
    TooLarge,
}

impl Answer {
    /// For the operator: what went wrong, cut where a host says a lot.
    pub fn describe(&self) -> String {
        let text = match self {
            Answer::Error(Some(Value::String(text))) | Answer::Deny(Some(Value::String(text))) => text.clone(),
            Answer::Error(Some(payload)) | Answer::Deny(Some(payload)) => json::canonical(payload),
            answer => format!("{answer:?}"),
        };
        truncate(&text, MAX_FAILURE).into()
    }
}

/// Told what a handler answered after its call was over.
pub trait Late: Send + Sync {
    fn late(&self, answer: Answer);
}

pub struct Reply {
    owed: Owed,
    bounds: Bounds,
    dispatcher: Arc<Dispatcher>,
    signal: Option<Arc<Signal>>,
    state: Mutex<State>,
    /// The C handle, freed with this value.
    pub attachment: OnceLock<Box<dyn Any + Send + Sync>>,
}

struct State {
    stage: Stage,
    /// Told of an answer that comes after the call. Kept until there is an answer: a call that is
    /// remembered nowhere else is still told.
    late: Option<Arc<dyn Late>>,
    waker: Option<Waker>,
    deferred: bool,
    /// The worker that runs the callback, while it does.
    running: Option<Arc<Desk>>,
    /// Kept until a handler that outlives its call has really ended.
    held: Option<Box<dyn Any + Send>>,
    /// The table that was asked, until it has answered or the call has gone on: it is not destroyed
    /// under a call that it deferred.
    hook: Option<Hook>,
    /// The request is in the host's hands.
    handed: Option<Handed>,
}

impl State {
    /// Takes the lock that it was looked at under: what was answered before counts, and what comes after is late.
    fn shut(mut state: MutexGuard<'_, State>) {
        if !matches!(state.stage, Stage::Open) {
            return;
        }
        state.stage = Stage::Left { told: false };
        let (worker, hook, waker) = (state.running.clone(), state.hook.take(), state.waker.take());
        drop(state);
        drop((hook, waker));
        if let Some(worker) = worker {
            worker.hangs();
        }
    }
}

enum Stage {
    Open,
    Answered(Answer),
    Taken,
    /// The call went on without it. `told` once the late answer has come.
    Left {
        told: bool,
    },
}

impl Reply {
    pub fn new(dispatcher: &Arc<Dispatcher>, owed: Owed, bounds: Bounds, signal: Option<Arc<Signal>>) -> Arc<Reply> {
        Arc::new(Reply {
            owed,
            bounds,
            dispatcher: dispatcher.clone(),
            signal,
            state: Mutex::new(State {
                late: None,
                stage: Stage::Open,
                waker: None,
                deferred: false,
                running: None,
                held: None,
                hook: None,
                handed: None,
            }),
            attachment: OnceLock::new(),
        })
    }

    // What the host does.

    /// Answers with a JSON value; empty text completes without output.
    pub fn json(&self, text: &[u8]) -> Result<(), ApiError> {
        if matches!(self.owed, Owed::Decision { .. }) {
            return self.misuse("Answer this hook with allow, deny or confirm.");
        }
        if text.is_empty() && self.owed == Owed::Output {
            return self.give(Answer::Empty);
        }
        match json::parse(text, &self.bounds) {
            Ok(value) => self.give(Answer::Json(value)),
            Err(error) => {
                let answer = match error.kind {
                    JsonErrorKind::Size => Answer::TooLarge,
                    _ => Answer::Malformed,
                };
                self.give(answer)?;
                Err(json_error(error))
            }
        }
    }

    /// Answers that it failed; empty text says no more than that.
    pub fn error(&self, payload: &[u8]) -> Result<(), ApiError> {
        if matches!(self.owed, Owed::Decision { .. }) {
            return self.misuse("Answer this hook with allow, deny or confirm.");
        }
        let (payload, problem) = self.payload(payload);
        self.give(Answer::Error(payload))?;
        problem.map_or(Ok(()), Err)
    }

    pub fn allow(&self) -> Result<(), ApiError> {
        match self.owed {
            Owed::Decision { .. } => self.give(Answer::Allow),
            _ => self.misuse("Only the authorize and invoke hooks of a policy allow."),
        }
    }

    /// Denies; empty text is a plain `NOT_AUTHORIZED`.
    pub fn deny(&self, payload: &[u8]) -> Result<(), ApiError> {
        if !matches!(self.owed, Owed::Decision { .. }) {
            return self.misuse("Only the authorize and invoke hooks of a policy deny.");
        }
        let (payload, problem) = self.payload(payload);
        self.give(Answer::Deny(payload))?;
        problem.map_or(Ok(()), Err)
    }

    /// Asks for a person's confirmation; `summary` may be empty.
    pub fn confirm(&self, summary: &[u8]) -> Result<(), ApiError> {
        if self.owed != (Owed::Decision { confirm: true }) {
            return self.misuse("Only the invoke hook of a policy asks for confirmation.");
        }
        match std::str::from_utf8(summary) {
            Ok(text) => self.give(Answer::Confirm((!text.is_empty()).then(|| text.to_string()))),
            Err(_) => {
                self.give(Answer::Misused)?;
                Err(ApiError::new(Code::Utf8, "The summary is not UTF-8."))
            }
        }
    }

    /// Promises an answer after the callback has returned.
    pub fn defer(&self) -> Result<(), ApiError> {
        if self.owed == Owed::Value {
            return self.misuse("Answer this hook before its callback returns; it cannot be deferred.");
        }
        let (handed, outcome) = {
            let mut state = self.state.lock();
            let outcome = match state.stage {
                Stage::Open => Ok(()),
                Stage::Left { told: false } => Err(late()),
                _ => return Err(settled()),
            };
            state.deferred = true;
            (state.handed.take(), outcome)
        };
        drop(handed);
        outcome
    }

    pub fn aborted(&self) -> Result<bool, ApiError> {
        match &self.signal {
            Some(signal) => Ok(signal.is_raised()),
            None => Ok(false),
        }
    }

    /// Has `hook` called when the call is aborted, at once if it was.
    pub fn on_abort(&self, hook: Hook) -> Result<(), ApiError> {
        let Some(signal) = &self.signal else {
            return Err(ApiError::new(Code::Argument, "This hook belongs to no call that could be aborted."));
        };
        match signal.notify(&self.dispatcher, hook) {
            true => Ok(()),
            false => Err(ApiError::new(Code::Limit, "This call has all the abort notices it may have.")),
        }
    }

    /// A payload that is no JSON leaves an untyped failure, and the host is told.
    fn payload(&self, text: &[u8]) -> (Option<Value>, Option<ApiError>) {
        if text.is_empty() {
            return (None, None);
        }
        match json::parse(text, &self.bounds) {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(json_error(error))),
        }
    }

    fn misuse(&self, message: &str) -> Result<(), ApiError> {
        self.give(Answer::Misused)?;
        Err(ApiError::new(Code::Argument, message))
    }

    fn give(&self, answer: Answer) -> Result<(), ApiError> {
        let mut state = self.state.lock();
        let (waker, call) = (state.waker.take(), state.late.take());
        // What the answer ends is dropped outside the lock, and after the answer has taken effect.
        let ends = (state.handed.take(), state.hook.take(), state.held.take());
        let given = match state.stage {
            Stage::Open => {
                state.stage = Stage::Answered(answer);
                drop(state);
                waker.into_iter().for_each(Waker::wake);
                Ok(())
            }
            Stage::Left { told: false } => {
                state.stage = Stage::Left { told: true };
                drop(state);
                if let Some(call) = &call {
                    call.late(answer);
                }
                Err(late())
            }
            Stage::Answered(_) | Stage::Taken | Stage::Left { told: true } => {
                drop(state);
                Err(settled())
            }
        };
        drop((ends, call));
        given
    }

    // What the thread that runs the callback does.

    pub(super) fn started(&self, worker: Option<Arc<Desk>>, hook: &Hook) {
        let mut state = self.state.lock();
        state.running = worker;
        state.hook = Some(hook.clone());
    }

    /// Fetched by the host, which answers when it likes.
    pub(super) fn handed_out(&self, handed: Handed, hook: &Hook) {
        let mut state = self.state.lock();
        state.deferred = true;
        state.handed = Some(handed);
        state.hook = Some(hook.clone());
    }

    /// The callback has returned.
    pub(super) fn returned(&self) {
        let unanswered = {
            let mut state = self.state.lock();
            state.running = None;
            !state.deferred && matches!(state.stage, Stage::Open | Stage::Left { told: false })
        };
        if unanswered {
            // Nobody is told: the callback that failed to answer is gone.
            let _ = self.give(Answer::Nothing);
        }
    }

    /// The job came too late to run at all.
    pub(super) fn skipped(&self) {
        let call = {
            let mut state = self.state.lock();
            state.stage = Stage::Left { told: true };
            state.late.take()
        };
        drop(call);
    }

    // What the call does.

    pub fn poll(&self, waker: &Waker) -> Poll<Answer> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut state.stage, Stage::Taken) {
            Stage::Answered(answer) => Poll::Ready(answer),
            stage => {
                state.stage = stage;
                if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
                    state.waker = Some(waker.clone());
                }
                Poll::Pending
            }
        }
    }

    /// The answer of a hook that was run on this thread.
    pub fn take(&self) -> Answer {
        let mut state = self.state.lock();
        match std::mem::replace(&mut state.stage, Stage::Taken) {
            Stage::Answered(answer) => answer,
            _ => Answer::Nothing,
        }
    }

    /// Goes on without the answer; the answer after all, if it came just now.
    pub fn leave(&self) -> Option<Answer> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut state.stage, Stage::Taken) {
            Stage::Answered(answer) => return Some(answer),
            stage => state.stage = stage,
        }
        State::shut(state);
        None
    }

    /// Whether an answer would still count.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state.lock().stage, Stage::Open)
    }

    /// From now on an answer is late. One that was given stays.
    pub fn shut(&self) {
        State::shut(self.state.lock());
    }

    /// Whom to tell of an answer that comes after [`Reply::leave`]. Once.
    pub fn report_late_to(&self, call: Arc<dyn Late>) {
        self.state.lock().late = Some(call);
    }

    pub fn is_holding(&self) -> bool {
        self.state.lock().held.is_some()
    }

    /// Keeps `thing` until the handler has ended; gives it back where it has ended already.
    pub fn hold(&self, thing: Box<dyn Any + Send>) -> Option<Box<dyn Any + Send>> {
        let mut state = self.state.lock();
        match state.stage {
            Stage::Left { told: false } => {
                state.held = Some(thing);
                None
            }
            _ => Some(thing),
        }
    }
}

fn late() -> ApiError {
    ApiError::new(Code::Late, "The call was over before this answer.")
}

fn settled() -> ApiError {
    ApiError::new(Code::Settled, "This was answered before.")
}

#[cfg(all(test, feature = "models"))]
#[path = "../../tests/models/replies.rs"]
mod models;
