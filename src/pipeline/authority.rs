//! Phase 4, authority: who may do this at all. No input is in reach of anything here, by
//! construction (AS-INVOKE-001).

use std::sync::Arc;

use super::call::Call;
use super::envelope;
use super::flight::Flight;
use crate::catalog::Target;
use crate::catalog::judge::decides_discovery;
use crate::model::ErrorPayload;
use crate::model::policy::PolicyRef;
use crate::model::request::Request;
use crate::observe::Entry;
use crate::policy::{self, Facts, Link, Tally, Vote, context};
use crate::runtime::job::{Job, Label};
use crate::runtime::reply::{Late, Owed};
use crate::runtime::{Answer, Hook, Reply};

pub async fn authorize(flight: &mut Flight, target: &Target, request: &Request) -> Result<(), ErrorPayload> {
    recheck_discovery(flight, target).await?;
    flight.enter()?;
    match target.has_policies(&flight.engine.config.policies) {
        true => Box::pin(pass_policies(flight, target, request)).await,
        false => Ok(()),
    }
}

/// The onion's way in, registry outermost.
async fn pass_policies(flight: &mut Flight, target: &Target, request: &Request) -> Result<(), ErrorPayload> {
    let engine = flight.engine.clone();
    for link in target.links(&engine.config.policies) {
        match link.policy {
            PolicyRef::BuiltIn(_) => built_in(flight, target, request, &link).await?,
            PolicyRef::Host(name) => {
                let hooks = engine.policies.get(name).ok_or_else(ErrorPayload::policy_failed)?;
                if let Some(hook) = &hooks.on_authorize {
                    let host = flight.host().await?;
                    let context = context::context(&engine, target, &flight.call.ids.consumer, &host).into_bytes();
                    let answer = decide(flight, hook, name, "onAuthorize", context, false).await?;
                    admit(answer)?;
                }
                flight.passed.push((name.clone(), hooks));
            }
        }
    }
    Ok(())
}

/// What hides in the catalog also hides at the call (AS-POLICY-003). The built-ins whose own code is
/// about authority answer that instead, in their place in the onion.
async fn recheck_discovery(flight: &mut Flight, target: &Target) -> Result<(), ErrorPayload> {
    let (tally, refused) = votes(flight, target).await?;
    match tally {
        Tally { hidden: true, .. } => Err(ErrorPayload::not_found()),
        Tally { disabled: Some(reason), .. } if !refused => Err(ErrorPayload::not_available(&reason)),
        _ => Ok(()),
    }
}

/// Whether this consumer must not know of the capability.
pub async fn is_hidden(flight: &mut Flight, target: &Target) -> Result<bool, ErrorPayload> {
    let (tally, refused) = votes(flight, target).await?;
    Ok(tally.hidden || refused)
}

/// The votes of all policies, and apart from them whether a built-in about authority objects. Neither a
/// deadline nor a cancellation cuts them short: a hidden capability would answer with those, an absent
/// one does not.
async fn votes(flight: &mut Flight, target: &Target) -> Result<(Tally, bool), ErrorPayload> {
    if !target.has_policies(&flight.engine.config.policies) {
        return Ok((Tally::default(), false));
    }
    flight.patient = true;
    let votes = Box::pin(ask_all(flight, target)).await;
    flight.patient = false;
    votes
}

async fn ask_all(flight: &mut Flight, target: &Target) -> Result<(Tally, bool), ErrorPayload> {
    let engine = flight.engine.clone();
    let mut tally = Tally::default();
    let mut refused = false;
    for link in target.links(&engine.config.policies) {
        match link.policy {
            PolicyRef::BuiltIn(built_in) if decides_discovery(built_in) => {
                let vote = built_in_vote(flight, target, &link).await?;
                match policy::authority(link.policy) {
                    Some(_) => refused |= vote == Vote::Hide,
                    None => tally.add(vote),
                }
            }
            PolicyRef::BuiltIn(_) => {}
            PolicyRef::Host(name) => {
                let Some(hooks) = engine.policies.get(name) else {
                    tally.add(Vote::Hide);
                    continue;
                };
                if let Some(hook) = &hooks.on_discovery {
                    let host = flight.host().await?;
                    let context = context::context(&engine, target, &flight.call.ids.consumer, &host).into_bytes();
                    let answer = flight.ask(hook, "on_discovery", context).await?;
                    tally.add(Vote::read(answer.as_ref()).unwrap_or(Vote::Hide));
                }
            }
        }
    }
    Ok((tally, refused))
}

async fn built_in_vote(flight: &mut Flight, target: &Target, link: &Link<'_>) -> Result<Vote, ErrorPayload> {
    let PolicyRef::BuiltIn(built_in) = link.policy else { return Ok(Vote::Expose) };
    let host = flight.host().await?;
    let facts = Facts {
        host: &host.value,
        internal: &target.registration.definition.internal,
        environment: flight.engine.config.environment,
    };
    Ok(policy::discovery(built_in, &facts))
}

async fn built_in(
    flight: &mut Flight,
    target: &Target,
    request: &Request,
    link: &Link<'_>,
) -> Result<(), ErrorPayload> {
    if let Some(refusal) = policy::authority(link.policy) {
        return match built_in_vote(flight, target, link).await? {
            Vote::Hide => Err(refusal),
            _ => Ok(()),
        };
    }
    let consumer_key = &flight.call.ids.consumer.key;
    let capability_id = &target.capability().id;
    // What a person approved is not charged a second time for being asked about.
    let approved = request.confirmation_id.as_ref();
    if approved.is_some_and(|id| flight.engine.confirmations.approves(id, consumer_key, capability_id)) {
        flight.spared = true;
        return Ok(());
    }
    charge(flight, target, link)
}

fn charge(flight: &Flight, target: &Target, link: &Link) -> Result<(), ErrorPayload> {
    let (engine, consumer_key) = (&flight.engine, &flight.call.ids.consumer.key);
    policy::charge(link, &engine.rates, consumer_key, &target.capability().id, engine.clock.now())
}

/// Charges after all what evidence had spared that then redeemed nothing.
pub fn charge_spared(flight: &mut Flight) -> Result<(), ErrorPayload> {
    match (std::mem::take(&mut flight.spared), flight.call.target()) {
        (true, Some(target)) => {
            target.links(&flight.engine.config.policies).try_for_each(|link| charge(flight, &target, &link))
        }
        _ => Ok(()),
    }
}

/// Asks a policy to allow or deny; it may answer later, from any thread.
pub async fn decide(
    flight: &mut Flight,
    hook: &Hook,
    name: &str,
    phase: &'static str,
    context: Vec<u8>,
    confirm: bool,
) -> Result<Answer, ErrorPayload> {
    let engine = flight.engine.clone();
    let bounds = engine.answer_bounds(engine.limits().max_output_bytes);
    let reply = Reply::new(&engine.dispatcher, Owed::Decision { confirm }, bounds, Some(flight.call.signal.clone()));
    reply.report_late_to(Arc::new(LateDecision { call: flight.call.clone(), policy: name.to_owned(), phase }));
    flight.call.keep_reply(&reply);
    let label = Label { what: "policy", name: name.into(), phase: Some(phase) };
    let mut job = Job::new(&engine.dispatcher, hook.clone(), label, context);
    job.reply = Some(reply.clone());
    job.belongs_to(flight.call.number, flight.call.ids.consumer.lane);
    let call = flight.call.clone();
    job.start = Some(Box::new(move || call.interrupted().is_none()));
    engine.dispatcher.submit(job);
    match Box::pin(flight.answer(&reply)).await {
        Ok(answer) => {
            if let Some(failure) = envelope::untold(&answer) {
                flight.log_failure("A policy failed.", name, &failure);
            }
            Ok(answer)
        }
        Err(super::call::Stop::TimedOut) => {
            flight.log_failure("A policy did not answer in time.", name, "");
            Ok(Answer::Nothing)
        }
        Err(stop) => Err(flight.stopped(stop)),
    }
}

/// A policy that decides after its call went on without it is audited, and decides nothing.
struct LateDecision {
    call: Arc<Call>,
    policy: String,
    phase: &'static str,
}

impl Late for LateDecision {
    fn late(&self, answer: Answer) {
        let Some(engine) = self.call.engine() else { return };
        let decision = match answer {
            Answer::Allow => "allow",
            Answer::Deny(_) => "deny",
            Answer::Confirm(_) => "confirm",
            _ => "failed",
        };
        let entry = Entry::of_call("late-settlement", &self.call.ids, &self.call.bound());
        engine.observer.audit(entry.with("policy", &*self.policy).with("phase", self.phase).with("decision", decision));
    }
}

/// Anything but an allowance denies.
pub fn admit(answer: Answer) -> Result<(), ErrorPayload> {
    match answer {
        Answer::Allow => Ok(()),
        Answer::Deny(payload) => Err(envelope::policy_denial(payload)),
        _ => Err(ErrorPayload::policy_failed()),
    }
}
