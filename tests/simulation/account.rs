//! What must be true of every call whenever the world is quiet: it ends once, for a reason that happened, with what its
//! handler answered, and everything is counted right.

use serde_json::{Value, json};

use crate::program::{Answer, Plane, masked};
use crate::world::{Attempt, Caller, Checked, Of, Status, World, broken};

impl World {
    pub fn check(&mut self) -> Checked {
        self.collect_results();
        if self.shared.strays.load(std::sync::atomic::Ordering::Relaxed) > 0 {
            return broken("pull dispatch calls nobody", "a function was called".into(), Vec::new());
        }
        self.check_identity()?;
        for caller in &self.callers {
            self.check_caller(caller)?;
        }
        for index in 0..self.attempts.len() {
            self.check_ending(index)?;
            self.check_deadlines(index)?;
        }
        self.check_votes()?;
        self.check_evidence()?;
        match self.disposed {
            true => self.check_disposed(),
            false => {
                self.check_places()?;
                self.check_reports()?;
                self.check_registrations()?;
                self.check_info()
            }
        }
    }

    /// The result of an attempt that ended just now: what the window tells, else what a caller has who did not leave it
    /// on his own.
    fn collect_results(&mut self) {
        for index in 0..self.attempts.len() {
            let attempt = &self.attempts[index];
            if !self.settled_now(index) || self.disposed {
                continue;
            }
            let recorded =
                self.remembered(&attempt.consumer, &attempt.invocation).and_then(|told| told.get("result").cloned());
            let ended = |caller: &&Caller| caller.attempt == Some(index) && caller.code() == attempt.code();
            let mut callers = self.callers.iter().filter(ended).filter(|caller| caller.settled == self.step);
            let first = callers.clone().find(|caller| !caller.may_leave(self.now)).or_else(|| callers.next());
            self.attempts[index].result = recorded.or_else(|| first.and_then(|caller| caller.result.clone()));
        }
    }

    fn check_caller(&self, caller: &Caller) -> Checked {
        let name = &caller.call.name;
        let Some(result) = &caller.result else {
            let over = caller.attempt.is_some_and(|attempt| self.attempts[attempt].settled.is_some()) || self.disposed;
            let late = caller.deadline().is_some_and(|deadline| self.now >= deadline) && caller.attempt.is_some();
            if over || late || caller.fate.is_some() && caller.attempt.is_none() {
                let proof = vec![json!({"do": "await", "invocation": name})];
                return broken("every accepted call settles", format!("{name} has no result"), proof);
            }
            return Ok(());
        };
        if result["capabilityId"] != json!(caller.call.capability)
            || caller.id.as_ref().is_some_and(|id| result["invocationId"] != json!(id))
        {
            return broken("a result is of its request", format!("{name} has {result}"), Vec::new());
        }
        let Some(attempt) = caller.attempt.map(|attempt| &self.attempts[attempt]) else { return Ok(()) };
        // What is recorded is recorded verbatim, and everyone who waited has the same.
        let settled = attempt.settled.is_some();
        if settled && attempt.result.as_ref() == Some(result) {
            return Ok(());
        }
        let left = match result["error"]["code"].as_str() {
            Some("CANCELLED") => caller.cancelled || self.disposed,
            Some("TIMEOUT") => caller.deadline().is_some_and(|deadline| self.now >= deadline),
            _ => false,
        };
        if left {
            return Ok(());
        }
        let what = format!("{name} has {result}, and its call {:?}", attempt.result);
        let proof = match settled {
            true => vec![json!({"do": "await", "invocation": name, "expect": {"$exact": attempt.result}})],
            false => vec![json!({"do": "unsettled", "invocation": name})],
        };
        broken("who joins has the call's result", what, proof)
    }

    /// An attempt that ended just now did so for a reason.
    fn check_ending(&self, index: usize) -> Checked {
        let attempt = &self.attempts[index];
        let lates = usize::from(matches!(&attempt.answer, Some((_, false))));
        if attempt.late_entries != lates && !self.disposed {
            let what = format!("{} has {} late settlements, and should {lates}", attempt.id, attempt.late_entries);
            return broken("late answers are audited, once", what, Vec::new());
        }
        if !self.settled_now(index) {
            return Ok(());
        }
        let taken = attempt.answer.as_ref().filter(|(_, taken)| *taken).map(|(answer, _)| answer);
        let callers: Vec<&Caller> = self.callers.iter().filter(|caller| caller.attempt == Some(index)).collect();
        let begun = attempt.begun.is_some();
        let ended = self.has_ended(attempt);
        let navigates = attempt.capability().is_some_and(|capability| capability.effect == "navigation");
        let gone = |caller: &&Caller| caller.cancelled || caller.may_leave(self.now) && caller.result.is_some();
        let reasonable = match (attempt.code(), taken) {
            // Everybody had left, so nobody was given the result that could be held against the answer.
            (_, Some(_)) if attempt.result.is_none() && callers.iter().all(gone) => true,
            // What a handler answered in time counts, whatever else happens.
            (code, Some(answer)) => {
                self.follows(attempt, code, answer) || navigates && ended && code == Some("CANCELLED")
            }
            (None, None) => false,
            (Some("CANCELLED"), None) => {
                self.disposed || callers.iter().any(|caller| caller.closed) || callers.iter().all(gone)
            }
            (Some("TIMEOUT"), None) => {
                let deadline = self.first_deadline(index).is_some_and(|due| self.now >= due);
                let timeout = self.timeout_at(index).is_some_and(|due| self.now >= due);
                let started = match &attempt.result {
                    Some(result) => result["error"]["details"]["started"] != json!(false),
                    // Everybody had left, and it was recorded nowhere: nobody was told.
                    None => begun,
                };
                (deadline || timeout) && started == begun
            }
            (Some("COMPONENT_UNMOUNTED"), None) => attempt.registration.is_none() || ended && !(navigates && begun),
            // The rest ends before the handler.
            (Some(_), None) => !begun,
        };
        if reasonable {
            return Ok(());
        }
        let what = format!(
            "{} ({}) ended with {:?}; its handler {} and answered {:?}",
            attempt.id,
            attempt.capability,
            attempt.code().unwrap_or("ok"),
            if begun { "began" } else { "did not begin" },
            attempt.answer
        );
        let waiting = callers.iter().find(|caller| !caller.cancelled);
        let proof = waiting.map(|caller| json!({"do": "unsettled", "invocation": caller.call.name}));
        broken("a call ends for a reason", what, proof.into_iter().collect())
    }

    /// Whether a result is what comes of an answer.
    fn follows(&self, attempt: &Attempt, code: Option<&str>, answer: &Answer) -> bool {
        let Some(result) = &attempt.result else { return self.disposed };
        let masks = attempt.capability().is_some_and(|capability| capability.policies.contains(&"mask"));
        let output = result.get("output").cloned();
        let reason = result["error"]["details"]["reason"].as_str();
        match answer {
            _ if masks && code.is_none() => output == Some(masked()),
            Answer::Output(value) => code.is_none() && output.as_ref() == Some(value),
            Answer::Nothing => code.is_none() && output.is_none(),
            Answer::Reject(typed) => code == Some(typed),
            Answer::Fail => code == Some("EXECUTION_FAILED") && reason == Some("handler-error"),
            Answer::Malformed => code == Some("EXECUTION_FAILED") && reason == Some("output-invalid"),
        }
    }

    /// Its registration is over.
    fn has_ended(&self, attempt: &Attempt) -> bool {
        let active = |known: &&crate::world::Registered| known.status == Status::Active;
        let Some(id) = &attempt.registration else { return false };
        self.registrations.iter().filter(active).all(|known| known.id != *id)
    }

    fn first_deadline(&self, attempt: usize) -> Option<u64> {
        self.callers.iter().find(|caller| caller.attempt == Some(attempt))?.deadline()
    }

    /// When its execution must have ended.
    fn timeout_at(&self, attempt: usize) -> Option<u64> {
        let first = self.callers.iter().find(|caller| caller.attempt == Some(attempt))?;
        let attempt = &self.attempts[attempt];
        let capability = attempt.capability()?;
        let limit = match capability.plane {
            Plane::Observation => "observationTimeoutMs",
            Plane::Action => "actionTimeoutMs",
            Plane::Procedure => "procedureTimeoutMs",
        };
        let timeout = first.call.timeout_ms.or(capability.timeout_ms).unwrap_or(self.limits[limit]);
        Some(attempt.begun.as_ref()?.at + timeout)
    }

    /// What must have ended has ended.
    fn check_deadlines(&self, index: usize) -> Checked {
        let attempt = &self.attempts[index];
        if attempt.settled.is_some() || !attempt.started || self.disposed {
            return Ok(());
        }
        let navigates = attempt.capability().is_some_and(|capability| capability.effect == "navigation");
        let overdue = self.first_deadline(index).is_some_and(|due| self.now >= due)
            || self.timeout_at(index).is_some_and(|due| self.now >= due)
            || self.has_ended(attempt) && !(navigates && attempt.begun.is_some())
            || self.callers.iter().any(|caller| caller.attempt == Some(index) && caller.closed);
        let callers = self.callers.iter().filter(|caller| caller.attempt == Some(index));
        if overdue || callers.clone().all(|caller| caller.cancelled) {
            let proof = callers.take(1).map(|caller| json!({"do": "await", "invocation": caller.call.name})).collect();
            return broken("what must end has ended", format!("{} goes on", attempt.id), proof);
        }
        Ok(())
    }

    /// A policy has its time and no more.
    fn check_votes(&self) -> Checked {
        for pending in self.tokens.get("vote").into_iter().flatten() {
            let Of::Vote { asked, capability, .. } = &pending.of else { continue };
            if pending.is_open() && self.now >= asked + self.limits["policyTimeoutMs"] {
                return broken("policies have their time", format!("a vote on {capability} is open"), Vec::new());
            }
        }
        Ok(())
    }

    /// Each result was reported once for each caller who has it.
    fn check_reports(&mut self) -> Checked {
        self.reported.retain(|_, count| *count != 0);
        match self.reported.iter().next() {
            None => Ok(()),
            Some((result, count)) => {
                let what = format!("reported {count} times too often: {result}");
                broken("each caller has one result, once", what, Vec::new())
            }
        }
    }

    fn check_registrations(&self) -> Checked {
        for known in self.registrations.iter().filter(|known| known.status != Status::Unregistered) {
            let info: Value =
                known.handle.info().ok().and_then(|info| serde_json::from_str(&info).ok()).unwrap_or_default();
            let wanted = match known.status {
                Status::Active => "active",
                Status::Rejected => "rejected",
                _ => "replaced",
            };
            if info["status"] != wanted {
                let what = format!("{} is {}, and should be {wanted}", known.name, info["status"]);
                return broken("a registration is what became of it", what, Vec::new());
            }
        }
        Ok(())
    }

    /// The registry counts what is there, and no more than may be.
    fn check_info(&self) -> Checked {
        let info = self.surface.info().unwrap_or_default();
        let active = self.registrations.iter().filter(|known| known.status == Status::Active).count();
        let counts = [
            ("inFlight", self.window.in_flight(), self.limits["maxInFlight"]),
            ("pendingConfirmations", self.evidence.pending(), self.limits["maxPendingConfirmations"]),
            ("registrations", active, u64::MAX),
        ];
        for (name, count, max) in counts {
            // Found in its text: the whole of it is long, and this is done after every step.
            if !info.contains(&format!("\"{name}\":{count},")) || count as u64 > max {
                let what = format!("{name} should be {count}, {max} at most, in {info}");
                return broken("the registry counts right", what, Vec::new());
            }
        }
        Ok(())
    }

    /// Nothing of the host is left in the library's hands.
    fn check_disposed(&self) -> Checked {
        let live = self.shared.live.load(std::sync::atomic::Ordering::Relaxed);
        if live != 0 {
            return broken("closing releases the host's functions", format!("{live} are held"), Vec::new());
        }
        let pending = self.tokens.values().flatten();
        match pending.filter(|pending| pending.reply.strong_count() > 0).count() {
            0 => Ok(()),
            held => broken("replies end with their registry", format!("{held} live on"), Vec::new()),
        }
    }
}

impl Caller {
    pub fn deadline(&self) -> Option<u64> {
        Some(self.at + self.call.deadline_ms?)
    }

    /// It may have a result of its own, apart from the call's.
    fn may_leave(&self, now: u64) -> bool {
        self.cancelled || self.deadline().is_some_and(|deadline| now >= deadline)
    }
}
