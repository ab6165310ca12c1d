//! Calling, and waiting for what was called.

use std::sync::Arc;

use super::Surface;
use crate::model::request::{Options, Request};
use crate::model::{ApiError, Code};
use crate::pipeline;
use crate::pipeline::call::{Call, Caller, would_deadlock};
use crate::pipeline::engine::Engine;
use crate::runtime::clock::Instant;
use crate::runtime::dispatch::Patience;
use crate::runtime::{Hook, enter, local};

/// How often to look whether a wait inside host code can still end, in milliseconds.
const LOOK_MS: u64 = 10;

impl Surface {
    /// Starts a call. `on_result` gets its result, exactly once.
    pub fn invoke(&self, request: &[u8], options: &[u8], on_result: Option<Hook>) -> Result<Invocation, ApiError> {
        let _scope = enter();
        let (request, options) = self.parse_call(request, options)?;
        self.start(request, options, on_result)
    }

    pub(crate) fn start(
        &self,
        request: Request,
        options: Options,
        on_result: Option<Hook>,
    ) -> Result<Invocation, ApiError> {
        let _scope = enter();
        let _busy = self.engine.open()?;
        self.engine.check_backlog()?;
        let caller = Caller::new(on_result);
        pipeline::invoke(&self.engine, self.engine.next_number(), request, options, &caller, Vec::new())?;
        Ok(Invocation { engine: self.engine.clone(), caller })
    }

    /// Calls, and drives the call on this thread as far as it goes.
    pub fn invoke_wait(&self, request: &[u8], options: &[u8]) -> Result<Arc<[u8]>, ApiError> {
        let (request, options) = self.parse_call(request, options)?;
        self.call_wait(request, options, |_| {})
    }

    /// `started` is told which call it is, where there is one, as soon as it is under way.
    pub(crate) fn call_wait(
        &self,
        request: Request,
        mut options: Options,
        started: impl FnOnce(Option<&Arc<Call>>),
    ) -> Result<Arc<[u8]>, ApiError> {
        let engine = &self.engine;
        engine.check_open()?;
        let dispatcher = &engine.dispatcher;
        if dispatcher.pull.is_some() || local::looking(dispatcher) {
            return Err(would_deadlock());
        }
        let ancestors = local::stacked_calls(dispatcher);
        options.depth = self.depth(&ancestors);
        if options.depth >= local::MAX_FRAMES {
            return Err(ApiError::new(Code::Limit, format!("Calls nest at most {} deep.", local::MAX_FRAMES)));
        }
        self.inherit_deadline(&ancestors, &mut options);
        let number = engine.next_number();
        let caller = Caller::new(None);
        let driving = local::drive(number);
        let call = {
            let _scope = enter();
            let _busy = engine.open()?;
            pipeline::invoke(engine, number, request, options, &caller, ancestors.clone())?
        };
        started(call.as_ref());
        loop {
            local::drain();
            let Some(job) = local::take_own(number) else { break };
            let _scope = enter();
            job.run();
        }
        drop(driving);
        let result = self.wait(&caller, Patience::new(-1));
        if result.is_err() {
            // Nobody but this thread could ever have asked for it again.
            caller.cancel();
            local::drain();
        }
        result
    }

    /// How much host code a call made here is nested in. A call that this thread stands on may have come to it from
    /// another thread, which was too busy, and be nested in what is there.
    fn depth(&self, ancestors: &[u64]) -> usize {
        let beneath = ancestors.iter().filter_map(|number| Some(self.engine.flight(*number)?.depth + 1)).max();
        beneath.unwrap_or(0).max(local::depth())
    }

    /// A call inside another one ends with it at the latest.
    fn inherit_deadline(&self, ancestors: &[u64], options: &mut Options) {
        if let Some(until) = self.time_of(ancestors) {
            let left = until.saturating_sub(self.engine.clock.now());
            options.deadline_ms = Some(options.deadline_ms.map_or(left, |own| own.min(left)));
        }
    }

    /// When the first of these calls must have ended.
    pub(crate) fn time_of(&self, ancestors: &[u64]) -> Option<Instant> {
        ancestors.iter().filter_map(|number| self.engine.flight(*number)?.until()).min()
    }

    /// Whether `call` waits for something that host code on this thread's stack holds.
    fn never_ends(&self, call: &Call) -> bool {
        let dispatcher = &self.engine.dispatcher;
        let stack = local::stacked_calls(dispatcher);
        stack.contains(&call.number)
            || (!stack.is_empty() && self.engine.admission.blocked_by(call.number, &stack))
            || local::keeps_waiting(dispatcher, call.number)
    }

    /// Waits for the result. Inside host code it looks now and then whether the wait can still end: a call may come to
    /// what this thread holds only later.
    fn wait(&self, caller: &Caller, patience: Patience) -> Result<Arc<[u8]>, ApiError> {
        if caller.is_settled() {
            return caller.wait(patience);
        }
        let pool = &self.engine.dispatcher.pool;
        if local::depth() == 0 {
            return pool.blocking(|| caller.wait(patience));
        }
        pool.blocking(|| {
            loop {
                if caller.call().is_some_and(|call| self.never_ends(&call)) {
                    return Err(would_deadlock());
                }
                match caller.wait(patience.at_most(LOOK_MS)) {
                    Err(error) if error.code == Code::Timeout && !patience.is_over() => {}
                    outcome => return outcome,
                }
            }
        })
    }

    fn parse_call(&self, request: &[u8], options: &[u8]) -> Result<(Request, Options), ApiError> {
        self.engine.check_open()?;
        let limits = self.engine.limits();
        let request = Request::parse(request, limits.max_input_bytes, limits.max_json_depth)?;
        Ok((request, Options::parse(options)?))
    }
}

/// One caller's hold on a call.
#[derive(Clone)]
pub struct Invocation {
    engine: Arc<Engine>,
    caller: Arc<Caller>,
}

impl Invocation {
    pub(crate) fn new(engine: &Arc<Engine>, caller: Arc<Caller>) -> Invocation {
        Invocation { engine: engine.clone(), caller }
    }

    /// Waits for the result: -1 for ever, 0 looks only.
    pub fn wait(&self, timeout_ms: i64) -> Result<Arc<[u8]>, ApiError> {
        local::drain();
        let patience = Patience::new(timeout_ms);
        if timeout_ms == 0 {
            return self.caller.wait(patience);
        }
        if !self.caller.is_settled() && patience.endless() && self.engine.dispatcher.pull.is_some() {
            return Err(would_deadlock());
        }
        Surface { engine: self.engine.clone() }.wait(&self.caller, patience)
    }

    /// Cancels this caller's call; others who joined it wait on. Settled, it does nothing.
    pub fn cancel(&self) -> Result<(), ApiError> {
        let _scope = enter();
        self.caller.cancel();
        Ok(())
    }
}
