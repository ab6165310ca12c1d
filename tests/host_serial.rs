//! Tables that ask for one call at a time (`AS_SERIAL`): never two at once, in order, and no knot that lasts.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
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
            answers("true"),
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
    let looks = |own: &str, at: &'static str| {
        let meet = meet.clone();
        let handler = body(move |ask| {
            meet.wait();
            let shown = snapshot_of(registry, json!({ "scope": [at] })).unwrap();
            meet.wait();
            ask.json(&shown["components"][0]["actions"][0].to_string());
        });
        let mut definition = component(&["go"], &[]);
        definition["type"] = json!(own);
        register(registry, definition, &[binding("go", AS_SERIAL, vec![handler, answers("true")]).0])
    };
    let registrations = [looks("a", "b"), looks("b", "a")];
    let calls =
        ["a", "b"].map(|at| invoke(registry, json!({ "capabilityId": format!("view:{at}.go") }), json!({}), None));
    for call in calls {
        assert_eq!(wait(call).unwrap()["output"]["unavailableReason"], "when-error");
        free(call);
    }
    // A result is there before its callback has returned, and with it its table.
    quiesce(registry);
    assert_eq!(snapshot(registry).unwrap()["components"][0]["actions"][0]["available"], true, "all is free again");
    registrations.into_iter().for_each(unregister);
    end(registry);
}

/// What looks at the surface inside its own table, of which a hook would have to be asked, is told that it cannot: a
/// catalog in which that hook had failed would be another one.
#[test]
fn looking_inside_ones_own_table() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let s = said.clone();
    let registry = registry(json!({}), None);
    let look = body(move |ask| {
        let toolset = Toolset::new(registry, json!({ "topology": "remote" })).map(drop);
        let meta = Toolset::new(registry, json!({ "topology": "remote", "mode": "meta" })).unwrap();
        let discovered = meta.call(json!({ "name": "surface_discover", "input": {} })).map(drop);
        s.lock().unwrap().extend([snapshot(registry).map(drop), explain(registry).map(drop), toolset, discovered]);
        // What asks nothing of the table is free.
        s.lock().unwrap().push(snapshot_of(registry, json!({ "scope": ["other"] })).map(drop));
        ask.json("1");
    });
    let (binding, _) = binding("go", AS_SERIAL, vec![look, answers("true")]);
    let registration = register(registry, component(&["go"], &[]), &[binding]);
    assert_eq!(status(&invoke_wait(registry, request("go")).unwrap()), "ok");
    let no = Err(AS_E_WOULD_DEADLOCK);
    assert_eq!(*said.lock().unwrap(), [no, no, no, no, Ok(())]);
    assert_eq!(snapshot(registry).unwrap()["components"][0]["actions"][0]["available"], true);
    unregister(registration);
    end(registry);
}

/// So is a registration whose guard is in the table that is taken; without it nothing is registered.
#[test]
fn registering_inside_the_guards_own_table() {
    let (place, said) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(None)));
    let (p, s) = (place.clone(), said.clone());
    let context = body(move |ask| {
        let (binding, _) = binding("in", 0, vec![answers("1")]);
        let mut inner = component(&["in"], &[]);
        inner["type"] = json!("inner");
        *s.lock().unwrap() = Some(try_register(p.load(Ordering::SeqCst), inner, &[binding]));
        ask.json("{}");
    });
    let (host, _) = host(AS_SERIAL, vec![context, None, answers("\"accept\"")]);
    let registry = registry(json!({}), Some(&host));
    place.store(registry, Ordering::SeqCst);
    let registration = register(registry, component(&["go"], &[]), &[binding("go", 0, vec![answers("1")]).0]);
    assert_eq!(status(&invoke_wait(registry, request("go")).unwrap()), "ok");
    assert_eq!(*said.lock().unwrap(), Some((AS_E_WOULD_DEADLOCK, 0)));
    assert_eq!(info(registry)["registrations"], 1);
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
            binding(name, AS_SERIAL, vec![body(move |_| g.pass()), answers("true")]).0
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
