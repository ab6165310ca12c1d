//! Phase 3, availability: what the catalog said may have changed since (AS-AVAIL-001).

use super::authority;
use super::flight::Flight;
use crate::catalog::Target;
use crate::catalog::judge::when_reason;
use crate::model::ErrorPayload;
use crate::policy::context;

pub async fn check(flight: &mut Flight, target: &Target) -> Result<(), ErrorPayload> {
    flight.enter(3)?;
    let reason = match target.registration.withheld(target.index) {
        Some(reason) => Some(reason),
        None => ask_when(flight, target).await?,
    };
    match reason {
        None => Ok(()),
        // A reason would tell of a capability that this consumer must not know.
        Some(_) if authority::is_hidden(flight, target).await? => Err(ErrorPayload::not_found()),
        Some(reason) => Err(ErrorPayload::not_available(&reason)),
    }
}

async fn ask_when(flight: &mut Flight, target: &Target) -> Result<Option<String>, ErrorPayload> {
    let Some(hook) = target.hooks().and_then(|hooks| hooks.when.clone()) else { return Ok(None) };
    let host = flight.host().await?;
    let context = context::looking(target, &flight.call.ids.consumer, &host);
    let answer = flight.ask(&hook, "when", context).await?;
    Ok(when_reason(answer.as_ref(), target.capability().unavailable_reason.as_deref()))
}
