//! What the programs reached, so that a generator that reaches too little is seen.

use std::collections::BTreeMap;

use crate::evidence::State;
use crate::world::World;

#[derive(Default)]
pub struct Tally {
    pub programs: usize,
    steps: usize,
    reached: BTreeMap<String, usize>,
}

/// What at least some of many programs must reach.
pub const WANTED: [&str; 30] = [
    "Started",
    "Joined",
    "Replayed",
    "Conflict",
    "Refused",
    "ok",
    "CAPABILITY_NOT_FOUND",
    "CAPABILITY_NOT_AVAILABLE",
    "AMBIGUOUS_INSTANCE",
    "COMPONENT_UNMOUNTED",
    "STALE_CAPABILITY",
    "INVALID_INPUT",
    "NOT_AUTHENTICATED",
    "NOT_AUTHORIZED",
    "PRECONDITION_FAILED",
    "CONFIRMATION_REQUIRED",
    "CONFIRMATION_INVALID denied",
    "CONFIRMATION_INVALID consumed",
    "CONFIRMATION_INVALID reserved",
    "CONFIRMATION_INVALID expired",
    "CONFIRMATION_INVALID mismatch",
    "RATE_LIMITED",
    "TIMEOUT",
    "TIMEOUT not started",
    "CANCELLED",
    "EXECUTION_FAILED",
    "waited",
    "late",
    "handler with evidence",
    "evidence given back",
];

impl Tally {
    pub fn add(&mut self, world: &World) {
        self.programs += 1;
        self.steps += world.step;
        for caller in &world.callers {
            if let Some(fate) = caller.fate {
                self.count(format!("{fate:?}"));
            }
            let Some(result) = &caller.result else { continue };
            let details = &result["error"]["details"];
            let code = caller.code().unwrap_or("ok");
            self.count(match (code, details["reason"].as_str()) {
                ("CONFIRMATION_INVALID", Some(reason)) => format!("{code} {reason}"),
                ("TIMEOUT", _) if details["started"] == false => format!("{code} not started"),
                _ => code.into(),
            });
        }
        for attempt in &world.attempts {
            let facts = [
                (attempt.waiting_since.is_some(), "waited"),
                (attempt.late_entries > 0, "late"),
                (attempt.begun.as_ref().is_some_and(|begun| begun.confirmed), "handler with evidence"),
            ];
            facts.iter().filter(|(is, _)| *is).for_each(|(_, name)| self.count((*name).into()));
        }
        let given_back = |id: &str| {
            let mut tries = world
                .callers
                .iter()
                .filter(|c| c.confirmation.as_deref() == Some(id) && c.code() != Some("CONFIRMATION_INVALID"));
            tries.any(|c| {
                c.attempt.is_some_and(|a| world.attempts[a].settled.is_some() && world.attempts[a].begun.is_none())
            })
        };
        for (id, record) in &world.evidence.records {
            if record.state == State::Consumed && given_back(id) {
                self.count("evidence given back".into());
            }
        }
    }

    pub fn join(&mut self, other: Tally) {
        self.programs += other.programs;
        self.steps += other.steps;
        other.reached.into_iter().for_each(|(name, count)| *self.reached.entry(name).or_default() += count);
    }

    fn count(&mut self, what: String) {
        *self.reached.entry(what).or_default() += 1;
    }

    pub fn missing(&self) -> Vec<&'static str> {
        WANTED.iter().filter(|name| !self.reached.contains_key(**name)).copied().collect()
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} programs, {} steps;", self.programs, self.steps)?;
        self.reached.iter().try_for_each(|(name, count)| write!(f, " {name} {count},"))
    }
}
