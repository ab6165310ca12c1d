//! Phase 2, resolution: which live instance is meant, and whether the caller's tokens still hold.

use serde_json::{Value, json};

use super::authority;
use super::flight::Flight;
use crate::catalog::Target;
use crate::catalog::resolve::Matches;
use crate::model::error::ErrorCode;
use crate::model::request::Request;
use crate::model::{ErrorPayload, id};

pub async fn resolve(flight: &mut Flight, request: &Request) -> Result<Target, ErrorPayload> {
    if !id::is_capability_id(&request.capability_id) {
        return Err(ErrorPayload::not_found());
    }
    let matches = flight.engine.catalog.matches(request, flight.reach.as_deref(), flight.engine.clock.now());
    let version = matches.version;
    let target = match &request.registration_id {
        // Boxed, as all that few calls come to: a call that waits carries the room for it.
        Some(id) => Box::pin(by_registration(flight, id, matches)).await?,
        None => by_instance(flight, matches).await?,
    };
    check_version(flight, &target, request, version).await?;
    flight.call.bind_target(&target);
    // It may have ended between the look-up and the binding, which is what tells the call of it.
    if !target.registration.is_active() {
        return Err(ErrorPayload::unmounted("resolve"));
    }
    flight.audit_at(target.capability().audit);
    Ok(target)
}

async fn by_instance(flight: &mut Flight, matches: Matches) -> Result<Target, ErrorPayload> {
    let mut live = matches.live;
    if live.len() > 1 {
        // What this consumer cannot see does not exist for it.
        live = Box::pin(visible(flight, live)).await?;
    }
    match live.len() {
        0 if matches.buried => Err(ErrorPayload::unmounted("resolve")),
        0 => Err(ErrorPayload::not_found()),
        1 => Ok(live.remove(0)),
        _ => Err(ambiguous(&live)),
    }
}

async fn by_registration(flight: &mut Flight, id: &str, matches: Matches) -> Result<Target, ErrorPayload> {
    if let Some(target) = matches.live.iter().find(|target| *target.registration.id == *id) {
        return Ok(target.clone());
    }
    let buried = matches.buried_instance;
    let mut live = visible(flight, matches.live).await?;
    if let Some(instance) = &buried {
        live.retain(|target| target.registration.instance_id == *instance);
    }
    match (live.is_empty(), buried.is_some()) {
        (true, true) => Err(ErrorPayload::unmounted("resolve")),
        (true, false) if matches.buried => Err(ErrorPayload::unmounted("resolve")),
        (true, false) => Err(ErrorPayload::not_found()),
        (false, buried) => {
            let reason = if buried { "registration-replaced" } else { "surface-reloaded" };
            let mut details = json!({ "reason": reason });
            // Among several none is the one that took the place.
            if let [only] = live.as_slice() {
                details["liveRegistrationId"] = Value::from(&*only.registration.id);
            }
            Err(stale(details))
        }
    }
}

/// AS-STALE-002: where harm would be done, the caller must have seen this very surface.
async fn check_version(
    flight: &mut Flight,
    target: &Target,
    request: &Request,
    version: u64,
) -> Result<(), ErrorPayload> {
    let enforced = target.capability().effect.enforces_version();
    match &request.surface_version {
        Some(seen) if enforced && *seen != version.to_string() => {
            if authority::is_hidden(flight, target).await? {
                return Err(ErrorPayload::not_found());
            }
            Err(stale(json!({ "reason": "surface-version-mismatch" })))
        }
        _ => Ok(()),
    }
}

async fn visible(flight: &mut Flight, live: Vec<Target>) -> Result<Vec<Target>, ErrorPayload> {
    let mut visible = Vec::new();
    for target in live {
        if !authority::is_hidden(flight, &target).await? {
            visible.push(target);
        }
    }
    Ok(visible)
}

fn ambiguous(live: &[Target]) -> ErrorPayload {
    let instances: Vec<Value> = live
        .iter()
        .map(|target| json!({ "instanceId": &*target.registration.instance_id, "registrationId": &*target.registration.id }))
        .collect();
    ErrorPayload::new(
        ErrorCode::AmbiguousInstance,
        "Several instances offer this capability. Name one by its instanceId.",
    )
    .details(json!({ "instances": instances }))
}

fn stale(details: Value) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::StaleCapability, "The surface has changed since you saw it. Refresh the catalog.")
        .details(details)
}
