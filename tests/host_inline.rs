//! Tables whose functions return at once (`AS_INLINE`): they run on the thread that comes to them, and never block another.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

/// Where something ran: its thread, and what that is called.
type Places = Arc<Mutex<Vec<(&'static str, ThreadId, Option<String>)>>>;

fn note(places: &Places, what: &'static str) {
    let here = thread::current();
    places.lock().unwrap().push((what, here.id(), here.name().map(str::to_owned)));
}

fn inline_result(places: &Places) -> as_hooks_result {
    let seen = places.clone();
    let (hooks, _) = on_result(move |_| note(&seen, "result"));
    as_hooks_result { flags: AS_INLINE, ..hooks }
}

fn answering(places: &Places, flags: u32) -> as_binding {
    let seen = places.clone();
    let answer = body(move |ask| {
        note(&seen, "handler");
        ask.json("1");
    });
    binding("go", flags, vec![answer]).0
}

/// A call begins, is answered and told inside `as_invoke`, on the caller's thread. Without the flag no host code runs there.
#[test]
fn a_call_never_leaves_the_callers_thread() {
    for (flags, stays) in [(AS_INLINE, true), (AS_INLINE | AS_SERIAL, true), (0, false)] {
        let places = Places::default();
        let registry = registry(json!({}), None);
        let registration = register(registry, component(&["go"], &[]), &[answering(&places, flags)]);
        let call = invoke(registry, request("go"), json!({}), Some(&inline_result(&places)));
        if stays {
            assert_eq!(status(&wait_for(call, 0).unwrap()), "ok", "settled before as_invoke returned");
        }
        assert_eq!(status(&wait(call).unwrap()), "ok");
        quiesce(registry);
        let seen: Vec<_> = places.lock().unwrap().iter().map(|(what, id, _)| (*what, *id)).collect();
        match stays {
            true => assert_eq!(seen, ["handler", "result"].map(|what| (what, thread::current().id()))),
            false => assert_ne!(seen[0], ("handler", thread::current().id())),
        }
        free(call);
        unregister(registration);
        end(registry);
    }
}

/// A deferred answer is told on the thread that gives it, before the answering function returns.
#[test]
fn a_result_is_told_where_the_answer_is_given() {
    let places = Places::default();
    let (reply, seen) = (Arc::new(Mutex::new(0)), places.clone());
    let r = reply.clone();
    let defers = body(move |ask| {
        note(&seen, "handler");
        *r.lock().unwrap() = ask.reply;
        defer(ask.reply);
    });
    let (binding, seen) = binding("go", AS_INLINE, vec![defers]);
    let registry = registry(json!({}), None);
    let registration = register(registry, component(&["go"], &[]), &[binding]);
    let call = invoke(registry, request("go"), json!({}), Some(&inline_result(&places)));
    assert_eq!(places.lock().unwrap().len(), 1, "begun inside as_invoke");
    let answers = thread::spawn({
        let (reply, places) = (*reply.lock().unwrap(), places.clone());
        move || {
            assert_eq!(reply_json(reply, "1"), AS_OK);
            assert_eq!(places.lock().unwrap()[1].1, thread::current().id());
        }
    });
    answers.join().unwrap();
    free(call);
    unregister(registration);
    end(registry);
    seen.destroyed_once();
}

/// The answer that a call waits for takes it on: what comes next begins on the thread that answers, before it returns.
#[test]
fn an_answer_takes_the_call_on() {
    let places = Places::default();
    let asked = Arc::new(Mutex::new(0));
    let a = asked.clone();
    let defers = body(move |ask| {
        *a.lock().unwrap() = ask.reply;
        defer(ask.reply);
    });
    let registry = registry(json!({ "policies": ["p"] }), None);
    define(registry, "p", &policy(AS_INLINE, vec![None, None, defers]).0);
    let registration = register(registry, component(&["go"], &[]), &[answering(&places, AS_INLINE)]);
    let call = invoke(registry, request("go"), json!({}), Some(&inline_result(&places)));
    assert!(places.lock().unwrap().is_empty(), "the policy has not decided");
    assert_eq!(allow(*asked.lock().unwrap()), AS_OK);
    assert_eq!(
        places.lock().unwrap().iter().map(|(what, id, _)| (*what, *id)).collect::<Vec<_>>(),
        ["handler", "result"].map(|what| (what, thread::current().id()))
    );
    free(call);
    unregister(registration);
    end(registry);
}

/// Closing inside such a callback begins, says that it cannot wait, and completes once the callback has returned.
#[test]
fn closing_from_inside() {
    let code = Arc::new(Mutex::new(AS_OK));
    let (registry, c) = (registry(json!({}), None), code.clone());
    let closes = body(move |ask| {
        *c.lock().unwrap() = close(registry, PATIENCE_MS);
        ask.json("1");
    });
    let (binding, seen) = binding("go", AS_INLINE, vec![closes]);
    register(registry, component(&["go"], &[]), &[binding]);
    let call = invoke(registry, request("go"), json!({}), None);
    assert_eq!(*code.lock().unwrap(), AS_E_WOULD_DEADLOCK);
    assert_eq!(status(&wait_for(call, 0).unwrap()), "CANCELLED");
    free(call);
    end(registry);
    seen.destroyed_once();
}

/// What the clock brings up is told by a worker: the timer thread is never the host's.
#[test]
fn the_timer_thread_runs_no_host_code() {
    let places = Places::default();
    let defers = body(|ask| {
        defer(ask.reply);
    });
    let registry = registry(json!({}), None);
    let registration = register(registry, component(&["go"], &[]), &[binding("go", AS_INLINE, vec![defers]).0]);
    let call = invoke(registry, request("go"), json!({ "timeoutMs": 1 }), Some(&inline_result(&places)));
    assert_eq!(status(&wait(call).unwrap()), "TIMEOUT");
    quiesce(registry);
    assert_eq!(places.lock().unwrap()[0].2.as_deref(), Some("agent-surface-worker"));
    free(call);
    unregister(registration);
    end(registry);
}

thread_local! {
    /// Calls of the handler on this thread's stack.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A handler that calls itself nests on one thread to a depth of 32, and goes on with a worker from there.
#[test]
fn nesting_ends() {
    let (left, deepest) = (Arc::new(AtomicUsize::new(200)), Arc::new(AtomicUsize::new(0)));
    let (registry, d, settled) = (registry(json!({}), None), deepest.clone(), Count::new());
    let s = settled.clone();
    let again = body(move |ask| {
        DEPTH.set(DEPTH.get() + 1);
        d.fetch_max(DEPTH.get(), Ordering::SeqCst);
        if left.fetch_sub(1, Ordering::SeqCst) > 1 {
            let s = s.clone();
            let (hooks, _) = on_result(move |_| s.add());
            free(invoke(registry, request("go"), json!({}), Some(&as_hooks_result { flags: AS_INLINE, ..hooks })));
        }
        ask.json("1");
        DEPTH.set(DEPTH.get() - 1);
    });
    let registration = register(registry, component(&["go"], &[]), &[binding("go", AS_INLINE, vec![again]).0]);
    let call = invoke(registry, request("go"), json!({}), None);
    assert_eq!(status(&wait(call).unwrap()), "ok");
    settled.reach(199);
    assert_eq!(deepest.load(Ordering::SeqCst), 32);
    free(call);
    unregister(registration);
    end(registry);
}
