//! Pull dispatch: one thread takes requests with `as_next` and has the same scripts answer them.

use crate::abi::{self, AS_E_TIMEOUT, as_reply};
use crate::host::{Host, lock};
use crate::json::Json;
use crate::play;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

pub struct Pump {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    served: AtomicU64,
    stop: AtomicBool,
    /// How often the pump has asked and got nothing; None when it has ended.
    empty: Mutex<Option<u64>>,
    emptied: Condvar,
}

impl Pump {
    pub fn start(host: &Arc<Host>) -> Pump {
        let shared = Arc::new(Shared { empty: Mutex::new(Some(0)), ..Shared::default() });
        let (host, seen) = (host.clone(), shared.clone());
        let thread = std::thread::spawn(move || pump(&host, &seen));
        Pump { shared, thread: Mutex::new(Some(thread)) }
    }

    /// How many requests it has answered.
    pub fn served(&self) -> u64 {
        self.shared.served.load(Ordering::SeqCst)
    }

    /// Waits until the pump has asked, got nothing, and begun to ask after this call did: two empty rounds.
    pub fn drain(&self) {
        let mut empty = lock(&self.shared.empty);
        let until = empty.map(|rounds| rounds + 2);
        while empty.is_some() && *empty < until {
            empty = self.shared.emptied.wait(empty).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

fn pump(host: &Arc<Host>, shared: &Shared) {
    while !shared.stop.load(Ordering::SeqCst) {
        match abi::next(host.registry(), 1) {
            Ok(request) => {
                serve(host, &request);
                shared.served.fetch_add(1, Ordering::SeqCst);
            }
            Err(failure) if failure.code == AS_E_TIMEOUT => {
                let mut empty = lock(&shared.empty);
                *empty = empty.map(|rounds| rounds + 1);
                shared.emptied.notify_all();
            }
            Err(_) => break,
        }
    }
    *lock(&shared.empty) = None;
    shared.emptied.notify_all();
}

fn serve(host: &Arc<Host>, request: &Json) {
    let word = |field: &str| request.get(field).and_then(Json::as_str).unwrap_or_default();
    let context = request.get("context").cloned().unwrap_or(Json::Null);
    let reply: as_reply = word("reply").parse().unwrap_or(0);
    match word("do") {
        "call" => call(host, request, reply, &context),
        "policy" => match word("phase") {
            "onInvoke" | "invoke" => play::decide(host, word("name"), "onInvoke", reply, context),
            _ => play::decide(host, word("name"), "onAuthorize", reply, context),
        },
        "event" => host.state().events.push(context),
        "audit" => host.state().audit.push(context),
        _ => {}
    }
}

fn call(host: &Arc<Host>, request: &Json, reply: as_reply, context: &Json) {
    let input = request.get("input").map(Json::to_string).unwrap_or_default();
    if context.get("path").is_some() {
        return play::execute(host, reply, context, input.as_bytes());
    }
    let of = |field: &str| context.get(field).and_then(Json::as_str).unwrap_or_default();
    let name = of("capabilityId").rsplit(['.', ':']).next().unwrap_or_default();
    let component = host.state().registered.get(of("registrationId")).cloned();
    let site = component.and_then(|component| lock(&component).sites.get(name).cloned());
    match site {
        Some(site) => play::handle(host, &site, reply, context, input.as_bytes()),
        None => play::fail_hook(host, reply, format!("a handler was asked for that was never given: {request}")),
    }
}
