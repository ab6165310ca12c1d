//! A tool call from beginning to end. Where a person must confirm it and the toolset waits, that is one call for the
//! model and several for the core: the one that asks, and the one that comes with the answer. No thread waits meanwhile.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::sync::Mutex;
use serde_json::Value;

use super::Inner;
use super::memory::Name;
use super::options::Confirmations;
use crate::json;
use crate::model::error::Retry;
use crate::model::request::{Options, Request};
use crate::model::writer::ObjectWriter;
use crate::model::{ApiError, ErrorPayload, Limits};
use crate::pipeline;
use crate::pipeline::call::{Call, Caller};
use crate::runtime::clock::Instant;
use crate::runtime::timer::Sleep;
use crate::runtime::{Hook, local, task};
use crate::surface::Invocation;

/// A call that is to be made.
pub struct Errand {
    pub toolset: Arc<Inner>,
    pub request: Request,
    pub options: Options,
    pub name: Name,
}

/// Starts the call and returns. The registry is held open meanwhile.
pub fn start(errand: Errand, on_result: Option<Hook>) -> Result<Invocation, ApiError> {
    let engine = errand.toolset.engine().clone();
    let outer = Caller::new(on_result);
    let mut course = Course { errand, outer: outer.clone(), ancestors: Vec::new(), until: None };
    let first = course.send()?;
    task::spawn(&engine.dispatcher, async move {
        let result = course.result_of(&first).await;
        course.go_on(result).await;
    });
    Ok(Invocation::new(&engine, outer))
}

/// Runs the call on this thread as far as it goes, and waits for its end.
pub fn drive(errand: Errand) -> Result<Arc<[u8]>, ApiError> {
    let toolset = errand.toolset.clone();
    let ancestors = local::stacked_calls(&toolset.engine().dispatcher);
    let until = toolset.surface.time_of(&ancestors);
    let mut course = Course { errand, outer: Caller::new(None), ancestors, until };
    let (request, options) = course.next_request();
    let result = toolset.surface.call_wait(request, options, |call| course.note_sent(call))?;
    course.learn(&result);
    if !course.waits() || asked(&result).is_none() {
        return Ok(result);
    }
    let invocation = Invocation::new(toolset.engine(), course.outer.clone());
    task::spawn(&toolset.engine().dispatcher, course.go_on(result));
    invocation.wait(-1)
}

struct Course {
    errand: Errand,
    /// Who waits for the end of it.
    outer: Arc<Caller>,
    /// Calls on the stack of the thread that waits, and when the first of them ends.
    ancestors: Vec<u64>,
    until: Option<Instant>,
}

/// How waiting for a person ended.
enum Wait {
    /// There is an answer, or there will be none.
    Over,
    /// The toolset is closed, or the time of the call around this one is up.
    Left,
    Cancelled,
}

impl Course {
    async fn go_on(mut self, mut result: Arc<[u8]>) {
        let engine = self.errand.toolset.engine().clone();
        while self.waits()
            && let Some(question) = asked(&result)
        {
            match self.person(&question).await {
                Wait::Over => {}
                Wait::Left => break,
                Wait::Cancelled => {
                    result = cancelled(&result);
                    break;
                }
            }
            // Whatever the person said, one repetition tells it.
            self.errand.request.confirmation_id = Some(question);
            let Some(answer) = self.repeat().await else { break };
            result = answer;
            if !is_spent(&result) {
                break;
            }
            // Two identical calls had shared one dialog: the one that came second asks anew.
            self.forget_confirmation(&result);
            let Some(answer) = self.repeat().await else { break };
            result = answer;
        }
        self.outer.settle(&engine, result);
    }

    fn waits(&self) -> bool {
        let toolset = &self.errand.toolset;
        toolset.options.confirmations == Confirmations::Wait && !toolset.waits.is_over()
    }

    /// `None` where the registry takes no calls any more.
    async fn repeat(&mut self) -> Option<Arc<[u8]>> {
        let caller = self.send().ok()?;
        Some(self.result_of(&caller).await)
    }

    fn send(&mut self) -> Result<Arc<Caller>, ApiError> {
        let engine = self.errand.toolset.engine().clone();
        let caller = Caller::new(None);
        let (request, options) = self.next_request();
        self.outer.go_through(&caller);
        let call = pipeline::invoke(&engine, engine.next_number(), request, options, &caller, self.ancestors.clone())?;
        self.note_sent(call.as_ref());
        // It may have been cancelled while there was nothing to cancel yet.
        if self.outer.is_cancelled() {
            caller.cancel();
        }
        Ok(caller)
    }

    async fn result_of(&mut self, caller: &Caller) -> Arc<[u8]> {
        let result = caller.result().await;
        if caller.is_deadlocked() {
            self.outer.mark_deadlocked();
        }
        self.learn(&result);
        result
    }

    /// What is sent next. The input is kept only where it may have to be sent again.
    fn next_request(&mut self) -> (Request, Options) {
        let keeps = self.waits();
        let Errand { toolset, request, options, .. } = &mut self.errand;
        let engine = toolset.engine();
        toolset.memory.align(engine, &options.consumer.key, request);
        let input = request.input.take();
        let next = request.clone();
        if keeps {
            request.input.clone_from(&input);
        }
        let adapted = options.adapted.take();
        let deadline_ms = self.until.map(|until| until.saturating_sub(engine.clock.now()));
        (Request { input, ..next }, Options { adapted, deadline_ms, ..options.clone() })
    }

    fn note_sent(&self, call: Option<&Arc<Call>>) {
        let Errand { toolset, request, name, .. } = &self.errand;
        if let Some(call) = call {
            toolset.memory.sent(toolset.engine(), &call.ids, request, name);
        }
    }

    /// Keeps what the next sending of the same call needs to know.
    fn learn(&self, result: &[u8]) {
        let Some(error) = Failed::read(result) else { return };
        let memory = &self.errand.toolset.memory;
        if let Some(question) = error.question() {
            memory.confirm_with(error.text("invocationId"), error.text("issuedDigest"), Some(question));
        } else if error.reason() == Some("expired") {
            memory.confirm_with(error.text("invocationId"), error.text("issuedDigest"), None);
        }
    }

    fn forget_confirmation(&mut self, result: &[u8]) {
        self.errand.request.confirmation_id = None;
        if let Some(error) = Failed::read(result) {
            let memory = &self.errand.toolset.memory;
            memory.confirm_with(error.text("invocationId"), error.text("issuedDigest"), None);
        }
    }

    /// Waits until the question is answered or void. What else may end the wait comes as a nudge.
    async fn person(&self, question: &str) -> Wait {
        let toolset = &self.errand.toolset;
        let engine = toolset.engine();
        let Some(_place) = toolset.waits.enter(&self.outer) else { return Wait::Left };
        let mut decided = pin!(engine.confirmations.decided(question));
        let mut time_up = pin!(self.until.map(|until| Sleep::until(&engine.clock, until)));
        poll_fn(|cx| {
            if self.outer.heed(cx.waker()) {
                return Poll::Ready(Wait::Cancelled);
            }
            if toolset.waits.is_over() {
                return Poll::Ready(Wait::Left);
            }
            if decided.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Wait::Over);
            }
            match time_up.as_mut().as_pin_mut().map(|time_up| time_up.poll(cx)) {
                Some(Poll::Ready(())) => Poll::Ready(Wait::Left),
                _ => Poll::Pending,
            }
        })
        .await
    }
}

/// The calls of a toolset that wait for a person.
pub struct Waits {
    max: usize,
    state: Mutex<WaitsState>,
}

#[derive(Default)]
struct WaitsState {
    over: bool,
    next: u64,
    callers: HashMap<u64, Arc<Caller>>,
}

struct Place<'a> {
    waits: &'a Waits,
    number: u64,
}

impl Waits {
    pub fn new(limits: &Limits) -> Waits {
        Waits { max: limits.max_in_flight as usize, state: Mutex::default() }
    }

    /// `None` where too many wait: then the model is told that a confirmation is required, as it is.
    fn enter(&self, caller: &Arc<Caller>) -> Option<Place<'_>> {
        let mut state = self.state.lock();
        if state.callers.len() >= self.max {
            return None;
        }
        state.next += 1;
        let number = state.next;
        state.callers.insert(number, caller.clone());
        Some(Place { waits: self, number })
    }

    pub fn is_over(&self) -> bool {
        self.state.lock().over
    }

    /// Ends every wait, and those to come.
    pub fn end(&self) {
        let callers: Vec<Arc<Caller>> = {
            let mut state = self.state.lock();
            state.over = true;
            state.callers.values().cloned().collect()
        };
        callers.iter().for_each(|caller| caller.nudge());
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let caller = self.waits.state.lock().callers.remove(&self.number);
        drop(caller);
    }
}

/// An envelope whose status is not ok.
struct Failed {
    envelope: Value,
}

impl Failed {
    /// Results say their status first, so that those which went well need not be read.
    fn read(result: &[u8]) -> Option<Failed> {
        if result.starts_with(b"{\"status\":\"ok\"") {
            return None;
        }
        let bounds = json::Bounds { bytes: usize::MAX, depth: json::MAX_DEPTH };
        json::parse(result, &bounds).ok().map(|envelope| Failed { envelope })
    }

    fn text(&self, name: &str) -> &str {
        self.envelope[name].as_str().unwrap_or_default()
    }

    fn code(&self) -> &str {
        self.envelope["error"]["code"].as_str().unwrap_or_default()
    }

    fn question(&self) -> Option<String> {
        (self.code() == "CONFIRMATION_REQUIRED")
            .then(|| self.envelope["error"]["details"]["confirmationId"].as_str().map(String::from))?
    }

    /// Of a confirmation that was not accepted.
    fn reason(&self) -> Option<&str> {
        (self.code() == "CONFIRMATION_INVALID").then(|| self.envelope["error"]["details"]["reason"].as_str())?
    }
}

/// Another call used the approval that both had waited for, or is about to.
fn is_spent(result: &[u8]) -> bool {
    Failed::read(result).is_some_and(|failed| matches!(failed.reason(), Some("consumed" | "reserved")))
}

fn asked(result: &[u8]) -> Option<String> {
    Failed::read(result)?.question()
}

/// The pending result, as one of a call that nobody waits for any more.
fn cancelled(pending: &[u8]) -> Arc<[u8]> {
    let Some(Failed { envelope }) = Failed::read(pending) else { return pending.into() };
    let mut out = ObjectWriter::with_capacity(pending.len());
    out.string("status", "error");
    for name in ["invocationId", "capabilityId", "registrationId", "instanceId", "issuedDigest", "requestDigest"] {
        out.optional_string(name, envelope[name].as_str());
    }
    out.object("error", |out| ErrorPayload::cancelled(Retry::Yes).write(out));
    out.optional_string("surfaceVersion", envelope["surfaceVersion"].as_str());
    if envelope["surfaceChanged"] == true {
        out.boolean("surfaceChanged", true);
    }
    out.into_bytes().into()
}
