//! Strict reading of JSON: what is refused, where, and that everything else is read right.
//! Source: system.md section 7, RFC 8259. Data: the parsing suite in `../shared/data/json-parsing`.

use agent_surface::json::{self, Bounds, JsonError, JsonErrorKind, MAX_DEPTH, Value};
use std::path::Path;

const BOUNDS: Bounds = Bounds { bytes: 1 << 20, depth: 64 };

fn read(text: &str) -> Result<Value, JsonError> {
    json::parse(text.as_bytes(), &BOUNDS)
}

fn refusal(text: &str) -> (JsonErrorKind, String, usize) {
    let error = read(text).expect_err(text);
    (error.kind, error.path, error.offset)
}

fn shared(file: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(file);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("skipped: {} is not there", path.display());
    }
    text
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for digit in text.bytes().take_while(|b| *b != b'=') {
        let digit = DIGITS.iter().position(|d| *d == digit).expect("base64 digit") as u32;
        bits = bits << 6 | digit;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

#[test]
fn the_parsing_suite_is_read_as_it_expects() {
    let Some(cases) = shared("json-parsing/cases.jsonl") else { return };
    let (mut accepted, mut rejected, mut duplicates, mut either) = (0, 0, 0, 0);
    for line in cases.lines() {
        let case = read(line).expect("a case");
        let name = case["name"].as_str().expect("name");
        let text = base64(case["base64"].as_str().expect("base64"));
        let answer = json::parse(&text, &BOUNDS);
        match case["expect"].as_str() {
            // Accepted by the RFC's grammar, refused here on purpose.
            Some("accept") if name.starts_with("y_object_duplicated_key") => {
                assert_eq!(answer.expect_err(name).kind, JsonErrorKind::DuplicateKey, "{name}");
                duplicates += 1;
            }
            Some("accept") => {
                let other: Value = serde_json::from_slice(&text).expect(name);
                assert!(json::equal(&answer.expect(name), &other), "{name}");
                accepted += 1;
            }
            Some("reject") => {
                assert!(answer.is_err(), "{name}");
                rejected += 1;
            }
            Some("either") => {
                // What is taken must survive being written and read again.
                if let Ok(value) = answer {
                    assert_eq!(read(&json::canonical(&value)).as_ref(), Ok(&value), "{name}");
                }
                either += 1;
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(duplicates, 2);
    assert!(accepted > 50 && rejected > 100 && either > 10, "{accepted} {rejected} {either}");
}

#[test]
fn duplicate_keys_are_refused_at_the_second_one() {
    assert_eq!(refusal(r#"{"a":1,"a":1}"#), (JsonErrorKind::DuplicateKey, "/a".into(), 7));
    assert_eq!(refusal(r#"[{"x/y":{"b":1, "\u0062":2}}]"#), (JsonErrorKind::DuplicateKey, "/0/x~1y/b".into(), 16));
    assert!(read(r#"[{"a":1},{"a":1,"A":2,"b":{"a":3}}]"#).is_ok());
}

#[test]
fn lone_surrogates_are_refused_and_pairs_are_read() {
    for text in [r#"["\ud800"]"#, r#"["\udc00"]"#, r#"["\ud800\ud800"]"#, r#"["\ud800x"]"#, r#"["\ud800\n"]"#] {
        assert_eq!(refusal(text), (JsonErrorKind::LoneSurrogate, "/0".into(), 2), "{text}");
    }
    assert_eq!(refusal(r#"{"\udead":1}"#).0, JsonErrorKind::LoneSurrogate);
    assert_eq!(read(r#""\ud83d\ude02\u00e9""#), Ok("😂é".into()));
    assert_eq!(refusal(r#""\ud83d\uzzzz""#).0, JsonErrorKind::Syntax);
    assert_eq!(refusal("\"\\u12").0, JsonErrorKind::Syntax);
}

#[test]
fn depth_is_bounded_whatever_the_document_holds() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(64)).is_ok());
    let (kind, path, offset) = refusal(&nested(65));
    assert_eq!((kind, path, offset), (JsonErrorKind::Depth, "/0".repeat(64), 64));
    assert_eq!(json::parse(b"[]", &Bounds { bytes: 9, depth: 0 }).expect_err("deep").kind, JsonErrorKind::Depth);
    assert_eq!(json::parse(b"7", &Bounds { bytes: 9, depth: 0 }), Ok(7.into()));
    let objects = r#"{"a":"#.repeat(100_000);
    assert_eq!(refusal(&objects).0, JsonErrorKind::Depth);
    // No bound lifts the depth past what the stack is good for.
    let generous = Bounds { bytes: usize::MAX, depth: usize::MAX };
    assert_eq!(json::parse("[".repeat(1 << 20).as_bytes(), &generous).expect_err("deep").offset, MAX_DEPTH);
    assert!(json::parse(nested(MAX_DEPTH).as_bytes(), &generous).is_ok());
}

#[test]
fn size_is_bounded_before_anything_is_read() {
    assert!(json::parse(b"[1,2]", &Bounds { bytes: 5, depth: 1 }).is_ok());
    let error = json::parse(b"[1,\xff", &Bounds { bytes: 3, depth: 1 }).expect_err("too long");
    assert_eq!((error.kind, error.offset), (JsonErrorKind::Size, 3));
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    let error = json::parse(b"[\"\xff\"]", &BOUNDS).expect_err("not UTF-8");
    assert_eq!((error.kind, error.offset), (JsonErrorKind::Utf8, 2));
    assert_eq!(refusal("\u{feff}1").0, JsonErrorKind::Syntax);
}

#[test]
fn integers_are_exact_within_64_bits_and_never_lossy_beyond() {
    for exact in ["0", "-1", "9007199254740993", "9223372036854775808", "18446744073709551615", "-9223372036854775808"]
    {
        let value = read(exact).expect(exact);
        assert_eq!(value.to_string(), exact);
        assert_eq!(json::canonical(&value), exact);
    }
    // The ECMAScript text of a double is read back as that double.
    for double in ["18446744073709552000", "-9223372036854776000", "100000000000000000000", "123456789012345680000"] {
        assert_eq!(json::canonical(&read(double).expect(double)), double);
    }
    for lossy in ["18446744073709551616", "-9223372036854775809", "123456789012345678901", "1000000000000000000000"] {
        assert_eq!(refusal(lossy).0, JsonErrorKind::Number, "{lossy}");
    }
}

#[test]
fn one_number_has_one_form_however_it_is_written() {
    for (text, form) in [
        ("-0", "0"),
        ("-0.0", "0"),
        ("-0e9", "0"),
        ("1e-400", "0"),
        ("1.0", "1"),
        ("1e3", "1000"),
        ("-2.50", "-2.5"),
        ("1E30", "1e+30"),
        ("9007199254740992.0", "9007199254740992"),
        ("1152921504606846976.0", "1152921504606847000"),
        ("5e-324", "5e-324"),
    ] {
        let value = read(text).expect(text);
        assert_eq!(json::canonical(&value), form, "{text}");
        assert_eq!(read(form), Ok(value), "{text}");
    }
    for infinite in ["1e309", "-1e309", "1e99999999999"] {
        assert_eq!(refusal(infinite).0, JsonErrorKind::Number);
    }
    for malformed in ["01", "-", "1.", ".5", "+1", "1e", "1e+", "0x1", "-01", "1.e3", "NaN", "Infinity"] {
        assert_eq!(refusal(malformed).0, JsonErrorKind::Syntax, "{malformed}");
    }
}

#[test]
fn an_error_says_where() {
    for (text, path, offset) in [
        ("", "", 0),
        ("[1,]", "/1", 3),
        ("[1 2]", "/1", 3),
        (r#"{"a":}"#, "/a", 5),
        (r#"{"a":1,}"#, "", 7),
        (r#"{"a" 1}"#, "", 5),
        (r#"{"a~b":[true,{"c":nul}]}"#, "/a~0b/1/c", 18),
        ("1 2", "", 2),
        ("\"a\tb\"", "", 2),
        ("\"abc", "", 4),
        (r#""\q""#, "", 1),
    ] {
        assert_eq!(refusal(text), (JsonErrorKind::Syntax, path.to_owned(), offset), "{text}");
    }
}

/// The same text, damaged in a seeded way, read by us and by another reader: we may only be stricter, never different.
#[test]
fn damaged_documents_are_never_read_differently() {
    const SOURCE: &str = r#"{"zeta":[1,-2.5e+3,true,false,null,"Žluťoučký \u00e9\n\"😂\\"],"a":{"b":{"c":[[],{}]},"s3cret":"s3cret"},"n":12345678901}"#;
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let (mut equal, mut stricter, mut refused) = (0, 0, 0);
    for _ in 0..20_000 {
        let mut text = SOURCE.as_bytes().to_vec();
        for _ in 0..=next(2) {
            let (at, from) = (next(text.len()), next(SOURCE.len()));
            match next(3) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, SOURCE.as_bytes()[from]),
                _ => text[at] = SOURCE.as_bytes()[from],
            }
        }
        match (json::parse(&text, &BOUNDS), serde_json::from_slice::<Value>(&text)) {
            (Ok(ours), Ok(theirs)) => {
                assert!(json::equal(&ours, &theirs));
                equal += 1;
            }
            (Err(error), theirs) => {
                assert!(error.message.chars().count() <= 300 && !error.message.contains("s3cret"));
                if theirs.is_ok() {
                    assert_eq!(error.kind, JsonErrorKind::DuplicateKey);
                    stricter += 1;
                } else {
                    refused += 1;
                }
            }
            (Ok(_), Err(_)) => panic!("{}", String::from_utf8_lossy(&text)),
        }
    }
    assert!(equal > 1000 && refused > 1000, "{equal} {stricter} {refused}");
}
