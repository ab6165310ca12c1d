//! Runs one program, made up on the way or given.

use serde_json::Value;

use crate::generate::Generator;
use crate::program::{Program, Step};
use crate::tally::Tally;
use crate::world::{Violation, World};

pub struct Failure {
    pub violation: Violation,
    /// How many of the program's steps were taken, the last one being where it broke.
    pub steps: usize,
    /// As a scenario file has them.
    pub written: Vec<Value>,
}

/// Makes up a program and runs it. The last step closes the registry.
pub fn explore(seed: u64, tally: &mut Tally) -> (Program, Option<Failure>) {
    let (mut generator, setting) = Generator::new(seed);
    let mut world = World::new(&setting);
    let mut steps = Vec::new();
    let mut failure = None;
    for left in (0..generator.length).rev() {
        let step = if left == 0 { Some(Step::Dispose) } else { generator.next(&world) };
        let Some(step) = step else { continue };
        failure = take(&mut world, &step, steps.len());
        steps.push(step);
        if failure.is_some() {
            break;
        }
    }
    tally.add(&world);
    (Program { setting, steps }, failure)
}

/// Runs a program again. `None` where nothing is broken, or where it makes no sense.
pub fn run(program: &Program) -> Option<Failure> {
    let mut world = World::new(&program.setting);
    for (at, step) in program.steps.iter().enumerate() {
        let failure = take(&mut world, step, at);
        if world.senseless {
            return None;
        }
        if failure.is_some() {
            return failure;
        }
    }
    None
}

fn take(world: &mut World, step: &Step, at: usize) -> Option<Failure> {
    let violation = world.take(step).err()?;
    Some(Failure { violation, steps: at + 1, written: world.written.clone() })
}
