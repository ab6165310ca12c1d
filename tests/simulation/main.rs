//! Deterministic simulation: random programs against the real runtime, each on one thread, and after every step of each
//! what must always be true.
//!
//! `simulation [--programs N] [--seed S] [--fault NAME] [--faults-all] [--write FOLDER]`
//!
//! A failing program is made small, told, and written down as a scenario, which the scenario runner replays. `--fault` puts a
//! known fault back, which must be found; `--faults-all` does so with each and has the scenarios replayed; `--write` writes
//! the programs down with all that was seen, for the scenario runner to see as well.

mod account;
mod evidence;
mod faults;
mod generate;
mod host;
mod identity;
mod leaks;
mod places;
mod program;
mod random;
mod run;
mod shrink;
mod tally;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use run::{Failure, explore};
use tally::Tally;

/// What `cargo test` runs without being asked for more; unoptimized, this takes a few seconds.
const PROGRAMS: u64 = 2_000;

/// Real time after which a program counts as hung.
const WATCHDOG: Duration = Duration::from_secs(60);

struct Arguments {
    programs: u64,
    seed: u64,
    fault: Option<String>,
    faults_all: bool,
    write: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!(
                "{why}\nusage: simulation [--programs N] [--seed S] [--fault NAME] [--faults-all] [--write FOLDER]"
            );
            return ExitCode::from(2);
        }
    };
    if arguments.faults_all {
        return faults::find_all(arguments.seed);
    }
    if let Some(name) = &arguments.fault {
        return faults::run_with(name, arguments.programs, arguments.seed);
    }
    if let Some(folder) = &arguments.write {
        return write(folder, arguments.programs, arguments.seed);
    }
    simulate(arguments.programs, arguments.seed)
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { programs: PROGRAMS, seed: 1, fault: None, faults_all: false, write: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or(format!("{word} wants a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
        match word.as_str() {
            "--programs" => arguments.programs = number(next()?)?,
            "--seed" => arguments.seed = number(next()?)?,
            "--fault" => arguments.fault = Some(next()?),
            "--faults-all" => arguments.faults_all = true,
            "--write" => arguments.write = Some(next()?.into()),
            // What `cargo test` hands to every test program.
            "--nocapture" | "--quiet" | "-q" => {}
            option => return Err(format!("unknown option {option}")),
        }
    }
    Ok(arguments)
}

/// Runs the programs of `seed` and the numbers after it, on every core.
fn simulate(programs: u64, seed: u64) -> ExitCode {
    let began = Instant::now();
    let shared = Shared { end: seed + programs, next: AtomicU64::new(seed), failed: AtomicU64::new(u64::MAX) };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let running: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(IDLE)).collect();
    let tally = std::thread::scope(|scope| {
        let workers: Vec<_> = running.iter().map(|mine| scope.spawn(|| shared.work(mine))).collect();
        let (done, over) = std::sync::mpsc::channel::<()>();
        scope.spawn(|| watch(&running, over));
        let mut tally = Tally::default();
        workers.into_iter().filter_map(|worker| worker.join().ok()).for_each(|part| tally.join(part));
        drop(done);
        tally
    });
    match shared.failed.into_inner() {
        u64::MAX => {}
        seed => return tell(seed),
    }
    println!("{tally}");
    // A few programs need not reach everything.
    let missing = if programs >= PROGRAMS { tally.missing() } else { Vec::new() };
    missing.iter().for_each(|name| println!("FAIL no program reached {name:?}"));
    println!("{programs} programs from seed {seed} in {} s", began.elapsed().as_secs());
    println!("{} passed, {} failed", tally.programs, missing.len());
    if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the threads share that run programs.
struct Shared {
    end: u64,
    next: AtomicU64,
    /// The least seed that failed.
    failed: AtomicU64,
}

const IDLE: u64 = u64::MAX;

impl Shared {
    fn work(&self, mine: &AtomicU64) -> Tally {
        let mut tally = Tally::default();
        loop {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.end || seed > self.failed.load(Ordering::Relaxed) {
                mine.store(IDLE, Ordering::Relaxed);
                return tally;
            }
            mine.store(seed, Ordering::Relaxed);
            if explore(seed, &mut tally).1.is_some() {
                self.failed.fetch_min(seed, Ordering::Relaxed);
            }
        }
    }
}

/// Ends the process where a program does not end.
fn watch(running: &[AtomicU64], over: Receiver<()>) {
    let mut before = vec![IDLE; running.len()];
    while over.recv_timeout(WATCHDOG) == Err(RecvTimeoutError::Timeout) {
        let now: Vec<u64> = running.iter().map(|seed| seed.load(Ordering::Relaxed)).collect();
        if let Some((seed, _)) = now.iter().zip(&before).find(|(now, before)| now == before && **now != IDLE) {
            println!("FAIL seed {seed}: the program does not end\n0 passed, 1 failed");
            std::process::exit(1);
        }
        before = now;
    }
}

/// Tells of a failing program what a reader needs, and writes its scenario.
fn tell(seed: u64) -> ExitCode {
    let (program, failure) = explore(seed, &mut Tally::default());
    let Some(failure) = failure else {
        println!("FAIL seed {seed} failed once, and not again: something is not deterministic");
        println!("0 passed, 1 failed");
        return ExitCode::FAILURE;
    };
    let Failure { violation, steps, .. } = &failure;
    println!("FAIL seed {seed}, step {steps}: {}: {}", violation.rule, violation.what);
    let (program, failure) = shrink::shrink(program, failure);
    println!("The same in {} steps: {}", program.steps.len(), failure.violation.what);
    let mut scenario = failure.scenario;
    scenario["name"] = format!("simulation, seed {seed}: {}", failure.violation.rule).into();
    let file = faults::scenario_file(seed);
    match std::fs::write(&file, format!("{scenario:#}\n")) {
        Ok(()) => println!("scenario: {}", file.display()),
        Err(why) => println!("{scenario:#}\n{}: {why}", file.display()),
    }
    println!("0 passed, 1 failed");
    ExitCode::FAILURE
}

fn write(folder: &std::path::Path, programs: u64, seed: u64) -> ExitCode {
    for seed in seed..seed + programs {
        let (program, failure) = explore(seed, &mut Tally::default());
        if failure.is_some() {
            return tell(seed);
        }
        let scenario = run::witness(&program, &format!("simulation, seed {seed}"));
        let file = folder.join(format!("seed-{seed}.json"));
        if let Err(why) = std::fs::write(&file, format!("{scenario:#}\n")) {
            eprintln!("{}: {why}", file.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
