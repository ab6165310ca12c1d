//! Deterministic simulation: random programs against the real runtime on one thread, and after every step what must
//! always be true.
//!
//! `simulation [--programs N] [--seed S] [--fault NAME] [--faults-all] [--write FOLDER]`
//!
//! A failing program is made small, told, and written down as a scenario that the scenario runner replays.

mod account;
mod evidence;
mod generate;
mod host;
mod identity;
mod places;
mod program;
mod random;
mod run;
mod shrink;
mod tally;
mod world;

use std::process::ExitCode;

use run::explore;

fn main() -> ExitCode {
    let mut programs = 20_000;
    let mut seed = 1;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|n| n.parse().ok()).unwrap_or(0);
        match word.as_str() {
            "--programs" => programs = number(),
            "--seed" => seed = number(),
            _ => {}
        }
    }
    let began = std::time::Instant::now();
    let mut tally = tally::Tally::default();
    for n in 0..programs {
        let (program, failure) = explore(seed + n, &mut tally);
        if let Some(failure) = failure {
            println!("seed {}: {}: {}", seed + n, failure.violation.rule, failure.violation.what);
            let (program, failure) = shrink::shrink(program, failure);
            println!("small: {}: {}", failure.violation.rule, failure.violation.what);
            let mut steps = failure.written;
            steps.extend(failure.violation.proof);
            let scenario = program.setting.scenario(&format!("simulation seed {}", seed + n), steps);
            println!("{}", serde_json::to_string_pretty(&scenario).unwrap_or_default());
            return ExitCode::FAILURE;
        }
    }
    println!("{tally} {:?}; missing {:?}", began.elapsed(), tally.missing());
    ExitCode::SUCCESS
}
