//! Phase 6, approval: policies that have seen the effective input, and the confirmation decision.

use serde_json::Value;

use super::authority;
use super::call::Stop;
use super::envelope;
use super::flight::{EffectiveInput, Flight};
use crate::catalog::Target;
use crate::confirm::{self, Ask, Evidence, Redeemed, Summary};
use crate::model::ErrorPayload;
use crate::model::definition::Confirmation;
use crate::model::error::ErrorCode;
use crate::model::policy::{BuiltIn, PolicyRef};
use crate::model::request::Request;
use crate::policy;
use crate::runtime::Answer;

/// Who asked for a person, first come first shown.
struct Wanted {
    confirmation: bool,
    summary: Option<Summary>,
}

impl Wanted {
    fn propose(&mut self, summary: Option<Summary>) {
        self.confirmation = true;
        self.summary = self.summary.take().or(summary);
    }
}

/// Gives the reserved approval where one is needed.
pub async fn approve(
    flight: &mut Flight,
    target: &Target,
    request: &Request,
    input: &EffectiveInput,
    value: Value,
) -> Result<Option<Evidence>, ErrorPayload> {
    flight.enter()?;
    let mut wanted = Wanted { confirmation: target.capability().confirmation == Confirmation::Required, summary: None };
    if target.has_policies(&flight.engine.config.policies) {
        Box::pin(ask_policies(flight, target, &value, &mut wanted)).await?;
    }
    if !wanted.confirmation {
        authority::charge_spared(flight)?;
        return Ok(None);
    }
    let capability = target.capability();
    let engine = flight.engine.clone();
    let binding = confirm::binding(
        &engine.surface_id,
        &target.registration.id,
        &capability.id,
        &flight.call.ids.consumer.key,
        &input.text,
        capability.effect.as_str(),
    );
    if let Some(id) = &request.confirmation_id {
        match engine.confirmations.redeem(id, &binding) {
            Redeemed::Evidence(evidence) => {
                flight.spared = false;
                return Ok(Some(evidence));
            }
            Redeemed::Pending(required) => return Err(required),
            Redeemed::Invalid(reason, retry) => {
                authority::charge_spared(flight)?;
                return Err(ErrorPayload::new(ErrorCode::ConfirmationInvalid, invalid_message(reason))
                    .retry(retry)
                    .reason(reason));
            }
        }
    }
    let ask = Ask {
        binding,
        ids: flight.call.ids.clone(),
        bound: flight.call.bound(),
        effect: capability.effect.as_str(),
        summary: confirm::compose(wanted.summary.as_ref(), &capability.description, &value),
        input: value,
    };
    let mut minted = None;
    let required = engine.confirmations.request(ask, || minted.insert(engine.random.id("cnf_")).clone());
    // What ended the call has withdrawn the questions of before, and nobody will be told of this one.
    if let (Some(id), Some(interrupt)) = (minted, flight.call.interrupted()) {
        engine.confirmations.withdraw(&id);
        return Err(flight.stopped(Stop::Interrupted(interrupt)));
    }
    Err(required)
}

/// The onion's way in, registry outermost. A denial comes before any question to a person.
async fn ask_policies(
    flight: &mut Flight,
    target: &Target,
    input: &Value,
    wanted: &mut Wanted,
) -> Result<(), ErrorPayload> {
    let engine = flight.engine.clone();
    for link in target.links(&engine.config.policies) {
        match link.policy {
            PolicyRef::BuiltIn(BuiltIn::Audit { level }) => flight.audit_at(*level),
            PolicyRef::BuiltIn(_) => {
                if let Some(template) = policy::confirms(&link, target.capability().kind, input) {
                    wanted.propose(template.map(|text| Summary::Template(text.into())));
                }
            }
            PolicyRef::Host(name) => {
                let hooks = engine.policies.get(name).ok_or_else(ErrorPayload::policy_failed)?;
                let Some(hook) = &hooks.on_invoke else { continue };
                let host = flight.host().await?;
                let context = flight.policy_context(target, &host);
                match authority::decide(flight, hook, name, "onInvoke", context, true).await? {
                    Answer::Allow => {}
                    Answer::Confirm(text) => {
                        wanted.propose(text.map(Summary::Text));
                    }
                    Answer::Deny(payload) => return Err(envelope::policy_denial(payload)),
                    _ => return Err(ErrorPayload::policy_failed()),
                }
            }
        }
    }
    Ok(())
}

fn invalid_message(reason: &str) -> &'static str {
    match reason {
        "denied" => "A person denied this call. Do not try it again.",
        "consumed" => "This confirmation was used already. Ask anew if the call is still wanted.",
        "reserved" => "Another call is using this confirmation. Repeat with it once that one has ended.",
        "expired" => "This confirmation has expired. Call again without it to ask anew.",
        _ => "This confirmation does not belong to this call.",
    }
}
