//! The schema subset: what passes the gate, the verdicts on values, defaults and the cutting of bound fields.
//! Source: system.md section 3 (AS-SCHEMA-001, AS-SCHEMA-003, AS-BIND-001, AS-BIND-002).
//! Data: the draft 2020-12 suite in `../shared/data/json-schema`.

use agent_surface::json::{self, Bounds, Value};
use agent_surface::schema::{Issue, MAX_ISSUES, Schema, SchemaError, SchemaErrorKind, cut};
use serde_json::json;
use std::path::Path;

fn read(text: &[u8]) -> Value {
    json::parse(text, &Bounds { bytes: 1 << 20, depth: 64 }).expect("JSON")
}

fn compiled(schema: Value) -> Schema {
    Schema::compile(&schema, "").unwrap_or_else(|error| panic!("{schema}: {error}"))
}

fn refused(schema: Value) -> SchemaError {
    let error = Schema::compile(&schema, "/at").map(drop).expect_err(&schema.to_string());
    assert_eq!(error.kind, SchemaErrorKind::Unsupported);
    assert!(error.message.chars().count() <= 300);
    error
}

fn issues(schema: Value, value: &Value) -> Vec<Issue> {
    compiled(schema).validate(value).err().unwrap_or_default()
}

fn valid(schema: Value, value: Value) -> bool {
    compiled(schema).validate(&value).is_ok()
}

/// Whether the suite's schema uses something outside the subset; told by looking at names, apart from the gate's code.
fn leaves_subset(schema: &Value) -> bool {
    const OUTSIDE: &[&str] = &[
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "prefixItems",
        "patternProperties",
        "propertyNames",
        "dependentSchemas",
        "unevaluatedProperties",
        "$comment",
        "$anchor",
    ];
    let Value::Object(keywords) = schema else { return true };
    keywords.iter().any(|(keyword, value)| match (keyword.as_str(), value) {
        ("properties" | "$defs", Value::Object(members)) => members.values().any(leaves_subset),
        ("items", schema) => leaves_subset(schema),
        ("anyOf", Value::Array(alternatives)) => alternatives.iter().any(leaves_subset),
        ("additionalProperties", value) => !value.is_boolean(),
        ("$ref", value) => !value.as_str().is_some_and(|reference| reference.starts_with("#/$defs/")),
        (keyword, _) => OUTSIDE.contains(&keyword),
    })
}

/// AS-SCHEMA-001, AS-SCHEMA-003.
#[test]
fn the_schema_suite_is_judged_as_it_expects_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/json-schema");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: {} is not there", folder.display());
        return;
    };
    let (mut inside, mut outside, mut verdicts) = (0, 0, 0);
    for file in files {
        let file = file.expect("file").path();
        let text = std::fs::read(&file).expect("text");
        // Read by both readers, since one of them keeps 1.0 as a double and the other does not.
        for groups in [read(&text), serde_json::from_slice(&text).expect("JSON")] {
            for group in groups.as_array().expect("groups") {
                let name = format!("{} {}", file.display(), group["description"]);
                match Schema::compile(&group["schema"], "") {
                    Ok(schema) => {
                        assert!(!leaves_subset(&group["schema"]), "{name} was let in");
                        inside += 1;
                        for test in group["tests"].as_array().expect("tests") {
                            let verdict = schema.validate(&test["data"]);
                            assert_eq!(
                                Value::Bool(verdict.is_ok()),
                                test["valid"],
                                "{name} {}: {verdict:?}",
                                test["description"]
                            );
                            verdicts += 1;
                        }
                    }
                    Err(error) => {
                        assert!(leaves_subset(&group["schema"]), "{name} was refused: {error}");
                        assert_eq!(error.kind, SchemaErrorKind::Unsupported, "{name}");
                        assert!(error.keyword.is_some() || group["schema"].is_boolean(), "{name}: {error:?}");
                        outside += 1;
                    }
                }
            }
        }
    }
    println!("{inside} groups inside with {verdicts} verdicts, {outside} refused; each counted for both readers");
    assert!(inside > 0 && outside > 0 && verdicts > 0, "{inside} {outside} {verdicts}");
}

/// AS-SCHEMA-001: keyword and place.
#[test]
fn what_leaves_the_subset_is_refused_by_name_and_place() {
    for (schema, keyword, path) in [
        (json!({"allOf": []}), "allOf", "/at/allOf"),
        (json!({"$comment": "x"}), "$comment", "/at/$comment"),
        (json!({"properties": {"a/b": {"oneOf": []}}}), "oneOf", "/at/properties/a~1b/oneOf"),
        (json!({"items": {"anyOf": [{}, {"not": {}}]}}), "not", "/at/items/anyOf/1/not"),
        (json!({"$defs": {"a": {"$anchor": "a"}}}), "$anchor", "/at/$defs/a/$anchor"),
        (json!({"properties": {"a": true}}), "properties", "/at/properties/a"),
        (json!({"items": false}), "items", "/at/items"),
        (json!({"anyOf": [{}, true]}), "anyOf", "/at/anyOf/1"),
        (json!({"additionalProperties": {}}), "additionalProperties", "/at/additionalProperties"),
        (json!({"format": "hostname"}), "format", "/at/format"),
    ] {
        let error = refused(schema);
        assert_eq!((error.keyword.as_deref(), error.path.as_str()), (Some(keyword), path));
    }
    for schema in [json!(true), json!([]), json!(null), json!("x")] {
        let error = refused(schema);
        assert_eq!((error.keyword, error.path), (None, "/at".to_owned()));
    }
}

/// AS-SCHEMA-001: a keyword of the subset with a value that it cannot have.
#[test]
fn malformed_keywords_are_refused_by_name() {
    for (keyword, values) in [
        ("type", vec![json!(5), json!("int"), json!([]), json!(["string", "string"]), json!([5]), json!(null)]),
        ("enum", vec![json!({}), json!("a")]),
        ("required", vec![json!("a"), json!([1]), json!(["a", "a"])]),
        ("properties", vec![json!([]), json!("a")]),
        ("$defs", vec![json!([])]),
        ("items", vec![json!([{}]), json!(1)]),
        ("anyOf", vec![json!([]), json!({}), json!(1)]),
        ("uniqueItems", vec![json!(1)]),
        ("minItems", vec![json!(-1), json!(1.5), json!("1")]),
        ("maxItems", vec![json!(-1)]),
        ("minLength", vec![json!(null)]),
        ("maxLength", vec![json!(0.5)]),
        ("minimum", vec![json!("1")]),
        ("exclusiveMaximum", vec![json!(true)]),
        ("multipleOf", vec![json!(0), json!(-2), json!("2")]),
        ("pattern", vec![json!(5), json!("("), json!("[z-a]")]),
        ("format", vec![json!(5)]),
        ("title", vec![json!(5)]),
        ("description", vec![json!([])]),
        ("deprecated", vec![json!("yes")]),
        ("examples", vec![json!("one")]),
        ("$schema", vec![json!(5)]),
        ("$id", vec![json!({})]),
        (
            "$ref",
            vec![
                json!(5),
                json!("#"),
                json!("#/properties/a"),
                json!("#/$defs/none"),
                json!("#/$defs/%zz"),
                json!("other.json"),
                json!("/$defs/a"),
            ],
        ),
    ] {
        for value in values {
            assert_eq!(refused(json!({keyword: value})).keyword.as_deref(), Some(keyword), "{keyword}: {value}");
        }
    }
}

#[test]
fn annotations_are_accepted_and_decide_nothing() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/a", "title": "A", "description": "B",
        "default": 5, "examples": [1, "x"], "deprecated": true,
    });
    for value in [json!(null), json!("x"), json!({"a": []})] {
        assert!(valid(schema.clone(), value));
    }
}

/// AS-SCHEMA-003: depth and size, before the gate and whatever the schema holds.
#[test]
fn depth_and_size_of_schemas_are_limited() {
    let nested = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({"items": inner}));
    let limits = |schema: &Value| Schema::check_limits(schema, "/at", 8, 16384);
    assert_eq!(limits(&nested(8)), Ok(()));
    let error = limits(&nested(9)).expect_err("too deep");
    assert_eq!((error.kind, error.path), (SchemaErrorKind::Limit, format!("/at{}", "/items".repeat(8))));
    // Members of $defs count from 1, properties and alternatives go on counting.
    assert_eq!(limits(&json!({"$defs": {"a": nested(8)}})), Ok(()));
    assert_eq!(limits(&json!({"items": {"$defs": {"a": nested(8)}}})), Ok(()));
    assert!(limits(&json!({"$defs": {"a": nested(9)}})).is_err());
    assert!(limits(&json!({"properties": {"a": nested(8)}})).is_err());
    assert!(limits(&json!({"anyOf": [{}, nested(8)]})).is_err());
    // Names of keywords are no schemas inside data.
    assert_eq!(limits(&json!({"const": nested(20), "properties": {"items": nested(7)}})), Ok(()));
    let sized = |bytes: usize| json!({"title": "x".repeat(bytes - r#"{"title":""}"#.len())});
    assert_eq!(limits(&sized(16384)), Ok(()));
    let error = limits(&sized(16385)).expect_err("too large");
    assert_eq!((error.kind, error.path.as_str()), (SchemaErrorKind::Limit, "/at"));
    // The deepest document that can be read does not harm the stack of either.
    let deepest = nested(500);
    assert!(limits(&deepest).is_err());
    assert!(Schema::compile(&deepest, "").is_ok());
}

/// AS-SCHEMA-001: references that never enter the value.
#[test]
fn references_in_a_circle_are_refused_unless_they_consume_input() {
    for schema in [
        json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$defs": {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
        json!({"$defs": {"a": {"anyOf": [{"anyOf": [{"$ref": "#/$defs/a/anyOf/0"}]}]}}}),
    ] {
        let error = refused(schema.clone());
        assert_eq!(error.keyword.as_deref(), Some("$ref"));
        let place = error.path.strip_prefix("/at").expect("prefix");
        assert!(json::lookup(&schema, place).is_some_and(Value::is_string), "{place} in {schema}");
    }
    let tree = json!({"$defs": {"node": {
        "type": "object", "required": ["value"], "additionalProperties": false,
        "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    }}, "$ref": "#/$defs/node"});
    assert!(valid(tree.clone(), json!({"value": 1, "children": [{"value": 2}, {"value": 3, "children": []}]})));
    let found = issues(tree, &json!({"value": 1, "children": [{"value": 2, "children": [{"value": "x"}]}]}));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path.as_str(), found[0].keyword.as_str()), ("/children/0/children/0/value", "type"));
    // Two ways to one definition are no circle.
    assert!(valid(json!({"$defs": {"a": {}}, "anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}), json!(1)));
}

#[test]
fn references_name_schemas_below_defs_in_the_nearest_resource() {
    let deep = json!({"$defs": {"a": {"properties": {"b": {"type": "null"}}}}, "$ref": "#/$defs/a/properties/b"});
    assert!(valid(deep.clone(), json!(null)));
    assert!(!valid(deep, json!(1)));
    // What a pointer finds must be a schema.
    assert!(Schema::compile(&json!({"$defs": {"a": {"const": {}}}, "$ref": "#/$defs/a/const"}), "").is_err());
    // A nested $id starts a resource of its own, where # means that resource.
    let nested = json!({"$defs": {"t": {"type": "null"}}, "properties": {"a": {
        "$id": "https://example.com/inner", "$defs": {"t": {"type": "string"}}, "properties": {"b": {"$ref": "#/$defs/t"}},
    }}});
    assert!(valid(nested.clone(), json!({"a": {"b": "x"}})));
    assert!(!valid(nested, json!({"a": {"b": null}})));
}

#[test]
fn every_violation_is_listed_in_order_with_pointer_and_keyword() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["id", "na/me"],
        "properties": {
            "id": {"type": "string", "minLength": 3, "format": "uuid"},
            "na/me": {"enum": ["a"], "const": "a"},
            "list": {"minItems": 3, "uniqueItems": true, "items": {"type": "integer", "minimum": 2, "multipleOf": 2}},
            "any": {"anyOf": [{"type": "null"}, {"maxLength": 1}]},
        },
    });
    let value = json!({"id": "s3", "list": [1, 1], "any": "s3cret", "s3cret~": 1});
    let found = issues(schema.clone(), &value);
    let places: Vec<_> = found.iter().map(|issue| (issue.path.as_str(), issue.keyword.as_str())).collect();
    assert_eq!(
        places,
        [
            ("", "required"),
            ("/any", "anyOf"),
            ("/id", "minLength"),
            ("/id", "format"),
            ("/list", "minItems"),
            ("/list", "uniqueItems"),
            ("/list/0", "minimum"),
            ("/list/0", "multipleOf"),
            ("/list/1", "minimum"),
            ("/list/1", "multipleOf"),
            ("/s3cret~0", "additionalProperties"),
        ]
    );
    assert!(found[0].message.contains("na/me"));
    assert!(found.iter().all(|issue| !issue.message.contains("s3") && !issue.message.is_empty()));
    assert_eq!(issues(schema, &value), found);
}

#[test]
fn issues_are_at_most_32_and_their_messages_at_most_300_characters() {
    let found = issues(json!({"items": {"type": "string"}}), &(0..100).collect());
    assert_eq!(found.len(), MAX_ISSUES);
    assert_eq!(found[31].path, "/31");
    let long = "é".repeat(5000);
    let found = issues(json!({"required": [long]}), &json!({}));
    assert!(found[0].message.chars().count() <= 300);
    let all = ["null", "boolean", "object", "array", "number", "integer"];
    let found = issues(json!({"type": all}), &json!("x"));
    assert!(found[0].message.chars().count() <= 300);
}

#[test]
fn numbers_are_compared_exactly() {
    let most = json!({"maximum": 9007199254740992_u64});
    assert!(valid(most.clone(), json!(9007199254740992_u64)));
    assert!(!valid(most.clone(), json!(9007199254740993_u64)));
    assert!(valid(most, json!(9007199254740992.0)));
    assert!(!valid(json!({"exclusiveMinimum": 18446744073709551614_u64}), json!(18446744073709551614_u64)));
    assert!(valid(json!({"exclusiveMinimum": 18446744073709551614_u64}), json!(18446744073709551615_u64)));
    assert!(valid(json!({"minimum": -9223372036854775808_i64}), json!(-1e3)));
    assert!(!valid(json!({"minimum": -9223372036854775808_i64}), json!(-1e19)));
    assert!(valid(json!({"minimum": 1.5, "maximum": 1e19}), json!(2)));
    assert!(!valid(json!({"minimum": -1.5}), json!(-2)));
    assert!(valid(json!({"minimum": -1.5}), json!(-1)));
    assert!(!valid(json!({"const": 9007199254740993_u64}), json!(9007199254740992_u64)));
    assert!(valid(json!({"type": "integer", "enum": [1]}), json!(1.0)));
    assert!(valid(json!({"type": "integer"}), json!(1e300)));
}

#[test]
fn multiples_are_those_of_the_decimal_digits() {
    for (divisor, value, multiple) in [
        (json!(0.01), json!(19.99), true),
        (json!(0.01), json!(19.995), false),
        (json!(0.1), json!(0.3), true),
        (json!(0.1), json!(-1e308), true),
        (json!(3), json!(-6), true),
        (json!(3), json!(-7), false),
        (json!(3), json!(18446744073709551615_u64), true),
        (json!(3), json!(18446744073709551614_u64), false),
        (json!(18446744073709551615_u64), json!(18446744073709551615_u64), true),
        (json!(1e300), json!(0), true),
        (json!(1e300), json!(1e299), false),
        (json!(1e-300), json!(7), true),
        (json!(5e-324), json!(1.5), true),
        (json!(1e300), json!(3e300), true),
        (json!(2.5), json!(1e-300), false),
    ] {
        assert_eq!(valid(json!({"multipleOf": divisor}), value.clone()), multiple, "{value} by {divisor}");
    }
}

#[test]
fn lengths_are_counted_in_code_points() {
    let schema = json!({"minLength": 2, "maxLength": 2});
    assert!(valid(schema.clone(), json!("é😂")));
    assert!(!valid(schema.clone(), json!("😂")));
    assert!(!valid(schema, json!("e\u{301}😂")));
}

#[test]
fn unique_items_holds_for_long_lists_as_for_short_ones() {
    for length in [3, 8, 9, 5000] {
        let mut items: Vec<Value> = (0..length).map(|i| json!({"a": i, "b": [i]})).collect();
        assert!(valid(json!({"uniqueItems": true}), json!(items)));
        items[length as usize - 1] = json!({"b": [0.0], "a": 0});
        assert!(!valid(json!({"uniqueItems": true}), json!(items)));
    }
}

#[test]
fn patterns_have_the_meaning_of_ecmascript() {
    for (pattern, text, matches) in [
        ("b", "abc", true),
        ("^b", "abc", false),
        ("^abc$", "abc\n", false),
        ("^\\d+$", "123", true),
        ("^\\d$", "\u{967}", false),
        ("^\\D$", "\u{967}", true),
        ("^\\w$", "é", false),
        ("^\\W$", "é", true),
        ("^\\s\\S$", "\u{feff}x", true),
        ("^\\s$", "\u{a0}", true),
        ("^\\s$", "\u{85}", false),
        ("^.$", "\u{2028}", false),
        ("^.$", "\u{85}", true),
        ("^.$", "😂", true),
        ("^[^a-c]$", "d", true),
        ("^[^a-c]$", "b", false),
        ("^[^a-zc]$", "x", false),
        ("^[a&&b]$", "&", true),
        ("^[[a]$", "[", true),
        ("^[\\w-]+$", "a-b", true),
        ("^[\\w-.]+$", "a-.b", true),
        ("^[\\]\\-\\\\]+$", "]-\\", true),
        ("^[\\b]$", "\u{8}", true),
        ("^[\\S\\s]$", "\n", true),
        ("^[^]$", "\n", true),
        ("[]", "", false),
        ("[]", "a", false),
        ("^[\\u{1F600}-\\u{1F64F}]$", "😂", true),
        ("^\\ud83d\\ude02$", "😂", true),
        ("^\\u00e9\\xe9\\cJ\\0\\/$", "éé\n\0/", true),
        ("\\bfoo\\b", "a foo b", true),
        ("\\bfoo\\b", "afoob", false),
        ("\\Boo\\B", "foo!", false),
        ("^(?:a|b)+?(?<name>c)(d)?$", "abac", true),
        ("^a{2}$", "aa", true),
        ("^a{2,}$", "a", false),
        ("^a{1,2}?$", "aaa", false),
        ("^a{,2}$", "a{,2}", true),
        ("^{\"}$", "{\"}", true),
        ("^[\\p{Lu}\\p{Nd}_]+$", "ÀΩ١_", true),
        ("^\\P{L}$", "a", false),
        ("^\\P{L}$", "1", true),
        ("^\\p{General_Category=Currency_Symbol}$", "€", true),
        ("^\\p{gc=LC}$", "ª", false),
        ("^\\p{Any}\\p{ASCII}\\P{ASCII}$", "éaé", true),
        ("^x*$", "(?i)", false),
        ("^a~#& $", "a~#& ", true),
        ("^$", "", true),
        ("", "anything", true),
    ] {
        assert_eq!(valid(json!({"pattern": pattern}), json!(text)), matches, "{pattern} on {text:?}");
    }
}

/// AS-SCHEMA-001: nothing that needs backtracking, nothing of another dialect, nothing that outgrows its bounds.
#[test]
fn patterns_that_a_linear_engine_cannot_run_are_refused() {
    let huge = "(?:a{1000}){1000}";
    let swelling = "[\\p{L}]".repeat(200);
    let deep = format!("{}a{}", "(".repeat(1000), ")".repeat(1000));
    for pattern in [
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?<!a)",
        "(a)\\1",
        "(?<n>a)\\k<n>",
        "(?i)a",
        "(?i:a)",
        "a**",
        "*a",
        "a|*",
        "(*a)",
        "^*",
        "a{2}{3}",
        "{2}",
        "(",
        ")",
        "(a",
        "a)",
        "[a",
        "[b-a]",
        "\\",
        "\\a",
        "\\A",
        "\\z",
        "\\_é\\é",
        "\\x1",
        "\\xgg",
        "\\u12",
        "\\u{110000}",
        "\\u{}",
        "\\u{+1}",
        "\\ud83d",
        "\\ude02",
        "\\c1",
        "\\01",
        "\\p{Script=Greek}",
        "\\p{Alphabetic}",
        "\\p{No_Such}",
        "\\pL",
        "\\p{L",
        "(?<n",
        "(?P<n>a)",
        "a{2,1}",
        "a{99999999999}",
        "(((a{0}){9999}){9999}){9999}",
        huge,
        &swelling,
        &deep,
    ] {
        assert_eq!(refused(json!({"pattern": pattern})).keyword.as_deref(), Some("pattern"), "{pattern}");
    }
    // Stopped while it is rewritten, before the engine has to look at it.
    assert!(refused(json!({"pattern": swelling})).message.contains("character classes"));
}

#[test]
fn formats_are_asserted_on_strings_alone() {
    for (format, texts, others) in [
        (
            "date-time",
            vec!["2024-02-29T23:59:60Z", "0000-01-01T00:00:00-00:00"],
            vec!["2024-02-29", "2024-02-29T23:59:59.Z", "2024-02-29 23:59:59Z", "2024-02-29T23:59:59"],
        ),
        ("date", vec!["2000-02-29"], vec!["1900-02-29", "2000-2-29"]),
        ("uuid", vec!["2EB8AA08-aa98-11ea-b4aa-73b441d16380"], vec!["{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"]),
        (
            "email",
            vec!["a@b", "\"\\\"@\"@b.c", "a@[IPv6:::ffff:1.2.3.4]"],
            vec![
                "a@",
                "@b",
                "a@b..c",
                "a@-b",
                "a@b-",
                "a@b-.c",
                "a@b.",
                "é@b",
                "a@[1.2.3]",
                "a@[IPv6:1.2.3.4]",
                "\"a\"b@c",
                "\"@b",
                "\"a\\\"@b",
                "a b@c",
                "a@b\n",
                "a@[x:y]",
            ],
        ),
        (
            "uri",
            vec!["a:", "http://", "urn:a:b?c?d#e?/", "http://a@b:/", "http://[v1.a:b]:8/", "file:///x", "x:/a//b"],
            vec![
                "",
                ":",
                "a",
                "http://a:b:c",
                "http://[::1",
                "http://[::1]x",
                "http://a@b@c",
                "http://[v.a]",
                "http://[v1.]",
                "http://[v1.%41]",
                "a:b#c#d",
                "a:é",
                "a:%",
                "http://[::1%25eth0]",
            ],
        ),
    ] {
        let schema = compiled(json!({"format": format}));
        for text in texts {
            assert!(schema.validate(&json!(text)).is_ok(), "{format} {text}");
        }
        for text in others {
            assert!(schema.validate(&json!(text)).is_err(), "{format} {text}");
        }
        assert!(schema.validate(&json!(7)).is_ok());
    }
    let long = format!("{}@b.c", "a".repeat(65));
    assert!(!valid(json!({"format": "email"}), json!(long)));
}

/// Schemas whose plain evaluation takes 2^n steps end soon, with a verdict or with an issue, never with silence.
#[test]
fn work_is_bounded_whatever_the_schema_and_the_value() {
    let chain = |level: fn(String) -> Value| {
        let mut defs: Vec<(String, Value)> =
            (0..200).map(|i| (format!("d{i}"), level(format!("#/$defs/d{}", i + 1)))).collect();
        defs.push(("d200".to_owned(), json!({"type": "string"})));
        json!({"$ref": "#/$defs/d0", "$defs": serde_json::Map::from_iter(defs)})
    };
    let doubling = compiled(chain(|next| json!({"anyOf": [{"$ref": next}, {"$ref": next}]})));
    assert!(doubling.validate(&json!("x")).is_ok());
    let found = doubling.validate(&json!(7)).expect_err("not a string");
    assert_eq!(found.last().map(|issue| issue.keyword.as_str()), Some("$ref"));

    let twice = compiled(json!({"$defs": {
        "a": {"properties": {"n": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/b"},
        "b": {"properties": {"n": {"$ref": "#/$defs/a"}}},
    }, "$ref": "#/$defs/a"}));
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"n": inner}));
    assert!(twice.validate(&nested(10)).is_ok());
    assert!(twice.validate(&nested(60)).is_err());

    // The deepest value that can be read, and a long chain of definitions at every level of it.
    let list = compiled(json!({"$defs": {"l": {"items": {"$ref": "#/$defs/l"}}}, "$ref": "#/$defs/l"}));
    let deepest = (0..json::MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
    assert!(list.validate(&deepest).is_ok());
    let mut long = chain(|next| json!({"type": "array", "$ref": next}));
    long["$defs"]["d200"] = json!({"items": {"$ref": "#/$defs/d0"}});
    assert!(compiled(long.clone()).validate(&json!([[]])).is_ok());
    assert!(compiled(long).validate(&deepest).is_err());
}

#[test]
fn defaults_fill_absent_properties_through_items_and_references() {
    let schema = compiled(json!({
        "$defs": {"unit": {"type": "string", "default": "mm"}, "size": {"properties": {"unit": {"$ref": "#/$defs/unit"}}}},
        "properties": {
            "limit": {"type": "integer", "default": 10},
            "options": {"default": {"b": 1}, "properties": {"a": {"default": true}, "b": {"default": 2}}},
            "sizes": {"items": {"$ref": "#/$defs/size"}},
            "none": {"type": "string"},
            "invalid": {"type": "string", "default": 5},
        },
    }));
    let mut value = json!({"limit": null, "sizes": [{}, {"unit": "m"}, 3]});
    assert_eq!(schema.apply_defaults(&mut value), Ok(()));
    let filled = json!({"limit": null, "options": {"a": true, "b": 1}, "sizes": [{"unit": "mm"}, {"unit": "m"}, 3], "invalid": 5});
    assert_eq!(value, filled);
    assert_eq!(schema.apply_defaults(&mut value), Ok(()));
    assert_eq!(value, filled);
    // A default is an annotation: it fills nothing by itself and is not forced on values that are no objects.
    assert!(schema.validate(&json!({})).is_ok());
    let mut text = json!("x");
    assert_eq!(schema.apply_defaults(&mut text), Ok(()));
    assert_eq!(text, json!("x"));
}

#[test]
fn defaults_never_swell_without_bound() {
    let recursive = compiled(
        json!({"$defs": {"n": {"default": {}, "properties": {"l": {"$ref": "#/$defs/n"}, "r": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}),
    );
    let mut value = json!({"l": {}});
    assert_eq!(recursive.apply_defaults(&mut value), Ok(()));
    assert_eq!(value, json!({"l": {"l": {}, "r": {}}, "r": {}}));

    let copied = compiled(json!({"items": {"properties": {"text": {"default": "x".repeat(10_000)}}}}));
    let mut few: Value = (0..100).map(|_| json!({})).collect();
    assert_eq!(copied.apply_defaults(&mut few), Ok(()));
    let mut many: Value = (0..10_000).map(|_| json!({})).collect();
    assert_eq!(copied.apply_defaults(&mut many).expect_err("too much").len(), 1);

    let mut doubling: Vec<(String, Value)> = (0..100)
        .map(|i| {
            let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
            (format!("d{i}"), json!({"default": {}, "properties": {"l": next, "r": next}}))
        })
        .collect();
    doubling.push(("d100".to_owned(), json!({})));
    let doubling = compiled(json!({"$ref": "#/$defs/d0", "$defs": serde_json::Map::from_iter(doubling)}));
    assert!(doubling.apply_defaults(&mut json!({})).is_err());
}

#[test]
fn declared_properties_are_known_through_references_and_alternatives() {
    let schema = compiled(json!({
        "$defs": {"base": {"properties": {"tenant": {"properties": {"deep": {}}}}}, "unused": {"properties": {"other": {}}}},
        "$ref": "#/$defs/base", "properties": {"id": {}}, "anyOf": [{"properties": {"alternative": {}}}, {}],
    }));
    for name in ["id", "tenant", "alternative"] {
        assert!(schema.declares(name), "{name}");
    }
    for name in ["deep", "other", "properties", ""] {
        assert!(!schema.declares(name), "{name}");
    }
}

/// AS-BIND-001: locked fields vanish. AS-BIND-002: overridable ones stay, optional.
#[test]
fn bound_fields_are_cut_from_the_agent_facing_schema() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["tenant", "name", "region"],
        "properties": {"tenant": {"type": "string"}, "name": {"properties": {"tenant": {}}, "required": ["tenant"]}, "region": {"type": "string"}},
        "default": {"tenant": "t", "name": "n"}, "examples": [{"tenant": "t", "region": "r"}, "tenant"],
    });
    let expected = json!({
        "type": "object", "additionalProperties": false, "required": ["name"],
        "properties": {"name": {"properties": {"tenant": {}}, "required": ["tenant"]}, "region": {"type": "string"}},
        "default": {"name": "n"}, "examples": [{"region": "r"}, "tenant"],
    });
    assert_eq!(cut(&schema, &["tenant"], &["region"]), expected);
    assert_eq!(cut(&schema, &[], &[]), schema);
    let bare = cut(&schema, &["tenant", "name", "region", "unknown"], &[]);
    assert_eq!((bare.get("required"), &bare["properties"]), (None, &json!({})));
}

/// AS-BIND-001: also where the top level is put together from definitions and alternatives.
#[test]
fn bound_fields_are_cut_through_references_and_alternatives() {
    let schema = json!({
        "$defs": {
            "args": {"properties": {"tenant": {"$ref": "#/$defs/id"}, "parent": {"$ref": "#/$defs/other"}}, "required": ["tenant"]},
            "id": {"type": "string"},
            "other": {"properties": {"tenant": {}}},
            "same": {"properties": {"x": {}}},
            "cut1": {"type": "null"},
        },
        "$ref": "#/$defs/args",
        "anyOf": [{"required": ["tenant"]}, {"$ref": "#/$defs/args"}, {"$ref": "#/$defs/same"}, {"$ref": "#/$defs/cut1"}],
    });
    let expected = json!({
        "$defs": {
            "cut2": {"properties": {"parent": {"$ref": "#/$defs/other"}}},
            "other": {"properties": {"tenant": {}}},
            "same": {"properties": {"x": {}}},
            "cut1": {"type": "null"},
        },
        "$ref": "#/$defs/cut2",
        "anyOf": [{}, {"$ref": "#/$defs/cut2"}, {"$ref": "#/$defs/same"}, {"$ref": "#/$defs/cut1"}],
    });
    let result = cut(&schema, &["tenant"], &[]);
    assert_eq!(result, expected);
    assert!(!compiled(result).declares("tenant"));
    // A definition that the value meets again further down keeps its fields there.
    let recursive =
        json!({"$defs": {"n": {"properties": {"tenant": {}, "child": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"});
    let result = cut(&recursive, &["tenant"], &[]);
    assert_eq!(result["$defs"]["n"], recursive["$defs"]["n"]);
    assert_eq!(result["$defs"]["cut1"], json!({"properties": {"child": {"$ref": "#/$defs/n"}}}));
    assert_eq!(result["$ref"], "#/$defs/cut1");
}
