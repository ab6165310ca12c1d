//! The scenario runner: drives a registry through the C ABI as scenario files say, and holds what it sees against them.
//!
//! `scenarios [--dispatch push|pull] [--filter SUBSTRING] [--self-test] [FILE…]`, by default every file of `spec/scenarios/`.
//! One line for each scenario, a last one with the counts; the exit status is 0 only if none failed.

mod abi;
mod callbacks;
mod fields;
mod host;
mod json;
mod matcher;
mod model;
mod play;
mod pull;
mod refs;
mod run;
mod script;
mod self_test;
mod steps;
mod table;

use json::Json;
use model::Scenario;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Real time after which a scenario counts as hung and is left behind.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Room for the deepest document the JSON reader takes.
const STACK: usize = 32 << 20;

#[derive(Default)]
struct Arguments {
    pull: bool,
    filter: String,
    self_test: bool,
    files: Vec<PathBuf>,
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("{why}\nusage: scenarios [--dispatch push|pull] [--filter SUBSTRING] [--self-test] [FILE…]");
            return ExitCode::from(2);
        }
    };
    let mut tally = Tally::default();
    let options = Arc::new(run::Options { pull: arguments.pull, stuck: AtomicBool::new(false) });
    if arguments.self_test {
        self_test::cases().into_iter().for_each(|(name, outcome)| tally.report(name, outcome));
    } else {
        arguments.files.iter().for_each(|file| run_file(file, &arguments.filter, &options, &mut tally));
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--dispatch" => match words.next().as_deref() {
                Some("push") => arguments.pull = false,
                Some("pull") => arguments.pull = true,
                _ => return Err("--dispatch wants push or pull".into()),
            },
            "--filter" => arguments.filter = words.next().ok_or("--filter wants a text")?,
            "--self-test" => arguments.self_test = true,
            // What `cargo test` hands to every test program.
            "--nocapture" | "--quiet" | "-q" => {}
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            file => arguments.files.push(file.into()),
        }
    }
    if arguments.files.is_empty() && !arguments.self_test {
        arguments.files = own_files()?;
    }
    Ok(arguments)
}

fn own_files() -> Result<Vec<PathBuf>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/scenarios");
    let entries = std::fs::read_dir(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}

fn run_file(file: &Path, filter: &str, options: &Arc<run::Options>, tally: &mut Tally) {
    let scenarios = match read(file) {
        Ok(scenarios) => scenarios,
        Err(why) => return tally.report(&file.display().to_string(), Err(why)),
    };
    for (i, scenario) in scenarios.iter().enumerate() {
        let unnamed = format!("{}[{i}]", file.display());
        let name = scenario.get("name").and_then(Json::as_str).unwrap_or(&unnamed);
        if name.contains(filter) {
            run_one(name, scenario, options, tally);
        }
    }
}

fn read(file: &Path) -> Result<Vec<Json>, String> {
    let bytes = std::fs::read(file).map_err(|why| format!("cannot be read: {why}"))?;
    let text = String::from_utf8(bytes).map_err(|why| format!("not UTF-8: {why}"))?;
    match Json::parse(&text).map_err(|why| format!("not valid JSON: {why}"))? {
        Json::Array(scenarios) => Ok(scenarios),
        scenario => Ok(vec![scenario]),
    }
}

/// On a thread of its own, which is left behind when it hangs.
fn run_one(name: &str, scenario: &Json, options: &Arc<run::Options>, tally: &mut Tally) {
    let scenario = match Scenario::parse(scenario) {
        Ok(scenario) => scenario,
        Err(fault) => return tally.report(name, Err(format!("not a valid scenario: {fault}"))),
    };
    let place = Arc::new(Mutex::new("opening".to_string()));
    let (done, outcome) = channel();
    let (here, shared) = (place.clone(), options.clone());
    let runner = thread::Builder::new().stack_size(STACK).spawn(move || {
        let _ = done.send(run::run(scenario, &shared, here));
    });
    let outcome = match runner {
        Err(why) => Err(format!("no thread to run it: {why}")),
        Ok(_) => match outcome.recv_timeout(WATCHDOG) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Disconnected) => Err(format!("{}: the runner itself panicked", host::lock(&place))),
            Err(RecvTimeoutError::Timeout) => {
                options.stuck.store(true, Ordering::SeqCst);
                Err(format!("{}: hangs", host::lock(&place)))
            }
        },
    };
    tally.report(name, outcome);
}

impl Tally {
    fn report(&mut self, name: &str, outcome: Result<(), String>) {
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        match outcome {
            Ok(()) => {
                self.passed += 1;
                println!("ok {}", line(name));
            }
            Err(why) => {
                self.failed += 1;
                println!("FAIL {}: {}", line(name), line(&why));
            }
        }
    }
}
