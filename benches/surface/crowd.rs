//! Many at once: what a cancelled call, a crowd of callers and a crowd of waiting calls cost.

use agent_surface::ffi::*;
use std::ffi::c_void;
use std::fs;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::measure::{Samples, quantile};
use crate::table::{Row, time};
use crate::world::{AT_ONCE, EMPTY, Functions, World, check, component_type, definition, rows, select};

const HANDOVER: &str = "a hand-over to a waiting thread";
const CANCEL: &str = "cancel a running call, until who waits has its result";

pub fn run() -> Vec<Row> {
    let mut table = cancelling();
    table.extend(flood());
    table.push(pending());
    table
}

// ---- cancelling ------------------------------------------------------------------------------------------------------

fn cancelling() -> Vec<Row> {
    let mut world = World::new("");
    world.register(&definition(&component_type(0), "main"), Functions { execute: Some(keep), ..AT_ONCE });
    let request = select(&component_type(0));
    let (call, calls) = mpsc::channel::<Option<as_invocation>>();
    let (done, ended) = mpsc::channel();
    let waiter = thread::spawn(move || {
        for call in calls {
            if let Some(call) = call {
                done.send(Instant::now()).expect("somebody waits");
                wait(call);
            }
            done.send(Instant::now()).expect("somebody waits");
        }
    });
    let (mut handed, mut cancelled) = (Vec::new(), Vec::new());
    for _ in 0..1000 {
        settle_down();
        let began = Instant::now();
        call.send(None).expect("the thread lives");
        handed.push((ended.recv().expect("the thread lives") - began).as_nanos() as f64);

        let before = KEPT.load(Ordering::Acquire);
        let invocation = invoke(&world, &request, "");
        call.send(Some(invocation)).expect("the thread lives");
        ended.recv().expect("the thread lives");
        while KEPT.load(Ordering::Acquire) == before {
            thread::yield_now();
        }
        settle_down();
        let began = Instant::now();
        // SAFETY: handles are numbers.
        check(unsafe { as_invocation_cancel(invocation) });
        cancelled.push((ended.recv().expect("the thread lives") - began).as_nanos() as f64);
        // SAFETY: as above.
        check(unsafe { as_invocation_free(invocation) });
    }
    drop(call);
    waiter.join().expect("the thread ends");
    let samples = Samples::of_rounds(vec![(HANDOVER, handed), (CANCEL, cancelled)]);
    vec![Row::alone(&samples, HANDOVER), Row::against(&samples, CANCEL, HANDOVER, Some(5.0))]
}

/// Until the threads that were just told something have gone to sleep again.
fn settle_down() {
    let began = Instant::now();
    while began.elapsed().as_micros() < 100 {
        thread::yield_now();
    }
}

// ---- a flood ---------------------------------------------------------------------------------------------------------

/// One consumer has a hundred calls under way, another one makes one.
fn flood() -> Vec<Row> {
    let mut world = World::new(r#"{"limits":{"maxQueuedObservationsPerConsumer":200}}"#);
    world.register(&definition(&component_type(0), "main"), Functions { read: Some(work), ..AT_ONCE });
    let request = rows(&component_type(0));
    let loud = r#"{"consumer":{"id":"loud","kind":"test"}}"#;
    let quiet = r#"{"consumer":{"id":"quiet","kind":"test"}}"#;
    let one = |flood: usize| {
        let crowd: Vec<_> = (0..flood).map(|_| invoke(&world, &request, loud)).collect();
        let began = Instant::now();
        finish(invoke(&world, &request, quiet));
        let took = began.elapsed().as_nanos() as f64;
        crowd.into_iter().for_each(finish);
        took
    };
    let (mut alone, mut flooded) = (Vec::new(), Vec::new());
    for _ in 0..1000 {
        alone.push(one(0));
        flooded.push(one(100));
    }
    let [median_alone, median] = [&alone, &flooded].map(|took| quantile(took, 0.5));
    let [tail_alone, tail] = [&alone, &flooded].map(|took| quantile(took, 0.99));
    let name = "one call of a quiet consumer under another's 100";
    vec![
        Row::ratio(name, time(median), median / median_alone, "alone, medians", None),
        Row::ratio(name, time(tail), tail / tail_alone, "alone, 99th percentiles", Some(2.0)),
    ]
}

// ---- calls that wait -------------------------------------------------------------------------------------------------

/// The word that has a process measure [`pend`] and nothing else: what others have freed before would be used again.
pub const PENDING: &str = "only-pending";

const CALLS: usize = 100_000;

fn pending() -> Row {
    let this = std::env::current_exe().expect("a path");
    let said = Command::new(this).arg(PENDING).output().expect("a process").stdout;
    let said = String::from_utf8(said).expect("text");
    let numbers: Vec<f64> = said.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let [megabytes, threads] = numbers[..] else { panic!("two numbers") };
    let took = format!("{megabytes:.0} MB, {threads:+.0} threads");
    let missed = megabytes > 150.0 || threads > 0.0;
    Row::bounded("100,000 calls whose handlers answer later", took, "≤ 150 MB, no thread", missed)
}

/// Prints how many megabytes and threads the calls add.
pub fn pend() {
    let mut world = World::new(r#"{"limits":{"maxInFlight":200000}}"#);
    let parallel = r#""effect":"local-state","concurrency":{"mode":"parallel","max":100000},"#;
    let definition = definition(&component_type(0), "main").replace(r#""effect":"local-state","#, parallel);
    world.register(&definition, Functions { execute: Some(keep), ..AT_ONCE });
    let request = select(&component_type(0));
    let (threads, memory) = (status("Threads:"), status("VmRSS:"));
    for _ in 0..CALLS {
        // SAFETY: handles are numbers.
        check(unsafe { as_invocation_free(invoke(&world, &request, r#"{"timeoutMs":86400000}"#)) });
    }
    while KEPT.load(Ordering::Acquire) < CALLS {
        thread::yield_now();
    }
    println!("{} {}", (status("VmRSS:") - memory) / 1024.0, status("Threads:") - threads);
}

/// A number of this process's status: kilobytes, or a count.
fn status(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(name)).expect("a line of that name");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

// ---- calls -----------------------------------------------------------------------------------------------------------

fn invoke(world: &World, request: &str, options: &str) -> as_invocation {
    let mut out = 0;
    let (registry, r, o) = (world.registry, request, options);
    // SAFETY: texts with their lengths, a reference, and no hooks.
    check(unsafe { as_invoke(registry, r.as_ptr(), r.len(), o.as_ptr(), o.len(), null(), &mut out, null_mut()) });
    out
}

fn wait(invocation: as_invocation) {
    let mut result = EMPTY;
    // SAFETY: a reference; the blob is freed once.
    unsafe {
        check(as_invocation_wait(invocation, -1, &mut result, null_mut()));
        check(as_blob_free(&mut result));
    }
}

fn finish(invocation: as_invocation) {
    wait(invocation);
    // SAFETY: a handle is a number.
    check(unsafe { as_invocation_free(invocation) });
}

// ---- what the host does ----------------------------------------------------------------------------------------------

/// How often [`keep`] has put an answer off.
static KEPT: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn keep(_: *mut c_void, reply: as_reply, _: *const u8, _: usize, _: *const u8, _: usize) {
    // SAFETY: a handle is a number.
    unsafe { as_reply_defer(reply) };
    KEPT.fetch_add(1, Ordering::Release);
}

/// Waits a while, as host code does that asks something of others: the workers are taken, the cores are not, and what is
/// timed is the queue and not the system's scheduler.
unsafe extern "C" fn work(_: *mut c_void, reply: as_reply, _: *const u8, _: usize, _: *const u8, _: usize) {
    thread::sleep(Duration::from_micros(50));
    // SAFETY: a text with its length.
    unsafe { as_reply_json(reply, b"{}".as_ptr(), 2) };
}
