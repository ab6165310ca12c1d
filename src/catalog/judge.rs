//! How one capability stands for one consumer: hidden, disabled with a reason, or exposed.

use std::cell::OnceCell;
use std::sync::Arc;

use serde_json::Value;

use super::Target;
use crate::model::Consumer;
use crate::model::policy::{BuiltIn, PolicyRef};
use crate::policy::context::HostContext;
use crate::policy::{self, Facts, Scope, Tally, Vote, context};
use crate::registry::Registry;

/// The reason where an author gives none.
pub const UNAVAILABLE: &str = "unavailable";
/// The reason when a `when` callback fails.
pub const WHEN_ERROR: &str = "when-error";

/// One look at the surface: the consumer, and the host context, read when first needed.
pub struct Look<'a> {
    pub registry: &'a Registry,
    pub consumer: &'a Consumer,
    host: OnceCell<Arc<HostContext>>,
}

/// One policy's own vote.
pub struct Voted {
    pub name: String,
    pub scope: Scope,
    pub vote: Option<Vote>,
    pub failed: bool,
}

pub struct Judged {
    pub hidden: bool,
    /// Why it is disabled, the first reason that applies.
    pub disabled: Option<String>,
    /// Availability apart from policies.
    pub unavailable: Option<String>,
    pub votes: Vec<Voted>,
}

impl<'a> Look<'a> {
    pub fn new(registry: &'a Registry, consumer: &'a Consumer) -> Look<'a> {
        Look { registry, consumer, host: OnceCell::new() }
    }

    pub fn host(&self) -> &HostContext {
        self.host.get_or_init(|| self.registry.host_context_now())
    }

    /// Asks everything that has a say, on this thread.
    pub fn judge(&self, target: &Target) -> Judged {
        let (tally, votes) = self.votes(target);
        let unavailable = match tally.hidden {
            true => None,
            false => self.unavailable(target),
        };
        Judged { hidden: tally.hidden, disabled: unavailable.clone().or(tally.disabled), unavailable, votes }
    }

    fn votes(&self, target: &Target) -> (Tally, Vec<Voted>) {
        let mut tally = Tally::default();
        let mut votes = Vec::new();
        for link in target.links(&self.registry.config.policies) {
            let (vote, failed) = match link.policy {
                PolicyRef::BuiltIn(built_in) if decides_discovery(built_in) => {
                    (Some(policy::discovery(built_in, &self.facts(target))), false)
                }
                PolicyRef::BuiltIn(_) => (None, false),
                PolicyRef::Host(name) => self.ask_policy(target, name),
            };
            if let Some(vote) = &vote {
                tally.add(vote.clone());
            }
            votes.push(Voted { name: link.policy.name().into(), scope: link.scope, vote, failed });
        }
        (tally, votes)
    }

    /// A policy that is not defined, or fails, hides (AS-POLICY-002).
    fn ask_policy(&self, target: &Target, name: &str) -> (Option<Vote>, bool) {
        let Some(hooks) = self.registry.policies.get(name) else { return (Some(Vote::Hide), true) };
        let Some(hook) = &hooks.on_discovery else { return (None, false) };
        let context = context::context(self.registry, target, self.consumer, self.host()).into_bytes();
        match Vote::read(self.registry.ask_now(hook, name, context, true).as_ref()) {
            Some(vote) => (Some(vote), false),
            None => (Some(Vote::Hide), true),
        }
    }

    fn facts(&self, target: &'a Target) -> Facts<'_> {
        Facts {
            host: &self.host().value,
            internal: &target.registration.definition.internal,
            environment: self.registry.config.environment,
        }
    }

    /// Availability apart from policies.
    pub fn unavailable(&self, target: &Target) -> Option<String> {
        let withheld = target.registration.withheld(target.index);
        if withheld.is_some() {
            return withheld;
        }
        let hooks = target.hooks()?;
        let hook = hooks.when.as_ref()?;
        let context = context::looking(target, self.consumer, self.host());
        let answer = self.registry.ask_now(hook, "when", context, true);
        when_reason(answer.as_ref(), target.capability().unavailable_reason.as_deref())
    }

    /// The contextual note of a procedure.
    pub fn note(&self, target: &Target) -> Option<String> {
        let hooks = target.hooks()?;
        let hook = hooks.describe.as_ref()?;
        let context = context::looking(target, self.consumer, self.host());
        let answer = self.registry.ask_now(hook, "describe", context, true)?;
        answer.as_str().map(String::from)
    }
}

/// What `when` answered, as a reason.
pub fn when_reason(answer: Option<&Value>, authored: Option<&str>) -> Option<String> {
    match answer {
        Some(Value::Bool(true)) => None,
        Some(Value::Bool(false)) => Some(authored.unwrap_or(UNAVAILABLE).into()),
        _ => Some(WHEN_ERROR.into()),
    }
}

/// Built-ins that can hide; the others have no say in discovery.
pub fn decides_discovery(built_in: &BuiltIn) -> bool {
    !matches!(built_in, BuiltIn::RateLimit { .. } | BuiltIn::RequireConfirmation { .. } | BuiltIn::Audit { .. })
}
