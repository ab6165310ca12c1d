//! Known faults, put back one at a time: the simulation must find each, and its scenario must fail with the fault and pass
//! without. They exist only in a build with the feature `faults`, and are chosen by the environment.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

const FAULTS: [&str; 8] = [
    "evidence-spent-unused",
    "join-cancels-all",
    "eviction-stops",
    "slot-leaked",
    "settled-twice",
    "late-overwrites",
    "started-after-settled",
    "key-concatenated",
];

const VARIABLE: &str = "AGENT_SURFACE_FAULT";

/// Within so many programs each fault must be found.
const WITHIN: u64 = 2_000;

/// Where the scenario of a failing seed is written; a fault's apart from an unknown one's.
pub fn scenario_file(seed: u64) -> PathBuf {
    let fault = std::env::var(VARIABLE).map_or_else(|_| String::new(), |name| format!("{name}-"));
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("simulation-{fault}{seed}.json"))
}

/// The simulation once more, in a process of its own, with a fault put back.
pub fn run_with(name: &str, programs: u64, seed: u64) -> ExitCode {
    if let Err(why) = known(name) {
        eprintln!("{why}");
        return ExitCode::from(2);
    }
    let status = simulation(name, programs, seed).status();
    if status.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

pub fn find_all(seed: u64) -> ExitCode {
    let mut failed = 0;
    for name in FAULTS {
        match find(name, seed) {
            Ok(how) => println!("ok {name}: {how}"),
            Err(why) => {
                failed += 1;
                println!("FAIL {name}: {why}");
            }
        }
    }
    println!("{} passed, {failed} failed", FAULTS.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn known(name: &str) -> Result<(), String> {
    if !cfg!(feature = "faults") {
        return Err("faults are put back only in a build with --features faults".into());
    }
    match FAULTS.contains(&name) {
        true => Ok(()),
        false => Err(format!("no such fault; there are {}", FAULTS.join(", "))),
    }
}

fn simulation(name: &str, programs: u64, seed: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.args(["--programs", &programs.to_string(), "--seed", &seed.to_string()]).env(VARIABLE, name);
    command
}

fn find(name: &str, seed: u64) -> Result<String, String> {
    known(name)?;
    let output = simulation(name, WITHIN, seed).output().map_err(|why| why.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Err(format!("not found in {WITHIN} programs"));
    }
    let scenario =
        said.lines().find_map(|line| line.strip_prefix("scenario: ")).ok_or(format!("no scenario: {said}"))?;
    if replay(scenario, None)?.contains(&false) {
        return Err(format!("its scenario fails without the fault: {scenario}"));
    }
    if !replay(scenario, Some(name))?.contains(&false) {
        return Err(format!("its scenario passes with the fault: {scenario}"));
    }
    let found = said.lines().find_map(|line| line.strip_prefix("FAIL ")).unwrap_or_default();
    Ok(found.chars().take(150).collect())
}

/// Whether the scenario passes in either way of dispatch.
fn replay(scenario: &str, fault: Option<&str>) -> Result<[bool; 2], String> {
    let pass = |dispatch: &str| {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove(VARIABLE).envs(fault.map(|name| (VARIABLE, name)));
        command.args([
            "test",
            "--quiet",
            "--profile",
            "simulation",
            "--features",
            "faults",
            "--test",
            "scenarios",
            "--",
        ]);
        let output = command.args(["--dispatch", dispatch, scenario]).output().map_err(|why| why.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout);
        match said.contains(" passed, ") {
            true => Ok(output.status.success()),
            false => Err(format!("the scenario runner does not run: {}", String::from_utf8_lossy(&output.stderr))),
        }
    };
    Ok([pass("pull")?, pass("push")?])
}
