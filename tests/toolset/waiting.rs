//! Calls that wait for a person: who may end the wait, and what the model is told then.

use super::*;
use agent_surface::model::Code;

fn dangerous(handler: Hook) -> Surface {
    disk(action(json!({"confirmation": "required"})), handler)
}

fn wipe() -> Value {
    json!({"name": "view_disk__wipe", "input": {"n": 1}, "toolCallId": "call_1"})
}

/// Approves or denies whatever is asked, as soon as it is asked.
fn person(surface: &Surface, approved: bool) {
    let console = surface.clone();
    let answer = hook(move |_, event, _| {
        let event: Value = serde_json::from_slice(event).unwrap();
        if event["type"] == "confirmation-requested" {
            confirm(&console, &event["confirmationId"], approved);
        }
    });
    surface.confirmation_subscribe(answer).unwrap();
}

/// AS-TOPO-002: the thread that waits gets the one result, when the person has answered.
#[test]
fn a_thread_may_wait_for_the_person() {
    for (approved, status, code) in [(true, "ok", Value::Null), (false, "error", json!("CONFIRMATION_INVALID"))] {
        let surface = dangerous(echo());
        let tools = toolset(&surface, json!({"topology": "embedded"}));
        person(&surface, approved);
        let result = call_wait(&tools, wipe());
        assert_eq!((&result["status"], &result["error"]["code"]), (&json!(status), &code));
        assert_eq!(result["invocationId"], "call_1");
        surface.close(-1).unwrap();
    }
}

/// Two phases: the same thread is told at once.
#[test]
fn in_two_phases_no_thread_waits() {
    let surface = dangerous(echo());
    let tools = toolset(&surface, json!({"topology": "remote"}));
    assert_eq!(call_wait(&tools, wipe())["error"]["code"], "CONFIRMATION_REQUIRED");
    confirm(&surface, &question(&surface), true);
    assert_eq!(call_wait(&tools, wipe())["output"], json!({"n": 1}));
}

/// AS-CONC-012: a caller who gives up while the person thinks has a result at once; nothing runs when the person agrees.
#[test]
fn cancelling_ends_the_wait() {
    let surface = dangerous(echo());
    let tools = toolset(&surface, json!({"topology": "embedded"}));
    let waiting = call(&tools, wipe());
    let open = question(&surface);
    waiting.cancel().unwrap();
    let result = result(&surface, &waiting).unwrap();
    assert_eq!(result["error"]["code"], "CANCELLED");
    assert_eq!(result["error"]["retry"], "yes");
    assert_eq!(result["capabilityId"], "view:disk.wipe");
    assert!(result["requestDigest"].is_string() && result["registrationId"].is_string());
    confirm(&surface, &open, true);
    surface.quiesce(60_000).unwrap();
    assert!(audit(&surface, "confirmation-consumed").is_empty());
}

/// AS-CONC-012: cancelled before anybody was asked, or while the handler runs after the answer.
#[test]
fn cancelling_reaches_the_call_that_runs() {
    let (handler, kept) = pending();
    let surface = dangerous(handler);
    let tools = toolset(&surface, json!({"topology": "embedded"}));
    let running = call(&tools, wipe());
    confirm(&surface, &question(&surface), true);
    surface.quiesce(60_000).unwrap();
    assert!(!kept.lock().unwrap()[0].aborted().unwrap());
    running.cancel().unwrap();
    let result = result(&surface, &running).unwrap();
    assert_eq!((&result["error"]["code"], &result["error"]["retry"]), (&json!("CANCELLED"), &json!("no")));
    assert!(kept.lock().unwrap()[0].aborted().unwrap());
}

/// Two who wait for one call: the one who leaves does not take it along.
#[test]
fn one_who_leaves_lets_the_other_wait() {
    let surface = dangerous(echo());
    let tools = toolset(&surface, json!({"topology": "embedded"}));
    let (first, second) = (call(&tools, wipe()), call(&tools, wipe()));
    let open = question(&surface);
    first.cancel().unwrap();
    assert_eq!(result(&surface, &first).unwrap()["error"]["code"], "CANCELLED");
    assert_eq!(result(&surface, &second), None);
    confirm(&surface, &open, true);
    assert_eq!(result(&surface, &second).unwrap()["output"], json!({"n": 1}));
}

/// AS-TOPO-003: the end of a toolset settles every wait with the pending result as it is, and takes no call any more.
#[test]
fn the_end_of_a_toolset_ends_its_waits_alone() {
    let surface = dangerous(echo());
    let tools = toolset(&surface, json!({"topology": "embedded"}));
    let other = toolset(&surface, json!({"topology": "embedded"}));
    let waiting: Vec<_> = (0..3).map(|n| call(&tools, json!({"name": "view_disk__wipe", "input": {"n": n}}))).collect();
    let elsewhere = call(&other, wipe());
    surface.quiesce(60_000).unwrap();
    tools.dispose();
    for waiting in &waiting {
        let result = result(&surface, waiting).unwrap();
        assert_eq!(result["error"]["code"], "CONFIRMATION_REQUIRED");
    }
    assert_eq!(confirmations(&surface).len(), 4);
    assert_eq!(result(&surface, &elsewhere), None);
    assert_eq!(tools.call(wipe().to_string().as_bytes(), None).err().unwrap().code, Code::Closed);
    tools.dispose();
}

/// AS-TOPO-003: the end of the consumer, and of the registry, ends waits too.
#[test]
fn waits_end_with_the_consumer_and_with_the_registry() {
    let surface = dangerous(echo());
    let tools = toolset(&surface, json!({"topology": "embedded", "consumer": {"id": "a", "kind": "test"}}));
    let waiting = call(&tools, wipe());
    question(&surface);
    surface.consumer_close(br#"{"id": "a", "kind": "test"}"#).unwrap();
    let ended = result(&surface, &waiting).unwrap();
    assert_eq!(ended["error"]["details"]["reason"], "expired");
    assert_eq!(ended["error"]["retry"], "with-confirmation");

    let waiting = call(&tools, wipe());
    question(&surface);
    surface.close(-1).unwrap();
    let result: Value = serde_json::from_slice(&waiting.wait(0).unwrap()).unwrap();
    assert_eq!(result["error"]["code"], "CONFIRMATION_REQUIRED");
}

/// After an answer that came too late the same call asks anew: a new question, a new answer.
#[test]
fn after_it_has_expired_the_same_call_asks_anew() {
    let surface = dangerous(echo());
    for topology in ["embedded", "remote"] {
        let tools = toolset(&surface, json!({"topology": topology}));
        let first = call(&tools, wipe());
        let asked = question(&surface);
        surface.advance(120_000, 60_000).unwrap();
        if topology == "remote" {
            assert_eq!(call_wait(&tools, wipe())["error"]["details"]["reason"], "expired");
        } else {
            assert_eq!(result(&surface, &first).unwrap()["error"]["details"]["reason"], "expired");
        }
        let again = call(&tools, wipe());
        let anew = question(&surface);
        assert_ne!(asked, anew);
        confirm(&surface, &anew, true);
        let done = if topology == "remote" { call(&tools, wipe()) } else { again };
        assert_eq!(result(&surface, &done).unwrap()["output"], json!({"n": 1}));
    }
}

/// Where too many wait already, the model is told what it would be told in two phases.
#[test]
fn waits_are_bounded() {
    let config = json!({"clock": {"manual": {"start": "2026-01-01T00:00:00.000Z"}}, "limits": {"maxInFlight": 2}});
    let surface = Surface::new(config.to_string().as_bytes(), HostHooks::default()).unwrap();
    let definition = json!({"type": "disk", "description": "Disk", "actions": {"wipe": action(json!({"confirmation": "required"}))}});
    register(&surface, definition, vec![bind("wipe", echo())]);
    let tools = toolset(&surface, json!({"topology": "embedded"}));
    let asks = |id: &str| {
        let invocation = call(&tools, json!({"name": "view_disk__wipe", "input": {}, "toolCallId": id}));
        result(&surface, &invocation)
    };
    assert_eq!((asks("a"), asks("b")), (None, None));
    assert_eq!(asks("c").unwrap()["error"]["code"], "CONFIRMATION_REQUIRED");
}

/// A surface whose action `outer` makes the call that its input names, and tells what became of it.
fn nested(told: std::sync::mpsc::Sender<Result<Arc<[u8]>, agent_surface::model::ApiError>>) -> (Surface, Toolset) {
    let surface = Surface::new(b"", HostHooks::default()).unwrap();
    let inner: Arc<Mutex<Option<Toolset>>> = Arc::default();
    let set = inner.clone();
    let outer = hook(move |reply, _, input| {
        let input: Value = serde_json::from_slice(input).unwrap();
        let tools = set.lock().unwrap().clone().unwrap();
        let call = json!({"name": input["call"], "input": {}, "toolCallId": input["call"]});
        told.send(tools.call_wait(call.to_string().as_bytes())).unwrap();
        let _ = reply.unwrap().json(b"1");
    });
    let elsewhere = json!({"concurrency": {"mode": "capability"}});
    let definition = json!({"type": "disk", "description": "Disk", "actions": {
        "outer": action(json!({"timeoutMs": 50})), "same": action(json!({})), "free": action(elsewhere),
        "asks": action(json!({"confirmation": "required", "concurrency": {"mode": "capability"}}))}});
    let bindings = vec![bind("outer", outer), bind("free", echo()), bind("same", echo()), bind("asks", echo())];
    register(&surface, definition, bindings);
    let tools = toolset(&surface, json!({"topology": "embedded"}));
    *inner.lock().unwrap() = Some(tools.clone());
    (surface, tools)
}

/// A call through the toolset inside a handler: free ones run, one that needs the very slot that the handler holds is
/// told so, and one that a person must confirm waits no longer than the call around it.
#[test]
fn a_call_inside_a_handler_ends() {
    let (tell, told) = std::sync::mpsc::channel();
    let (surface, tools) = nested(tell);
    let outer = |name: &str| {
        let invocation = call(&tools, json!({"name": "view_disk__outer", "input": {"call": name}}));
        let inner = told.recv().unwrap();
        (inner, serde_json::from_slice::<Value>(&invocation.wait(-1).unwrap()).unwrap())
    };
    let (free, _) = outer("view_disk__free");
    assert!(free.unwrap().starts_with(b"{\"status\":\"ok\""));
    let (same, _) = outer("view_disk__same");
    assert_eq!(same.unwrap_err().code, Code::WouldDeadlock);
    let (asks, around) = outer("view_disk__asks");
    let asks: Value = serde_json::from_slice(&asks.unwrap()).unwrap();
    assert_eq!(asks["error"]["code"], "CONFIRMATION_REQUIRED");
    assert_eq!(around["error"]["code"], "TIMEOUT");
    surface.close(-1).unwrap();
}
