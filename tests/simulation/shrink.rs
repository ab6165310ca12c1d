//! Makes a failing program small: drops steps, capabilities and limits as long as the same rule is broken.

use crate::program::{Program, Script, Step};
use crate::run::{Failure, run};

/// Enough for the longest program; a bound, so that a slow failure is still told.
const MAX_RUNS: usize = 5_000;

pub fn shrink(program: Program, failure: Failure) -> (Program, Failure) {
    let mut best = (program, failure);
    let mut runs = 0;
    while let Some(better) = smaller(&best.0).into_iter().find_map(|candidate| {
        runs += 1;
        let failure = if runs < MAX_RUNS { run(&candidate)? } else { return None };
        (failure.violation.rule == best.1.violation.rule).then_some((candidate, failure))
    }) {
        best = better;
        // Steps after the failure were never taken.
        best.0.steps.truncate(best.1.steps);
    }
    best
}

/// Every way to make it smaller by one cut, the biggest cuts first.
fn smaller(program: &Program) -> Vec<Program> {
    let mut candidates = Vec::new();
    let count = program.steps.len();
    let mut size = count.next_power_of_two() / 2;
    while size > 0 {
        for from in (0..count).step_by(size) {
            let mut cut = program.clone();
            cut.steps.drain(from..(from + size).min(count));
            candidates.push(cut);
        }
        size /= 2;
    }
    for (at, step) in program.steps.iter().enumerate() {
        for step in simpler(step) {
            let mut cut = program.clone();
            cut.steps[at] = step;
            candidates.push(cut);
        }
    }
    for at in 0..program.setting.limits.len() {
        let mut cut = program.clone();
        cut.setting.limits.remove(at);
        candidates.push(cut);
    }
    if program.setting.executor.len() > 1 {
        let mut cut = program.clone();
        cut.setting.executor.drain(..1);
        candidates.push(cut);
    }
    if program.setting.replace {
        let mut cut = program.clone();
        cut.setting.replace = false;
        candidates.push(cut);
    }
    candidates
}

fn simpler(step: &Step) -> Vec<Step> {
    let mut out = Vec::new();
    match step {
        Step::Register { name, component } => {
            for at in 0..component.capabilities.len() {
                let mut fewer = component.clone();
                fewer.capabilities.remove(at);
                out.push(Step::Register { name: name.clone(), component: fewer });
                if let Script::Doing(_, then) = &component.capabilities[at].1 {
                    let mut plain = component.clone();
                    plain.capabilities[at].1 = (**then).clone();
                    out.push(Step::Register { name: name.clone(), component: plain });
                }
            }
        }
        Step::Invoke(call) => {
            let cuts: [fn(&mut crate::program::Call); 6] = [
                |call| call.instance = None,
                |call| call.registration = None,
                |call| call.version = None,
                |call| call.input = None,
                |call| call.timeout_ms = None,
                |call| call.deadline_ms = None,
            ];
            for cut in cuts {
                let mut fewer = call.clone();
                cut(&mut fewer);
                if fewer != *call {
                    out.push(Step::Invoke(fewer));
                }
            }
        }
        _ => {}
    }
    out
}
