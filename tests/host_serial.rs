//! Tables that ask for one call at a time (`AS_SERIAL`): never two at once, in order, and no knot that lasts.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

/// Eight threads call handler, `when` and `precondition` of one table: never two at once, and what one thread asked for
/// comes in its order.
#[test]
fn one_at_a_time_in_order() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let o = order.clone();
    let (binding, seen) = binding(
        "go",
        AS_SERIAL,
        vec![
            body(move |ask| {
                o.lock().unwrap().push(ask.context()["invocationId"].as_str().unwrap().to_owned());
                ask.json("1");
            }),
            body(|ask| {
                ask.json("true");
            }),
        ],
    );
    let registry = registry(json!({}), None);
    let registration = register(registry, component(&["go"], &[]), &[binding]);
    let start = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|t| {
            let start = start.clone();
            thread::spawn(move || {
                start.wait();
                let calls: Vec<_> = (0..100)
                    .map(|i| {
                        let mut request = request("go");
                        request["invocationId"] = json!(format!("{t} {i}"));
                        if i % 25 == 24 {
                            assert!(snapshot(registry).unwrap()["components"][0]["actions"][0]["available"] == true);
                        }
                        invoke(registry, request, json!({}), None)
                    })
                    .collect();
                for call in calls {
                    assert_eq!(status(&wait(call).unwrap()), "ok");
                    free(call);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut last: HashMap<String, i32> = HashMap::new();
    for id in order.lock().unwrap().iter() {
        let (thread, number) = id.split_once(' ').unwrap();
        let number: i32 = number.parse().unwrap();
        assert_eq!(last.insert(thread.to_owned(), number).unwrap_or(-1), number - 1, "thread {thread}");
    }
    assert_eq!(seen.most.load(Ordering::SeqCst), 1, "at once");
    unregister(registration);
    end(registry);
    seen.destroyed_once();
}

/// Two handlers, each of a table of its own and each looking at the surface, which asks the other's `when`: each holds
/// what the other waits for. The wait ends, and what could not be asked is not available.
#[test]
fn two_tables_that_wait_for_each_other() {
    let meet = Arc::new(Barrier::new(2));
    let registry = registry(json!({ "limits": { "policyTimeoutMs": 50 } }), None);
    let looks = |name| {
        let meet = meet.clone();
        binding(
            name,
            AS_SERIAL,
            vec![
                body(move |ask| {
                    meet.wait();
                    let shown = snapshot(registry).unwrap();
                    meet.wait();
                    ask.json(&shown["components"][0]["actions"].to_string());
                }),
                body(|ask| {
                    ask.json("true");
                }),
            ],
        )
        .0
    };
    let registration = register(registry, component(&["a", "b"], &[]), &[looks("a"), looks("b")]);
    let calls = ["a", "b"].map(|name| invoke(registry, request(name), json!({}), None));
    for call in calls {
        let result = wait(call).unwrap();
        for action in result["output"].as_array().unwrap() {
            assert_eq!(action["unavailableReason"], "when-error");
        }
        free(call);
    }
    // A result is there before its callback has returned, and with it its table.
    quiesce(registry);
    assert_eq!(snapshot(registry).unwrap()["components"][0]["actions"][0]["available"], true, "all is free again");
    unregister(registration);
    end(registry);
}

/// A serial table that hangs costs those who look at the surface one wait, however many hooks it has.
#[test]
fn looking_past_a_table_that_hangs() {
    let gate = Gate::new();
    let _end = OpenAtEnd(gate.clone());
    let g = gate.clone();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let (host, host_seen) = host(AS_SERIAL, vec![None, None, None, None, None, body(move |_| g.pass())]);
    let config = json!({ "limits": { "policyTimeoutMs": 50 } });
    let registry = registry(config, Some(&host));
    let g = gate.clone();
    let bindings: Vec<_> = names
        .map(|name| {
            let g = g.clone();
            binding(
                name,
                AS_SERIAL,
                vec![
                    body(move |_| g.pass()),
                    body(|ask| {
                        ask.json("true");
                    }),
                ],
            )
            .0
        })
        .to_vec();
    let registration = register(registry, component(&names, &[]), &bindings);
    let call = invoke(registry, request("a"), json!({}), None);
    gate.entered.reach(1);
    let shown = snapshot(registry).unwrap();
    let actions = shown["components"][0]["actions"].as_array().unwrap();
    let away: Vec<_> = actions.iter().filter(|action| action["available"] == false).map(|a| &a["name"]).collect();
    assert_eq!(away, ["a"]);
    gate.open();
    assert_eq!(status(&wait(call).unwrap()), "EXECUTION_FAILED", "the handler returned without an answer");
    free(call);
    unregister(registration);
    end(registry);
    host_seen.destroyed_once();
}

/// A deferred answer does not keep the table: only running in it does.
#[test]
fn a_deferred_answer_leaves_the_table_free() {
    let replies = Arc::new(Mutex::new(Vec::new()));
    let r = replies.clone();
    let entered = Count::new();
    let e = entered.clone();
    let (binding, seen) = binding(
        "go",
        AS_SERIAL,
        vec![body(move |ask| {
            defer(ask.reply);
            r.lock().unwrap().push(ask.reply);
            e.add();
        })],
    );
    let registry = registry(json!({}), None);
    let registration = register(registry, component(&["go"], &[]), &[binding]);
    let calls: Vec<_> = (0..10).map(|_| invoke(registry, request("go"), json!({}), None)).collect();
    entered.reach(10);
    for reply in replies.lock().unwrap().drain(..) {
        assert_eq!(reply_json(reply, "1"), AS_OK);
    }
    for call in calls {
        assert_eq!(status(&wait(call).unwrap()), "ok");
        free(call);
    }
    unregister(registration);
    end(registry);
    seen.destroyed_once();
}

/// A handler of a serial table hangs: the calls behind it time out without having begun, and it goes on with the rest
/// once it is back.
#[test]
fn calls_behind_one_that_hangs() {
    let gate = Gate::new();
    let _end = OpenAtEnd(gate.clone());
    let g = gate.clone();
    let (binding, seen) = binding(
        "go",
        AS_SERIAL,
        vec![body(move |ask| {
            g.pass();
            ask.json("1");
        })],
    );
    let registry = registry(json!({}), None);
    let registration = register(registry, component(&["go"], &[]), &[binding]);
    let short = json!({ "timeoutMs": 20 });
    let first = invoke(registry, request("go"), short.clone(), None);
    gate.entered.reach(1);
    for _ in 0..200 {
        let call = invoke(registry, request("go"), json!({ "timeoutMs": 1 }), None);
        let result = wait(call).unwrap();
        assert_eq!((status(&result), &result["error"]["details"]["started"]), ("TIMEOUT", &json!(false)));
        free(call);
    }
    assert_eq!(status(&wait(first).unwrap()), "TIMEOUT");
    let last = invoke(registry, request("go"), json!({}), None);
    gate.open();
    assert_eq!(status(&wait(last).unwrap()), "ok");
    assert_eq!(gate.entered.get(), 2, "what had timed out never ran");
    [first, last].into_iter().for_each(free);
    unregister(registration);
    end(registry);
    seen.destroyed_once();
}
