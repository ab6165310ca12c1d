//! The canonical form (RFC 8785, with exact 64-bit integers) and equality under it.

use super::{Map, Value, number, scan};
use std::cmp::Ordering;

/// The canonical text of a value.
pub fn canonical(value: &Value) -> String {
    let mut out = Vec::with_capacity(128);
    write_canonical(value, &mut out);
    // Only whole strings, ASCII punctuation and digits were written.
    String::from_utf8(out).unwrap_or_default()
}

/// Appends the canonical text of a value. Recurses as deep as the value, which [`parse`](super::parse) bounds.
pub fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => number::write(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            if is_ordered(members) {
                write_members(members.iter(), out);
            } else {
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_by(|a, b| utf16_order(a.0, b.0));
                write_members(sorted.into_iter(), out);
            }
            out.push(b'}');
        }
    }
}

fn write_members<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Vec<u8>) {
    for (i, (key, value)) in members.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        write_canonical(value, out);
    }
}

/// The map's own order is UTF-8 order, which differs from UTF-16 order only past U+FFFF.
fn is_ordered(members: &Map<String, Value>) -> bool {
    members.keys().is_sorted_by(|a, b| utf16_order(a, b) == Ordering::Less)
}

/// UTF-16 code unit order, without decoding: supplementary characters (lead bytes F0 and up) are written with
/// surrogates, which sort below U+E000..U+FFFF (lead bytes EE and EF).
fn utf16_order(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| if matches!(byte, 0xEE | 0xEF) { byte | 0x10 } else { byte };
    let differ = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    differ.map_or_else(|| a.len().cmp(&b.len()), |(a, b)| rank(a).cmp(&rank(b)))
}

/// Appends a string in quotes, escaped as RFC 8785 section 3.2.2.2 has it: as little as possible, in lower case.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    // Most texts need no escape: then this is the only time that the output grows.
    out.reserve(rest.len() + 2);
    out.push(b'"');
    loop {
        let (plain, special) = rest.split_at(scan::plain_prefix(rest));
        out.extend_from_slice(plain);
        let Some((&byte, after)) = special.split_first() else { break };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            _ => out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), hex_digit(byte & 0xf)]),
        }
        rest = after;
    }
    out.push(b'"');
}

pub(super) fn hex_digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}

/// Whether two values have the same canonical form.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => number::equal(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}
