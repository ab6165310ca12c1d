//! Runs one program, made up on the way or given, and writes it down.

use serde_json::{Value, json};

use crate::generate::Generator;
use crate::leaks::blocks;
use crate::program::{Plane, Program, Step};
use crate::tally::Tally;
use crate::world::{Violation, World};

pub struct Failure {
    pub violation: Violation,
    /// How many of the program's steps were taken, the last one being where it broke.
    pub steps: usize,
    /// The program as a scenario that fails where this did.
    pub scenario: Value,
}

/// Makes up a program and runs it. The last step closes the registry.
pub fn explore(seed: u64, tally: &mut Tally) -> (Program, Option<Failure>) {
    let (mut generator, setting) = Generator::new(seed);
    let mut world = World::new(&setting);
    let mut program = Program { setting, steps: Vec::new() };
    while program.steps.last().is_none_or(|last| !matches!(last, Step::Dispose)) {
        let Some(step) = generator.next(&world) else { continue };
        program.steps.push(step);
        if let Some(failure) = take(&mut world, &program, program.steps.len()) {
            return (program, Some(failure));
        }
    }
    tally.add(&world);
    drop(world);
    let failure = leak(&program);
    (program, failure)
}

/// Runs a program again. `None` where nothing is broken, or where it makes no sense.
pub fn run(program: &Program) -> Option<Failure> {
    let mut world = World::new(&program.setting);
    for count in 1..=program.steps.len() {
        let failure = take(&mut world, program, count);
        if world.senseless || failure.is_some() {
            return failure.filter(|_| !world.senseless);
        }
    }
    drop(world);
    leak(program)
}

/// Runs a sound program once more to see whether it leaves anything behind. Twice, where it seems so: what a thread makes
/// once and keeps is no leak.
fn leak(program: &Program) -> Option<Failure> {
    let once = || {
        let before = blocks();
        let mut world = World::new(&program.setting);
        let sound = program.steps.iter().all(|step| world.take(step).is_ok());
        drop(world);
        if sound { blocks() - before } else { 0 }
    };
    let left = (0..2).map(|_| once()).take_while(|left| *left > 0).nth(1)?;
    let what = format!("{left} blocks of memory are left");
    let violation = Violation { rule: "everything is given back", what, proof: Vec::new() };
    let steps = program.steps.iter().map(Step::written).collect();
    let scenario = program.setting.scenario(violation.rule, steps);
    Some(Failure { violation, steps: program.steps.len(), scenario })
}

/// Takes the last of the first `count` steps.
fn take(world: &mut World, program: &Program, count: usize) -> Option<Failure> {
    let violation = world.take(&program.steps[count - 1]).err()?;
    let mut steps = written(program, world);
    steps.extend(violation.proof.clone());
    let scenario = program.setting.scenario(violation.rule, steps);
    Some(Failure { violation, steps: count, scenario })
}

/// A sound program as a scenario that says at its end, before the registry closes, all that was seen.
pub fn witness(program: &Program, name: &str) -> Value {
    let mut world = World::new(&program.setting);
    let open = program.steps.iter().take_while(|step| !matches!(step, Step::Dispose));
    let sound = open.map(|step| world.take(step)).all(|taken| taken.is_ok());
    debug_assert!(sound);
    let mut steps = written(program, &world);
    for caller in world.callers.iter().filter(|caller| !caller.inner) {
        let name = &caller.call.name;
        steps.push(match (&caller.result, caller.code()) {
            (None, _) => json!({"do": "unsettled", "invocation": name}),
            (_, Some(code)) => json!({"do": "await", "invocation": name, "expect": {"error": {"code": code}}}),
            (Some(result), None) => {
                let output = result.get("output").cloned().unwrap_or(json!({"$absent": true}));
                json!({"do": "await", "invocation": name, "expect": {"status": "ok", "output": output}})
            }
        });
    }
    for known in &world.registrations {
        for (capability, _) in known.component.capabilities.iter().filter(|(c, _)| c.plane != Plane::Procedure) {
            let ran = known.ran.get(capability.name).copied().unwrap_or(0);
            let handler = format!("{}.{}", known.name, capability.name);
            steps.push(json!({"do": "calls", "handler": handler, "expect": ran}));
        }
    }
    let events: Vec<Value> = world.heard.iter().map(|(kind, id)| json!({"type": kind, "invocationId": id})).collect();
    let kinds = ["invocation-started", "invocation-settled", "invocation-joined", "invocation-replayed"];
    steps.push(json!({"do": "events", "types": kinds, "mode": "exact", "expect": events}));
    program.setting.scenario(name, steps)
}

/// The steps that were taken, each with what it answered.
fn written(program: &Program, world: &World) -> Vec<Value> {
    let taken = program.steps.iter().zip(&world.answers);
    taken
        .filter_map(|(step, went)| {
            let mut written = step.written();
            if let Some((key, value)) = went.as_ref()? {
                written[*key] = value.clone();
            }
            Some(written)
        })
        .collect()
}
