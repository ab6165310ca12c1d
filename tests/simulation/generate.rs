//! Random programs. Each has its own taste, a weight for every kind of step, so that some programs do little but what
//! others hardly do; and each step is chosen with an eye on what is there, so that most of them mean something.

use serde_json::{Value, json};

use crate::program::{
    Answer, CAPABILITIES, Call, Capability, Component, Plane, Script, Setting, Step, UNIT_MS, Verdict,
};
use crate::random::Random;
use crate::world::{Of, Registered, Status, World};

/// Pairs of a consumer and an id that are easily mistaken for each other.
const CONSUMERS: [&str; 3] = ["c", "c1", "c11"];
const IDS: [&str; 6] = ["x", "1x", "11x", "y", "1y", "z"];
const KINDS: [&str; 2] = ["box", "box.lid"];
const INSTANCES: [&str; 2] = ["one", "two"];
const TYPED: [&str; 3] = ["NOT_AUTHORIZED", "EXECUTION_FAILED", "RATE_LIMITED"];

pub struct Generator {
    random: Random,
    taste: [usize; 15],
    names: usize,
    earlier: Vec<Call>,
    /// The call that a person has just approved.
    approved: Option<String>,
    left: usize,
}

impl Generator {
    pub fn new(seed: u64) -> (Generator, Setting) {
        let mut random = Random::new(seed);
        let setting = setting(&mut random, seed);
        //              register update invalidate swap unregister invoke again cancel finish decide advance set confirm close dispose
        let usual = [5, 1, 1, 1, 2, 16, 10, 6, 12, 8, 6, 3, 8, 1, 0];
        let taste = usual.map(|weight| weight * random.pick(&[0, 1, 1, 2, 4]));
        let left = 8 + random.below(40);
        (Generator { random, taste, names: 0, earlier: Vec::new(), approved: None, left }, setting)
    }

    fn name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    /// The next step; `None` where chance picked one that means nothing here.
    pub fn next(&mut self, world: &World) -> Option<Step> {
        if self.left == 0 {
            return Some(Step::Dispose);
        }
        self.left -= 1;
        if world.registrations.is_empty() {
            return Some(self.register(world));
        }
        if let (Some(name), true) = (self.approved.clone(), self.random.percent(70)) {
            // Asked for and approved: most agents now do it, some twice.
            let keep = self.random.percent(30);
            self.approved = self.approved.take().filter(|_| keep);
            return self.retry(&name).map(Step::Invoke);
        }
        let random = &mut self.random;
        match random.weighted(&self.taste)? {
            0 => Some(self.register(world)),
            1 => self.update(world),
            2 => Some(Step::Invalidate { registration: self.registration(world, true)?.name.clone() }),
            3 => self.swap(world),
            4 => Some(Step::Unregister { registration: self.registration(world, true)?.name.clone() }),
            5 => self.invoke(world).map(Step::Invoke),
            6 => self.again(world).map(Step::Invoke),
            7 => self.cancel(world),
            8 => self.finish(world),
            9 => self.decide(world),
            10 => Some(Step::Advance),
            11 => Some(self.set()),
            12 => self.confirm(world),
            13 => Some(Step::CloseConsumer { consumer: random.word(&CONSUMERS) }),
            _ => None,
        }
    }

    fn register(&mut self, world: &World) -> Step {
        let name = self.name("r");
        let mut capabilities = Vec::new();
        for capability in &CAPABILITIES {
            if self.random.percent(45) {
                capabilities.push((capability, self.script(world, &name, capability)));
            }
        }
        let random = &mut self.random;
        let component = Component { kind: random.word(&KINDS), instance: random.word(&INSTANCES), capabilities };
        Step::Register { name, component }
    }

    fn script(&mut self, world: &World, registration: &str, capability: &Capability) -> Script {
        let then = match self.random.below(10) {
            0..=5 => Script::Pend("call"),
            6 => Script::Echo,
            _ => Script::Answer(answer(&mut self.random)),
        };
        if capability.plane == Plane::Procedure || !self.random.percent(12) {
            return then;
        }
        let count = 1 + self.random.below(2);
        let steps = (0..count).filter_map(|_| self.inner(world, registration)).collect();
        Script::Doing(steps, Box::new(then))
    }

    /// A step inside a handler. It names only what is there already, or the handler's own registration.
    fn inner(&mut self, world: &World, registration: &str) -> Option<Step> {
        match self.random.below(6) {
            0 => Some(Step::Unregister { registration: registration.into() }),
            1 | 2 => {
                let mut call = self.invoke(world)?;
                call.registration = None;
                Some(Step::Invoke(call))
            }
            3 | 4 => Some(Step::Cancel { invocation: world.callers.last()?.call.name.clone() }),
            _ => Some(self.set()),
        }
    }

    fn registration<'w>(&mut self, world: &'w World, active: bool) -> Option<&'w Registered> {
        let wanted = |known: &&Registered| match active {
            true => known.status == Status::Active,
            false => known.status != Status::Unregistered,
        };
        let known: Vec<&Registered> = world.registrations.iter().filter(wanted).collect();
        if known.is_empty() { None } else { Some(*self.random.pick(&known)) }
    }

    fn update(&mut self, world: &World) -> Option<Step> {
        let known = self.registration(world, true)?;
        let on = self.random.percent(65);
        let patch = match self.random.percent(50) {
            true => json!({"enabled": on}),
            false => {
                let (capability, _) = self.random.pick_some(&known.component.capabilities)?;
                if capability.plane == Plane::Procedure {
                    return None;
                }
                json!({"availability": {capability.name: {"available": on}}})
            }
        };
        Some(Step::Update { registration: known.name.clone(), patch })
    }

    fn swap(&mut self, world: &World) -> Option<Step> {
        let known = self.registration(world, true)?;
        let (capability, _) = self.random.pick_some(&known.component.capabilities)?;
        if capability.plane == Plane::Procedure {
            return None;
        }
        let script = self.script(world, &known.name, capability);
        Some(Step::Swap { registration: known.name.clone(), capability, script })
    }

    fn invoke(&mut self, world: &World) -> Option<Call> {
        let name = self.name("i");
        let known = self.registration(world, false)?;
        let (capability, _) = self.random.pick_some(&known.component.capabilities)?;
        let random = &mut self.random;
        let input = match (capability.plane, random.below(20)) {
            (Plane::Observation, 1..) | (_, 0..=3) => None,
            (_, 4..=6) => Some(json!({})),
            (_, 7) => Some(json!({"n": "bad"})),
            (_, 8..=11) => Some(json!({"n": 2})),
            _ => Some(json!({"n": 1})),
        };
        let call = Call {
            name,
            capability: capability.id(known.component.kind),
            consumer: random.word(&CONSUMERS),
            id: random.percent(85).then(|| random.word(&IDS)),
            instance: random.percent(75).then_some(known.component.instance),
            registration: random.percent(12).then(|| known.name.clone()),
            version: random.percent(6).then(|| random.below(4) as u64),
            input,
            confirmation: None,
            timeout_ms: random.percent(15).then(|| UNIT_MS * (1 + random.below(3)) as u64),
            deadline_ms: random.percent(15).then(|| UNIT_MS * random.below(5) as u64),
        };
        self.earlier.push(call.clone());
        Some(call)
    }

    /// An earlier call once more: as it was, as another consumer's, or with the confirmation it asked for.
    fn again(&mut self, world: &World) -> Option<Call> {
        let recent = self.earlier.len().saturating_sub(8);
        let mut call = self.random.pick_some(&self.earlier[recent..])?.clone();
        let asked = |name: &str| {
            let caller = world.callers.iter().find(|caller| caller.call.name == name)?;
            (caller.code() == Some("CONFIRMATION_REQUIRED")).then(|| name.to_string())
        };
        match self.random.below(10) {
            0 => call.consumer = self.random.word(&CONSUMERS),
            1 => call.input = Some(json!({"n": 3})),
            2 => call.id = Some(self.random.word(&IDS)),
            3..=7 => call.confirmation = asked(&call.name).or(call.confirmation),
            _ => {}
        }
        if self.random.percent(20) {
            call.deadline_ms = Some(UNIT_MS * self.random.below(4) as u64);
        }
        call.name = self.name("i");
        self.earlier.push(call.clone());
        Some(call)
    }

    /// The call of this name with the confirmation it asked for.
    fn retry(&mut self, name: &str) -> Option<Call> {
        let mut call = self.earlier.iter().find(|call| call.name == name)?.clone();
        call.confirmation = Some(name.into());
        if self.random.percent(25) {
            call.id = Some(self.random.word(&IDS));
        }
        call.name = self.name("i");
        self.earlier.push(call.clone());
        Some(call)
    }

    fn cancel(&mut self, world: &World) -> Option<Step> {
        let waiting: Vec<_> = world.callers.iter().filter(|caller| caller.result.is_none()).collect();
        let caller = match self.random.percent(90) {
            true => *self.random.pick_some(&waiting)?,
            false => self.random.pick_some(&world.callers)?,
        };
        Some(Step::Cancel { invocation: caller.call.name.clone() })
    }

    fn finish(&mut self, world: &World) -> Option<Step> {
        let token = "call";
        let count = world.tokens.get(token)?.iter().filter(|pending| !pending.answered).count();
        let index = self.random.below_some(count)?;
        let answer = match self.random.below(4) {
            0 => Answer::Reject(self.random.word(&TYPED)),
            1 => Answer::Fail,
            _ => Answer::Output(json!(self.random.below(3))),
        };
        Some(Step::Finish { token, index, answer })
    }

    fn decide(&mut self, world: &World) -> Option<Step> {
        let token = "vote";
        let open = world.tokens.get(token)?.iter().filter(|pending| !pending.answered);
        let inner: Vec<bool> =
            open.map(|pending| matches!(&pending.of, Of::Vote { invocation: Some(_), .. })).collect();
        let index = self.random.below_some(inner.len())?;
        let verdict = match self.random.below(6) {
            0 => Verdict::Deny("NOT_AUTHORIZED"),
            1 | 2 if inner[index] => Verdict::Confirm,
            _ => Verdict::Allow,
        };
        Some(Step::Decide { token, index, verdict })
    }

    fn set(&mut self) -> Step {
        let random = &mut self.random;
        let (var, values): (&'static str, Vec<Value>) = match random.below(6) {
            0 => ("when", vec![json!(true), json!(true), json!(false)]),
            1 => ("precondition", vec![Value::Null, Value::Null, json!({"message": "Not now."})]),
            2 => ("bind", vec![json!({"who": "ann"}), json!({"who": "bob"}), json!({"who": 7})]),
            3 => (
                "discovery",
                vec![json!({"decision": "expose"}), json!({"decision": "expose"}), json!({"decision": "hide"})],
            ),
            4 => (
                "authorize",
                vec![json!({"allow": true}), json!({"pend": "vote"}), json!({"deny": {"code": "NOT_AUTHENTICATED"}})],
            ),
            _ => ("approve", vec![json!({"allow": true}), json!({"pend": "vote"}), json!({"confirm": {}})]),
        };
        Step::Set { var, to: random.pick(&values).clone() }
    }

    fn confirm(&mut self, world: &World) -> Option<Step> {
        let asked: Vec<_> = world.callers.iter().filter(|c| c.code() == Some("CONFIRMATION_REQUIRED")).collect();
        let recent = asked.len().saturating_sub(3);
        let asked = self.random.pick_some(&asked[recent..])?.call.name.clone();
        let approve = self.random.percent(85);
        self.approved = approve.then(|| asked.clone());
        Some(Step::Confirm { asked, approve })
    }
}

fn setting(random: &mut Random, seed: u64) -> Setting {
    let mut limits = Vec::new();
    let mut limit = |name, values: &[u64]| limits.push((name, *random.pick(values)));
    limit("dedupeCacheSize", &[0, 1, 2, 3, 8]);
    limit("dedupeCacheTtlMs", &[4 * UNIT_MS, 20 * UNIT_MS]);
    limit("maxInFlight", &[2, 5, 64]);
    limit("actionQueueDepth", &[0, 1, 2, 4]);
    limit("maxConcurrentObservationsPerConsumer", &[1, 2]);
    limit("maxConcurrentObservationsTotal", &[1, 2, 3]);
    limit("maxQueuedObservationsPerConsumer", &[0, 1, 3]);
    limit("maxPendingConfirmations", &[0, 1, 2, 4]);
    limit("confirmationTtlMs", &[2 * UNIT_MS, 6 * UNIT_MS]);
    limit("confirmationRedeemMs", &[0, 2 * UNIT_MS]);
    limit("actionTimeoutMs", &[3 * UNIT_MS, 8 * UNIT_MS]);
    limit("observationTimeoutMs", &[2 * UNIT_MS]);
    limit("procedureTimeoutMs", &[5 * UNIT_MS]);
    limit("policyTimeoutMs", &[3 * UNIT_MS]);
    limit("tombstoneTtlMs", &[5 * UNIT_MS]);
    let executor = (0..6).map(|_| match random.percent(60) {
        true => Script::Pend("call"),
        false => Script::Answer(answer(random)),
    });
    let mut executor: Vec<Script> = executor.collect();
    executor.push(Script::Pend("call"));
    Setting { id_seed: seed, limits, replace: random.percent(50), executor }
}

fn answer(random: &mut Random) -> Answer {
    match random.below(8) {
        0 => Answer::Reject(random.word(&TYPED)),
        1 => Answer::Fail,
        2 => Answer::Malformed,
        3 => Answer::Nothing,
        _ => Answer::Output(json!({"n": random.below(3)})),
    }
}
