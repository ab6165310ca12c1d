//! Phase 8, admission: a place among those that may execute at the same time.

use std::task::Context;

use super::engine::RETRY_AFTER_MS;
use super::flight::Flight;
use crate::admit::GroupKey;
use crate::catalog::Target;
use crate::model::ErrorPayload;
use crate::model::definition::{ConcurrencyMode, Kind};

/// Takes the call's slot, which it keeps until it has settled.
pub async fn admit(flight: &mut Flight, target: &Target) -> Result<(), ErrorPayload> {
    flight.enter()?;
    let engine = flight.engine.clone();
    let number = flight.call.number;
    let entered = match target.capability().kind {
        Kind::Observation => engine.admission.enter_gate(&flight.call.ids.consumer.key, number),
        _ => {
            let (key, max, depth) = group(flight, target);
            engine.admission.enter_group(key, max, depth, number)
        }
    };
    let slot = entered.map_err(|_| ErrorPayload::queue_full(RETRY_AFTER_MS))?;
    flight.call.strand(|stack| engine.admission.blocked_by(number, stack));
    let since = engine.clock.now();
    let granted = |cx: &mut Context| slot.poll(cx);
    let waited = flight.call.wait(&engine.clock, granted, None, flight.call.deadline, |_| true).await;
    flight.queue_wait_ms = engine.clock.now() - since;
    waited.map_err(|stop| flight.stopped(stop))?;
    flight.slot = Some(slot);
    Ok(())
}

/// Which calls wait for each other, how many at once, and how many may wait (AS-CONC-001).
fn group(flight: &Flight, target: &Target) -> (GroupKey, usize, usize) {
    let capability = target.capability();
    let registration = target.registration.id.clone();
    let own = || GroupKey::CapabilityOf(registration.clone(), capability.id.clone());
    let (key, max) = match (&capability.concurrency.mode, capability.kind) {
        // A procedure never blocks the actions of the view it was registered with.
        (None, Kind::Procedure) => (own(), 1),
        (None | Some(ConcurrencyMode::Instance), _) => (GroupKey::Registration(registration.clone()), 1),
        (Some(ConcurrencyMode::Capability), _) => (GroupKey::Capability(capability.id.clone()), 1),
        (Some(ConcurrencyMode::Key(key)), _) => (GroupKey::Key(key.clone()), 1),
        (Some(ConcurrencyMode::Parallel(max)), _) => (own(), *max),
    };
    let depth = capability.concurrency.queue_depth.unwrap_or(flight.engine.limits().action_queue_depth as usize);
    (key, max, depth)
}
