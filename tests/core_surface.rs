//! The registry as a Rust type, for what no scenario can say: a host that fetches late, a second thread, what the
//! operator is told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent_surface::model::{ApiError, Code};
use agent_surface::runtime::{Hook, HostFn, Reply};
use agent_surface::surface::{Binding, HostHooks, Invocation, PolicyHooks, Surface};
use serde_json::{Value, json};

/// A registry that is configured so, by the manual clock.
fn surface(mut config: Value, hooks: HostHooks) -> Surface {
    config["clock"] = json!({"manual": {"start": "2026-01-01T00:00:00.000Z"}});
    Surface::new(config.to_string().as_bytes(), hooks).unwrap()
}

/// Host code that is a closure.
struct Call<F>(F);

impl<F: Fn(Option<&Arc<Reply>>, &[u8]) + Send + Sync> HostFn for Call<F> {
    fn call(&self, reply: Option<&Arc<Reply>>, context: &[u8], _: &[u8]) {
        (self.0)(reply, context);
    }
}

fn hook(f: impl Fn(Option<&Arc<Reply>>, &[u8]) + Send + Sync + 'static) -> Hook {
    Arc::new(Call(f))
}

fn handler(name: &str, handler: Hook) -> Vec<Binding> {
    vec![Binding { name: name.into(), handler: Some(handler), ..Binding::default() }]
}

fn invoke(surface: &Surface, request: &Value, options: &Value) -> Invocation {
    surface.invoke(request.to_string().as_bytes(), options.to_string().as_bytes(), None).unwrap()
}

/// The result, if there is one already.
fn result(invocation: &Invocation) -> Option<Value> {
    invocation.wait(0).ok().map(|result| serde_json::from_slice(&result).unwrap())
}

/// AS-CONFIRM-007: the request waits where nobody fetches it when its call is cancelled.
#[test]
fn a_call_that_ends_before_its_request_is_fetched_gives_the_approval_back() {
    let surface = surface(json!({"dispatch": "pull"}), HostHooks::default());
    let definition = json!({"type": "disk", "description": "Disk", "actions": {"wipe": {"description": "Wipe",
        "effect": "local-state", "confirmation": "required", "input": {"type": "object"},
        "concurrency": {"mode": "parallel", "max": 4}}}});
    let _disk = surface.register(definition.to_string().as_bytes(), handler("wipe", hook(|_, _| {}))).unwrap();

    let asked = result(&invoke(&surface, &json!({"capabilityId": "view:disk.wipe"}), &json!({}))).unwrap();
    let id = &asked["error"]["details"]["confirmationId"];
    surface.confirm(json!({"confirmationId": id, "approved": true}).to_string().as_bytes()).unwrap();

    let retry = json!({"capabilityId": "view:disk.wipe", "confirmationId": id});
    let first = invoke(&surface, &retry, &json!({}));
    first.cancel().unwrap();
    assert_eq!(result(&first).unwrap()["error"]["code"], "CANCELLED");
    let second = invoke(&surface, &retry, &json!({}));
    assert_eq!(result(&second), None);
    surface.close(-1).unwrap();
}

/// A call that a policy makes, and waits for, ends with the call that the policy judges.
#[test]
fn a_call_made_inside_a_policy_inherits_the_deadline_of_the_call_that_it_judges() {
    let surface = Surface::new(br#"{"policies": ["asks"]}"#, HostHooks::default()).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let inner = surface.clone();
    let on_authorize = hook(move |reply, context| {
        let context: Value = serde_json::from_slice(context).unwrap();
        if context["capabilityId"] == "view:door.open" {
            let result = inner.invoke_wait(br#"{"capabilityId": "view:door.knock"}"#, b"").unwrap();
            let result: Value = serde_json::from_slice(&result).unwrap();
            tell.send(result["error"]["details"]["timeoutMs"].as_u64().unwrap()).unwrap();
        }
        let _ = reply.unwrap().allow();
    });
    surface.define_policy(b"asks", PolicyHooks { on_authorize: Some(on_authorize), ..PolicyHooks::default() }).unwrap();
    let action = json!({"description": "D", "effect": "local-state", "input": {"type": "object"}, "timeoutMs": 2000,
        "concurrency": {"mode": "capability"}});
    let definition =
        json!({"type": "door", "description": "Door", "actions": {"open": action.clone(), "knock": action}});
    let mut bindings = handler("open", hook(|_, _| {}));
    bindings.extend(handler("knock", hook(|reply, _| reply.unwrap().defer().unwrap())));
    let _door = surface.register(definition.to_string().as_bytes(), bindings).unwrap();
    let outer = invoke(&surface, &json!({"capabilityId": "view:door.open"}), &json!({"deadlineMs": 50}));
    assert!(told.recv().unwrap() <= 50);
    outer.wait(-1).unwrap();
    surface.close(-1).unwrap();
}

/// Section 13: the agent gets the template, the operator gets what the host said.
#[test]
fn what_a_host_says_of_its_failures_goes_to_the_log_and_nowhere_else() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let lines = log.clone();
    let keep = hook(move |_, line| lines.lock().unwrap().push(serde_json::from_slice::<Value>(line).unwrap()));
    let surface = surface(json!({}), HostHooks { log: Some(keep), ..HostHooks::default() });
    let deny = hook(|reply, _| reply.unwrap().deny(br#"{"code": "NO_SUCH_CODE", "message": "secret 1"}"#).unwrap());
    surface.define_policy(b"denies", PolicyHooks { on_authorize: Some(deny), ..PolicyHooks::default() }).unwrap();
    let action = json!({"description": "D", "effect": "local-state", "input": {"type": "object"}});
    let number =
        json!({"description": "D", "effect": "local-state", "input": {"type": "object"}, "output": {"type": "number"}});
    let denied =
        json!({"description": "D", "effect": "local-state", "input": {"type": "object"}, "policies": ["denies"]});
    let definition = json!({"type": "door", "description": "Door", "actions":
        {"open": action, "count": number, "lock": denied}});
    let mut bindings = handler("open", hook(|reply, _| reply.unwrap().error(br#""secret 2""#).unwrap()));
    bindings.extend(handler("count", hook(|reply, _| reply.unwrap().json(br#""secret 3""#).unwrap())));
    bindings.extend(handler("lock", hook(|_, _| {})));
    let _door = surface.register(definition.to_string().as_bytes(), bindings).unwrap();
    for (name, said) in [("lock", "secret 1"), ("open", "secret 2"), ("count", "type")] {
        let id = format!("view:door.{name}");
        let result = surface.invoke_wait(json!({"capabilityId": id}).to_string().as_bytes(), b"").unwrap();
        assert!(!String::from_utf8_lossy(&result).contains("secret"));
        surface.quiesce(-1).unwrap();
        let line = log.lock().unwrap().pop().unwrap();
        assert_eq!(line["capabilityId"], id.as_str());
        assert!(line["failure"].as_str().unwrap().contains(said), "{line}");
    }
    surface.close(-1).unwrap();
}

/// A call that has ended well was not aborted: who asks to be told of an abort then is let go, not told.
#[test]
fn no_abort_is_told_of_a_call_that_has_settled() {
    let surface = surface(json!({}), HostHooks::default());
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let notice = Mutex::new(Some(hook(move |_, _| _ = count.fetch_add(1, Ordering::SeqCst))));
    let answers = hook(move |reply, _| {
        reply.unwrap().json(b"1").unwrap();
        reply.unwrap().on_abort(notice.lock().unwrap().take().unwrap()).unwrap();
    });
    let definition = json!({"type": "door", "description": "Door", "actions":
        {"open": {"description": "D", "effect": "local-state", "input": {"type": "object"}}}});
    let _door = surface.register(definition.to_string().as_bytes(), handler("open", answers)).unwrap();
    surface.invoke_wait(br#"{"capabilityId": "view:door.open"}"#, b"").unwrap();
    surface.quiesce(-1).unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 0);
    assert_eq!(Arc::strong_count(&told), 1);
    surface.close(-1).unwrap();
}

/// A handler of a Rust host that panics has failed like one that returns without an answer, and holds up nothing.
#[test]
fn a_handler_that_panics_has_failed() {
    let surface = surface(json!({}), HostHooks::default());
    let definition = json!({"type": "door", "description": "Door", "actions":
        {"open": {"description": "D", "effect": "local-state", "input": {"type": "object"}}}});
    let panics = hook(|_, _| std::panic::resume_unwind(Box::new("a bug of the host")));
    let _door = surface.register(definition.to_string().as_bytes(), handler("open", panics)).unwrap();
    let request = json!({"capabilityId": "view:door.open"});
    let here = surface.invoke_wait(request.to_string().as_bytes(), b"").unwrap();
    let there = invoke(&surface, &request, &json!({})).wait(-1).unwrap();
    for result in [here, there] {
        let result: Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["error"]["details"]["reason"], "handler-error");
    }
    surface.close(-1).unwrap();
}

/// AS-BOUND-003: what is bounded is what nobody can use any more; an approval that nobody used yet outlives it.
#[test]
fn an_unused_approval_is_not_pushed_out_by_what_was_denied() {
    let surface = surface(json!({}), HostHooks::default());
    let definition = json!({"type": "disk", "description": "Disk", "actions": {"wipe": {"description": "Wipe",
        "effect": "local-state", "confirmation": "required", "input": {"type": "object"}}}});
    let answers = hook(|reply, _| reply.unwrap().json(b"1").unwrap());
    let _disk = surface.register(definition.to_string().as_bytes(), handler("wipe", answers)).unwrap();
    let ask = |request: Value, approved| {
        let asked = surface.invoke_wait(request.to_string().as_bytes(), b"").unwrap();
        let asked: Value = serde_json::from_slice(&asked).unwrap();
        let id = asked["error"]["details"]["confirmationId"].clone();
        surface.confirm(json!({"confirmationId": id, "approved": approved}).to_string().as_bytes()).unwrap();
        id
    };
    let approved = ask(json!({"capabilityId": "view:disk.wipe"}), true);
    for n in 0..300 {
        ask(json!({"capabilityId": "view:disk.wipe", "input": {"n": n}}), false);
    }
    let request = json!({"capabilityId": "view:disk.wipe", "confirmationId": approved});
    let ran = surface.invoke_wait(request.to_string().as_bytes(), b"").unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&ran).unwrap()["status"], "ok");
    surface.close(-1).unwrap();
}

/// AS-EVT-001: a slow listener is told what it lost, in its place in the order, as an entry with `seq` and `at` like
/// every other.
#[test]
fn what_a_slow_listener_lost_is_told_in_its_place() {
    let surface = surface(json!({"limits": {"maxEventBacklog": 2}}), HostHooks::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (events, wait) = (seen.clone(), Mutex::new(wait));
    let listener = hook(move |_, event| {
        if events.lock().unwrap().is_empty() {
            let _ = wait.lock().unwrap().recv();
        }
        let event: Value = serde_json::from_slice(event).unwrap();
        assert_eq!(event["at"], "2026-01-01T00:00:00.000Z");
        let lost = event.get("lost").map(|lost| (event["type"].clone(), lost.clone()));
        events.lock().unwrap().push((event["seq"].as_u64().unwrap(), lost));
    });
    let _subscription = surface.subscribe(listener).unwrap();
    let call = || surface.invoke_wait(br#"{"capabilityId": "view:no.thing"}"#, b"").unwrap();
    // Each makes two events: one is out, two wait, three find no room.
    (0..3).for_each(|_| drop(call()));
    go.send(()).unwrap();
    surface.quiesce(-1).unwrap();
    call();
    surface.quiesce(-1).unwrap();
    let lost = Some((json!("events-lost"), json!(3)));
    assert_eq!(*seen.lock().unwrap(), [(1, None), (2, None), (3, None), (6, lost), (7, None), (8, None)]);
    surface.close(-1).unwrap();
}

/// The reason says what a definition did wrong; the code of a bound of the registry is that of a bound.
#[test]
fn refusals_say_what_and_where() {
    let surface = surface(json!({"limits": {"maxRegistrations": 1}}), HostHooks::default());
    let definition = |component: &str| {
        let action = json!({"description": "D", "effect": "local-state", "input": {"type": "object"}});
        json!({"type": component, "description": "D", "actions": {"open": action}}).to_string()
    };
    let bind = || handler("open", hook(|_, _| {}));
    let door = surface.register(definition("door").as_bytes(), bind()).unwrap();
    let twice = || bind().into_iter().chain(bind()).collect();
    let told = |error: ApiError| (error.code, error.reason, error.path);

    let full = surface.register(definition("gate").as_bytes(), bind()).err().unwrap();
    assert_eq!(told(full), (Code::Limit, Some("LIMIT_EXCEEDED"), None));
    let two = Some("/actions/open".into());
    let refused = surface.register(definition("gate").as_bytes(), twice()).err().unwrap();
    assert_eq!(told(refused), (Code::Definition, Some("INVALID_DEFINITION"), two.clone()));
    assert_eq!(told(door.rebind(twice()).err().unwrap()), (Code::Definition, Some("INVALID_DEFINITION"), two));
    let paths = surface.set_executor(br#"["a", 1]"#, hook(|_, _| {})).err().unwrap();
    assert_eq!(told(paths), (Code::Argument, None, Some("/1".into())));
    surface.close(-1).unwrap();
}

/// AS-CONC-011: what a handler answers after its call is audited, also where the record of the call is gone.
#[test]
fn a_late_answer_is_audited_also_when_its_call_is_forgotten() {
    let surface = surface(json!({"limits": {"dedupeCacheSize": 0}}), HostHooks::default());
    let (tell, begun) = std::sync::mpsc::channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (tell, wait) = (Mutex::new(tell), Mutex::new(wait));
    let slow = hook(move |reply, _| {
        tell.lock().unwrap().send(()).unwrap();
        wait.lock().unwrap().recv().unwrap();
        assert!(reply.unwrap().json(b"7").is_err());
    });
    let definition = json!({"type": "door", "description": "Door", "actions":
        {"open": {"description": "D", "effect": "local-state", "input": {"type": "object"}}}});
    let _door = surface.register(definition.to_string().as_bytes(), handler("open", slow)).unwrap();
    let call = invoke(&surface, &json!({"capabilityId": "view:door.open", "invocationId": "x"}), &json!({}));
    begun.recv().unwrap();
    call.cancel().unwrap();
    drop(call);
    go.send(()).unwrap();
    surface.quiesce(-1).unwrap();
    let audit: Value = serde_json::from_str(&surface.audit_read(0)).unwrap();
    let late = audit.as_array().unwrap().iter().find(|entry| entry["type"] == "late-settlement").unwrap();
    assert_eq!((&late["invocationId"], &late["status"]), (&json!("x"), &json!("ok")));
    surface.close(-1).unwrap();
}

/// A host that fetches its work finds, after the end, the results and events that the end brought, and nothing to do.
#[test]
fn what_a_close_ends_can_still_be_fetched() {
    let surface = surface(json!({"dispatch": "pull"}), HostHooks::default());
    let _events = surface.subscribe(hook(|_, _| {})).unwrap();
    let definition = json!({"type": "door", "description": "Door", "actions":
        {"open": {"description": "D", "effect": "local-state", "input": {"type": "object"}}}});
    let _door = surface.register(definition.to_string().as_bytes(), handler("open", hook(|_, _| {}))).unwrap();
    let _call = surface.invoke(br#"{"capabilityId": "view:door.open"}"#, b"", Some(hook(|_, _| {}))).unwrap();
    surface.close(-1).unwrap();
    let mut told = Vec::new();
    let end = loop {
        match surface.next(-1, &|_| 0) {
            Ok(request) => told.push(serde_json::from_slice::<Value>(&request).unwrap()),
            Err(end) => break end.code,
        }
    };
    assert_eq!(end, Code::Closed);
    let of =
        |what: &str| told.iter().filter(|told| told["do"] == what).map(|told| &told["context"]).collect::<Vec<_>>();
    let events: Vec<_> = of("event").into_iter().map(|event| &event["type"]).collect();
    assert_eq!(events, ["component-registered", "surface-changed", "invocation-started", "invocation-settled"]);
    let results: Vec<_> = of("result").into_iter().map(|result| &result["error"]["code"]).collect();
    assert_eq!(results, ["CANCELLED"]);
    assert!(told.iter().all(|told| told.get("reply").is_none()));
}

/// A thread that would wait for what it holds itself is refused alone: who joined the call from elsewhere gets its result.
#[test]
fn a_refused_wait_takes_no_other_callers_result_along() {
    let surface = Surface::new(br#"{}"#, HostHooks::default()).unwrap();
    let (inner, outer) = (surface.clone(), surface.clone());
    let knock = json!({"capabilityId": "view:door.knock", "invocationId": "x"});
    let joined = Arc::new(Mutex::new(None));
    let (request, joins) = (knock.clone(), joined.clone());
    let on_authorize = hook(move |reply, context| {
        let context: Value = serde_json::from_slice(context).unwrap();
        if context["capabilityId"] == "view:door.knock" {
            let (surface, request) = (inner.clone(), request.clone());
            let join = std::thread::spawn(move || invoke(&surface, &request, &json!({})));
            *joins.lock().unwrap() = Some(join.join().unwrap());
        }
        reply.unwrap().allow().unwrap();
    });
    surface.define_policy(b"asks", PolicyHooks { on_authorize: Some(on_authorize), ..PolicyHooks::default() }).unwrap();
    let action = json!({"description": "D", "effect": "local-state", "input": {"type": "object"}});
    let definition = json!({"type": "door", "description": "Door", "policies": ["asks"],
        "actions": {"open": action.clone(), "knock": action}});
    let mut bindings = handler(
        "open",
        hook(move |reply, _| {
            let refused = outer.invoke_wait(knock.to_string().as_bytes(), b"").err().unwrap();
            reply.unwrap().json(json!(refused.code.name()).to_string().as_bytes()).unwrap();
        }),
    );
    bindings.extend(handler("knock", hook(|reply, _| reply.unwrap().json(b"1").unwrap())));
    let _door = surface.register(definition.to_string().as_bytes(), bindings).unwrap();
    let opened = surface.invoke_wait(br#"{"capabilityId": "view:door.open"}"#, b"").unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&opened).unwrap()["output"], "AS_E_WOULD_DEADLOCK");
    let knocked = joined.lock().unwrap().take().unwrap().wait(-1).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&knocked).unwrap()["output"], 1);
    surface.close(-1).unwrap();
}
