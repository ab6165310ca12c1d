//! Real threads, all at once, through the C ABI: eight threads do everything a host can do to one registry, in an order that
//! no two runs share, a bounded number of times. What must hold is looked at as it happens, and once more at the end.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const THREADS: usize = 8;

/// What each thread does.
const STEPS: usize = 400;

/// Real time in which nothing at all happens, after which the run counts as hung.
const STANDSTILL: Duration = Duration::from_secs(60);

// ---- who watches ---------------------------------------------------------------------------------------------------------

/// Ends the process where nothing moves any more, and tells what each thread was doing.
struct Watch {
    moves: Arc<AtomicU64>,
    doing: Arc<Vec<Mutex<&'static str>>>,
    over: Sender<()>,
}

impl Watch {
    fn new(threads: usize) -> Watch {
        let moves = Arc::new(AtomicU64::new(0));
        let doing: Arc<Vec<_>> = Arc::new((0..threads).map(|_| Mutex::new("nothing yet")).collect());
        let (over, ended) = channel();
        let (m, d) = (moves.clone(), doing.clone());
        thread::spawn(move || {
            let mut before = u64::MAX;
            while ended.recv_timeout(STANDSTILL) == Err(RecvTimeoutError::Timeout) {
                let now = m.load(Ordering::Relaxed);
                if now == before {
                    let doing: Vec<_> = d.iter().map(|doing| *doing.lock().unwrap()).collect();
                    // Past the test harness, which keeps what a test says until the test ends.
                    let told = format!("Nothing moves after {now} moves. The threads: {doing:?}. Alive: {}\n", live());
                    let _ = std::io::stderr().write_all(told.as_bytes());
                    std::process::abort();
                }
                before = now;
            }
        });
        Watch { moves, doing, over }
    }

    fn moved(&self) {
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    fn doing(&self, thread: usize, what: &'static str) {
        *self.doing[thread].lock().unwrap() = what;
        self.moved();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.over.send(());
    }
}

/// A small generator: the threads want variety, not quality.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

// ---- the host of the storm -----------------------------------------------------------------------------------------------

/// Calls by the id of their execution.
#[derive(Default)]
struct Account {
    begun: HashMap<String, usize>,
    started: HashSet<String>,
    settled: HashSet<String>,
    last_event: u64,
    lost: u64,
}

struct Storm {
    registry: AtomicU64,
    watch: Watch,
    account: Mutex<Account>,
    /// Replies that were deferred, for whoever comes by.
    owed: Mutex<Vec<as_reply>>,
    rolls: AtomicU64,
    /// What was given to the library: all must be destroyed once.
    given: Mutex<Vec<(&'static str, Arc<Seen>)>>,
    /// Calls that were accepted with a table for the result, and results that came by `as_next`.
    accepted: AtomicUsize,
    fetched: AtomicUsize,
}

/// As many replies may lie about.
const OWED: usize = 32;

impl Storm {
    fn new(threads: usize) -> Arc<Storm> {
        Arc::new(Storm {
            registry: AtomicU64::new(0),
            watch: Watch::new(threads),
            account: Mutex::default(),
            owed: Mutex::default(),
            rolls: AtomicU64::new(0),
            given: Mutex::default(),
            accepted: AtomicUsize::new(0),
            fetched: AtomicUsize::new(0),
        })
    }

    fn registry(&self) -> as_registry {
        self.registry.load(Ordering::SeqCst)
    }

    fn give(&self, what: &'static str, seen: Arc<Seen>) {
        self.given.lock().unwrap().push((what, seen));
    }

    fn roll(&self, sides: u64) -> u64 {
        self.rolls.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15) % sides
    }

    /// A handler has its call: answers, fails, defers, answers twice or not at all.
    fn handle(&self, reply: as_reply, context: &Value) {
        self.watch.moved();
        let attempt = context["attemptId"].as_str().unwrap();
        let begun = {
            let mut account = self.account.lock().unwrap();
            let begun = account.begun.entry(attempt.into()).or_default();
            *begun += 1;
            *begun
        };
        assert_eq!(begun, 1, "{attempt} began twice");
        if self.roll(4) == 0 {
            self.notice(reply);
        }
        match self.roll(8) {
            0 => {}
            1 => in_time(reject(reply)),
            2 => {
                in_time(reply_json(reply, "{}"));
                let again = reply_json(reply, "{}");
                assert!([AS_E_SETTLED, AS_E_STALE_HANDLE].contains(&again), "a second answer: {again}");
            }
            3 | 4 if self.owed.lock().unwrap().len() < OWED => {
                in_time(defer(reply));
                self.owed.lock().unwrap().push(reply);
            }
            _ => in_time(reply_json(reply, r#"{"done":true}"#)),
        }
    }

    fn notice(&self, reply: as_reply) {
        let (hooks, seen) = notify(|_| {});
        // SAFETY: a whole table.
        in_time(unsafe { as_reply_on_abort(reply, &hooks) });
        self.give("notice", seen);
    }

    /// A policy is asked: mostly it has nothing against it.
    fn decide(&self, reply: as_reply) {
        self.watch.moved();
        match self.roll(16) {
            0 => in_time(unsafe { as_reply_deny(reply, null(), 0) }),
            1 if self.owed.lock().unwrap().len() < OWED => {
                in_time(defer(reply));
                self.owed.lock().unwrap().push(reply);
            }
            _ => in_time(allow(reply)),
        }
    }

    /// Answers a reply of the pile, in whatever way: of a call that waits, or long after.
    fn answer_one(&self) {
        let Some(reply) = self.owed.lock().unwrap().pop() else { return };
        let code = match self.roll(4) {
            0 => reject(reply),
            _ => reply_json(reply, r#"{"late":true}"#),
        };
        // A policy's reply takes no JSON; the wrong kind of answer is an answer, too.
        in_time_or(code, &[AS_E_ARGUMENT]);
        let again = allow(reply);
        assert!([AS_E_SETTLED, AS_E_STALE_HANDLE, AS_E_LATE].contains(&again), "a second answer: {again}");
    }

    /// One event, in the order of their numbers.
    fn hear(&self, event: &Value) {
        self.watch.moved();
        let mut account = self.account.lock().unwrap();
        let seq = event["seq"].as_u64().unwrap();
        assert!(seq > account.last_event, "event {seq} after {}", account.last_event);
        account.last_event = seq;
        let attempt = || event["attemptId"].as_str().unwrap().to_string();
        match event["type"].as_str().unwrap() {
            "invocation-started" => assert!(account.started.insert(attempt()), "started twice: {event}"),
            "invocation-settled" => {
                assert!(account.started.contains(&attempt()), "settled before it started: {event}");
                assert!(account.settled.insert(attempt()), "settled twice: {event}");
            }
            "events-lost" => account.lost += event["lost"].as_u64().unwrap(),
            _ => {}
        }
    }
}

/// What a host may be told that answers, or asks, when its call may be over.
fn in_time(code: as_code) {
    in_time_or(code, &[]);
}

fn in_time_or(code: as_code, also: &[as_code]) {
    let may = [AS_OK, AS_E_LATE, AS_E_SETTLED, AS_E_STALE_HANDLE];
    assert!(may.contains(&code) || also.contains(&code), "a reply was answered {code}");
}

fn reject(reply: as_reply) -> as_code {
    let payload = r#"{"code":"PRECONDITION_FAILED","message":"Not now."}"#;
    unsafe { as_reply_error(reply, payload.as_ptr(), payload.len()) }
}

// ---- what the threads do -------------------------------------------------------------------------------------------------

/// The component that all share; each registration replaces the one before.
fn shared() -> Value {
    let mut definition = component(&["go", "held", "queued", "asked"], &["see"]);
    let actions = &mut definition["actions"];
    actions["go"]["timeoutMs"] = json!(20);
    actions["held"]["timeoutMs"] = json!(5);
    actions["held"]["concurrency"] = json!({ "mode": "capability", "onTimeout": "hold", "queueDepth": 4 });
    actions["queued"]["concurrency"] = json!({ "mode": "key", "key": "one", "queueDepth": 8 });
    actions["queued"]["timeoutMs"] = json!(50);
    actions["asked"]["confirmation"] = json!("required");
    definition["observations"]["see"]["timeoutMs"] = json!(50);
    definition["policies"] = json!(["watchful"]);
    definition
}

fn own(thread: usize) -> Value {
    let mut definition = component(&["go"], &[]);
    definition["type"] = json!("own");
    definition["instanceId"] = json!(format!("i{thread}"));
    definition["actions"]["go"]["timeoutMs"] = json!(20);
    definition["procedures"] = json!([{ "path": format!("run/{thread}"), "description": "Run", "effect": "server-query",
        "input": { "type": "object" }, "timeoutMs": 20 }]);
    definition
}

impl Storm {
    fn handler_table(self: &Arc<Self>, what: &'static str) -> Built {
        let storm = self.clone();
        let built = table(pad(vec![body(move |ask| storm.handle(ask.reply, &ask.context()))], 5));
        self.give(what, built.seen.clone());
        built
    }

    fn bindings(self: &Arc<Self>, names: &[&'static str]) -> Vec<as_binding> {
        let bind = |name: &&'static str| {
            let flags = [0, 0, AS_SERIAL, AS_INLINE][self.roll(4) as usize];
            binding_of(name, flags, self.handler_table("binding")).0
        };
        names.iter().map(bind).collect()
    }

    fn register(self: &Arc<Self>, definition: Value, names: &[&'static str]) -> Option<as_registration> {
        let (code, registration) = try_register(self.registry(), definition, &self.bindings(names));
        // A procedure whose path another thread has just taken from the executor.
        assert!([AS_OK, AS_E_DEFINITION].contains(&code), "{code}");
        (code == AS_OK).then_some(registration)
    }

    fn set_executor(self: &Arc<Self>) {
        let paths: Value = (0..THREADS).map(|thread| format!("run/{thread}")).collect();
        let hooks = handler_table(0, &self.handler_table("executor"));
        assert_eq!(executor_set(self.registry(), paths, &hooks), AS_OK);
    }

    /// Calls, with a table for the result now and then.
    fn call(self: &Arc<Self>, dice: &mut Dice, request: Value, consumer: &Value) -> as_invocation {
        let options = json!({ "consumer": consumer });
        if dice.roll(2) == 0 {
            return invoke(self.registry(), request, options, None);
        }
        let storm = self.clone();
        let (hooks, seen) = on_result(move |ask| {
            storm.watch.moved();
            status(&serde_json::from_slice::<Value>(ask.context).unwrap());
        });
        let invocation = invoke(self.registry(), request, options, Some(&hooks));
        self.accepted.fetch_add(1, Ordering::SeqCst);
        self.give("result", seen);
        invocation
    }

    fn request(&self, dice: &mut Dice, thread: usize) -> Value {
        let names = ["go", "go", "held", "queued", "asked", "see"];
        let mut request = match dice.roll(8) {
            0 => json!({ "capabilityId": "view:own.go", "instanceId": format!("i{}", dice.roll(THREADS as u64)) }),
            1 => json!({ "capabilityId": format!("domain:run/{}", dice.roll(THREADS as u64)) }),
            _ => host_support::request(names[dice.roll(6) as usize]),
        };
        match dice.roll(3) {
            // An id that others use as well: joins and replays, and now and then a conflict.
            0 => {
                let number = dice.roll(24);
                if dice.roll(8) > 0 {
                    request = host_support::request(names[number as usize % 6]);
                }
                request["invocationId"] = json!(format!("shared-{number}"));
            }
            1 => request["invocationId"] = json!(format!("{thread}-{}", dice.roll(u64::MAX))),
            _ => {}
        }
        request
    }

    /// A person decides on whatever waits for one.
    fn decide_pending(&self, dice: &mut Dice) {
        let mut out = as_blob::default();
        assert_eq!(unsafe { as_confirmations(self.registry(), &mut out, null_mut()) }, AS_OK);
        let pending = take(&mut out);
        let Some(first) = pending.as_array().and_then(|list| list.first()) else { return };
        let decision = json!({ "confirmationId": first["confirmationId"], "approved": dice.roll(4) > 0 }).to_string();
        let code = unsafe { as_confirm(self.registry(), decision.as_ptr(), decision.len(), null_mut()) };
        assert!([AS_OK, AS_E_SETTLED, AS_E_NOT_FOUND].contains(&code), "{code}");
    }

    /// A call that wants a person's consent, all the way.
    fn call_with_consent(self: &Arc<Self>, dice: &mut Dice, consumer: &Value, thread: usize) {
        let mut request = host_support::request("asked");
        request["invocationId"] = json!(format!("{thread}-consent-{}", dice.roll(u64::MAX)));
        let invocation = self.call(dice, request.clone(), consumer);
        if let Ok(result) = wait_for(invocation, 50)
            && status(&result) == "CONFIRMATION_REQUIRED"
        {
            self.decide_pending(dice);
            request["confirmationId"] = result["error"]["details"]["confirmationId"].clone();
            free(self.call(dice, request, consumer));
        }
        free(invocation);
    }

    fn toolset(&self) -> as_toolset {
        let (options, mut out) = (json!({ "topology": "remote", "consumer": consumer(0) }).to_string(), 0);
        let code = unsafe { as_toolset_new(self.registry(), options.as_ptr(), options.len(), &mut out, null_mut()) };
        assert_eq!(code, AS_OK);
        out
    }

    fn call_tool(self: &Arc<Self>, dice: &mut Dice, toolset: as_toolset) {
        let mut tools = as_blob::default();
        assert_eq!(unsafe { as_toolset_tools(toolset, null(), 0, &mut tools, null_mut()) }, AS_OK);
        let tools = take(&mut tools);
        let tools = tools["tools"].as_array().unwrap();
        if tools.is_empty() {
            return;
        }
        let name = &tools[dice.roll(tools.len() as u64) as usize]["name"];
        let call = json!({ "name": name, "input": {}, "toolCallId": format!("tool-{}", dice.roll(40)) }).to_string();
        let mut invocation = 0;
        let code = unsafe { as_toolset_call(toolset, call.as_ptr(), call.len(), null(), &mut invocation, null_mut()) };
        assert_eq!(code, AS_OK);
        let _ = wait_for(invocation, 1);
        free(invocation);
    }

    /// One thread of the storm.
    fn play(self: &Arc<Self>, thread: usize, pull: bool) {
        let mut dice = Dice(0x5eed_0000 + thread as u64);
        let mine = consumer(thread % 3);
        let toolset = self.toolset();
        let mut registrations = Vec::new();
        let mut kept = Vec::new();
        for _ in 0..STEPS {
            let doing = |what| self.watch.doing(thread, what);
            match dice.roll(26) {
                0..=5 => {
                    doing("as_invoke");
                    let request = self.request(&mut dice, thread);
                    kept.push(self.call(&mut dice, request, &mine));
                }
                6 | 7 if !pull => {
                    doing("as_invoke_wait");
                    let request = self.request(&mut dice, thread);
                    invoke_wait_with(self.registry(), request, json!({ "consumer": mine, "deadlineMs": 200 })).unwrap();
                }
                6..=8 => {
                    doing("as_invocation_wait");
                    let Some(invocation) = kept.pop() else { continue };
                    if let Ok(result) = wait_for(invocation, dice.roll(30) as i64) {
                        self.answer_one();
                        assert_eq!(wait_for(invocation, 0), Ok(result), "a result changed");
                    }
                    free(invocation);
                }
                9 => {
                    doing("as_invocation_cancel");
                    let Some(invocation) = kept.pop() else { continue };
                    cancel(invocation);
                    free(invocation);
                }
                10 => {
                    doing("three join, one leaves");
                    let mut request = host_support::request("go");
                    request["invocationId"] = json!(format!("{thread}-crowd-{}", dice.roll(u64::MAX)));
                    let crowd = [0; 3].map(|_| self.call(&mut dice, request.clone(), &mine));
                    cancel(crowd[dice.roll(3) as usize]);
                    kept.extend(crowd);
                }
                11 | 12 => {
                    doing("answering late");
                    self.answer_one();
                }
                13 => {
                    doing("as_register, replacing");
                    let names = ["go", "held", "queued", "asked", "see"];
                    registrations.extend(self.register(shared(), &names));
                }
                14 => {
                    doing("as_register");
                    registrations.extend(self.register(own(thread), &["go"]));
                }
                15 => {
                    doing("as_unregister");
                    if registrations.len() > 2 {
                        unregister(registrations.remove(0));
                    }
                }
                16 => {
                    doing("as_registration_update");
                    let Some(registration) = registrations.last() else { continue };
                    let patch = json!({ "enabled": dice.roll(4) > 0 }).to_string();
                    let code =
                        unsafe { as_registration_update(*registration, patch.as_ptr(), patch.len(), null_mut()) };
                    assert!([AS_OK, AS_E_CLOSED].contains(&code), "{code}");
                    let code = unsafe { as_registration_invalidate(*registration) };
                    assert!([AS_OK, AS_E_CLOSED].contains(&code), "{code}");
                }
                17 => {
                    doing("as_registration_rebind");
                    let Some(registration) = registrations.last() else { continue };
                    let bindings = self.bindings(&["go"]);
                    let code =
                        unsafe { as_registration_rebind(*registration, bindings.as_ptr(), bindings.len(), null_mut()) };
                    assert!([AS_OK, AS_E_CLOSED].contains(&code), "{code}");
                }
                18 => {
                    doing("as_executor_set");
                    self.set_executor();
                }
                19 => {
                    doing("as_subscribe");
                    let storm = self.clone();
                    let (hooks, seen) = listener(move |_| storm.watch.moved());
                    self.give("listener", seen);
                    let subscription = subscribe(self.registry(), &hooks);
                    thread::yield_now();
                    unsubscribe(subscription);
                }
                20 => {
                    doing("as_confirm");
                    self.decide_pending(&mut dice);
                }
                21 => {
                    doing("a call with consent");
                    self.call_with_consent(&mut dice, &mine, thread);
                }
                22 => {
                    doing("as_toolset_call");
                    self.call_tool(&mut dice, toolset);
                }
                23 => {
                    doing("as_snapshot");
                    snapshot(self.registry()).unwrap();
                    audit(self.registry());
                }
                24 => {
                    doing("as_outcome");
                    let said = outcome(self.registry(), &format!("shared-{}", dice.roll(24)));
                    assert!(said.is_ok() || said == Err(AS_E_NOT_FOUND), "{said:?}");
                    info(self.registry());
                }
                _ => {
                    doing("as_consumer_close");
                    if dice.roll(8) == 0 {
                        consumer_close(self.registry(), &mine);
                    }
                }
            }
        }
        self.watch.doing(thread, "giving back");
        kept.into_iter().for_each(free);
        registrations.into_iter().for_each(unregister);
        assert_eq!(unsafe { as_toolset_free(toolset) }, AS_OK);
        self.watch.doing(thread, "nothing any more");
    }

    /// Pull: takes what there is until the registry has nothing any more.
    fn pump(&self, thread: usize) {
        loop {
            self.watch.doing(thread, "as_next");
            match next(self.registry(), PATIENCE_MS) {
                Ok(request) => self.serve(&request),
                Err(AS_E_TIMEOUT) => {}
                Err(code) => {
                    assert_eq!(code, AS_E_CLOSED);
                    return self.watch.doing(thread, "nothing any more");
                }
            }
        }
    }

    fn serve(&self, request: &Value) {
        match request["do"].as_str().unwrap() {
            "call" => {
                let reply = reply_of(request);
                self.handle(reply, &request["context"]);
                // What is neither answered nor deferred would be in the host's hands until its time is up.
                let _ = defer(reply);
            }
            "policy" => self.decide(reply_of(request)),
            "result" => {
                status(&request["context"]);
                self.fetched.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}

fn consumer(number: usize) -> Value {
    json!({ "id": format!("consumer-{number}"), "kind": "test" })
}

fn storm(pull: bool) {
    let _turn = alone();
    let pumps = if pull { 2 } else { 0 };
    let storm = Storm::new(THREADS + pumps);
    let (host, seen) = host(
        0,
        vec![body(|ask| {
            ask.json(r#"{"user":"ada"}"#);
        })],
    );
    storm.give("host", seen);
    let config = json!({ "onDuplicateInstance": "replace", "dispatch": if pull { "pull" } else { "push" },
        "limits": { "dedupeCacheSize": 10, "maxEventBacklog": 1_000_000, "policyTimeoutMs": 20,
                    "maxConcurrentObservationsTotal": 4, "maxConcurrentObservationsPerConsumer": 2 } });
    let registry = registry(config, Some(&host));
    storm.registry.store(registry, Ordering::SeqCst);
    let (ask, told) = (storm.clone(), storm.clone());
    let decide = || {
        let storm = ask.clone();
        body(move |ask| storm.decide(ask.reply))
    };
    let (watchful, seen) = policy(0, vec![None, decide(), decide()]);
    storm.give("policy", seen);
    define(registry, "watchful", &watchful);
    storm.set_executor();
    // Pull hands events to two pumps, and which of them looks first is not the library's to say.
    let (events, seen) = listener(move |ask| told.hear(&ask.context()));
    storm.give("listener of all", seen.clone());
    let subscription = subscribe(registry, &events);
    let first = storm.register(shared(), &["go", "held", "queued", "asked", "see"]).unwrap();

    let threads: Vec<_> = (0..THREADS + pumps)
        .map(|thread| {
            let storm = storm.clone();
            thread::spawn(move || match thread < THREADS {
                true => storm.play(thread, pull),
                false => storm.pump(thread),
            })
        })
        .collect();
    let (players, pumps) = {
        let mut threads = threads;
        let pumps = threads.split_off(THREADS);
        (threads, pumps)
    };
    players.into_iter().for_each(|thread| thread.join().unwrap());
    while !storm.owed.lock().unwrap().is_empty() {
        storm.answer_one();
    }
    assert_eq!(close(registry, PATIENCE_MS), AS_OK);
    pumps.into_iter().for_each(|thread| thread.join().unwrap());
    unregister(first);
    unsubscribe(subscription);
    end(registry);

    for (what, seen) in storm.given.lock().unwrap().iter() {
        assert_eq!(seen.destroyed.get(), 1, "a {what} was destroyed so often");
        if *what == "result" && !pull {
            assert_eq!(seen.calls.get(), 1, "results of one call");
        }
    }
    if pull {
        assert_eq!(storm.fetched.load(Ordering::SeqCst), storm.accepted.load(Ordering::SeqCst));
    } else {
        let account = storm.account.lock().unwrap();
        assert_eq!(account.lost, 0);
        assert_eq!(account.started, account.settled);
        assert!(account.begun.keys().all(|attempt| account.started.contains(attempt)));
        assert!(account.begun.len() > STEPS / 4, "the storm was none: {} calls ran", account.begun.len());
    }
    nothing_is_left();
}

/// Everything that was given to the library has come back.
fn nothing_is_left() {
    let counted = live();
    let all = |value: &Value| value.as_object().unwrap().values().all(|count| count == 0);
    assert!(all(&counted["handles"]) && all(&counted["tables"]) && counted["blobs"] == 0, "{counted}");
}

/// AS-BOUND-003, AS-EVT-001, AS-IDENT-001: eight threads do everything at once.
#[test]
fn everything_at_once() {
    storm(false);
}

/// The same where two threads fetch what there is to do.
#[test]
fn everything_at_once_in_pull_dispatch() {
    storm(true);
}

// ---- many threads, order, and a process that forks ---------------------------------------------------------------------------

/// AS-CONC-002, AS-EVT-001: sixty-four threads, each a consumer, call one instance as fast as they can. No call is lost, those of
/// one consumer run in the order they were made, and events have no hole.
#[test]
fn sixty_four_threads_keep_their_order() {
    const CALLERS: usize = 64;
    const CALLS: usize = 40;
    let _turn = alone();
    let watch = Arc::new(Watch::new(CALLERS));
    let ran: Arc<Mutex<HashMap<String, Vec<u64>>>> = Arc::default();
    let (seen, at) = (ran.clone(), watch.clone());
    let (go, _) = binding(
        "go",
        0,
        vec![body(move |ask| {
            at.moved();
            let (context, input): (_, Value) = (ask.context(), serde_json::from_slice(ask.input).unwrap());
            let consumer = context["consumer"]["id"].as_str().unwrap().to_string();
            seen.lock().unwrap().entry(consumer).or_default().push(input["n"].as_u64().unwrap());
            ask.json("null");
        })],
    );
    let mut definition = component(&["go"], &[]);
    definition["actions"]["go"]["concurrency"] = json!({ "mode": "instance", "queueDepth": 100_000 });
    definition["actions"]["go"]["input"] = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let registry = registry(json!({ "limits": { "maxInFlight": 100_000, "maxEventBacklog": 1_000_000 } }), None);
    let registration = register(registry, definition, &[go]);
    let events = Arc::new(Mutex::new(Vec::new()));
    let keep = events.clone();
    let (hooks, heard) = listener(move |ask| keep.lock().unwrap().push(ask.context()["seq"].as_u64().unwrap()));
    let subscription = subscribe(registry, &hooks);
    let threads: Vec<_> = (0..CALLERS)
        .map(|thread| {
            let watch = watch.clone();
            thread::spawn(move || {
                let options = json!({ "consumer": consumer(thread) });
                watch.doing(thread, "as_invoke");
                let ask = |n| {
                    let mut request = request("go");
                    request["input"] = json!({ "n": n });
                    invoke(registry, request, options.clone(), None)
                };
                let calls: Vec<_> = (0..CALLS).map(ask).collect();
                watch.doing(thread, "as_invocation_wait");
                for call in calls {
                    assert_eq!(status(&wait_for(call, -1).unwrap()), "ok");
                    free(call);
                }
                watch.doing(thread, "nothing any more");
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    quiesce(registry);
    let ran = ran.lock().unwrap();
    assert_eq!(ran.len(), CALLERS);
    ran.values().for_each(|calls| assert!(calls.iter().copied().eq(0..CALLS as u64), "{calls:?}"));
    let events = events.lock().unwrap();
    assert_eq!(events.len(), 2 * CALLERS * CALLS);
    assert!(events.windows(2).all(|pair| pair[1] == pair[0] + 1), "a hole in the order");
    unsubscribe(subscription);
    unregister(registration);
    end(registry);
    heard.destroyed_once();
    nothing_is_left();
}

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn alarm(seconds: u32) -> u32;
    fn _exit(code: i32) -> !;
}

/// The process forks while its threads are inside calls. The child is told so of everything it inherited and can make a
/// registry of its own; the parent notices nothing.
#[test]
fn a_fork_in_the_storm() {
    let _turn = alone();
    let watch = Arc::new(Watch::new(THREADS));
    let registry = registry(json!({}), None);
    let (go, seen) = binding("go", 0, vec![answers("1")]);
    let registration = register(registry, component(&["go"], &[]), &[go]);
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let watch = watch.clone();
            thread::spawn(move || {
                for _ in 0..300 {
                    watch.doing(thread, "calls");
                    let said = invoke_wait(registry, request("go")).unwrap();
                    assert_eq!(status(&said), "ok");
                    snapshot(registry).unwrap();
                }
            })
        })
        .collect();
    for _ in 0..5 {
        seen.calls.reach(seen.calls.get() + 1);
        // SAFETY: the child calls the library and ends.
        let child = unsafe { fork() };
        if child == 0 {
            // SAFETY: a child that hangs is ended by its alarm, which the parent sees.
            unsafe { alarm(60) };
            let sound = in_the_child(registry, registration);
            unsafe { _exit(i32::from(!sound)) };
        }
        let mut status = 0;
        assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child");
        watch.moved();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(seen.calls.get(), THREADS * 300);
    unregister(registration);
    end(registry);
    seen.destroyed_once();
}

/// No assertion here: what it says could wait for a lock that a thread of the parent held.
fn in_the_child(inherited: as_registry, registration: as_registration) -> bool {
    let told = invoke_wait(inherited, request("go")) == Err(AS_E_FORKED)
        && snapshot(inherited) == Err(AS_E_FORKED)
        && close(inherited, -1) == AS_E_FORKED
        && unsafe { as_registration_invalidate(registration) } == AS_E_FORKED;
    let Ok(registry) = try_registry(json!({}), None) else { return false };
    let (go, seen) = binding("go", 0, vec![answers("1")]);
    let (code, _) = try_register(registry, component(&["go"], &[]), &[go]);
    let works = invoke_wait(registry, request("go")).is_ok_and(|said| said["output"] == 1);
    told && code == AS_OK && works && close(registry, PATIENCE_MS) == AS_OK && seen.destroyed.get() == 1
}

/// The library reads a text that another thread writes: `scripts/tsan.sh` must be told so, or else it sees nothing.
#[test]
#[ignore = "a race on purpose"]
fn a_race_inside_the_library() {
    let text = Box::leak(Box::new(*b"[1,2,3]"));
    let at = text.as_mut_ptr() as usize;
    let reads = thread::spawn(move || {
        for _ in 0..1000 {
            let mut out = as_blob::default();
            assert_eq!(unsafe { as_canonical_json(at as *const u8, 7, &mut out, null_mut()) }, AS_OK);
            take(&mut out);
        }
    });
    for _ in 0..1000 {
        // SAFETY: none; it is the race.
        unsafe { *(at as *mut u8).add(1) = b'4' };
        thread::yield_now();
    }
    reads.join().unwrap();
}
