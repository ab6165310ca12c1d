//! Closing a registry from every place, and what must be true after it.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

const NONE: as_code = 1;

/// A place for a handle that a callback needs and that is made after it.
fn later() -> Arc<AtomicU64> {
    Arc::default()
}

fn closing(registry: &Arc<AtomicU64>, said: &Arc<AtomicI32>) -> impl Fn(&Ask) + Send + Sync + 'static {
    let (registry, said) = (registry.clone(), said.clone());
    move |_| said.store(close(registry.load(Ordering::SeqCst), -1), Ordering::SeqCst)
}

/// After the close has answered, no host code runs: also none that another thread is in the middle of for its own sake.
#[test]
fn a_close_waits_for_the_hooks_of_a_snapshot() {
    let gate = Gate::new();
    let _end = OpenAtEnd(gate.clone());
    let g = gate.clone();
    let (binding, seen) = binding("go", 0, vec![body(|_| {}), body(move |_| g.pass())]);
    let registry = registry(json!({}), None);
    let registration = register(registry, component(&["go"], &[]), &[binding]);
    let looking = thread::spawn(move || snapshot(registry).map(drop));
    gate.entered.reach(1);
    assert_eq!(close(registry, 0), AS_E_TIMEOUT, "`when` is running");
    gate.open();
    end(registry);
    assert_eq!(seen.calls.get(), 1);
    seen.destroyed_once();
    assert_eq!(looking.join().unwrap(), Err(AS_E_CLOSED));
    unregister(registration);
}

/// The same for the guard of a registration, which then finds the registry closed.
#[test]
fn a_close_waits_for_the_guard_of_a_registration() {
    let gate = Gate::new();
    let _end = OpenAtEnd(gate.clone());
    let g = gate.clone();
    let guard = body(move |ask| {
        g.pass();
        ask.json("\"accept\"");
    });
    let (host, host_seen) = host(0, vec![None, None, guard]);
    let registry = registry(json!({}), Some(&host));
    let (binding, seen) = binding("go", 0, vec![body(|_| {})]);
    let binding = Sendable(binding);
    let registering = thread::spawn(move || try_register(registry, component(&["go"], &[]), &[binding.get()]));
    gate.entered.reach(1);
    assert_eq!(close(registry, 0), AS_E_TIMEOUT, "`on_register` is running");
    gate.open();
    end(registry);
    assert_eq!(registering.join().unwrap(), (AS_E_CLOSED, 0));
    host_seen.destroyed_once();
    seen.destroyed_once();
}

struct Sendable(as_binding);
// SAFETY: its data is made for any thread.
unsafe impl Send for Sendable {}
impl Sendable {
    fn get(self) -> as_binding {
        self.0
    }
}

/// Closing begins inside a handler, says that it cannot wait, and completes when the handler has returned.
#[test]
fn closing_inside_a_handler() {
    for inline in [true, false] {
        let (place, said) = (later(), Arc::new(AtomicI32::new(NONE)));
        let (binding, seen) = binding("go", 0, vec![body(closing(&place, &said))]);
        let registry = registry(json!({}), None);
        place.store(registry, Ordering::SeqCst);
        let registration = register(registry, component(&["go"], &[]), &[binding]);
        let result = match inline {
            true => invoke_wait(registry, request("go")).unwrap(),
            false => {
                let invocation = invoke(registry, request("go"), json!({}), None);
                let result = wait(invocation).unwrap();
                free(invocation);
                result
            }
        };
        assert_eq!(status(&result), "CANCELLED");
        end(registry);
        assert_eq!(said.load(Ordering::SeqCst), AS_E_WOULD_DEADLOCK);
        seen.destroyed_once();
        unregister(registration);
    }
}

/// The same inside a listener, an audit callback, a log callback, a result callback and an abort notice.
#[test]
fn closing_inside_what_is_only_told() {
    for what in ["event", "audit", "log", "result", "notice"] {
        let (place, said) = (later(), Arc::new(AtomicI32::new(NONE)));
        let close_it = |wanted: &str| (wanted == what).then(|| Box::new(closing(&place, &said)) as Body);
        let nothing = || body(|_| {});
        let (host, host_seen) =
            host(0, vec![None, None, None, None, close_it("audit").or(nothing()), close_it("log").or(nothing())]);
        let registry = registry(json!({ "audit": { "sink": "callback" } }), Some(&host));
        place.store(registry, Ordering::SeqCst);

        let notice = Mutex::new(close_it("notice"));
        let entered = Count::new();
        let e = entered.clone();
        let (binding, seen) = binding(
            "go",
            0,
            vec![
                body(move |ask| {
                    if let Some(close_it) = notice.lock().unwrap().take() {
                        let (hooks, _) = notify(close_it);
                        // SAFETY: a whole table.
                        assert_eq!(unsafe { as_reply_on_abort(ask.reply, &hooks) }, AS_OK);
                    }
                    defer(ask.reply);
                    e.add();
                }),
                // A hook that fails is logged.
                body(move |ask| {
                    if what != "log" {
                        ask.json("true");
                    }
                }),
            ],
        );
        let (events, events_seen) = listener(close_it("event").unwrap_or(Box::new(|_| {})));
        let subscription = subscribe(registry, &events);
        let (results, result_seen) = on_result(close_it("result").unwrap_or(Box::new(|_| {})));
        let (_, registration) = try_register(registry, component(&["go"], &[]), &[binding]);
        // The registry may be closed by now; the table is taken over all the same.
        let (code, invocation) = try_invoke(registry, request("go"), json!({}), Some(&results));
        if code == AS_OK && what != "log" && what != "audit" && what != "event" {
            entered.reach(1);
            cancel(invocation);
        }
        let until = std::time::Instant::now() + PATIENCE;
        while said.load(Ordering::SeqCst) == NONE {
            assert!(std::time::Instant::now() < until, "{what}: was not called");
            thread::yield_now();
        }
        end(registry);
        assert_eq!(said.load(Ordering::SeqCst), AS_E_WOULD_DEADLOCK, "{what}");
        unregister(registration);
        unsubscribe(subscription);
        for seen in [&host_seen, &seen, &events_seen, &result_seen] {
            seen.destroyed_once();
        }
    }
}

/// A `destroy` is a callback, too: one that is the end of a worker's job, and one that is the end of the registry itself.
#[test]
fn closing_inside_destroy() {
    for what in ["result", "host"] {
        let (place, said) = (later(), Arc::new(AtomicI32::new(NONE)));
        let close_it = |wanted: &str| {
            let close_it = closing(&place, &said);
            let nothing = Ask { reply: 0, context: &[], input: &[] };
            (wanted == what).then(|| Box::new(move || close_it(&nothing)) as Box<dyn FnOnce() + Send>)
        };
        let (host, host_seen) = host_of(0, pad(vec![answers("{}")], 6), close_it("host"));
        let registry = registry(json!({}), Some(&host));
        place.store(registry, Ordering::SeqCst);
        let (binding, seen) = binding("go", 0, vec![answers("1")]);
        let registration = register(registry, component(&["go"], &[]), &[binding]);
        let (results, result_seen) = on_result_of(table_with(vec![body(|_| {})], close_it("result")));
        let invocation = invoke(registry, request("go"), json!({}), Some(&results));
        assert_eq!(status(&wait(invocation).unwrap()), "ok");
        result_seen.destroyed_once();
        end(registry);
        assert_eq!(said.load(Ordering::SeqCst), AS_E_WOULD_DEADLOCK, "{what}");
        host_seen.destroyed_once();
        seen.destroyed_once();
        unregister(registration);
        free(invocation);
    }
}

/// Waiting for quiet inside a destroy that keeps the registry from being quiet could never end.
#[test]
fn waiting_for_quiet_inside_destroy() {
    let (place, (send, said)) = (later(), channel());
    let p = place.clone();
    let wait_quiet = move || {
        // SAFETY: no output.
        send.send(unsafe { as_dev_quiesce(p.load(Ordering::SeqCst), -1, std::ptr::null_mut()) }).unwrap();
    };
    let registry = registry(json!({}), None);
    place.store(registry, Ordering::SeqCst);
    let (binding, _) = binding("go", 0, vec![answers("1")]);
    let registration = register(registry, component(&["go"], &[]), &[binding]);
    let (results, seen) = on_result_of(table_with(vec![body(|_| {})], Some(Box::new(wait_quiet))));
    free(invoke(registry, request("go"), json!({}), Some(&results)));
    assert_eq!(said.recv_timeout(PATIENCE).unwrap(), AS_E_WOULD_DEADLOCK);
    seen.destroyed_once();
    unregister(registration);
    end(registry);
}

/// Two threads close, a third closes again: all wait for the same end.
#[test]
fn closing_from_two_threads() {
    let gate = Gate::new();
    let _end = OpenAtEnd(gate.clone());
    let g = gate.clone();
    let (binding, seen) = binding("go", 0, vec![body(move |_| g.pass())]);
    let registry = registry(json!({}), None);
    let registration = register(registry, component(&["go"], &[]), &[binding]);
    let invocation = invoke(registry, request("go"), json!({}), None);
    gate.entered.reach(1);
    assert_eq!(close(registry, 0), AS_E_TIMEOUT);
    let closing: Vec<_> = (0..2).map(|_| thread::spawn(move || close(registry, PATIENCE_MS))).collect();
    assert_eq!(status(&wait(invocation).unwrap()), "CANCELLED", "settled while the handler still runs");
    assert_eq!(seen.destroyed.get(), 0);
    gate.open();
    for thread in closing {
        assert_eq!(thread.join().unwrap(), AS_OK);
    }
    seen.destroyed_once();
    assert_eq!(close(registry, 0), AS_OK);
    end(registry);
    unregister(registration);
    free(invocation);
}

/// Eight threads call, defer, cancel and look while the registry closes under them: every call that was accepted has one
/// result, every table is destroyed once, and nothing runs after the close has answered.
#[test]
fn closing_in_a_storm() {
    for round in 0..20 {
        let (binding, seen) = binding(
            "go",
            if round % 2 == 0 { 0 } else { AS_SERIAL },
            vec![
                body(|ask| match ask.reply % 3 {
                    0 => {
                        defer(ask.reply);
                    }
                    _ => {
                        ask.json("1");
                    }
                }),
                answers("true"),
            ],
        );
        let (host, host_seen) = host(0, vec![answers("{}")]);
        let registry = registry(json!({}), Some(&host));
        let registration = register(registry, component(&["go"], &[]), &[binding]);
        let (events, events_seen) = listener(|_| {});
        let subscription = subscribe(registry, &events);
        let closed = Arc::new(AtomicUsize::new(0));
        let start = Arc::new(Barrier::new(9));
        let threads: Vec<_> = (0..8)
            .map(|t| {
                let (start, closed) = (start.clone(), closed.clone());
                thread::spawn(move || {
                    start.wait();
                    let mut results = Vec::new();
                    for i in 0.. {
                        let closed = closed.clone();
                        let (hooks, seen) = on_result(move |_| {
                            assert_eq!(closed.load(Ordering::SeqCst), 0, "a result after the close");
                        });
                        let mut request = request("go");
                        request["invocationId"] = json!(format!("{}-{i}", t % 4));
                        let (code, invocation) = try_invoke(registry, request, json!({}), Some(&hooks));
                        results.push((code, invocation, seen));
                        if code != AS_OK {
                            assert_eq!(code, AS_E_CLOSED);
                            break;
                        }
                        match i % 4 {
                            0 => cancel(invocation),
                            1 => drop(snapshot(registry)),
                            _ => {}
                        }
                    }
                    results
                })
            })
            .collect();
        start.wait();
        for _ in 0..round * 50 {
            thread::yield_now();
        }
        assert_eq!(close(registry, PATIENCE_MS), AS_OK);
        closed.store(1, Ordering::SeqCst);
        let calls = (seen.calls.get(), events_seen.calls.get(), host_seen.calls.get());
        for thread in threads {
            for (code, invocation, seen) in thread.join().unwrap() {
                seen.destroyed_once();
                if code == AS_OK {
                    assert!(wait_for(invocation, 0).is_ok(), "a call was left without a result");
                    assert_eq!(seen.calls.get(), 1, "results of a call");
                    free(invocation);
                } else {
                    assert_eq!(seen.calls.get(), 0);
                }
            }
        }
        assert_eq!(calls, (seen.calls.get(), events_seen.calls.get(), host_seen.calls.get()));
        for seen in [&seen, &events_seen, &host_seen] {
            seen.destroyed_once();
        }
        unregister(registration);
        unsubscribe(subscription);
        end(registry);
    }
}

/// Two handlers close, for ever, each the other's registry: the one that comes second is told that this could never end,
/// and with that both registries close. So it is with three in a circle.
#[test]
fn registries_that_close_each_other() {
    for n in [2, 3] {
        let places: Vec<_> = (0..n).map(|_| later()).collect();
        let meet = Arc::new(Barrier::new(n));
        let said = Arc::new(Mutex::new(Vec::new()));
        let done = Count::new();
        for (at, place) in places.iter().enumerate() {
            let (other, meet, said, done) = (places[(at + 1) % n].clone(), meet.clone(), said.clone(), done.clone());
            let (binding, _) = binding(
                "go",
                0,
                vec![body(move |_| {
                    meet.wait();
                    let code = close(other.load(Ordering::SeqCst), -1);
                    said.lock().unwrap().push(code);
                    done.add();
                })],
            );
            let registry = registry(json!({}), None);
            register(registry, component(&["go"], &[]), &[binding]);
            place.store(registry, Ordering::SeqCst);
        }
        // Each on a thread of its own, since all must be inside at once.
        let registries: Vec<_> = places.iter().map(|place| place.load(Ordering::SeqCst)).collect();
        let call = |registry| thread::spawn(move || invoke_wait(registry, request("go")).map(drop));
        let calls: Vec<_> = registries.iter().copied().map(call).collect();
        done.reach(n);
        let told = said.lock().unwrap().iter().filter(|code| **code == AS_E_WOULD_DEADLOCK).count();
        assert_eq!(told, 1, "{:?}", said.lock().unwrap());
        calls.into_iter().for_each(|call| assert_eq!(call.join().unwrap(), Ok(())));
        registries.into_iter().for_each(end);
    }
}

/// Whatever another thread is in the middle of when a close has answered `AS_OK`, no host code begins after it.
#[test]
fn nothing_begins_after_a_close_whatever_is_under_way() {
    let violations = Arc::new(AtomicUsize::new(0));
    for round in 0..400 {
        let closed = Arc::new(AtomicBool::new(false));
        let watch = || {
            let (closed, violations) = (closed.clone(), violations.clone());
            move |_: &Ask| {
                if closed.load(Ordering::SeqCst) {
                    violations.fetch_add(1, Ordering::SeqCst);
                }
            }
        };
        let (host, _) = host(0, vec![None, None, None, None, body(watch()), None]);
        let registry = registry(json!({ "audit": { "sink": "callback" } }), Some(&host));
        let (asked, replies) = (Count::new(), Arc::new(Mutex::new(Vec::new())));
        let (a, r) = (asked.clone(), replies.clone());
        let (binding, _) = binding(
            "go",
            0,
            vec![body(move |ask| {
                defer(ask.reply);
                r.lock().unwrap().push(ask.reply);
                a.add();
            })],
        );
        register(registry, component(&["go"], &[]), &[binding]);
        let mut same = request("go");
        same["invocationId"] = json!("one");
        let calls = [(); 2].map(|()| invoke(registry, same.clone(), json!({}), Some(&on_result(watch()).0)));
        asked.reach(1);
        let reply = replies.lock().unwrap()[0];
        let toolset = Toolset::new(registry, json!({ "topology": "remote", "mode": "meta" })).unwrap();
        let start = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                match round % 4 {
                    0 => drop(toolset.start(json!({ "name": "surface_act", "input": {} }), &on_result(watch()).0)),
                    1 => cancel(calls[1]),
                    // SAFETY: a whole table.
                    2 => drop(unsafe { as_reply_on_abort(reply, &notify(watch()).0) }),
                    _ => drop(reply_json(reply, "1")),
                }
            });
            start.wait();
            assert_eq!(close(registry, PATIENCE_MS), AS_OK);
            closed.store(true, Ordering::SeqCst);
        });
        calls.into_iter().for_each(free);
        drop(toolset);
        end(registry);
    }
    assert_eq!(violations.load(Ordering::SeqCst), 0);
}

/// A question that comes up while its consumer is ended is not left open: nobody will be told of it.
#[test]
fn no_question_outlives_its_consumer() {
    let registry = registry(json!({}), None);
    let mut definition = component(&["go"], &[]);
    definition["actions"]["go"]["confirmation"] = json!("required");
    let (binding, _) = binding("go", 0, vec![answers("1")]);
    let registration = register(registry, definition, &[binding]);
    for _ in 0..2000 {
        let consumer = json!({ "id": "c", "kind": "test" });
        let start = Barrier::new(2);
        let result = thread::scope(|scope| {
            let calling = scope.spawn(|| {
                start.wait();
                invoke_wait_with(registry, request("go"), json!({ "consumer": consumer })).unwrap()
            });
            start.wait();
            consumer_close(registry, &consumer);
            calling.join().unwrap()
        });
        let open = if status(&result) == "CANCELLED" { 0 } else { 1 };
        assert!(info(registry)["pendingConfirmations"].as_u64().unwrap() <= open, "{result}");
        consumer_close(registry, &consumer);
    }
    unregister(registration);
    end(registry);
}
