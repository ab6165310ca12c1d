//! Phase 3, availability: what the catalog said may have changed since (AS-AVAIL-001).

use super::authority;
use super::flight::Flight;
use crate::catalog::Target;
use crate::catalog::judge::when_reason;
use crate::model::ErrorPayload;
use crate::policy::context;

pub async fn check(flight: &mut Flight, target: &Target) -> Result<(), ErrorPayload> {
    match judge(flight, target).await {
        Ok(()) => Ok(()),
        // Any failure, also a deadline's, would tell of a capability that this consumer must not know.
        Err(_) if authority::is_hidden(flight, target).await? => Err(ErrorPayload::not_found()),
        Err(error) => Err(error),
    }
}

async fn judge(flight: &mut Flight, target: &Target) -> Result<(), ErrorPayload> {
    flight.enter()?;
    let reason = match target.registration.withheld(target.index) {
        Some(reason) => Some(reason),
        None => ask_when(flight, target).await?,
    };
    reason.map_or(Ok(()), |reason| Err(ErrorPayload::not_available(&reason)))
}

async fn ask_when(flight: &mut Flight, target: &Target) -> Result<Option<String>, ErrorPayload> {
    let Some(hook) = target.hooks().and_then(|hooks| hooks.when.clone()) else { return Ok(None) };
    let host = flight.host().await?;
    let context = context::looking(target, &flight.call.ids.consumer, &host);
    let answer = flight.ask(&hook, "when", context).await?;
    Ok(when_reason(answer.as_ref(), target.capability().unavailable_reason.as_deref()))
}
