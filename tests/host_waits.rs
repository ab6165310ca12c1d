//! Waiting inside callbacks: what can end works, what could never end says so at once.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

type Said = Result<Value, as_code>;

/// Registers an action `outer`, whose handler does `inside` with the registry and answers with 1, and the other `bindings`.
/// Both run one at a time and keep their slot until the handler has ended, so that no timeout loosens a knot.
fn world(
    outer_flags: u32,
    inside: impl Fn(as_registry, &Ask) -> Said + Send + Sync + 'static,
    mode: Value,
    others: &[as_binding],
    other_names: &[&str],
) -> (as_registry, std::sync::mpsc::Receiver<Said>) {
    let (send, said) = channel();
    let send = Mutex::new(send);
    let place = Arc::new(AtomicU64::new(0));
    let p = place.clone();
    let (outer, _) = binding(
        "outer",
        outer_flags,
        vec![body(move |ask| {
            let said = inside(p.load(Ordering::SeqCst), ask);
            send.lock().unwrap().send(said).unwrap();
            ask.json("1");
        })],
    );
    let mut definition = component(&[&["outer"], other_names].concat(), &[]);
    for (_, action) in definition["actions"].as_object_mut().unwrap() {
        action["concurrency"] = mode.clone();
        action["timeoutMs"] = json!(PATIENCE_MS * 10);
    }
    let registry = registry(json!({}), None);
    place.store(registry, Ordering::SeqCst);
    register(registry, definition, &[&[outer], others].concat());
    (registry, said)
}

fn answering(name: &'static str, flags: u32) -> as_binding {
    binding(name, flags, vec![answers("2")]).0
}

fn one_at_a_time() -> Value {
    json!({ "mode": "instance", "queueDepth": 100, "onTimeout": "hold" })
}

fn side_by_side() -> Value {
    json!({ "mode": "parallel", "max": 100 })
}

/// Both ways to be on a callback's stack: a worker's, and the thread's that waits for the outer call.
fn both_ways(registry: as_registry, said: &std::sync::mpsc::Receiver<Said>, expect: impl Fn(Said)) {
    assert_eq!(status(&invoke_wait(registry, request("outer")).unwrap()), "ok");
    expect(said.recv_timeout(PATIENCE).unwrap());
    let invocation = invoke(registry, request("outer"), json!({}), None);
    expect(said.recv_timeout(PATIENCE).unwrap());
    assert_eq!(status(&wait(invocation).unwrap()), "ok");
    free(invocation);
    end(registry);
}

fn deadlocks(said: Said) {
    assert_eq!(said, Err(AS_E_WOULD_DEADLOCK));
}

fn invoke_and_wait(registry: as_registry, request: Value) -> Said {
    let invocation = invoke(registry, request, json!({}), None);
    let said = wait_for(invocation, -1);
    cancel(invocation);
    free(invocation);
    said
}

#[test]
fn a_call_of_another_capability_runs_inline() {
    let (registry, said) =
        world(0, |r, _| invoke_wait(r, request("inner")), side_by_side(), &[answering("inner", 0)], &["inner"]);
    both_ways(registry, &said, |said| assert_eq!(said.unwrap()["output"], 2));
}

#[test]
fn waiting_for_a_slot_that_one_holds() {
    let inner = || [answering("inner", 0)];
    let (registry, said) = world(0, |r, _| invoke_wait(r, request("inner")), one_at_a_time(), &inner(), &["inner"]);
    both_ways(registry, &said, deadlocks);
    let (registry, said) = world(0, |r, _| invoke_and_wait(r, request("inner")), one_at_a_time(), &inner(), &["inner"]);
    both_ways(registry, &said, deadlocks);
}

/// The call comes to the slot only later: a policy has to decide first, and does so from another thread.
#[test]
fn waiting_for_a_slot_that_one_holds_when_it_comes_to_that() {
    for how in [invoke_wait, invoke_and_wait] {
        let (registry, said) = world(0, move |r, _| how(r, request("inner")), one_at_a_time(), &[], &[]);
        let (send, replies) = channel();
        let send = Mutex::new(send);
        let (policy, _) = policy(
            0,
            vec![
                None,
                body(move |ask| {
                    defer(ask.reply);
                    send.lock().unwrap().send(ask.reply).unwrap();
                }),
            ],
        );
        define(registry, "later", &policy);
        thread::spawn(move || replies.iter().for_each(|reply| assert_eq!(allow(reply), AS_OK)));
        let mut definition = component(&["inner"], &[]);
        definition["instanceId"] = json!("two");
        definition["actions"]["inner"]["concurrency"] = json!({ "mode": "key", "key": "k", "onTimeout": "hold" });
        definition["actions"]["inner"]["policies"] = json!(["later"]);
        register(registry, definition, &[answering("inner", 0)]);
        // `outer` is of the instance; a second `outer` under the same key stands for it.
        let mut key = component(&["holds"], &[]);
        key["instanceId"] = json!("three");
        key["actions"]["holds"]["concurrency"] = json!({ "mode": "key", "key": "k", "onTimeout": "hold" });
        key["actions"]["holds"]["timeoutMs"] = json!(PATIENCE_MS * 10);
        let (send, inner_said) = channel();
        let send = Mutex::new(send);
        let (holds, _) = binding(
            "holds",
            0,
            vec![body(move |ask| {
                send.lock().unwrap().send(how(registry, request("inner"))).unwrap();
                ask.json("1");
            })],
        );
        register(registry, key, &[holds]);
        for inline in [true, false] {
            let result = match inline {
                true => invoke_wait(registry, request("holds")).unwrap(),
                false => {
                    let invocation = invoke(registry, request("holds"), json!({}), None);
                    let result = wait(invocation).unwrap();
                    free(invocation);
                    result
                }
            };
            assert_eq!(status(&result), "ok");
            deadlocks(inner_said.recv_timeout(PATIENCE).unwrap());
        }
        end(registry);
        drop(said);
    }
}

#[test]
fn waiting_for_the_call_one_runs() {
    let mut own = request("outer");
    own["invocationId"] = json!("own");
    for how in [invoke_wait, invoke_and_wait] {
        let request = own.clone();
        let (registry, said) = world(0, move |r, _| how(r, request.clone()), side_by_side(), &[], &[]);
        assert_eq!(status(&invoke_wait(registry, own.clone()).unwrap()), "ok");
        deadlocks(said.recv_timeout(PATIENCE).unwrap());
        end(registry);
    }
}

#[test]
fn waiting_for_the_serial_table_one_is_in() {
    for how in [invoke_wait, invoke_and_wait] {
        let table = AS_SERIAL;
        let (registry, said) = world(
            table,
            move |r, ask| match ask.context()["invocationId"] == "inner" {
                true => Ok(json!("inner")),
                false => {
                    let mut request = request("outer");
                    request["invocationId"] = json!("inner");
                    how(r, request)
                }
            },
            side_by_side(),
            &[],
            &[],
        );
        assert_eq!(status(&invoke_wait(registry, request("outer")).unwrap()), "ok");
        deadlocks(said.recv_timeout(PATIENCE).unwrap());
        end(registry);
    }
}

/// The thread that holds what the call needs is told; one that holds nothing waits on and gets the call's result.
#[test]
fn a_call_of_another_thread_is_waited_for() {
    let gate = Gate::new();
    let _end = OpenAtEnd(gate.clone());
    let g = gate.clone();
    let (inner, _) = binding(
        "inner",
        0,
        vec![body(move |ask| {
            g.pass();
            ask.json("2");
        })],
    );
    let other = Arc::new(AtomicU64::new(0));
    let o = other.clone();
    let (registry, said) = world(0, move |_, _| wait(o.load(Ordering::SeqCst)), side_by_side(), &[inner], &["inner"]);
    let foreign = thread::spawn(move || invoke(registry, request("inner"), json!({}), None)).join().unwrap();
    gate.entered.reach(1);
    other.store(foreign, Ordering::SeqCst);
    let waits = thread::spawn(move || invoke_wait(registry, request("outer")));
    gate.open();
    assert_eq!(said.recv_timeout(PATIENCE).unwrap().unwrap()["output"], 2);
    assert_eq!(status(&waits.join().unwrap().unwrap()), "ok");
    free(foreign);
    end(registry);
}

/// Calls nest to a depth of 32, on a thread of the host's as on a worker, and no deeper.
#[test]
fn nesting_has_a_limit() {
    let depth = Arc::new(AtomicUsize::new(0));
    let d = depth.clone();
    let (registry, said) = world(
        0,
        move |r, _| {
            d.fetch_add(1, Ordering::SeqCst);
            invoke_wait(r, request("outer"))
        },
        side_by_side(),
        &[],
        &[],
    );
    for inline in [true, false] {
        depth.store(0, Ordering::SeqCst);
        match inline {
            true => assert_eq!(status(&invoke_wait(registry, request("outer")).unwrap()), "ok"),
            false => {
                let invocation = invoke(registry, request("outer"), json!({}), None);
                assert_eq!(status(&wait(invocation).unwrap()), "ok");
                free(invocation);
            }
        }
        assert_eq!(said.recv_timeout(PATIENCE).unwrap(), Err(AS_E_LIMIT), "the innermost");
        for _ in 1..32 {
            assert_eq!(status(&said.recv_timeout(PATIENCE).unwrap().unwrap()), "ok");
        }
        assert_eq!(depth.load(Ordering::SeqCst), 32);
    }
    end(registry);
}

/// A guard that registers what it guards recurses by the host's own doing, and not for ever.
#[test]
fn a_guard_that_registers() {
    let (place, depth) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicUsize::new(0)));
    let (p, d) = (place.clone(), depth.clone());
    let guard = body(move |ask| {
        d.fetch_add(1, Ordering::SeqCst);
        let definition =
            json!({ "type": "t", "description": "A thing", "instanceId": d.load(Ordering::SeqCst).to_string() });
        try_register(p.load(Ordering::SeqCst), definition, &[]);
        ask.json("\"accept\"");
    });
    let (host, seen) = host(0, vec![None, None, guard]);
    let registry = registry(json!({}), Some(&host));
    place.store(registry, Ordering::SeqCst);
    register(registry, json!({ "type": "t", "description": "A thing" }), &[]);
    assert_eq!(depth.load(Ordering::SeqCst), 32);
    assert_eq!(info(registry)["registrations"], 32, "all but the innermost, whom nobody vouched for");
    end(registry);
    seen.destroyed_once();
}

/// A host context that calls asks for the host context again, and not for ever.
#[test]
fn a_context_that_calls() {
    let (place, depth) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicUsize::new(0)));
    let (p, d) = (place.clone(), depth.clone());
    let context = body(move |ask| {
        d.fetch_add(1, Ordering::SeqCst);
        let _ = invoke_wait(p.load(Ordering::SeqCst), request("go"));
        ask.json("{}");
    });
    let (host, _) = host(0, vec![context]);
    let registry = registry(json!({}), Some(&host));
    place.store(registry, Ordering::SeqCst);
    register(registry, component(&["go"], &[]), &[answering("go", 0)]);
    assert_eq!(status(&invoke_wait(registry, request("go")).unwrap()), "ok");
    assert_eq!(depth.load(Ordering::SeqCst), 32);
    end(registry);
}

/// What looking is made of cannot look itself.
#[test]
fn looking_while_being_looked_at() {
    for what in ["when", "on_discovery", "context"] {
        let (place, said) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        let look = |name: &str, answer: &'static str| {
            let (place, said) = ((name == what).then(|| place.clone()), said.clone());
            body(move |ask| {
                if let Some(place) = &place {
                    let registry = place.load(Ordering::SeqCst);
                    said.lock().unwrap().push(snapshot(registry).map(drop));
                    said.lock().unwrap().push(invoke_wait(registry, request("go")).map(drop));
                }
                ask.json(answer);
            })
        };
        let (host, _) = host(0, vec![look("context", "{}")]);
        let registry = registry(json!({ "policies": ["p"] }), Some(&host));
        let (policy, _) = policy(0, vec![look("on_discovery", r#"{"decision":"expose"}"#)]);
        define(registry, "p", &policy);
        let (binding, _) = binding("go", 0, vec![answers("1"), look("when", "true")]);
        register(registry, component(&["go"], &[]), &[binding]);
        place.store(registry, Ordering::SeqCst);
        let shown = snapshot(registry).unwrap();
        assert_eq!(shown["components"][0]["actions"][0]["available"], true);
        let said = said.lock().unwrap();
        assert!(!said.is_empty() && said.iter().all(|said| *said == Err(AS_E_WOULD_DEADLOCK)), "{what}: {said:?}");
        drop(said);
        end(registry);
    }
}

/// Calls of two registries are told apart, also where both count them alike.
#[test]
fn a_call_of_another_registry() {
    let other = registry(json!({}), None);
    register(other, component(&["inner"], &[]), &[answering("inner", 0)]);
    for how in [invoke_wait, invoke_and_wait] {
        let (registry, said) = world(0, move |_, _| how(other, request("inner")), side_by_side(), &[], &[]);
        both_ways(registry, &said, |said| assert_eq!(said.unwrap()["output"], 2));
    }
    end(other);
}
