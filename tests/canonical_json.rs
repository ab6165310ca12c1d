//! The canonical form, equality under it, and the digests made of it.
//! Source: system.md section 7 (AS-CONFIRM-002, AS-BINDING-001, AS-BINDING-002, AS-BINDING-004), RFC 8785.
//! Data: documents and 25,000 numbers in `../shared/data/jcs`.

use agent_surface::json::{self, Bounds, Map, Number, Value};
use serde_json::json;
use std::path::{Path, PathBuf};

fn read(text: &str) -> Value {
    json::parse(text.as_bytes(), &Bounds { bytes: 1 << 20, depth: 64 }).expect(text)
}

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/jcs").join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
    }
    path.exists().then_some(path)
}

#[test]
fn documents_of_rfc_8785_have_their_canonical_form() {
    let (Some(inputs), Some(outputs)) = (shared("input"), shared("output")) else { return };
    let mut documents = 0;
    for input in std::fs::read_dir(inputs).expect("inputs") {
        let input = input.expect("input").path();
        let text = std::fs::read_to_string(&input).expect("input");
        let expected = std::fs::read_to_string(outputs.join(input.file_name().expect("name"))).expect("output");
        assert_eq!(json::canonical(&read(&text)), expected.trim_end(), "{}", input.display());
        documents += 1;
    }
    assert!(documents >= 6);
}

#[test]
fn doubles_have_their_ecmascript_text_and_are_read_back_from_it() {
    let Some(numbers) = shared("es6-numbers.csv") else { return };
    let text = std::fs::read_to_string(numbers).expect("numbers");
    let mut numbers = 0;
    for line in text.lines().skip(1) {
        let (bits, expected) = line.split_once(',').expect("two columns");
        let double = f64::from_bits(u64::from_str_radix(bits, 16).expect("bits"));
        let value = Value::Number(Number::from_f64(double).expect("finite"));
        assert_eq!(json::canonical(&value), expected, "{bits}");
        let parsed = read(expected);
        assert_eq!(json::canonical(&parsed), expected, "{bits}");
        assert!(json::equal(&parsed, &value), "{bits}");
        numbers += 1;
    }
    assert_eq!(numbers, 25_000);
}

/// AS-CONFIRM-002: two different values never share an encoding.
#[test]
fn integers_beyond_2_to_53_keep_their_digits() {
    let texts =
        ["9007199254740991", "9007199254740992", "9007199254740993", "18446744073709551614", "18446744073709551615"];
    for text in texts {
        assert_eq!(json::canonical(&read(text)), text);
    }
    assert!(!json::equal(&read("9007199254740992"), &read("9007199254740993")));
    assert_ne!(
        json::request_digest("view:a.b", &read("[9007199254740992]")),
        json::request_digest("view:a.b", &read("[9007199254740993]"))
    );
}

#[test]
fn keys_are_sorted_by_utf16_code_unit() {
    // U+1F602 is written with surrogates from D83D and so comes before U+E000 and U+FB33, unlike in UTF-8 order.
    let value = read(r#"{"\ufb33":1,"😂":2,"\ue000":3,"é":4,"a":5,"aa":6,"":7,"a😂":8,"a\ufb33":9,"퟿":10}"#);
    let Value::Object(members) = &value else { panic!() };
    let mut keys: Vec<&String> = members.keys().collect();
    keys.sort_by_key(|key| key.encode_utf16().collect::<Vec<_>>());
    let sorted: Vec<String> = keys.into_iter().map(|key| format!("\"{key}\":{}", members[key])).collect();
    assert_eq!(json::canonical(&value), format!("{{{}}}", sorted.join(",")));
    assert!(json::canonical(&value).find('😂') < json::canonical(&value).find('\u{e000}'));
}

#[test]
fn strings_are_escaped_as_little_as_possible() {
    for code in 0..0x20u8 {
        let text = format!("0123456{}89abcdefgh", code as char);
        let escaped = match code {
            8 => "\\b".to_owned(),
            9 => "\\t".to_owned(),
            10 => "\\n".to_owned(),
            12 => "\\f".to_owned(),
            13 => "\\r".to_owned(),
            code => format!("\\u{code:04x}"),
        };
        let mut out = Vec::new();
        json::write_string(&text, &mut out);
        assert_eq!(String::from_utf8(out), Ok(format!("\"0123456{escaped}89abcdefgh\"")));
    }
    // In the last bytes of a text, which are not looked at eight at a time.
    let mut out = Vec::new();
    json::write_string("ab\u{1f}\u{20}", &mut out);
    assert_eq!(out, b"\"ab\\u001f \"");
    let mut out = Vec::new();
    json::write_string("/\"\\\u{7f}\u{80}\u{2028}é😂", &mut out);
    assert_eq!(String::from_utf8(out), Ok("\"/\\\"\\\\\u{7f}\u{80}\u{2028}é😂\"".to_owned()));
}

#[test]
fn nothing_is_unicode_normalized() {
    assert!(!json::equal(&read(r#""\u00c5""#), &read(r#""A\u030a""#)));
}

#[test]
fn members_that_are_absent_and_null_differ() {
    assert!(!json::equal(&json!({"a": null}), &json!({})));
    assert!(!json::equal(&json!({"a": null}), &json!({"b": null})));
    assert!(!json::equal(&json!([1, 2]), &json!([2, 1])));
    assert!(!json::equal(&json!(0), &json!(false)));
    assert!(json::equal(&json!({"a": [1.0, -0.0]}), &json!({"a": [1, 0]})));
}

/// Values that are hard to write: edges of numbers, keys past U+FFFF, controls, nesting.
struct Generator(u64);

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn text(&mut self) -> String {
        const CHARS: &[char] = &[
            'a',
            'b',
            'é',
            '"',
            '\\',
            '\n',
            '\0',
            '\u{7f}',
            '\u{d7ff}',
            '\u{e000}',
            '\u{fb33}',
            '\u{ffff}',
            '😂',
            '\u{10ffff}',
            '/',
            '~',
        ];
        (0..self.below(12)).map(|_| CHARS[self.below(CHARS.len() as u64) as usize]).collect()
    }

    fn number(&mut self) -> Number {
        let wide = self.below(u64::MAX);
        match self.below(6) {
            0 => Number::from(self.below(4)),
            1 => Number::from(wide),
            2 => Number::from(wide as i64),
            3 => Number::from_f64(self.below(8) as f64 / 2.0).expect("finite"),
            4 => Number::from_f64((1u64 << 60) as f64 * (wide % 32) as f64).expect("finite"),
            _ => Number::from_f64(f64::from_bits(wide)).unwrap_or(Number::from(0)),
        }
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 4 } else { 6 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 => Value::Number(self.number()),
            3 => Value::String(self.text()),
            4 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::Object((0..self.below(5)).map(|_| (self.text(), self.value(depth - 1))).collect::<Map<_, _>>()),
        }
    }
}

#[test]
fn canonical_text_is_read_back_as_the_same_value() {
    let mut generator = Generator(1);
    for _ in 0..20_000 {
        let made = generator.value(4);
        let text = json::canonical(&made);
        assert!(json::equal(&read(&text), &made), "{text}");
        // For what was read, the stored form itself is canonical.
        let value = read(&made.to_string());
        assert_eq!(read(&json::canonical(&value)), value, "{text}");
        assert_eq!(json::canonical(&value), text);
    }
}

#[test]
fn values_are_equal_exactly_when_their_canonical_forms_are() {
    let mut generator = Generator(2);
    let values: Vec<Value> = (0..1_200).map(|_| generator.value(1)).collect();
    let texts: Vec<String> = values.iter().map(json::canonical).collect();
    let mut pairs = 0;
    for (a, text_a) in values.iter().zip(&texts) {
        for (b, text_b) in values.iter().zip(&texts) {
            assert_eq!(json::equal(a, b), text_a == text_b, "{text_a} {text_b}");
            pairs += usize::from(text_a == text_b && !std::ptr::eq(a, b));
        }
    }
    assert!(pairs > 100, "{pairs}");
}

#[test]
fn hashes_match_published_vectors() {
    assert_eq!(json::fnv1a64(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(json::fnv1a64(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(json::fnv1a64(b"foobar"), 0x8594_4171_f739_67e8);
    let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(json::digest(b"abc"), abc);
    assert_eq!(json::sha256(b"abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
}

/// AS-BINDING-001, AS-BINDING-002, AS-BINDING-004.
#[test]
fn digests_of_requests_and_outputs_are_those_of_canonical_text() {
    let input = read(r#"{"b":[1.0,"\u00e9\n"],"a":null}"#);
    let text = "{\"capabilityId\":\"view:devices.table.select\",\"input\":{\"a\":null,\"b\":[1,\"é\\n\"]}}";
    assert_eq!(json::request_digest("view:devices.table.select", &input), json::digest(text.as_bytes()));
    let quoted = json!({"capabilityId": "domain:a\"b", "input": {}});
    assert_eq!(json::request_digest("domain:a\"b", &json!({})), json::digest_value(&quoted));
    assert_eq!(json::digest_value(&input), json::digest("{\"a\":null,\"b\":[1,\"é\\n\"]}".as_bytes()));
}

#[test]
fn pointers_find_what_they_name() {
    let value = json!({"a/b": [{"m~n": 7}], "": 8});
    let pointer = format!("/{}/0/{}", json::escape_pointer("a/b"), json::escape_pointer("m~n"));
    assert_eq!(pointer, "/a~1b/0/m~0n");
    assert_eq!(json::lookup(&value, &pointer), Some(&json!(7)));
    assert_eq!(json::lookup(&value, "/"), Some(&json!(8)));
    assert_eq!(json::lookup(&value, ""), Some(&value));
    for nothing in ["a", "/a/b", "/a~1b/00", "/a~1b/-", "/a~1b/1"] {
        assert_eq!(json::lookup(&value, nothing), None, "{nothing}");
    }
}
