//! Who executes and who waits, as sections 10's groups and gates have it: never more than may, nobody waiting where
//! there is room, first come first served.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::program::{Capability, Plane, Rule};
use crate::world::{Attempt, Checked, Of, World, broken};

/// What stood in each line when the world was last quiet.
#[derive(Default)]
pub struct Places {
    lines: BTreeMap<String, (usize, usize)>,
}

#[derive(Default)]
struct Line {
    max: usize,
    depth: usize,
    running: Vec<usize>,
    waiting: Vec<usize>,
}

impl World {
    pub fn check_places(&mut self) -> Checked {
        let mut lines: BTreeMap<String, Line> = BTreeMap::new();
        for index in 0..self.attempts.len() {
            let attempt = &self.attempts[index];
            let (running, waiting) = (self.runs(attempt), self.waits(attempt));
            if !running && !waiting {
                continue;
            }
            let Some(capability) = attempt.capability() else { continue };
            let Some(name) = line_of(attempt, capability) else {
                let what = format!("{} hangs before it found its registration", attempt.id);
                return broken("nobody waits where there is room", what, self.stuck_proof(index));
            };
            let (max, depth) = self.bounds(capability);
            let line = lines.entry(name).or_default();
            line.max = max;
            line.depth = line.depth.max(depth);
            if running { line.running.push(index) } else { line.waiting.push(index) }
        }
        let total = self.limits["maxConcurrentObservationsTotal"] as usize;
        let reading: usize = gates(&lines).map(|line| line.running.len()).sum();
        if reading > total {
            return broken("no more run than may", format!("{reading} observations run, {total} may"), Vec::new());
        }
        for (name, line) in &lines {
            let full = line.running.len() == line.max || (name.starts_with("gate ") && reading == total);
            self.check_line(name, line, full)?;
        }
        let waiting: Vec<usize> = lines.values().flat_map(|line| line.waiting.iter().copied()).collect();
        for index in waiting {
            self.attempts[index].waiting_since.get_or_insert(self.step);
        }
        self.check_refusals()?;
        self.places.lines =
            lines.into_iter().map(|(name, line)| (name, (line.running.len(), line.waiting.len()))).collect();
        Ok(())
    }

    fn check_line(&self, name: &str, line: &Line, full: bool) -> Checked {
        let (running, waiting) = (line.running.len(), line.waiting.len());
        if running > line.max {
            return broken("no more run than may", format!("{running} run in {name}, {} may", line.max), Vec::new());
        }
        if waiting > line.depth {
            return broken("queues are bounded", format!("{waiting} wait in {name}, {} may", line.depth), Vec::new());
        }
        if let (Some(first), false) = (line.waiting.first(), full) {
            let what = format!("{waiting} wait in {name}, where {running} of {} run", line.max);
            return broken("nobody waits where there is room", what, self.stuck_proof(*first));
        }
        // One that began in this step and was not waiting before one that still waits.
        for index in &line.running {
            let began = &self.attempts[*index];
            let overtakes = |other: &&usize| match (began.waiting_since, self.attempts[**other].waiting_since) {
                (Some(mine), Some(theirs)) => theirs < mine,
                (None, Some(theirs)) => theirs < self.step,
                (_, None) => false,
            };
            let now = began.begun.as_ref().is_some_and(|begun| begun.step == self.step);
            if let (true, Some(other)) = (now, line.waiting.iter().find(overtakes)) {
                let what = format!("{} overtook {} in {name}", began.id, self.attempts[*other].id);
                return broken("first come, first served", what, Vec::new());
            }
        }
        Ok(())
    }

    /// Nobody is sent away from a line with room.
    fn check_refusals(&self) -> Checked {
        for caller in self.callers.iter().filter(|caller| caller.step == self.step && caller.foretold.is_some()) {
            let (Some("RATE_LIMITED"), Some(attempt)) = (caller.code(), caller.attempt) else { continue };
            let attempt = &self.attempts[attempt];
            let Some(capability) = attempt.capability() else { continue };
            if capability.confirms || !capability.policies.is_empty() || attempt.begun.is_some() {
                continue;
            }
            let Some(name) = line_of(attempt, capability) else { continue };
            let (_, depth) = self.bounds(capability);
            let (_, waiting) = self.places.lines.get(&name).copied().unwrap_or_default();
            if waiting < depth {
                let what =
                    format!("{} was sent away from {name}, where {waiting} waited and {depth} may", caller.call.name);
                let proof = json!({"do": "await", "invocation": caller.call.name,
                    "expect": {"error": {"code": {"$not": "RATE_LIMITED"}}}});
                return broken("nobody is sent away where there is room", what, vec![proof]);
            }
        }
        Ok(())
    }

    /// It executes, or its handler does after its time and keeps the place.
    fn runs(&self, attempt: &Attempt) -> bool {
        if attempt.begun.is_none() {
            return false;
        }
        let straggles = attempt.capability().is_some_and(|capability| capability.hold)
            && attempt.code() == Some("TIMEOUT")
            && attempt.answer.is_none()
            && attempt.reply.strong_count() > 0;
        attempt.settled.is_none() || straggles
    }

    /// It has passed everything before admission. Where a vote may be its own it is not known, and counts as not.
    fn waits(&self, attempt: &Attempt) -> bool {
        let votes = self.tokens.get("vote").into_iter().flatten().filter(|pending| pending.is_open());
        let mut voters = votes.filter(|pending| match &pending.of {
            Of::Vote { consumer, capability, invocation, .. } => {
                (consumer, capability) == (&attempt.consumer, &attempt.capability)
                    && invocation.as_ref().is_none_or(|id| *id == attempt.invocation)
            }
            Of::Call(_) => false,
        });
        attempt.started && attempt.settled.is_none() && attempt.begun.is_none() && voters.next().is_none()
    }

    fn bounds(&self, capability: &Capability) -> (usize, usize) {
        let limit = |name| self.limits[name] as usize;
        match capability.rule {
            Rule::Gate => (limit("maxConcurrentObservationsPerConsumer"), limit("maxQueuedObservationsPerConsumer")),
            rule => {
                let max = if let Rule::Parallel(max) = rule { max } else { 1 };
                (max, capability.depth.map_or(limit("actionQueueDepth"), |depth| depth as usize))
            }
        }
    }

    /// In a scenario it shows as a handler that never runs.
    fn stuck_proof(&self, attempt: usize) -> Vec<Value> {
        let attempt = &self.attempts[attempt];
        let Some(capability) = attempt.capability() else { return Vec::new() };
        if capability.plane == Plane::Procedure {
            let ran = self.executed.get(capability.name).copied().unwrap_or(0);
            return vec![json!({"do": "calls", "handler": format!("executor:{}", capability.name), "expect": ran + 1})];
        }
        let known = self.registrations.iter().find(|known| Some(&known.id) == attempt.registration.as_ref());
        let Some(known) = known else { return Vec::new() };
        let ran = known.ran.get(capability.name).copied().unwrap_or(0);
        vec![json!({"do": "calls", "handler": format!("{}.{}", known.name, capability.name), "expect": ran + 1})]
    }
}

fn gates(lines: &BTreeMap<String, Line>) -> impl Iterator<Item = &Line> {
    lines.iter().filter(|(name, _)| name.starts_with("gate ")).map(|(_, line)| line)
}

/// `None` where it would stand in the line of a registration that it has not found.
fn line_of(attempt: &Attempt, capability: &Capability) -> Option<String> {
    let registration = || attempt.registration.clone();
    Some(match capability.rule {
        Rule::Gate => format!("gate {}", attempt.consumer),
        Rule::Key(key) => format!("key {key}"),
        Rule::Capability => format!("capability {}", attempt.capability),
        Rule::Instance => format!("instance {}", registration()?),
        Rule::Parallel(_) | Rule::Own => format!("own {} {}", registration()?, attempt.capability),
    })
}
