//! What a careless host is answered, function by function: code, place and words.

use super::*;
use agent_surface::model::{ApiError, Code};

fn refused<T>(answer: Result<T, ApiError>, code: Code, path: Option<&str>, message: &str) {
    let error = answer.err().expect(message);
    assert_eq!((error.code, error.path.as_deref(), &*error.message), (code, path, message));
}

#[test]
fn options() {
    let surface = surface();
    let refused = |options: &str, code, path, message| {
        refused(Toolset::new(&surface, options.as_bytes()), code, path, message);
    };
    let neither = "Give \"topology\" (embedded or remote), or \"confirmations\" (wait or two-phase).";
    let unknown = "This member is not known here; remove it.";
    refused("{}", Code::Argument, Some(""), neither);
    refused(r#"{"mode": "meta"}"#, Code::Argument, Some(""), neither);
    refused(r#"{"topology": "edge"}"#, Code::Argument, Some("/topology"), "Give one of embedded, remote here.");
    refused(r#"{"topology": null}"#, Code::Argument, Some("/topology"), "Give a string here.");
    refused(
        r#"{"confirmations": "never"}"#,
        Code::Argument,
        Some("/confirmations"),
        "Give one of wait, two-phase here.",
    );
    refused(
        r#"{"topology": "remote", "mode": "both"}"#,
        Code::Argument,
        Some("/mode"),
        "Give one of direct, meta here.",
    );
    refused(
        r#"{"topology": "remote", "toolCallIds": "any"}"#,
        Code::Argument,
        Some("/toolCallIds"),
        "Give one of unique, reused here.",
    );
    refused(r#"{"topology": "remote", "scope": "a"}"#, Code::Argument, Some("/scope"), "Give a list of strings here.");
    refused(r#"{"topology": "remote", "scope": [1]}"#, Code::Argument, Some("/scope"), "Give a list of strings here.");
    let direct = "A budget is for mode meta; in direct mode narrow the scope.";
    refused(r#"{"topology": "remote", "budget": {}}"#, Code::Argument, Some("/budget"), direct);
    refused(
        r#"{"topology": "remote", "mode": "meta", "budget": {"maxTools": 1}}"#,
        Code::Argument,
        Some("/budget/maxTools"),
        unknown,
    );
    refused(r#"{"topology": "remote", "topolgy": 1}"#, Code::Argument, Some("/topolgy"), unknown);
    refused(
        r#"{"topology": "remote", "consumer": {"id": "a"}}"#,
        Code::Argument,
        Some("/consumer/kind"),
        "Give the member \"kind\"; it is required.",
    );
    refused("[]", Code::Argument, Some(""), "Give an object here.");
    assert_eq!(Toolset::new(&surface, b"").err().unwrap().code, Code::Json);
    assert_eq!(Toolset::new(&surface, br#"{"a":1,"a":2}"#).err().unwrap().code, Code::Json);
    surface.close(-1).unwrap();
    refused(r#"{"topology": "remote"}"#, Code::Closed, None, "The registry is closed.");
}

#[test]
fn formats_and_results() {
    let surface = disk(action(json!({})), echo());
    let set = toolset(&surface, json!({"topology": "remote"}));
    let formats = "Give one of neutral, openai, anthropic, gemini, mcp as format.";
    refused(set.tools(b"OpenAI"), Code::Argument, Some(""), formats);
    refused(set.render(b"\"mcp\"", b"{}"), Code::Argument, Some(""), formats);
    let render = |result: &str, path: &str, message: &str| {
        refused(set.render(b"", result.as_bytes()), Code::Argument, Some(path), message);
    };
    let text = "Give a result envelope; it has a text here.";
    render("{}", "/status", text);
    render("[]", "/status", text);
    render(r#"{"status": "fine"}"#, "/status", "Give a result envelope; its status is ok or error.");
    render(r#"{"status": "error"}"#, "/error", "Give a result envelope; it has an object here.");
    render(r#"{"status": "ok"}"#, "/invocationId", text);
    render(r#"{"status": "ok", "invocationId": "a"}"#, "/capabilityId", text);
    assert_eq!(set.render(b"", b"{").err().unwrap().code, Code::Json);
    surface.close(-1).unwrap();
    refused(set.tools(b""), Code::Closed, None, "The registry is closed.");
}

#[test]
fn calls() {
    let surface = disk(action(json!({})), echo());
    let set = toolset(&surface, json!({"topology": "remote"}));
    let both = |call: &str, code: Code, path: Option<&str>, message: &str| {
        refused(set.call(call.as_bytes(), None), code, path, message);
        refused(set.call_wait(call.as_bytes()), code, path, message);
    };
    let name = "Give the name of a tool here.";
    both("{}", Code::Argument, Some("/name"), "Give the member \"name\"; it is required.");
    both("7", Code::Argument, Some(""), "Give an object here.");
    both(r#"{"name": 7}"#, Code::Argument, Some("/name"), "Give a string here.");
    both(r#"{"name": "a", "toolCallId": 7}"#, Code::Argument, Some("/toolCallId"), "Give a string here.");
    both(
        r#"{"name": "a", "arguments": {}}"#,
        Code::Argument,
        Some("/arguments"),
        "This member is not known here; remove it.",
    );
    both(r#"{"function": {}}"#, Code::Argument, Some("/function/name"), name);
    both(r#"{"functionCall": 1}"#, Code::Argument, Some("/functionCall/name"), name);
    both(r#"{"type": "tool_use"}"#, Code::Argument, Some("/name"), name);
    both(r#"{"method": "tools/list"}"#, Code::Argument, Some("/method"), "Give a tools/call request here.");
    both(r#"{"method": "tools/call"}"#, Code::Argument, Some("/params/name"), name);
    assert_eq!(set.call(br#"{"name": "a", "name": "b"}"#, None).err().unwrap().code, Code::Json);
    set.dispose();
    both(r#"{"name": "a"}"#, Code::Closed, None, "The toolset is closed.");
    refused(set.tools(b""), Code::Closed, None, "The toolset is closed.");
    assert!(set.info().is_ok());
    let other = toolset(&surface, json!({"topology": "remote"}));
    surface.close(-1).unwrap();
    refused(other.call(br#"{"name": "a"}"#, None), Code::Closed, None, "The registry is closed.");
    refused(other.call_wait(br#"{"name": "a"}"#), Code::Closed, None, "The registry is closed.");
}

/// A model's mistakes are results: an unknown tool, one that is gone, input that is none, an input that is too large.
#[test]
fn mistakes_of_a_model_are_results() {
    let surface = surface();
    let definition = json!({"type": "disk", "description": "Disk", "actions": {"wipe": action(json!({}))}});
    let disk = register(&surface, definition, vec![bind("wipe", echo())]);
    let set = toolset(&surface, json!({"topology": "remote"}));
    let long = "é".repeat(4000);
    for name in ["", "view:disk.wipe", "no such tool", &long] {
        let result = call_wait(&set, json!({"name": name, "input": {}}));
        assert_eq!(result["error"]["code"], "CAPABILITY_NOT_FOUND");
        assert!(name.starts_with(result["capabilityId"].as_str().unwrap()));
    }
    let deep = (0..65).fold(json!({}), |inner, _| json!({ "a": inner }));
    for (id, input, keyword) in
        [("a", json!("x"), "type"), ("b", deep, "depth"), ("c", json!({"a": "x".repeat(300_000)}), "bytes")]
    {
        let call = json!({"name": "view_disk__wipe", "input": input, "toolCallId": id});
        assert_eq!(call_wait(&set, call)["error"]["details"]["issues"][0]["keyword"], keyword);
    }
    disk.unregister();
    let gone = call_wait(&set, json!({"name": "view_disk__wipe", "input": {}}));
    assert_eq!(gone["error"]["code"], "COMPONENT_UNMOUNTED");
}

/// Looking inside a hook that is part of looking would never end.
#[test]
fn a_hook_of_looking_takes_no_catalog() {
    let surface = surface();
    let (tell, told) = std::sync::mpsc::channel();
    let set: Arc<Mutex<Option<Toolset>>> = Arc::default();
    let inner = set.clone();
    let when = hook(move |reply, _, _| {
        if let Some(set) = &*inner.lock().unwrap() {
            let call = json!({"name": "surface_discover", "input": {}});
            tell.send((
                set.tools(b"").err().map(|e| e.code),
                set.call(call.to_string().as_bytes(), None).err().map(|e| e.code),
            ))
            .unwrap();
        }
        reply.unwrap().json(b"true").unwrap();
    });
    let definition = json!({"type": "disk", "description": "Disk", "actions": {"wipe": action(json!({}))}});
    register(&surface, definition, vec![Binding { when: Some(when), ..bind("wipe", echo()) }]);
    *set.lock().unwrap() = Some(toolset(&surface, json!({"topology": "remote", "mode": "meta"})));
    surface.snapshot(b"").unwrap();
    assert_eq!(told.recv().unwrap(), (Some(Code::WouldDeadlock), Some(Code::WouldDeadlock)));
    *set.lock().unwrap() = None;
    surface.close(-1).unwrap();
}

/// The options as they came out, defaults filled in.
#[test]
fn info() {
    let surface = surface();
    let told = |options: Value| serde_json::from_str::<Value>(&toolset(&surface, options).info().unwrap()).unwrap();
    let minted = told(json!({"topology": "embedded"}));
    assert_eq!(minted["consumer"]["kind"], "other");
    let consumer = json!({"id": "a", "kind": "test", "grants": ["x"]});
    assert_eq!(
        told(json!({"topology": "remote", "consumer": consumer})),
        json!({"consumer": consumer, "mode": "direct", "topology": "remote", "confirmations": "two-phase", "toolCallIds": "unique"})
    );
    let all = json!({"consumer": consumer, "mode": "meta", "confirmations": "wait", "toolCallIds": "reused",
        "scope": ["a.b"], "budget": {"maxComponents": 3}});
    assert_eq!(told(all.clone()), all);
}
