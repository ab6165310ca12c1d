//! One invocation: ten phases, in an order that never changes (RFC correction 1, section 6).
//!
//! The first phase that fails gives the result. What a call holds (its slot, its approval, its
//! record) is given up when the value that stands for it is dropped, whatever way the call ends.

mod admission;
mod approval;
mod authority;
mod availability;
pub mod call;
pub mod engine;
pub mod envelope;
mod execution;
mod flight;
pub mod identity;
mod input;
mod precondition;
mod resolution;
mod settlement;

use std::sync::Arc;

use serde_json::Value;

use crate::model::request::{Options, Request};
use crate::model::{ApiError, ErrorPayload};
use crate::observe::trace;
use crate::runtime::task;
use call::{Call, Caller};
use engine::Engine;
use flight::Flight;
use identity::Identity;

/// Starts a call for `caller`, who may find that it runs already or has its result. Gives the call
/// that the caller waits for.
pub fn invoke(
    engine: &Arc<Engine>,
    number: u64,
    mut request: Request,
    options: Options,
    caller: &Arc<Caller>,
    ancestors: Vec<u64>,
) -> Result<Option<Arc<Call>>, ApiError> {
    caller.stand_on(ancestors);
    // Phase 1 is the caller's: on its thread, so that requests are known in the order they came.
    match identity::identify(engine, number, &mut request, &options, caller)? {
        Identity::New(call, issued) => {
            let mut flight = Flight::new(engine, call.clone(), issued, options);
            let request = Box::new(request);
            // Lent, since what an async function takes by value it carries twice.
            let run = async move { run(&mut flight, request).await };
            task::spawn(&engine.dispatcher, trace::in_span(&call.ids, run));
            Ok(Some(call))
        }
        Identity::Joined(call) => {
            if let Some(deadline_ms) = options.deadline_ms {
                caller.end_after(engine, deadline_ms);
            }
            Ok(Some(call))
        }
        Identity::Answered => Ok(None),
    }
}

async fn run(flight: &mut Flight, request: Box<Request>) {
    let outcome = execute(flight, request).await; // phases 2 to 9
    // A call that failed before its evidence was looked at pays like any other; its failure stands.
    let _ = authority::charge_spared(flight);
    settlement::settle(flight, outcome).await; // phase 10
}

async fn execute(flight: &mut Flight, mut request: Box<Request>) -> Result<Option<Value>, ErrorPayload> {
    let target = resolution::resolve(flight, &request).await?; // 2
    availability::check(flight, &target).await?; // 3
    authority::authorize(flight, &target, &request).await?; // 4
    let (input, value) = input::make_effective(flight, &target, &mut request).await?; // 5
    let evidence = approval::approve(flight, &target, &request, &input, value).await?; // 6
    drop(request); // from here on a call may wait for long
    precondition::check(flight, &target, &input).await?; // 7
    admission::admit(flight, &target).await?; // 8
    execution::run(flight, &target, &input, evidence).await // 9
}
