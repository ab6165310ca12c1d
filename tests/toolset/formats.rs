//! The forms of the providers: a tool, a call, a result, and what could not be told.

use super::*;

/// Every keyword that some provider has no word for.
fn rich() -> Value {
    json!({"type": "object", "properties": {
        "amount": {"type": "integer", "minimum": 1, "exclusiveMaximum": 100, "multipleOf": 5},
        "note": {"type": ["string", "null"], "minLength": 1, "format": "email"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
        "kind": {"const": "gift"}, "level": {"enum": [1, 2]}, "at": {"$ref": "#/$defs/place"},
        "pay-load": {"type": "object"}, "any": {}},
      "required": ["amount", "pay-load"], "additionalProperties": false,
      "$defs": {"place": {"type": "object", "properties": {"x": {"type": "number"}, "next": {"$ref": "#/$defs/place"}}}}})
}

fn offered(input: Value, format: &str) -> (Value, Value) {
    let surface = disk(action(json!({"input": input})), echo());
    let set = toolset(&surface, json!({"topology": "remote"}));
    let catalog = tools(&set, format);
    (catalog["tools"][0].clone(), catalog["loss"].clone())
}

fn loss(entries: &[(&str, &str)]) -> Value {
    let entries: Vec<Value> = entries
        .iter()
        .map(|(pointer, keyword)| json!({"tool": "view_disk__wipe", "pointer": pointer, "keyword": keyword}))
        .collect();
    json!(entries)
}

const DESCRIPTION: &str = "[view, local-state, confirmation never] Do it";

#[test]
fn neutral_leaves_nothing_out() {
    let (tool, lost) = offered(rich(), "");
    assert_eq!(
        tool,
        json!({"name": "view_disk__wipe", "description": DESCRIPTION, "inputSchema": rich(), "state": {"available": true}})
    );
    assert_eq!(lost, json!([]));
    let map = {
        let surface = disk(action(json!({})), echo());
        let set = toolset(&surface, json!({"topology": "remote"}));
        tools(&set, "neutral")["wireNameMap"].clone()
    };
    assert_eq!(map["view_disk__wipe"]["capabilityId"], "view:disk.wipe");
    assert_eq!(map["view_disk__wipe"]["instanceId"], "default");
}

#[test]
fn openai_functions() {
    // Not strict: nothing is enforced at the other end, so nothing is left out either.
    let (tool, lost) = offered(rich(), "openai");
    assert_eq!(tool["type"], "function");
    assert_eq!(tool["function"]["name"], "view_disk__wipe");
    assert_eq!(tool["function"]["description"], DESCRIPTION);
    assert_eq!(tool["function"]["strict"], Value::Null);
    let mut parameters = rich();
    parameters["properties"]["pay-load"]["properties"] = json!({});
    assert_eq!(tool["function"]["parameters"], parameters);
    assert_eq!(lost, json!([]));

    let strict = json!({"type": "object", "properties": {
        "id": {"type": "string", "minLength": 3, "pattern": "^a", "default": "abc"},
        "when": {"type": "string", "format": "date"}, "link": {"type": "string", "format": "uri"},
        "list": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true, "maxItems": 3}},
      "required": ["id", "when", "link", "list"], "additionalProperties": false});
    let (tool, lost) = offered(strict.clone(), "openai");
    assert_eq!(tool["function"]["strict"], true);
    let parameters = json!({"type": "object", "properties": {
        "id": {"type": "string", "pattern": "^a"},
        "when": {"type": "string", "format": "date"}, "link": {"type": "string"},
        "list": {"type": "array", "items": {"type": "integer"}, "maxItems": 3}},
      "required": ["id", "when", "link", "list"], "additionalProperties": false});
    assert_eq!(tool["function"]["parameters"], parameters);
    let left_out = [
        ("/properties/id", "default"),
        ("/properties/id", "minLength"),
        ("/properties/link", "format"),
        ("/properties/list", "uniqueItems"),
    ];
    assert_eq!(lost, loss(&left_out));

    for (keyword, value) in [("required", json!(["id"])), ("additionalProperties", json!(true))] {
        let mut loose = strict.clone();
        loose[keyword] = value;
        assert_eq!(offered(loose, "openai").0["function"]["strict"], Value::Null, "{keyword}");
    }
    let mut anything = strict;
    anything["properties"]["id"] = json!({});
    assert_eq!(offered(anything, "openai").0["function"]["strict"], Value::Null);
}

#[test]
fn roots_are_objects_for_every_provider() {
    let either = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let plain = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let (tool, lost) = offered(either.clone(), "openai");
    assert_eq!((&tool["function"]["parameters"], &lost), (&plain, &loss(&[("", "anyOf")])));
    let (tool, lost) = offered(either.clone(), "anthropic");
    assert_eq!((&tool["input_schema"], &lost), (&plain, &loss(&[("", "anyOf")])));
    let (tool, lost) = offered(either.clone(), "mcp");
    assert_eq!((&tool["inputSchema"], &lost), (&either, &json!([])));

    let referred = json!({"$ref": "#/$defs/in", "$defs": {"in": plain}});
    assert_eq!(offered(referred.clone(), "anthropic").0["input_schema"]["properties"], plain["properties"]);
    assert_eq!(offered(referred, "gemini").0["parameters"], plain);
    assert_eq!(offered(json!({}), "mcp").0["inputSchema"], json!({"type": "object"}));
    for (format, member) in [("anthropic", "input_schema"), ("mcp", "inputSchema")] {
        let (tool, lost) = offered(json!({"type": "string", "minLength": 1}), format);
        assert_eq!((&tool[member], &lost), (&json!({"type": "object"}), &loss(&[("", "type")])));
        let (tool, lost) = offered(json!({"type": ["object", "null"]}), format);
        assert_eq!((&tool[member], &lost), (&json!({"type": "object"}), &loss(&[("", "type")])));
    }
}

#[test]
fn anthropic_tools() {
    let (tool, lost) = offered(rich(), "anthropic");
    assert_eq!(tool, json!({"name": "view_disk__wipe", "description": DESCRIPTION, "input_schema": rich()}));
    assert_eq!(lost, json!([]));
    let named = json!({"type": "object", "properties": {"a b": {"type": "string"}, "c.d": {"type": "object", "properties": {"e f": {}}}},
        "required": ["a b", "c.d"]});
    let (tool, lost) = offered(named, "anthropic");
    let kept = json!({"type": "object", "properties": {"c.d": {"type": "object", "properties": {"e f": {}}}}, "required": ["c.d"]});
    assert_eq!(tool["input_schema"], kept);
    assert_eq!(lost, loss(&[("/properties/a b", "properties")]));
}

#[test]
fn gemini_declarations() {
    let (tool, lost) = offered(rich(), "gemini");
    assert_eq!(
        tool["parameters"],
        json!({"type": "object", "properties": {
            "amount": {"type": "integer", "minimum": 1},
            "note": {"type": "string", "nullable": true, "minLength": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
            "kind": {"type": "string", "enum": ["gift"]}, "level": {"type": "string"}, "any": {"type": "string"},
            "at": {"type": "object", "properties": {"x": {"type": "number"}, "next": {"type": "object"}}}},
          "required": ["amount"]})
    );
    let left_out = [
        ("", "additionalProperties"),
        ("/properties/amount", "exclusiveMaximum"),
        ("/properties/amount", "multipleOf"),
        ("/properties/at/properties/next", "$ref"),
        ("/properties/level", "enum"),
        ("/properties/note", "format"),
        ("/properties/tags", "uniqueItems"),
        ("/properties/pay-load", "properties"),
    ];
    let mut told: Vec<String> = lost.as_array().unwrap().iter().map(Value::to_string).collect();
    let mut expected: Vec<String> = loss(&left_out).as_array().unwrap().iter().map(Value::to_string).collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
    assert_eq!(
        offered(json!({"type": "object"}), "gemini").0,
        json!({"name": "view_disk__wipe", "description": DESCRIPTION})
    );

    let several = json!({"type": "object", "properties": {"v": {"type": ["string", "integer", "null"], "maxLength": 3, "maximum": 9, "description": "V"}}});
    assert_eq!(
        offered(several, "gemini").0["parameters"]["properties"]["v"],
        json!({"description": "V", "nullable": true, "anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "maximum": 9}]})
    );
    let dangling = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]});
    let (tool, lost) = offered(dangling, "gemini");
    assert_eq!((&tool["parameters"]["required"], &lost), (&json!(["a"]), &loss(&[("", "required")])));
}

/// References that multiply end somewhere, for a model is given what it can read.
#[test]
fn gemini_schemas_are_bounded() {
    let level = |n: usize| {
        let next = match n {
            11 => json!({"type": "string"}),
            _ => json!({"$ref": format!("#/$defs/l{}", n + 1)}),
        };
        json!({"type": "object", "properties": {"a": next, "b": next}})
    };
    let defs: serde_json::Map<String, Value> = (0..12).map(|n| (format!("l{n}"), level(n))).collect();
    let doubling = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": defs});
    let (tool, lost) = offered(doubling, "gemini");
    assert!(tool.to_string().len() < 100_000);
    assert!(lost.as_array().unwrap().iter().any(|loss| loss["keyword"] == "$ref"));
}

#[test]
fn mcp_tools() {
    let surface = surface();
    surface.set_executor(br#"["get", "drop", "say"]"#, echo()).unwrap();
    let procedure = |path: &str, effect: &str, output: Value| json!({"path": path, "description": "P", "effect": effect, "input": {"type": "object"}, "output": output});
    let object = json!({"type": "object"});
    let definition = json!({"type": "crm", "description": "Crm", "procedures": [
        procedure("get", "server-query", object.clone()), procedure("drop", "destructive", object.clone()),
        procedure("say", "external-side-effect", json!({"type": "string"}))]});
    register(&surface, definition, vec![]);
    let catalog = tools(&toolset(&surface, json!({"topology": "remote"})), "mcp");
    let hints = |read_only, destructive, idempotent| json!({"readOnlyHint": read_only, "destructiveHint": destructive, "idempotentHint": idempotent});
    assert_eq!(
        catalog["tools"],
        json!([
            {"name": "domain_get", "description": "[domain, server-query, confirmation never] P", "inputSchema": object,
             "outputSchema": object, "annotations": hints(true, false, true), "_meta": {"capabilityId": "domain:get"}},
            {"name": "domain_drop", "description": "[domain, destructive, confirmation required] P", "inputSchema": object,
             "outputSchema": object, "annotations": hints(false, true, false), "_meta": {"capabilityId": "domain:drop"}},
            {"name": "domain_say", "description": "[domain, external-side-effect, confirmation required] P",
             "inputSchema": object, "annotations": hints(false, false, false), "_meta": {"capabilityId": "domain:say"}}
        ])
    );
    assert_eq!(catalog["loss"], json!([{"tool": "domain_say", "pointer": "/outputSchema", "keyword": "type"}]));
}

/// AS-ADAPTER-004: the three tools of meta mode in every form, always the same text.
#[test]
fn meta_tools_in_every_form() {
    let surface = surface();
    let set = toolset(&surface, json!({"topology": "remote", "mode": "meta"}));
    for format in ["neutral", "openai", "anthropic", "gemini", "mcp"] {
        let before = set.tools(format.as_bytes()).unwrap();
        let names: Vec<String> = serde_json::from_str::<Value>(&before).unwrap()["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool.get("function").unwrap_or(tool)["name"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["surface_discover", "surface_read", "surface_act"]);
        let definition = json!({"type": format!("t{}", format.len()), "instanceId": format, "description": "D"});
        register(&surface, definition, vec![]);
        assert_eq!(set.tools(format.as_bytes()).unwrap(), before);
    }
}

/// A call as a provider gives it, and its result as the provider takes it back: id and name are its own.
#[test]
fn there_and_back() {
    let surface = disk(action(json!({})), echo());
    let set = toolset(&surface, json!({"topology": "remote", "toolCallIds": "reused"}));
    let there_and_back = |format: &str, call: Value| -> Value {
        let result = set.call_wait(call.to_string().as_bytes()).unwrap();
        serde_json::from_str(&set.render(format.as_bytes(), &result).unwrap()).unwrap()
    };
    assert_eq!(
        there_and_back(
            "openai",
            json!({"id": "call_1", "type": "function", "index": 0,
            "function": {"name": "view_disk__wipe", "arguments": "{\"n\": 1.0}"}})
        ),
        json!({"role": "tool", "tool_call_id": "call_1", "content": "{\"n\":1}"})
    );
    assert_eq!(
        there_and_back(
            "anthropic",
            json!({"type": "tool_use", "id": "toolu_1", "name": "view_disk__wipe", "input": {"n": 2}})
        ),
        json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "{\"n\":2}"})
    );
    assert_eq!(
        there_and_back(
            "gemini",
            json!({"functionCall": {"name": "view_disk__wipe", "args": {"n": 3}}, "thoughtSignature": "x"})
        ),
        json!({"functionResponse": {"name": "view_disk__wipe", "response": {"output": {"n": 3}}}})
    );
    assert_eq!(
        there_and_back("gemini", json!({"functionCall": {"id": "g1", "name": "view_disk__wipe", "args": {"n": 3}}}))["functionResponse"]
            ["id"],
        "g1"
    );
    let mcp = there_and_back(
        "mcp",
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "view_disk__wipe", "arguments": {"n": 4}, "_meta": {}}}),
    );
    assert_eq!(mcp["content"], json!([{"type": "text", "text": "{\"n\":4}"}]));
    assert_eq!((&mcp["structuredContent"], &mcp["isError"]), (&json!({"n": 4}), &json!(false)));
    let neutral = there_and_back("", json!({"name": "view_disk__wipe", "input": {"n": 5}, "toolCallId": "call_5"}));
    assert_eq!(
        (&neutral["toolCallId"], &neutral["name"], &neutral["output"]),
        (&json!("call_5"), &json!("view_disk__wipe"), &json!({"n": 5}))
    );
}

/// AS-ADAPTER-002: code, message, retry and details reach the model in band, in every form.
#[test]
fn errors_are_in_band() {
    let surface = disk(action(json!({"confirmation": "required"})), echo());
    let set = toolset(&surface, json!({"topology": "remote"}));
    let result = call_wait(&set, json!({"name": "view_disk__wipe", "input": {}, "toolCallId": "call_1"}));
    let told = json!({"error": result["error"], "invocationId": "call_1"});
    assert!(result["error"]["details"]["confirmationId"].is_string());
    let rendered = |format: &str| -> Value {
        serde_json::from_str(&set.render(format.as_bytes(), result.to_string().as_bytes()).unwrap()).unwrap()
    };
    let in_text = |text: &Value| serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap();
    assert_eq!(in_text(&rendered("openai")["content"]), told);
    let anthropic = rendered("anthropic");
    assert_eq!((in_text(&anthropic["content"]), &anthropic["is_error"]), (told.clone(), &json!(true)));
    let mcp = rendered("mcp");
    assert_eq!((in_text(&mcp["content"][0]["text"]), &mcp["isError"]), (told.clone(), &json!(true)));
    assert!(mcp.get("structuredContent").is_none());
    assert_eq!(rendered("gemini")["functionResponse"]["response"], told);
    assert_eq!(rendered("neutral")["error"], result["error"]);
}

/// A handler may complete without output; a provider's result says at least that.
#[test]
fn no_output_at_all() {
    let surface = disk(action(json!({})), hook(|reply, _, _| reply.unwrap().json(b"").unwrap()));
    let set = toolset(&surface, json!({"topology": "remote"}));
    let result = call_wait(&set, json!({"name": "view_disk__wipe"}));
    let render = |format: &str| -> Value {
        serde_json::from_str(&set.render(format.as_bytes(), result.to_string().as_bytes()).unwrap()).unwrap()
    };
    assert_eq!(render("openai")["content"], "{\"status\":\"ok\"}");
    assert_eq!(render("gemini")["functionResponse"]["response"], json!({"status": "ok"}));
    assert_eq!(render("openai")["tool_call_id"], result["invocationId"]);
}

/// What a provider sends that is no call as it should be: mistakes of the model, told as results.
#[test]
fn arguments_that_cannot_be_read() {
    let surface = disk(action(json!({"input": {}})), echo());
    let set = toolset(&surface, json!({"topology": "remote"}));
    let openai = |arguments: Value, id: Value| {
        call_wait(
            &set,
            json!({"id": id, "type": "function", "function": {"name": "view_disk__wipe", "arguments": arguments}}),
        )
    };
    for (n, broken) in ["{\"a\":", "{\"a\":1,\"a\":2}", "open", "{\"a\":\"\\ud800\"}"].into_iter().enumerate() {
        let result = openai(json!(broken), json!(format!("broken {n}")));
        assert_eq!(result["error"]["code"], "INVALID_INPUT", "{broken}");
    }
    for (n, empty) in [json!(""), json!(" "), json!("{}"), json!("null"), Value::Null].into_iter().enumerate() {
        assert_eq!(openai(empty, json!(format!("empty {n}")))["output"], json!({}));
    }
    assert_eq!(openai(json!({"a": 1}), json!("object"))["output"], json!({"a": 1}));
    // Once too often encoded: that is a text where an object is due, unless the schema takes a text.
    assert_eq!(openai(json!("\"{\\\"a\\\":1}\""), json!("twice"))["error"]["code"], "INVALID_INPUT");
    assert!(openai(json!("{}"), Value::Null)["invocationId"].as_str().unwrap().starts_with("inv_"));
    assert_eq!(openai(json!("{}"), json!(12))["invocationId"], "12");
}
