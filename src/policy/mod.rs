//! Policies (section 8): the chain of one capability, the votes on discovery, the built-ins.

mod builtin;
pub mod context;
mod rate;

use std::collections::HashMap;

use crate::sync::RwLock;
use std::sync::Arc;

pub use builtin::{Facts, authority, charge, confirms, discovery, may_confirm};
pub use rate::RateTable;

use crate::model::policy::PolicyRef;
use crate::model::{ApiError, Code};
use crate::runtime::Hook;

/// Most host policies of one registry.
const MAX_POLICIES: usize = 1024;

/// Where a policy is attached; chains concatenate in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    Registry,
    Component,
    Capability,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Registry => "registry",
            Scope::Component => "component",
            Scope::Capability => "capability",
        }
    }
}

/// The functions of one host policy.
#[derive(Clone, Default)]
pub struct PolicyHooks {
    pub on_discovery: Option<Hook>,
    pub on_authorize: Option<Hook>,
    pub on_invoke: Option<Hook>,
    pub on_result: Option<Hook>,
}

/// The host's policies by name.
#[derive(Default)]
pub struct Policies {
    defined: RwLock<HashMap<String, Arc<PolicyHooks>>>,
}

impl Policies {
    pub fn define(&self, name: &str, hooks: PolicyHooks) -> Result<(), ApiError> {
        let mut defined = self.defined.write();
        if defined.contains_key(name) {
            return Err(ApiError::new(Code::Argument, "A policy of this name is defined already."));
        }
        if defined.len() >= MAX_POLICIES {
            return Err(ApiError::new(Code::Limit, format!("A registry has at most {MAX_POLICIES} policies.")));
        }
        defined.insert(name.into(), Arc::new(hooks));
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<Arc<PolicyHooks>> {
        self.defined.read().get(name).cloned()
    }

    pub fn clear(&self) {
        let defined = std::mem::take(&mut *self.defined.write());
        drop(defined);
    }
}

/// One policy of a chain, with its place in it.
#[derive(Clone, Copy)]
pub struct Link<'a> {
    pub scope: Scope,
    pub index: usize,
    pub policy: &'a PolicyRef,
}

/// What one policy says about showing a capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vote {
    Expose,
    Disable(String),
    Hide,
}

impl Vote {
    pub fn as_str(&self) -> &'static str {
        match self {
            Vote::Expose => "expose",
            Vote::Disable(_) => "disable",
            Vote::Hide => "hide",
        }
    }

    /// Reads `{"decision": …, "reason"?}`; anything else is a failure, which counts as hide
    /// (AS-POLICY-002).
    pub fn read(answer: Option<&serde_json::Value>) -> Option<Vote> {
        let answer = answer?.as_object()?;
        let reason = match answer.get("reason") {
            None => None,
            Some(reason) => Some(reason.as_str()?),
        };
        match answer.get("decision")?.as_str()? {
            "expose" => Some(Vote::Expose),
            "hide" => Some(Vote::Hide),
            "disable" => Some(Vote::Disable(reason.unwrap_or("unavailable").into())),
            _ => None,
        }
    }
}

/// The votes of a chain, composed: the most restrictive wins, the first reason is kept.
#[derive(Default)]
pub struct Tally {
    pub hidden: bool,
    pub disabled: Option<String>,
}

impl Tally {
    pub fn add(&mut self, vote: Vote) {
        match vote {
            Vote::Expose => {}
            Vote::Hide => self.hidden = true,
            Vote::Disable(reason) => {
                self.disabled.get_or_insert(reason);
            }
        }
    }
}
