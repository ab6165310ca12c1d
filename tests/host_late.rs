//! Answers that come late, or just as their call ends: what a host is told of them, how long their replies and tables live,
//! who is told of an abort, and what a listener that is late has missed.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

/// A handler that defers, and hands its replies out.
fn pending() -> (Option<Body>, Receiver<as_reply>) {
    let (send, replies) = channel();
    let send = Mutex::new(send);
    let handler = body(move |ask| {
        defer(ask.reply);
        send.lock().unwrap().send(ask.reply).unwrap();
    });
    (handler, replies)
}

fn manual(limits: Value) -> Value {
    json!({ "clock": { "manual": { "start": "2026-01-01T00:00:00.000Z" } }, "limits": limits })
}

fn next_of(replies: &Receiver<as_reply>) -> as_reply {
    replies.recv_timeout(PATIENCE).unwrap()
}

/// AS-CONC-011, AS-CONC-012: an answer races with the timeout, or with a cancellation. Taken, it is the result; refused, it
/// was late, and the result says why.
#[test]
fn what_a_host_is_told_of_its_answer_is_what_became_of_it() {
    let (handler, replies) = pending();
    let registry = registry(manual(json!({})), None);
    let (go, _) = binding("go", 0, vec![handler]);
    let registration = register(registry, component(&["go"], &[]), &[go]);
    for round in 0..300 {
        let call = invoke(registry, request("go"), json!({ "timeoutMs": 10 }), None);
        let reply = next_of(&replies);
        let start = Arc::new(Barrier::new(2));
        let at = start.clone();
        let host = thread::spawn(move || {
            at.wait();
            reply_json(reply, "1")
        });
        start.wait();
        let ends_with = match round % 2 {
            0 => {
                advance(registry, 10);
                "TIMEOUT"
            }
            _ => {
                cancel(call);
                "CANCELLED"
            }
        };
        let (said, result) = (host.join().unwrap(), wait(call).unwrap());
        let expected = if said == AS_OK { "ok" } else { ends_with };
        assert!([AS_OK, AS_E_LATE].contains(&said), "{said}");
        assert_eq!(status(&result), expected, "the host was told {said}");
        let late = outcome(registry, result["invocationId"].as_str().unwrap()).unwrap()["late"].clone();
        assert_eq!(late["output"], if said == AS_OK { Value::Null } else { json!(1) });
        free(call);
    }
    unregister(registration);
    end(registry);
}

/// AS-IDENT-007: a reply lives as long as the record of its call, and is stale after.
#[test]
fn a_reply_ends_with_the_record_of_its_call() {
    let (handler, replies) = pending();
    let registry = registry(manual(json!({ "dedupeCacheSize": 1 })), None);
    let (go, seen) = binding("go", 0, vec![handler]);
    register(registry, component(&["go"], &[]), &[go]);
    let times_out = || {
        let call = invoke(registry, request("go"), json!({ "timeoutMs": 10 }), None);
        let reply = next_of(&replies);
        assert_eq!(aborted(reply), Ok(false));
        advance(registry, 10);
        assert_eq!(status(&wait(call).unwrap()), "TIMEOUT");
        free(call);
        reply
    };
    let first = times_out();
    assert_eq!(aborted(first), Ok(true));
    let second = times_out();
    // The one record that is kept is the second one's.
    assert_eq!(aborted(first), Err(AS_E_STALE_HANDLE));
    assert_eq!(reply_json(first, "1"), AS_E_STALE_HANDLE);
    assert_eq!(reply_json(second, "1"), AS_E_LATE);
    assert_eq!(reply_json(second, "1"), AS_E_SETTLED);
    end(registry);
    assert_eq!(aborted(second), Err(AS_E_STALE_HANDLE));
    seen.destroyed_once();
}

/// A table that is replaced is destroyed when the last call that it deferred is answered, or over.
#[test]
fn a_table_lives_as_long_as_what_it_deferred() {
    for answered in [true, false] {
        let registry = registry(manual(json!({})), None);
        let (handler, replies) = pending();
        let (go, old) = binding("go", 0, vec![handler]);
        let (handler, jobs) = pending();
        let executor = table(vec![handler]);
        let old_executor = executor.seen.clone();
        assert_eq!(executor_set(registry, json!(["run"]), &handler_table(0, &executor)), AS_OK);
        let mut definition = component(&["go"], &[]);
        definition["procedures"] = json!([{ "path": "run", "description": "Run", "effect": "server-query",
            "input": { "type": "object" } }]);
        let registration = register(registry, definition, &[go]);
        let options = || json!({ "timeoutMs": 10 });
        let go = invoke(registry, request("go"), options(), None);
        let run = invoke(registry, json!({ "capabilityId": "domain:run" }), options(), None);
        let owed = [next_of(&replies), next_of(&jobs)];

        let (swapped, new) = binding("go", 0, vec![answers("2")]);
        assert_eq!(unsafe { as_registration_rebind(registration, &swapped, 1, std::ptr::null_mut()) }, AS_OK);
        assert_eq!(executor_set(registry, json!(["run"]), &handler_table(0, &table(vec![answers("2")]))), AS_OK);
        quiesce(registry);
        assert_eq!((old.destroyed.get(), old_executor.destroyed.get()), (0, 0), "their calls are not over");
        assert_eq!(invoke_wait(registry, request("go")).unwrap()["output"], 2);
        let (status_now, told) = if answered { ("ok", AS_OK) } else { ("TIMEOUT", AS_E_LATE) };
        if !answered {
            advance(registry, 10);
        }
        assert_eq!(owed.map(|reply| reply_json(reply, "1")), [told, told]);
        for call in [go, run] {
            assert_eq!(status(&wait(call).unwrap()), status_now);
            free(call);
        }
        old.destroyed_once();
        old_executor.destroyed_once();
        unregister(registration);
        end(registry);
        new.destroyed_once();
    }
}

/// Twenty callers have joined one call, and sixteen ask to be told of its abort, which is all that may. It is aborted when
/// the last caller has cancelled, and each of the sixteen is told once; whoever asks after that is told at once.
#[test]
fn an_abort_is_told_once() {
    let (handler, replies) = pending();
    let registry = registry(json!({}), None);
    let (go, _) = binding("go", 0, vec![handler]);
    let registration = register(registry, component(&["go"], &[]), &[go]);
    let mut asks = request("go");
    asks["invocationId"] = json!("shared");
    let calls: Vec<_> = (0..20).map(|_| invoke(registry, asks.clone(), json!({}), None)).collect();
    let reply = next_of(&replies);
    let ask = || {
        let (hooks, seen) = notify(|_| {});
        // SAFETY: a whole table.
        (unsafe { as_reply_on_abort(reply, &hooks) }, seen)
    };
    let notices: Vec<_> = (0..16).map(|_| ask()).collect();
    assert!(notices.iter().all(|(code, _)| *code == AS_OK));
    let (code, refused) = ask();
    assert_eq!(code, AS_E_LIMIT);
    let (last, others) = calls.split_last().unwrap();
    others.iter().for_each(|call| cancel(*call));
    quiesce(registry);
    assert_eq!((aborted(reply), notices[0].1.calls.get()), (Ok(false), 0), "one still waits");
    // From two threads at once.
    let threads = [*last; 2].map(|call| thread::spawn(move || cancel(call)));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(aborted(reply), Ok(true));
    let (code, after) = ask();
    assert_eq!(code, AS_OK);
    quiesce(registry);
    for seen in notices.iter().map(|(_, seen)| seen).chain([&after]) {
        seen.destroyed_once();
        assert_eq!(seen.calls.get(), 1, "told");
    }
    refused.destroyed_once();
    assert_eq!(refused.calls.get(), 0);
    for call in calls {
        assert_eq!(status(&wait(call).unwrap()), "CANCELLED");
        free(call);
    }
    unregister(registration);
    end(registry);
}

/// AS-BOUND-003: what a listener with a full backlog missed is counted, told in its place, and nothing else is missing.
#[test]
fn what_a_listener_lost_is_told() {
    let registry = registry(json!({ "limits": { "maxEventBacklog": 4 } }), None);
    let (go, _) = binding("go", 0, vec![answers("1")]);
    let registration = register(registry, component(&["go"], &[]), &[go]);
    let (gate, heard) = (Gate::new(), Arc::new(Mutex::new(Vec::new())));
    let _end = OpenAtEnd(gate.clone());
    let (pass, keep) = (gate.clone(), heard.clone());
    let (events, _) = listener(move |ask| {
        keep.lock().unwrap().push(ask.context());
        pass.pass();
    });
    let subscription = subscribe(registry, &events);
    invoke_wait(registry, request("go")).unwrap();
    gate.entered.reach(1);
    for _ in 0..10 {
        invoke_wait(registry, request("go")).unwrap();
    }
    gate.open();
    quiesce(registry);
    invoke_wait(registry, request("go")).unwrap();
    quiesce(registry);
    let heard = heard.lock().unwrap();
    let number = |event: &Value| event["seq"].as_u64().unwrap();
    let mut last = number(&heard[0]) - 1;
    let mut lost = 0;
    for event in heard.iter() {
        let missing = event["lost"].as_u64().unwrap_or(1);
        lost += if event["type"] == "events-lost" { missing } else { 0 };
        last += missing;
        assert_eq!(number(event), last, "{event}");
    }
    assert_eq!((heard.len(), lost), (1 + 4 + 1 + 2, 24 - 1 - 4 - 2));
    unsubscribe(subscription);
    unregister(registration);
    end(registry);
}
