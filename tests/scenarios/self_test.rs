//! The runner's own rules: matching, references, and what makes a file invalid. A runner that lets everything pass would
//! make every scenario worthless, so most cases here are about what must not pass.

use crate::json::Json;
use crate::matcher;
use crate::model::Scenario;
use crate::refs;

type Case = (&'static str, Result<(), String>);

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (expected, seen, matches) in MATCHES {
        cases.push((*expected, verdict(*matches, &matcher::check(&json(expected), &json(seen)), seen)));
    }
    for (expected, seen, matches) in SUBSEQUENCES {
        let outcome = matcher::subsequence(json(expected).items(), json(seen).items());
        cases.push((*expected, verdict(*matches, &outcome, seen)));
    }
    for (text, becomes) in REFERENCES {
        cases.push((*text, reference(text, *becomes)));
    }
    for (scenario, fault) in FILES {
        cases.push((*scenario, validity(scenario, *fault)));
    }
    for text in NOT_JSON {
        cases.push((*text, Json::parse(text).map_or(Ok(()), |value| Err(format!("read as {value}")))));
    }
    cases.push(("numbers keep their text", numbers()));
    cases.push(("a mismatch says where", mismatch()));
    cases
}

/// Expected, seen, and whether they match.
const MATCHES: &[(&str, &str, bool)] = &[
    (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, true),
    (r#"{"a":{"b":1}}"#, r#"{"a":{"b":1,"c":2}}"#, true),
    (r#"{"a":1}"#, r#"{"b":1}"#, false),
    (r#"{"a":null}"#, r#"{}"#, false),
    (r#"{}"#, r#"[]"#, false),
    (r#"[1,2]"#, r#"[1,2]"#, true),
    (r#"[1]"#, r#"[1,2]"#, false),
    (r#"[2,1]"#, r#"[1,2]"#, false),
    (r#"[{"a":1}]"#, r#"[{"a":1,"b":2}]"#, true),
    ("1", "1.0", true),
    ("9007199254740993", "9007199254740992", false),
    ("9007199254740993", "9007199254740992.0", false),
    ("1", "\"1\"", false),
    ("null", "null", true),
    ("false", "null", false),
    (r#"{"$exact":{"a":1}}"#, r#"{"a":1}"#, true),
    (r#"{"$exact":{"a":1}}"#, r#"{"a":1,"b":2}"#, false),
    (r#"{"$exact":{"a":1,"b":2}}"#, r#"{"b":2,"a":1}"#, true),
    (r#"{"$exact":{"$any":true}}"#, r#"{"$any":true}"#, true),
    (r#"{"$exact":{"$any":true}}"#, "1", false),
    (r#"{"a":{"$any":true}}"#, r#"{"a":null}"#, true),
    (r#"{"a":{"$any":true}}"#, r#"{}"#, false),
    (r#"{"a":{"$absent":true}}"#, r#"{}"#, true),
    (r#"{"a":{"$absent":true}}"#, r#"{"a":null}"#, false),
    (r#"{"$match":"b+c"}"#, r#""abbcd""#, true),
    (r#"{"$match":"^b"}"#, r#""abbcd""#, false),
    (r#"{"$match":"1"}"#, "1", false),
    (r#"{"$type":"integer"}"#, "1", true),
    (r#"{"$type":"integer"}"#, "1.5", false),
    (r#"{"$type":"number"}"#, "1.5", true),
    (r#"{"$type":"object"}"#, "null", false),
    (r#"{"$len":2}"#, r#"[0,0]"#, true),
    (r#"{"$len":2}"#, r#""äö""#, true),
    (r#"{"$len":2}"#, r#"{"a":1}"#, false),
    (r#"{"$len":0}"#, "null", false),
    (r#"{"$oneOf":["a",{"$type":"null"}]}"#, "null", true),
    (r#"{"$oneOf":["a","b"]}"#, r#""c""#, false),
    (r#"{"a":{"$oneOf":[{"$absent":true},1]}}"#, "{}", true),
    (r#"{"$contains":{"a":1}}"#, r#"[0,{"a":1,"b":2}]"#, true),
    (r#"{"$contains":1}"#, r#"[0,2]"#, false),
    (r#"{"$contains":1}"#, "1", false),
    (r#"{"$not":1}"#, "2", true),
    (r#"{"$not":{"a":{"$any":true}}}"#, r#"{"a":1}"#, false),
    (r#"{"$not":{"$contains":1}}"#, "[2]", true),
    (r#"{"$type":"string","$match":"x"}"#, r#""y""#, false),
    (r##"{"$ref":"#/$defs/a"}"##, r##"{"$ref":"#/$defs/a"}"##, true),
    (r##"{"$ref":"#/$defs/a"}"##, r##"{"$ref":"#/$defs/b"}"##, false),
];

const SUBSEQUENCES: &[(&str, &str, bool)] = &[
    ("[1,3]", "[1,2,3]", true),
    ("[]", "[1]", true),
    ("[3,1]", "[1,2,3]", false),
    ("[1,1]", "[1,2]", false),
    ("[4]", "[1,2]", false),
];

/// A string of a step and what it becomes; None where it cannot be resolved. `i1` is the only name.
const REFERENCES: &[(&str, Option<&str>)] = &[
    (r#""$i1.error.details.confirmationId""#, Some(r#""cnf_1""#)),
    (r#""$i1.list.1.x""#, Some("7")),
    (r#"{"a":["$i1.list.0"]}"#, Some(r#"{"a":[{"x":6}]}"#)),
    (r#""$$i1.error""#, Some(r#""$i1.error""#)),
    (r#""$$$""#, Some(r#""$$""#)),
    (r#""a$i1""#, Some(r#""a$i1""#)),
    (r#"{"$i1":1}"#, Some(r#"{"$i1":1}"#)),
    (r#""$i1.error.nothing""#, None),
    (r#""$i1.list.2""#, None),
    (r#""$i2""#, None),
    (r#""$""#, None),
];
const I1: &str = r#"{"error":{"details":{"confirmationId":"cnf_1"}},"list":[{"x":6},{"x":7}]}"#;

/// A scenario, and where it is wrong; None where it is right.
const FILES: &[(&str, Option<&str>)] = &[
    (r#"{"name":"n","requirements":["x"],"registry":{},"policies":{},"vars":{},"steps":[]}"#, None),
    (r#"{"name":"n","steps":[{"do":"finish","token":"t","index":1,"return":null,"expect":"late"}]}"#, None),
    (r#"{"name":"n","steps":[{"do":"invoke","as":"i","request":{}},{"do":"confirm","id":"$i.x"}]}"#, None),
    (r#"{"name":"n","steps":[{"do":"update","registration":"r","patch":{},"code":{"$oneOf":["AS_OK"]}}]}"#, None),
    (
        r#"{"name":"n","executor":{"paths":["a"],"script":{"sequence":[{"doing":[{"do":"version"}],"then":{"echo":true}}]}},"steps":[]}"#,
        None,
    ),
    (
        r#"{"name":"n","steps":[{"do":"snapshot","scope":"a","budget":[]},{"do":"invoke","request":1,"timeoutMs":"x"}]}"#,
        None,
    ),
    ("[]", Some("the top")),
    (r#"{"steps":[]}"#, Some("/name")),
    (r#"{"name":"n"}"#, Some("/steps")),
    (r#"{"name":"n","steps":{}}"#, Some("/steps")),
    (r#"{"name":"n","steps":[],"extra":1}"#, Some("/extra")),
    (r#"{"name":"n","requirements":5,"steps":[]}"#, None),
    (r#"{"name":"n","registry":[],"steps":[]}"#, Some("/registry")),
    (r#"{"name":"n","steps":[{"do":"fly"}]}"#, Some("/steps/0/do")),
    (r#"{"name":"n","steps":[{"as":"x"}]}"#, Some("/steps/0/do")),
    (r#"{"name":"n","steps":[{"do":"version"},{"do":"invoke","request":{},"wait":1}]}"#, Some("/steps/1/wait")),
    (r#"{"name":"n","steps":[{"do":"invoke"}]}"#, Some("/steps/0/request")),
    (r#"{"name":"n","steps":[{"do":"advance","ms":"5"}]}"#, Some("/steps/0/ms")),
    (r#"{"name":"n","steps":[{"do":"aborted","token":"t","index":-1}]}"#, Some("/steps/0/index")),
    (r#"{"name":"n","steps":[{"do":"events","mode":"loose"}]}"#, Some("/steps/0/mode")),
    (r#"{"name":"n","steps":[{"do":"contexts","policy":"p","phase":"later"}]}"#, Some("/steps/0/phase")),
    (r#"{"name":"n","steps":[{"do":"version","expect":"1","code":"AS_OK"}]}"#, Some("/steps/0/code")),
    (r#"{"name":"n","steps":[{"do":"version","expect":{"$type":"text"}}]}"#, Some("/steps/0/expect/$type")),
    (r#"{"name":"n","steps":[{"do":"version","expect":{"$match":"("}}]}"#, Some("/steps/0/expect/$match")),
    (r#"{"name":"n","steps":[{"do":"finish","token":"t"}]}"#, Some("/steps/0")),
    (r#"{"name":"n","steps":[{"do":"finish","token":"t","return":1,"fail":"x"}]}"#, Some("/steps/0")),
    (r#"{"name":"n","steps":[{"do":"decide","token":"t","allow":false}]}"#, Some("/steps/0/allow")),
    (
        r#"{"name":"n","steps":[{"do":"register","definition":{},"handlers":{"a":{"shout":true}}}]}"#,
        Some("/steps/0/handlers/a/shout"),
    ),
    (
        r#"{"name":"n","steps":[{"do":"register","definition":{},"handlers":{"a":{"echo":true,"none":true}}}]}"#,
        Some("/steps/0/handlers/a"),
    ),
    (
        r#"{"name":"n","steps":[{"do":"register","definition":{},"handlers":{"a":{"sequence":[]}}}]}"#,
        Some("/steps/0/handlers/a/sequence"),
    ),
    (
        r#"{"name":"n","steps":[{"do":"register","definition":{},"when":{"a":{"echo":true}}}]}"#,
        Some("/steps/0/when/a/echo"),
    ),
    (
        r#"{"name":"n","steps":[{"do":"register","definition":{},"handlers":{"a":{"doing":[{"do":"invoke","request":{},"expect":{}}],"then":{"echo":true}}}}]}"#,
        Some("/steps/0/handlers/a/doing/0/expect"),
    ),
    (
        r#"{"name":"n","policies":{"p":{"onAuthorize":{"confirm":{}}}},"steps":[]}"#,
        Some("/policies/p/onAuthorize/confirm"),
    ),
    (r#"{"name":"n","policies":{"p":{"onResult":{"const":1}}},"steps":[]}"#, Some("/policies/p/onResult/const")),
    (r#"{"name":"n","policies":{"p":{"onDismissal":{}}},"steps":[]}"#, Some("/policies/p/onDismissal")),
    (r#"{"name":"n","executor":{"paths":["a"]},"steps":[]}"#, Some("/executor")),
    (r#"{"name":"n","steps":[{"do":"confirm","id":"$nobody.id"}]}"#, Some("/steps")),
];

const NOT_JSON: &[&str] =
    &["", "{", "[1,]", "{\"a\":1,}", "01", "1.", "+1", "nul", "'a'", "\"\n\"", "\"\\ud800\"", "1 2", "\"\\u12\""];

fn verdict(wanted: bool, outcome: &matcher::Verdict, seen: &str) -> Result<(), String> {
    match (wanted, outcome) {
        (true, Err(why)) => Err(format!("should match {seen}: {why}")),
        (false, Ok(())) => Err(format!("should not match {seen}")),
        _ => Ok(()),
    }
}

fn reference(text: &str, becomes: Option<&str>) -> Result<(), String> {
    let lookup = |name: &str| if name == "i1" { Ok(json(I1)) } else { Err("unknown".to_string()) };
    match (refs::resolve(&json(text), &lookup), becomes) {
        (Ok(value), Some(wanted)) if value.same(&json(wanted)) => Ok(()),
        (Err(_), None) => Ok(()),
        (outcome, _) => Err(format!("{outcome:?}")),
    }
}

fn validity(scenario: &str, fault: Option<&str>) -> Result<(), String> {
    match (Scenario::parse(&json(scenario)), fault) {
        (Ok(_), None) => Ok(()),
        (Err(why), Some(place)) if why.starts_with(&format!("at {place}:")) => Ok(()),
        (Err(why), _) => Err(why),
        (Ok(_), Some(place)) => Err(format!("should be wrong at {place}")),
    }
}

fn numbers() -> Result<(), String> {
    let text = r#"[123456789012345678901234567890,1.50,-0,1e400]"#;
    let written = json(text).to_string();
    if written == text { Ok(()) } else { Err(written) }
}

fn mismatch() -> Result<(), String> {
    let said = matcher::check(&json(r#"{"a/b":[1,{"c":2}]}"#), &json(r#"{"a/b":[1,{"c":3}]}"#));
    let wanted = "at /a~1b/1/c expected 2, saw 3";
    if said.as_ref().is_err_and(|why| why == wanted) { Ok(()) } else { Err(format!("{said:?}")) }
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|why| Json::text(format!("{text}: {why}")))
}
