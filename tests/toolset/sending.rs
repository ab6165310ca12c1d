//! How a call is sent: its id, the tokens of its catalog, what is mended on the way, and how far it reaches.

use super::*;

fn outcome(surface: &Surface, consumer: &Value, id: &Value) -> Value {
    let query = json!({"consumer": consumer, "invocationId": id});
    serde_json::from_str(&surface.outcome(query.to_string().as_bytes()).unwrap()).unwrap()
}

/// AS-ADAPTER-001: the same call sent again is the same request, though the catalog was taken anew in between.
#[test]
fn a_repetition_keeps_the_tokens_it_was_first_sent_with() {
    let (handler, kept) = pending();
    let surface = disk(action(json!({})), handler);
    let other = register(&surface, json!({"type": "door", "description": "Door"}), vec![]);
    let set = toolset(&surface, json!({"topology": "remote"}));
    let wipe = json!({"name": "view_disk__wipe", "input": {"n": 1}, "toolCallId": "call_1"});
    let first = call(&set, wipe.clone());
    surface.quiesce(60_000).unwrap();
    other.invalidate().unwrap();
    tools(&set, "neutral");
    let second = call(&set, wipe.clone());
    surface.quiesce(60_000).unwrap();
    assert_eq!(kept.lock().unwrap().len(), 1);
    kept.lock().unwrap()[0].json(b"7").unwrap();
    other.invalidate().unwrap();
    tools(&set, "neutral");
    let third = call(&set, wipe);
    let results = [first, second, third].map(|invocation| result(&surface, &invocation).unwrap());
    assert_eq!(results[0]["output"], 7);
    assert!(results[0] == results[1] && results[1] == results[2]);
    assert_eq!(audit(&surface, "invocation-joined").len(), 1);
    assert_eq!(audit(&surface, "invocation-replayed").len(), 1);
}

/// RFC correction 6: after a reconnect the catalog is taken anew, and what was asked before is repeated by its id.
#[test]
fn a_pending_confirmation_outlives_the_catalog_it_was_asked_from() {
    let surface = surface();
    let executor = hook(|reply, _, _| reply.unwrap().json(b"1").unwrap());
    surface.set_executor(br#"["users.delete"]"#, executor).unwrap();
    let procedure =
        json!({"path": "users.delete", "description": "Delete", "effect": "destructive", "input": {"type": "object"}});
    let crm = register(&surface, json!({"type": "crm", "description": "Crm", "procedures": [procedure]}), vec![]);
    let consumer = json!({"id": "session", "kind": "mcp-bridge"});
    let set = toolset(&surface, json!({"topology": "remote", "consumer": consumer}));
    let delete = json!({"name": "domain_users__delete", "input": {}, "toolCallId": "call_1"});
    let asked = call_wait(&set, delete.clone());
    confirm(&surface, &asked["error"]["details"]["confirmationId"], true);
    crm.invalidate().unwrap();
    // The old catalog's version is held against a destructive call; the new one's is not.
    tools(&set, "neutral");
    let done = call_wait(&set, delete);
    assert_eq!((&done["output"], &done["invocationId"]), (&json!(1), &json!("call_1")));
    assert_eq!(outcome(&surface, &consumer, &json!("call_1"))["result"], done);
}

/// AS-ADAPTER-001: in mode reused the id tells a repetition from another request, of another instance too.
#[test]
fn a_reused_id_is_another_call_for_another_instance() {
    let surface = surface();
    for instance in ["one", "two"] {
        let definition = json!({"type": "door", "instanceId": instance, "description": "Door", "actions": {"open": action(json!({}))}});
        let name = instance.as_bytes().to_vec();
        let open = hook(move |reply, _, _| reply.unwrap().json(&[b"\"", &name[..], b"\""].concat()).unwrap());
        register(&surface, definition, vec![bind("open", open)]);
    }
    let set = toolset(&surface, json!({"topology": "embedded", "toolCallIds": "reused"}));
    let open = |name: &str| call_wait(&set, json!({"name": name, "input": {}, "toolCallId": "call_1"}));
    let (one, two) = (open("view_door__open_at_one"), open("view_door__open_at_two"));
    assert_eq!((&one["output"], &two["output"]), (&json!("one"), &json!("two")));
    assert_eq!(open("view_door__open_at_one"), one);
}

/// AS-ADAPTER-001: what a model got wrong and was mended is told in the audit, with the call that it belongs to.
#[test]
fn what_was_mended_is_told() {
    let input = json!({"type": "object", "properties": {"where": {"type": "object"}, "name": {"type": "string"}}});
    let surface = disk(action(json!({"input": input})), echo());
    let set = toolset(&surface, json!({"topology": "embedded"}));
    let wipe =
        |input: Value, id: &str| call_wait(&set, json!({"name": "view_disk__wipe", "input": input, "toolCallId": id}));
    let told = || audit(&surface, "tool-call-adapted");

    assert_eq!(wipe(json!({"where": {}, "name": "{}"}), "fine")["output"], json!({"where": {}, "name": "{}"}));
    assert!(told().is_empty());

    let mended = wipe(json!("{\"where\":\"{\\\"x\\\":1}\"}"), "call_1");
    assert_eq!(mended["output"], json!({"where": {"x": 1}}));
    let entry = told().remove(0);
    assert_eq!(entry["repaired"], json!(["", "/where"]));
    for name in ["invocationId", "capabilityId", "issuedDigest"] {
        assert_eq!(entry[name], mended[name], "{name}");
    }
    let started = audit(&surface, "invocation-started");
    assert_eq!(entry["attemptId"], started[1]["attemptId"]);
    assert!(entry.get("replacedId").is_none());

    let replaced = wipe(json!({}), "call\u{1}");
    assert_eq!(replaced["status"], "ok");
    let entry = told().remove(1);
    assert_eq!((&entry["replacedId"], &entry["invocationId"]), (&json!(true), &replaced["invocationId"]));
    assert!(entry.get("repaired").is_none());

    // A repetition is mended again, and told of the call that it is.
    wipe(json!("{\"where\":\"{\\\"x\\\":1}\"}"), "call_1");
    assert_eq!(told()[2]["attemptId"], told()[0]["attemptId"]);
}

/// Arguments that are no object are the model's mistake, whatever the schema allows; a text is taken where a text is due.
#[test]
fn arguments_are_an_object() {
    for (schema, input, code) in [
        (json!({}), json!("open"), json!("INVALID_INPUT")),
        (json!({}), json!([1]), json!("INVALID_INPUT")),
        (json!({"type": "object"}), json!(7), json!("INVALID_INPUT")),
        (json!({"type": "string"}), json!("open"), Value::Null),
        (json!({"type": "string"}), json!("{}"), Value::Null),
        (json!({}), json!({"a": 1}), Value::Null),
        (json!({}), Value::Null, Value::Null),
    ] {
        let surface = disk(action(json!({"input": schema})), echo());
        for (options, name) in [
            (json!({"topology": "remote"}), "view_disk__wipe"),
            (json!({"topology": "remote", "mode": "meta"}), "surface_act"),
        ] {
            let arguments = match name {
                "surface_act" => json!({"capabilityId": "view:disk.wipe", "input": input}),
                _ => input.clone(),
            };
            let result = call_wait(&toolset(&surface, options), json!({"name": name, "input": arguments}));
            assert_eq!(result["error"]["code"], code, "{schema} {input} {name}: {result}");
        }
    }
}

/// AS-ADAPTER-004: in meta mode the input of an action is mended after the action's own schema.
#[test]
fn meta_mode_mends_in_the_same_place() {
    let surface = disk(action(json!({})), echo());
    let set = toolset(&surface, json!({"topology": "embedded", "mode": "meta"}));
    let act = |input: Value| call_wait(&set, json!({"name": "surface_act", "input": input, "toolCallId": "call_1"}));
    let done = act(json!("{\"capabilityId\":\"view:disk.wipe\",\"input\":\"{\\\"a\\\":1}\"}"));
    assert_eq!(done["output"], json!({"a": 1}));
    assert_eq!(audit(&surface, "tool-call-adapted")[0]["repaired"], json!(["", "/input"]));
}

/// AS-ADAPTER-004: a meta tool's own arguments are held against its own schema, and the issues say which of them.
#[test]
fn meta_tools_say_what_is_wrong_with_their_arguments() {
    let surface = disk(action(json!({})), echo());
    let set = toolset(&surface, json!({"topology": "embedded", "mode": "meta"}));
    for (name, input, path) in [
        ("surface_act", json!({"input": {}}), ""),
        ("surface_act", json!({"capabilityId": "view:disk.wipe", "input": {}, "force": true}), "/force"),
        ("surface_act", json!({"capabilityId": 5}), "/capabilityId"),
        ("surface_act", json!({"capabilityId": "view:disk.wipe", "invocationId": ""}), "/invocationId"),
        ("surface_act", json!({"capabilityId": "view:disk.wipe", "invocationId": "a\u{0}"}), "/invocationId"),
        ("surface_act", json!({"capabilityId": "view:disk.wipe", "surfaceVersion": 1}), "/surfaceVersion"),
        ("surface_act", json!("wipe the disk"), ""),
        ("surface_read", json!({"capabilityId": "view:disk.wipe", "input": {}}), "/input"),
        ("surface_discover", json!({"scope": "disk"}), "/scope"),
        ("surface_discover", json!({"scope": [1]}), "/scope/0"),
    ] {
        let result = call_wait(&set, json!({"name": name, "input": input, "toolCallId": "call_1"}));
        assert_eq!(result["error"]["code"], "INVALID_INPUT", "{name} {input}");
        assert_eq!(result["error"]["details"]["issues"][0]["path"], path, "{name} {input}");
        assert_eq!((&result["invocationId"], &result["capabilityId"]), (&json!("call_1"), &json!(name)));
    }
    assert!(audit(&surface, "invocation-started").is_empty());
}

/// AS-BINDING-001, AS-BINDING-004: what the toolset answers itself is bound to its request like any result.
#[test]
fn a_discovered_catalog_belongs_to_its_request() {
    let surface = disk(action(json!({})), echo());
    let set = toolset(&surface, json!({"topology": "embedded", "mode": "meta"}));
    let result =
        call_wait(&set, json!({"name": "surface_discover", "input": {"scope": ["disk"]}, "toolCallId": "call_1"}));
    let request = json!({"capabilityId": "surface_discover", "input": {"scope": ["disk"]}, "invocationId": "call_1"});
    let report =
        agent_surface::surface::verify_result(result.to_string().as_bytes(), request.to_string().as_bytes()).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        report["checks"],
        json!({"capabilityId": true, "invocationId": true, "issuedDigest": true, "outputDigest": true})
    );
}

/// AS-ADAPTER-005: what lies outside the scope does not exist, for any tool, alive or dead, on either plane.
#[test]
fn the_scope_holds_for_calls_too() {
    let surface = surface();
    surface.set_executor(br#"["pay", "count"]"#, hook(|reply, _, _| reply.unwrap().json(b"1").unwrap())).unwrap();
    let procedure =
        |path: &str| json!({"path": path, "description": "P", "effect": "server-query", "input": {"type": "object"}});
    let inside = json!({"type": "devices.table", "description": "D", "observations": {"seen": {"description": "O", "output": {}}},
        "actions": {"sort": action(json!({}))}, "procedures": [procedure("count")]});
    let outside = json!({"type": "billing", "description": "B", "observations": {"seen": {"description": "O", "output": {}}},
        "actions": {"sort": action(json!({}))}, "procedures": [procedure("pay"), procedure("count")]});
    let bindings = || vec![bind("seen", echo()), bind("sort", echo())];
    let (_inside, outside) = (register(&surface, inside, bindings()), register(&surface, outside, bindings()));
    let set = toolset(&surface, json!({"topology": "embedded", "mode": "meta", "scope": ["devices"]}));
    let code = |verb: &str, id: &str| {
        let result = call_wait(&set, json!({"name": verb, "input": {"capabilityId": id}}));
        result["error"]["code"].as_str().unwrap_or("ok").to_owned()
    };
    let hidden =
        [("surface_act", "view:billing.sort"), ("surface_read", "view:billing.seen"), ("surface_act", "domain:pay")];
    for (verb, id) in hidden {
        assert_eq!(code(verb, id), "CAPABILITY_NOT_FOUND", "{id}");
    }
    assert_eq!(code("surface_act", "view:devices.table.sort"), "ok");
    // Two components offer it; only one is in reach, so it is not ambiguous.
    assert_eq!(code("surface_act", "domain:count"), "ok");
    assert_eq!(code("surface_read", "view:devices.table.seen"), "ok");
    assert_eq!(code("surface_read", "view:devices.table.sort"), "CAPABILITY_NOT_FOUND");
    outside.unregister();
    for (verb, id) in hidden {
        assert_eq!(code(verb, id), "CAPABILITY_NOT_FOUND", "{id}");
    }
}

/// A catalog's fixed part is one text while the surface is unchanged, whatever is of the moment.
#[test]
fn the_catalog_is_the_same_text_while_the_surface_is() {
    let surface = surface();
    let locked = Arc::new(Mutex::new(false));
    let look = locked.clone();
    let when =
        hook(move |reply, _, _| reply.unwrap().json(if *look.lock().unwrap() { b"false" } else { b"true" }).unwrap());
    let definition = json!({"type": "disk", "description": "Disk", "actions": {"wipe": action(json!({"unavailableReason": "locked"}))}});
    let disk = register(&surface, definition, vec![Binding { when: Some(when), ..bind("wipe", echo()) }]);
    let set = toolset(&surface, json!({"topology": "embedded"}));
    for format in ["openai", "anthropic", "gemini", "mcp"] {
        let text = || set.tools(format.as_bytes()).unwrap();
        let fixed = |text: &str| text[..text.find("\"state\":").unwrap()].to_owned();
        *locked.lock().unwrap() = false;
        let (before, again) = (text(), text());
        assert_eq!(before, again);
        *locked.lock().unwrap() = true;
        let after = text();
        assert_eq!(fixed(&before), fixed(&after));
        let state = |text: &str| serde_json::from_str::<Value>(text).unwrap()["state"]["view_disk__wipe"].clone();
        assert_eq!(state(&before), json!({"available": true}));
        assert_eq!(state(&after), json!({"available": false, "unavailableReason": "locked"}));
        // A mutation that changes nothing of it leaves the text as it is.
        disk.invalidate().unwrap();
        assert_eq!(text(), after);
    }
}

/// AS-VER-001: what changes the looks of a surface without a version is seen at the next look all the same.
#[test]
fn a_catalog_taken_again_sees_what_no_version_tells() {
    let surface = Surface::new(br#"{"policies": ["late"]}"#, HostHooks::default()).unwrap();
    let definition = json!({"type": "disk", "description": "Disk", "actions": {"wipe": action(json!({}))}});
    let disk = register(&surface, definition, vec![bind("wipe", echo())]);
    let set = toolset(&surface, json!({"topology": "embedded"}));
    // A policy that is not defined yet hides.
    assert_eq!(tools(&set, "")["tools"], json!([]));
    surface.define_policy(b"late", Default::default()).unwrap();
    let state = || tools(&set, "")["tools"][0]["state"].clone();
    assert_eq!((state(), state()), (json!({"available": true}), json!({"available": true})));
    let when = hook(|reply, _, _| reply.unwrap().json(b"false").unwrap());
    disk.rebind(vec![Binding { when: Some(when), ..bind("wipe", echo()) }]).unwrap();
    assert_eq!(state(), json!({"available": false, "unavailableReason": "unavailable"}));
    disk.rebind(vec![bind("wipe", echo())]).unwrap();
    assert_eq!(state(), json!({"available": true}));
    surface.close(-1).unwrap();
}
