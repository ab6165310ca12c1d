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
        if local::depth() >= local::MAX_FRAMES {
            return Err(ApiError::new(Code::Limit, format!("Calls nest at most {} deep.", local::MAX_FRAMES)));
        }
        let ancestors = local::stacked_calls(dispatcher);
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
        let mut free = true;
        loop {
            local::drain();
            let Some(job) = local::take_own(number) else { break };
            let _scope = enter();
            free &= job.run();
        }
        drop(driving);
        if !caller.is_settled()
            && let Some(call) = call
            && (!free || self.never_ends(&call, &ancestors))
        {
            caller.cancel();
            local::drain();
            return Err(would_deadlock());
        }
        self.wait(&caller, Patience::new(-1))
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

    /// Whether waiting for `call` on a thread with `stack` on it could never end.
    fn never_ends(&self, call: &Call, stack: &[u64]) -> bool {
        !stack.is_empty() && (stack.contains(&call.number) || self.engine.admission.blocked_by(call.number, stack))
    }

    fn wait(&self, caller: &Caller, patience: Patience) -> Result<Arc<[u8]>, ApiError> {
        if caller.is_settled() {
            return caller.wait(patience);
        }
        self.engine.dispatcher.pool.blocking(|| caller.wait(patience))
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
        let surface = Surface { engine: self.engine.clone() };
        if !self.caller.is_settled() && timeout_ms != 0 {
            let dispatcher = &self.engine.dispatcher;
            let stack = local::stacked_calls(dispatcher);
            let stuck = self.caller.call().is_some_and(|call| surface.never_ends(&call, &stack));
            if stuck || (patience.endless() && dispatcher.pull.is_some()) {
                return Err(would_deadlock());
            }
        }
        surface.wait(&self.caller, patience)
    }

    /// Cancels this caller's call; others who joined it wait on. Settled, it does nothing.
    pub fn cancel(&self) -> Result<(), ApiError> {
        let _scope = enter();
        self.caller.cancel();
        Ok(())
    }
}
