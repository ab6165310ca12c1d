//! One call, and those who wait for it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use crate::sync::{Condvar, Mutex};
use serde_json::{Value, json};

use super::engine::Engine;
use super::envelope::{self, Envelope};
use super::identity::Fingerprint;
use crate::catalog::Target;
use crate::fault;
use crate::json;
use crate::model::error::Retry;
use crate::model::request::Options;
use crate::model::{ApiError, Code, ErrorCode, ErrorPayload, time};
use crate::observe::{Bound, CallIds, Entry};
use crate::runtime::clock::Instant;
use crate::runtime::dispatch::Patience;
use crate::runtime::job::{Job, Label};
use crate::runtime::reply::Late;
use crate::runtime::timer::{self, Sleep};
use crate::runtime::{Answer, Clock, Hook, Reply, Signal};

/// Most who may wait for one call.
const MAX_CALLERS: usize = 1024;

/// Why a call ends before its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    Cancelled,
    Unmounted,
    Disposed,
}

/// A call from its admission until its record is forgotten. What only its execution needs lives in
/// the future, so that a record is small.
pub struct Call {
    pub number: u64,
    pub ids: Arc<CallIds>,
    pub fingerprint: Fingerprint,
    pub signal: Arc<Signal>,
    pub started: Instant,
    /// When the first caller wants it to have ended, all phases included.
    pub deadline: Option<Instant>,
    /// How much host code it is nested in.
    pub depth: usize,
    engine: Weak<Engine>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    interrupt: Option<Interrupt>,
    waker: Option<Waker>,
    callers: Vec<Arc<Caller>>,
    bound: Bound,
    target: Option<Target>,
    /// The handler has begun.
    begun: bool,
    /// The call ended before its handler began, which must not begin any more.
    barred: bool,
    /// When execution must have ended.
    until: Option<Instant>,
    /// A policy decides what of a result may be seen.
    guarded: bool,
    result: Option<Arc<[u8]>>,
    late: Option<String>,
    /// Every answer the call ever asked for: their handles live as long as it does.
    replies: Vec<Arc<Reply>>,
}

/// Waiting for something was cut short.
pub enum Stop {
    Interrupted(Interrupt),
    /// The bound of this wait was reached.
    TimedOut,
    /// The caller's deadline for the whole call was reached.
    Deadline,
}

impl Call {
    pub fn new(
        engine: &Arc<Engine>,
        number: u64,
        ids: Arc<CallIds>,
        fingerprint: Fingerprint,
        options: &Options,
        caller: Arc<Caller>,
    ) -> Arc<Call> {
        let signal = Signal::new(ids.invocation_id.clone());
        let started = engine.clock.now();
        Arc::new(Call {
            number,
            ids,
            fingerprint,
            signal,
            started,
            deadline: options.deadline_ms.map(|ms| started.saturating_add(ms)),
            depth: options.depth,
            engine: Arc::downgrade(engine),
            state: Mutex::new(State { callers: vec![caller], ..State::default() }),
        })
    }

    /// `None` once the registry is gone.
    pub fn engine(&self) -> Option<Arc<Engine>> {
        self.engine.upgrade()
    }

    pub fn interrupt(&self, interrupt: Interrupt) {
        let Some(engine) = self.engine() else { return };
        let (waker, replies) = {
            let mut state = self.state.lock();
            let navigates = state.begun && state.target.as_ref().is_some_and(is_navigation);
            if interrupt == Interrupt::Unmounted && navigates {
                // The handler's settlement alone has authority (RFC, correction 3).
                (None, Vec::new())
            } else {
                state.interrupt.get_or_insert(interrupt);
                (state.waker.take(), state.replies.clone())
            }
        };
        // First settle wins: what is answered after this is late, even before the future looks.
        replies.iter().for_each(|reply| reply.shut());
        if self.is_executing() {
            self.signal.raise(&engine.dispatcher);
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_executing(&self) -> bool {
        let state = self.state.lock();
        state.begun && state.result.is_none()
    }

    pub fn interrupted(&self) -> Option<Interrupt> {
        self.state.lock().interrupt
    }

    /// Waits for what `poll` gives. What is ready first wins; an interrupt that `heeds` picks, `until`, or
    /// the `deadline` of the whole call end the wait.
    pub fn wait<'a, T>(
        &'a self,
        clock: &'a Arc<Clock>,
        mut poll: impl FnMut(&mut Context) -> Poll<T> + 'a,
        until: Option<Instant>,
        deadline: Option<Instant>,
        heeds: impl Fn(Interrupt) -> bool + 'a,
    ) -> impl Future<Output = Result<T, Stop>> + 'a {
        let due = until.into_iter().chain(deadline).min();
        let is_deadline = deadline.is_some() && due == deadline;
        let mut sleep = due.map(|due| Sleep::until(clock, due));
        poll_fn(move |cx| {
            if let Poll::Ready(value) = poll(cx) {
                return Poll::Ready(Ok(value));
            }
            let mut state = self.state.lock();
            if let Some(interrupt) = state.interrupt.filter(|interrupt| heeds(*interrupt)) {
                return Poll::Ready(Err(Stop::Interrupted(interrupt)));
            }
            state.waker = Some(cx.waker().clone());
            drop(state);
            match sleep.as_mut().map(|sleep| Pin::new(sleep).poll(cx)) {
                Some(Poll::Ready(())) => Poll::Ready(Err(if is_deadline { Stop::Deadline } else { Stop::TimedOut })),
                _ => Poll::Pending,
            }
        })
    }

    // What the phases note.

    pub fn bind_target(&self, target: &Target) {
        let mut state = self.state.lock();
        state.bound.registration_id = Some(target.registration.id.clone());
        state.bound.instance_id = Some(target.registration.instance_id.clone());
        state.target = Some(target.clone());
    }

    pub fn bind_digest(&self, digest: Arc<str>) {
        self.state.lock().bound.request_digest = Some(digest);
    }

    pub fn bound(&self) -> Bound {
        self.state.lock().bound.clone()
    }

    pub fn target(&self) -> Option<Target> {
        self.state.lock().target.clone()
    }

    pub fn is_of(&self, registration_id: &str) -> bool {
        self.state.lock().bound.registration_id.as_deref() == Some(registration_id)
    }

    pub fn keep_reply(&self, reply: &Arc<Reply>) {
        let interrupted = {
            let mut state = self.state.lock();
            state.replies.push(reply.clone());
            state.interrupt.is_some()
        };
        if interrupted {
            reply.shut();
        }
    }

    pub fn forget_replies(&self) {
        let replies = std::mem::take(&mut self.state.lock().replies);
        drop(replies);
    }

    pub fn expect_execution(&self, until: Instant, guarded: bool) {
        let mut state = self.state.lock();
        state.until = Some(until);
        state.guarded = guarded;
    }

    /// When the call must have ended, for calls made inside it.
    pub fn until(&self) -> Option<Instant> {
        self.state.lock().until.or(self.deadline)
    }

    /// The handler is about to run; `false` where it must not, also where its time has passed and the
    /// timer has not fired yet (AS-CONC-013).
    pub fn begin(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        if state.barred || state.interrupt.is_some() || state.until.is_some_and(|until| until <= now) {
            return false;
        }
        state.begun = true;
        true
    }

    /// Keeps the handler from beginning; tells whether it had begun.
    pub fn bar(&self) -> bool {
        let mut state = self.state.lock();
        state.barred = true;
        state.begun
    }

    /// Whether a retry could do harm: something began that is not idempotent.
    fn retry(&self) -> Retry {
        let state = self.state.lock();
        let idempotent = state.target.as_ref().is_some_and(|target| target.capability().idempotent);
        if state.begun && !idempotent { Retry::No } else { Retry::Yes }
    }

    pub fn interrupt_error(&self, interrupt: Interrupt) -> ErrorPayload {
        match interrupt {
            Interrupt::Unmounted => ErrorPayload::unmounted("mid-flight"),
            _ => ErrorPayload::cancelled(self.retry()),
        }
    }

    pub fn timeout_error(&self, timeout_ms: u64) -> ErrorPayload {
        let (idempotent, begun) = {
            let state = self.state.lock();
            (state.target.as_ref().is_some_and(|target| target.capability().idempotent), state.begun)
        };
        let mut details = json!({ "timeoutMs": timeout_ms, "idempotent": idempotent });
        let message = match begun {
            true => "The call took too long. What it does may still take effect.",
            false => {
                details["started"] = Value::Bool(false);
                "The call could not be started in time. Nothing was done."
            }
        };
        let retry = if idempotent || !begun { Retry::Yes } else { Retry::No };
        ErrorPayload::new(ErrorCode::Timeout, message).retry(retry).details(details)
    }

    // Those who wait.

    /// Adds a caller; the result where there is one already.
    pub fn attach(&self, caller: &Arc<Caller>) -> Option<Arc<[u8]>> {
        let mut state = self.state.lock();
        if state.result.is_none() {
            state.callers.push(caller.clone());
        }
        state.result.clone()
    }

    /// Whether as many wait for it as may.
    pub fn is_crowded(&self) -> bool {
        self.state.lock().callers.len() >= MAX_CALLERS
    }

    /// A caller goes, with `error`. Where it is the last, `takes_along` ends the call with it.
    fn detach(&self, caller: &Arc<Caller>, takes_along: bool, error: impl FnOnce(&Call) -> ErrorPayload) {
        let engine = self.engine();
        // While the call is under way the registry is not closed, nor is it until this caller has its result.
        let _busy = engine.as_ref().map(|engine| engine.dispatcher.hold());
        let ends = {
            let mut state = self.state.lock();
            if state.result.is_some() || !state.callers.iter().any(|other| Arc::ptr_eq(other, caller)) {
                return;
            }
            let ends = takes_along && (state.callers.len() == 1 || fault::is("join-cancels-all"));
            if !ends && !fault::is("settled-twice") {
                state.callers.retain(|other| !Arc::ptr_eq(other, caller));
            }
            ends
        };
        match (ends, &engine) {
            (true, _) => self.interrupt(Interrupt::Cancelled),
            (false, Some(engine)) => caller.settle(engine, self.error_result(engine, &error(self))),
            (false, None) => {}
        }
    }

    /// An envelope for one caller alone: the call itself goes on.
    fn error_result(&self, engine: &Engine, error: &ErrorPayload) -> Arc<[u8]> {
        let version = engine.catalog.version();
        Envelope { ids: &self.ids, bound: &self.bound(), version, changed: false }.error(error).into()
    }

    /// Publishes the result. What waits for it is settled by the caller of this, outside the lock.
    pub fn publish(&self, result: Arc<[u8]>) -> Vec<Arc<Caller>> {
        let mut state = self.state.lock();
        state.result = Some(result);
        std::mem::take(&mut state.callers)
    }

    pub fn result(&self) -> Option<Arc<[u8]>> {
        self.state.lock().result.clone()
    }

    /// `{result, late?}` or `{"state": "running"}`.
    pub fn outcome(&self) -> String {
        let state = self.state.lock();
        let Some(result) = &state.result else { return "{\"state\":\"running\"}".into() };
        let mut out = crate::model::writer::ObjectWriter::with_capacity(result.len() + 64);
        out.raw("result", result);
        if let Some(late) = &state.late {
            out.raw("late", late.as_bytes());
        }
        out.finish()
    }
}

fn is_navigation(target: &Target) -> bool {
    target.capability().effect == crate::model::definition::Effect::Navigation
}

impl Late for Call {
    /// What a handler answered after its call was over: audited, kept, and never the result.
    fn late(&self, answer: Answer) {
        let Some(engine) = self.engine() else { return };
        let Some(target) = self.target() else { return };
        let invalid = |_| ErrorPayload::execution_failed("output-invalid");
        let outcome = envelope::handler_outcome(answer)
            .and_then(|output| envelope::check_output(&target, output).map_err(invalid));
        let mut out = crate::model::writer::ObjectWriter::new();
        let mut entry = Entry::of_call("late-settlement", &self.ids, &self.bound());
        match &outcome {
            Ok(output) => {
                out.string("status", "ok");
                entry.status = Some("ok");
                if let Some(output) = output {
                    let digest = json::digest_value(output);
                    out.string("outputDigest", &digest);
                    entry.output_digest = Some(digest.into());
                    // What a policy would have looked at first is not shown without it.
                    if !self.state.lock().guarded {
                        out.value("output", output);
                    }
                }
            }
            Err(error) => {
                out.string("status", "error");
                out.object("error", |out| error.write(out));
                entry.status = Some("error");
                entry.code = Some(error.code.name());
            }
        }
        out.string("at", &time::format(engine.clock.unix()));
        let late = out.finish();
        let mut state = self.state.lock();
        if fault::is("late-overwrites") {
            state.result = Some(late.as_bytes().into());
        }
        state.late = Some(late);
        drop(state);
        engine.observer.audit(entry);
    }
}

/// One who waits for a call: a handle of the host.
pub struct Caller {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    result: Option<Arc<[u8]>>,
    on_result: Option<Hook>,
    call: Option<Arc<Call>>,
    /// Ends a joiner's wait.
    timer: Option<(Arc<Engine>, timer::Key)>,
    deadlocked: bool,
    /// Calls whose host code is on the stack of the thread that waits.
    stack: Vec<u64>,
    cancelled: bool,
    /// A future that waits for the result, or for the end of the interest in it.
    waker: Option<Waker>,
    /// For a caller whose result is made of several calls: the caller of the one under way.
    through: Option<Arc<Caller>>,
}

struct JoinDeadline {
    caller: Weak<Caller>,
    deadline_ms: u64,
}

impl Wake for JoinDeadline {
    fn wake(self: Arc<Self>) {
        let Some(caller) = self.caller.upgrade() else { return };
        let call = caller.state.lock().call.clone();
        if let Some(call) = call {
            // It ends this wait alone: the first caller's times govern the execution.
            call.detach(&caller, false, |call| call.timeout_error(self.deadline_ms));
        }
    }
}

impl Caller {
    pub fn new(on_result: Option<Hook>) -> Arc<Caller> {
        Arc::new(Caller { state: Mutex::new(Waiting { on_result, ..Waiting::default() }), changed: Condvar::new() })
    }

    pub fn stand_on(&self, stack: Vec<u64>) {
        self.state.lock().stack = stack;
    }

    pub fn wait_for(&self, call: &Arc<Call>) {
        let mut state = self.state.lock();
        if state.result.is_none() {
            state.call = Some(call.clone());
        }
    }

    /// A joiner's own deadline ends its own wait.
    pub fn end_after(self: &Arc<Self>, engine: &Arc<Engine>, deadline_ms: u64) {
        let due = engine.clock.now().saturating_add(deadline_ms);
        let wake = Arc::new(JoinDeadline { caller: Arc::downgrade(self), deadline_ms });
        if deadline_ms == 0 {
            return wake.wake();
        }
        let key = engine.clock.timers().set(due, wake.into());
        let mut state = self.state.lock();
        match state.result {
            None => state.timer = Some((engine.clone(), key)),
            Some(_) => engine.clock.timers().clear(key),
        }
    }

    /// Hands over the result; exactly once.
    pub fn settle(&self, engine: &Engine, result: Arc<[u8]>) {
        // What it held is let go outside the lock.
        let (hook, timer, call, waker, _through) = {
            let mut state = self.state.lock();
            if state.result.is_some() && !fault::is("settled-twice") {
                return;
            }
            state.result = Some(result.clone());
            let Waiting { on_result, timer, call, waker, through, .. } = &mut *state;
            let again = fault::is("settled-twice") && call.as_ref().is_some_and(|call| call.result().is_none());
            let hook = if again { on_result.clone() } else { on_result.take() };
            (hook, timer.take(), call.take(), waker.take(), through.take())
        };
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
        if let Some((engine, key)) = timer {
            engine.clock.timers().clear(key);
        }
        if let Some(hook) = hook {
            let label = Label { what: "result", name: "result".into(), phase: None };
            let mut job = Job::new(&engine.dispatcher, hook, label, result.to_vec());
            if let Some(call) = &call {
                job.belongs_to(call.number, call.ids.consumer.lane);
            }
            engine.dispatcher.submit(job);
        }
    }

    pub fn cancel(self: &Arc<Self>) {
        let (call, through, waker) = {
            let mut state = self.state.lock();
            state.cancelled = true;
            (state.call.clone(), state.through.clone(), state.waker.take())
        };
        if let Some(call) = call {
            call.detach(self, true, |call| ErrorPayload::cancelled(call.retry()));
        }
        if let Some(through) = through {
            through.cancel();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.state.lock().cancelled
    }

    /// The next call is under way for this caller: to cancel it, or to wait for it, is meant of that one.
    pub fn go_through(&self, inner: &Arc<Caller>) {
        let before = self.state.lock().through.replace(inner.clone());
        drop(before);
    }

    /// The result, as a future. One at a time.
    pub async fn result(&self) -> Arc<[u8]> {
        poll_fn(|cx| {
            let mut state = self.state.lock();
            if let Some(result) = &state.result {
                return Poll::Ready(result.clone());
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Has `waker` woken when the caller is cancelled or nudged; tells whether it was cancelled.
    pub fn heed(&self, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        state.waker = Some(waker.clone());
        state.cancelled
    }

    pub fn nudge(&self) {
        let waker = self.state.lock().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub fn mark_deadlocked(&self) {
        self.state.lock().deadlocked = true;
    }

    pub fn is_deadlocked(&self) -> bool {
        self.state.lock().deadlocked
    }

    /// The call that the caller waits for.
    pub fn call(&self) -> Option<Arc<Call>> {
        let (call, through) = {
            let state = self.state.lock();
            (state.call.clone(), state.through.clone())
        };
        call.or_else(|| through?.call())
    }

    pub fn is_settled(&self) -> bool {
        self.state.lock().result.is_some()
    }

    pub fn wait(&self, patience: Patience) -> Result<Arc<[u8]>, ApiError> {
        let mut state = self.state.lock();
        let result = patience.wait(&self.changed, &mut state, |state| state.result.clone());
        if state.deadlocked {
            return Err(would_deadlock());
        }
        result.ok_or_else(|| ApiError::new(Code::Timeout, "The call has not settled yet."))
    }
}

pub fn would_deadlock() -> ApiError {
    ApiError::new(Code::WouldDeadlock, "This thread holds what it would wait for.")
}

impl Call {
    /// Lets those go whose thread holds what this call waits for: `holds` tells it by the calls on the
    /// thread's stack. The others wait on.
    pub fn strand(&self, holds: impl Fn(&[u64]) -> bool) {
        // None as a rule, and then nothing is copied.
        let nested = |caller: &&Arc<Caller>| !caller.state.lock().stack.is_empty();
        let callers: Vec<_> = self.state.lock().callers.iter().filter(nested).cloned().collect();
        for caller in callers {
            let stack = caller.state.lock().stack.clone();
            if holds(&stack) {
                caller.mark_deadlocked();
                self.detach(&caller, true, |call| ErrorPayload::cancelled(call.retry()));
            }
        }
    }
}
