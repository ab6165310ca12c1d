//! Host code that hangs: in a process with two workers and two that may stand in for them, so that few hung callbacks
//! are many. Timeouts are short and by the system clock, since a hung callback is one in real time.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::sync::Arc;
use std::thread;

/// The first registry of the process sizes the pool.
fn config(limits: Value) -> Value {
    json!({ "pool": { "workers": 2, "maxReplacementWorkers": 2 }, "limits": limits })
}

/// Times out fast where it waits for a handler or a hook.
fn hasty() -> Value {
    config(json!({ "actionTimeoutMs": 40, "observationTimeoutMs": 40, "policyTimeoutMs": 40 }))
}

/// Patient with a handler, and not with what no call waits for.
fn brisk() -> Value {
    config(json!({ "policyTimeoutMs": 40 }))
}

/// A registry with one action of these functions.
fn acting(config: Value, functions: Vec<Option<Body>>) -> (as_registry, Arc<Seen>) {
    let registry = registry(config, None);
    let (binding, seen) = binding("go", 0, functions);
    register(registry, component(&["go"], &[]), &[binding]);
    (registry, seen)
}

/// A registry with an action that answers at once.
fn healthy() -> (as_registry, Arc<Seen>) {
    healthy_but(config(json!({})))
}

fn healthy_but(config: Value) -> (as_registry, Arc<Seen>) {
    acting(config, vec![answers("1")])
}

/// A gate that a test which ends opens.
fn gate() -> (Arc<Gate>, OpenAtEnd) {
    let gate = Gate::new();
    (gate.clone(), OpenAtEnd(gate))
}

/// Blocks at `gate`, and then answers.
fn blocks(gate: &Arc<Gate>) -> Option<Body> {
    let gate = gate.clone();
    body(move |ask| {
        gate.pass();
        ask.json("1");
    })
}

/// A call that workers must run, and whose result a worker must deliver.
fn works(registry: as_registry) {
    let (results, seen) = on_result(|_| {});
    let invocation = invoke(registry, request("go"), json!({}), Some(&results));
    assert_eq!(status(&wait(invocation).unwrap()), "ok");
    seen.destroyed_once();
    free(invocation);
}

/// A registry whose handler hangs at `gate`.
fn hanging(gate: &Arc<Gate>) -> as_registry {
    acting(hasty(), vec![blocks(gate)]).0
}

fn code_of(registry: as_registry) -> String {
    let invocation = invoke(registry, request("go"), json!({}), None);
    let result = wait(invocation).unwrap();
    free(invocation);
    status(&result).to_owned()
}

/// One hung call after another: workers are replaced up to the bound, past it the registry takes nothing new; the other
/// registry goes on; and all is well once the handlers have returned.
#[test]
fn hung_handlers_one_by_one() {
    let _turn = alone();
    let (gate, _end) = gate();
    let (sick, (well, _)) = (hanging(&gate), healthy());
    for n in 1..=3 {
        assert_eq!(code_of(sick), "TIMEOUT");
        gate.entered.reach(n);
        works(well);
    }
    assert_eq!(code_of(sick), "RATE_LIMITED");
    works(well);
    gate.open();
    quiesce(sick);
    assert_eq!(code_of(sick), "ok");
    works(well);
    end(sick);
    end(well);
}

/// Many calls hang at once, more than there are workers and stand-ins: the other registry still goes on.
#[test]
fn hung_handlers_all_at_once() {
    let _turn = alone();
    let (gate, _end) = gate();
    let (sick, (well, _)) = (hanging(&gate), healthy());
    let mut limited = false;
    for _ in 0..5 {
        let calls: Vec<_> = (0..10).map(|_| invoke(sick, request("go"), json!({}), None)).collect();
        for call in calls {
            match status(&wait(call).unwrap()) {
                "TIMEOUT" => {}
                "RATE_LIMITED" => limited = true,
                other => panic!("{other}"),
            }
            free(call);
        }
        works(well);
    }
    assert!(limited);
    // Two more than may stand in: those that ran when the bound was passed.
    assert!(gate.entered.get() <= 2 + 2, "{} hang", gate.entered.get());
    gate.open();
    quiesce(sick);
    assert_eq!(code_of(sick), "ok");
    assert_eq!(info(well)["workers"], 2);
    end(sick);
    end(well);
}

/// What no call waits for can hang a worker as well: listeners, results, audit, log, notices, and handlers that have
/// answered.
#[test]
fn hung_listeners() {
    let _turn = alone();
    let (gate, _end) = gate();
    let (sick, (well, _)) = (registry(hasty(), None), healthy());
    let subscriptions: Vec<_> = (0..3)
        .map(|_| {
            let g = gate.clone();
            subscribe(sick, &listener(move |_| g.pass()).0)
        })
        .collect();
    let (binding, _) = binding("go", 0, vec![answers("1")]);
    register(sick, component(&["go"], &[]), &[binding]);
    gate.entered.reach(3);
    works(well);
    // Once the last of the three has been found to hang; until then a stand-in may run the call.
    while code_of(sick) != "RATE_LIMITED" {}
    gate.open();
    quiesce(sick);
    assert_eq!(code_of(sick), "ok");
    subscriptions.into_iter().for_each(unsubscribe);
    end(sick);
    end(well);
}

#[test]
fn hung_results() {
    let _turn = alone();
    let (gate, _end) = gate();
    let (sick, _) = healthy_but(brisk());
    let (well, _) = healthy();
    for n in 1..=3 {
        let g = gate.clone();
        let (results, _) = on_result(move |_| g.pass());
        let invocation = invoke(sick, request("go"), json!({}), Some(&results));
        assert_eq!(status(&wait(invocation).unwrap()), "ok");
        free(invocation);
        gate.entered.reach(n);
    }
    works(well);
    gate.open();
    end(sick);
    end(well);
}

#[test]
fn hung_destroys() {
    let _turn = alone();
    let (gate, _end) = gate();
    let (sick, _) = healthy_but(brisk());
    let (well, _) = healthy();
    for n in 1..=3 {
        let g = gate.clone();
        let (results, _) = on_result_of(table_with(vec![body(|_| {})], Some(Box::new(move || g.pass()))));
        let invocation = invoke(sick, request("go"), json!({}), Some(&results));
        assert_eq!(status(&wait(invocation).unwrap()), "ok");
        free(invocation);
        gate.entered.reach(n);
    }
    works(well);
    gate.open();
    end(sick);
    end(well);
}

#[test]
fn hung_audit_log_and_notices() {
    let _turn = alone();
    let (gate, _end) = gate();
    let (a, l, n) = (gate.clone(), gate.clone(), gate.clone());
    let (host, _) = host(0, vec![None, None, None, None, body(move |_| a.pass()), body(move |_| l.pass())]);
    let mut config = hasty();
    config["audit"] = json!({ "sink": "callback" });
    let (sick, (well, _)) = (registry(config, Some(&host)), healthy());
    let (binding, _) = binding(
        "go",
        0,
        vec![
            body(move |ask| {
                let g = n.clone();
                let (hooks, _) = notify(move |_| g.pass());
                // SAFETY: a whole table.
                assert_eq!(unsafe { as_reply_on_abort(ask.reply, &hooks) }, AS_OK);
                defer(ask.reply);
            }),
            body(|_| {}),
        ],
    );
    register(sick, component(&["go"], &[]), &[binding]);
    // `when` fails, which is logged; the registration is audited.
    assert_eq!(code_of(sick), "CAPABILITY_NOT_AVAILABLE");
    gate.entered.reach(2);
    works(well);
    gate.open();
    end(sick);
    end(well);
}

/// A handler answers and then blocks: its result is there all the same, and delivered.
#[test]
fn a_handler_that_answers_and_then_blocks() {
    let _turn = alone();
    let (well, _) = healthy();
    for inline in [false, true] {
        let (gate, _end) = gate();
        let g = gate.clone();
        let answers_and_blocks = body(move |ask| {
            ask.json("1");
            g.pass();
        });
        let (sick, seen) = acting(config(json!({})), vec![answers_and_blocks]);
        let mut request = request("go");
        request["invocationId"] = json!("one");
        let first = request.clone();
        let caller = inline.then(|| thread::spawn(move || invoke_wait(sick, first)));
        if inline {
            gate.entered.reach(1);
        }
        let (results, told) = on_result(|_| {});
        let invocation = invoke(sick, request, json!({}), Some(&results));
        assert_eq!(status(&wait(invocation).unwrap()), "ok");
        told.calls.reach(1);
        gate.entered.reach(1);
        told.destroyed_once();
        assert_eq!(seen.calls.get(), 0, "the handler still runs");
        works(well);
        gate.open();
        if let Some(caller) = caller {
            assert_eq!(status(&caller.join().unwrap().unwrap()), "ok");
        }
        free(invocation);
        end(sick);
        seen.destroyed_once();
    }
    end(well);
}

// What hooks answer.

fn nothing(ask: &Ask) {
    ask.json("{}");
}

fn yes(ask: &Ask) {
    ask.json("true");
}

fn null(ask: &Ask) {
    ask.json("null");
}

fn exposes(ask: &Ask) {
    ask.json(r#"{"decision":"expose"}"#);
}

fn allows(ask: &Ask) {
    allow(ask.reply);
}

/// So do a policy, a context, a `when` and a precondition, and the call goes on past them.
#[test]
fn hooks_that_answer_and_then_block() {
    let _turn = alone();
    for what in ["context", "when", "on_authorize", "on_invoke", "precondition", "on_result"] {
        let (gate, _end) = gate();
        let hook = |name: &str, answer: fn(&Ask)| {
            let g = (name == what).then(|| gate.clone());
            body(move |ask| {
                answer(ask);
                if let Some(gate) = &g {
                    gate.pass();
                }
            })
        };
        let (host, _) = host(0, vec![hook("context", nothing)]);
        let mut config = config(json!({}));
        config["policies"] = json!(["p"]);
        let sick = registry(config, Some(&host));
        let (policy, _) =
            policy(0, vec![None, hook("on_authorize", allows), hook("on_invoke", allows), hook("on_result", null)]);
        define(sick, "p", &policy);
        let (binding, seen) = binding("go", 0, vec![answers("1"), hook("when", yes), hook("precondition", null)]);
        register(sick, component(&["go"], &[]), &[binding]);
        let (results, told) = on_result(|_| {});
        let invocation = invoke(sick, request("go"), json!({}), Some(&results));
        assert_eq!(status(&wait(invocation).unwrap()), "ok", "{what}");
        told.calls.reach(1);
        gate.entered.reach(1);
        gate.open();
        free(invocation);
        end(sick);
        seen.destroyed_once();
    }
}

/// A hook that hangs counts as one that failed, after `policyTimeoutMs`; what that means is never permission.
#[test]
fn hooks_that_hang() {
    let _turn = alone();
    let (well, _) = healthy();
    for (what, outcome) in [
        ("context", "ok"),
        ("when", "CAPABILITY_NOT_AVAILABLE"),
        ("on_discovery", "CAPABILITY_NOT_FOUND"),
        ("on_authorize", "NOT_AUTHORIZED"),
        ("on_invoke", "NOT_AUTHORIZED"),
        ("precondition", "PRECONDITION_FAILED"),
        ("on_result", "EXECUTION_FAILED"),
        ("redact", "ok"),
    ] {
        let (gate, _end) = gate();
        let hook = |name: &str, answer: fn(&Ask)| {
            let g = (name == what).then(|| gate.clone());
            body(move |ask| {
                if let Some(gate) = &g {
                    gate.pass();
                }
                answer(ask);
            })
        };
        let (host, host_seen) = host(0, vec![hook("context", nothing), None, None, hook("redact", null)]);
        let mut config = hasty();
        config["policies"] = json!(["p"]);
        let sick = registry(config, Some(&host));
        let (policy, policy_seen) = policy(
            0,
            vec![
                hook("on_discovery", exposes),
                hook("on_authorize", allows),
                hook("on_invoke", allows),
                hook("on_result", null),
            ],
        );
        define(sick, "p", &policy);
        let (binding, seen) = binding("go", 0, vec![answers("1"), hook("when", yes), hook("precondition", null)]);
        let mut definition = component(&["go"], &[]);
        definition["actions"]["go"]["audit"] = json!("full");
        register(sick, definition, &[binding]);
        let invocation = invoke(sick, request("go"), json!({}), None);
        assert_eq!(status(&wait(invocation).unwrap()), outcome, "{what}");
        gate.entered.reach(1);
        works(well);
        gate.open();
        free(invocation);
        end(sick);
        for seen in [host_seen, policy_seen, seen] {
            seen.destroyed_once();
        }
    }
    end(well);
}

/// AS-EVT-001: an event that still waits for a worker does not begin once its listener was ended.
#[test]
fn no_delivery_begins_after_unsubscribe() {
    let _turn = alone();
    let (gate, _end) = gate();
    let (registry, _) = acting(config(json!({})), vec![blocks(&gate)]);
    // Both workers are taken.
    let calls: Vec<_> = (0..2).map(|_| invoke(registry, request("go"), json!({}), None)).collect();
    gate.entered.reach(2);
    let (events, seen) = listener(|_| {});
    let subscription = subscribe(registry, &events);
    let (binding, _) = binding("see", 0, vec![answers("1")]);
    let other = json!({ "type": "u", "description": "Another", "observations": { "see": { "description": "See", "output": {} } } });
    register(registry, other, &[binding]);
    unsubscribe(subscription);
    gate.open();
    quiesce(registry);
    seen.destroyed_once();
    assert_eq!(seen.calls.get(), 0);
    calls.into_iter().for_each(free);
    end(registry);
}
