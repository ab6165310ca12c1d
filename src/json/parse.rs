//! Strict RFC 8259 reader: bounded in bytes and depth, no duplicate keys, no lone surrogates, no lossy numbers.

use super::{Map, Value, escape_pointer, number, scan};
use serde_json::map::Entry;
use std::fmt;

/// The depth that no bound exceeds, so that walking a parsed value stays within a small stack.
pub const MAX_DEPTH: usize = 512;

/// What a document may measure. `depth` counts nested arrays and objects (a scalar has depth 0); more than
/// [`MAX_DEPTH`] means [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub bytes: usize,
    pub depth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    Utf8,
    Syntax,
    DuplicateKey,
    LoneSurrogate,
    /// Not finite, or an integer that neither 64 bits nor a double hold exactly.
    Number,
    Depth,
    Size,
}

/// Why a document was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    pub kind: JsonErrorKind,
    /// Imperative, at most 300 characters, echoes nothing of the document.
    pub message: String,
    /// JSON Pointer of the place; empty at the root, and where the document was not read (UTF-8, size).
    pub path: String,
    /// Byte offset of the place.
    pub offset: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}

/// Reads one document. Errors: [`JsonError`], the first in the order size, UTF-8, then by place.
pub fn parse(text: &[u8], bounds: &Bounds) -> Result<Value, JsonError> {
    let refuse = |kind, offset, message| Err(JsonError { kind, message, path: String::new(), offset });
    if text.len() > bounds.bytes {
        return refuse(JsonErrorKind::Size, bounds.bytes, format!("Send at most {} bytes.", bounds.bytes));
    }
    match std::str::from_utf8(text) {
        Ok(text) => Parser { text, at: 0, open: Vec::new(), depth: bounds.depth.min(MAX_DEPTH) }.document(),
        Err(e) => refuse(JsonErrorKind::Utf8, e.valid_up_to(), "Send the document as UTF-8.".to_owned()),
    }
}

/// A container that is being read. `key` and `key_at` belong to the member whose value comes next.
enum Open {
    Array(Vec<Value>),
    Object { members: Map<String, Value>, key: String, key_at: usize },
}

/// Iterative: the stack is `open`, whose keys and lengths are also the path of an error.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    open: Vec<Open>,
    depth: usize,
}

type Step<T> = Result<T, JsonError>;

impl Parser<'_> {
    fn document(mut self) -> Step<Value> {
        loop {
            let Some(mut value) = self.value()? else { continue };
            loop {
                let Some(container) = self.open.pop() else {
                    self.skip_space();
                    return if self.peek().is_none() {
                        Ok(value)
                    } else {
                        Err(self.syntax("Send one JSON value and nothing after it."))
                    };
                };
                match self.member(container, value)? {
                    Some(closed) => value = closed,
                    None => break,
                }
            }
        }
    }

    /// Reads a scalar or an empty container; `None` when a container was opened and its first member comes next.
    fn value(&mut self) -> Step<Option<Value>> {
        self.skip_space();
        let value = match self.peek() {
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'n') => self.word("null", Value::Null)?,
            Some(b'[') => {
                self.enter()?;
                if !self.eat(b']') {
                    self.open.push(Open::Array(Vec::new()));
                    return Ok(None);
                }
                Value::Array(Vec::new())
            }
            Some(b'{') => {
                self.enter()?;
                if !self.eat(b'}') {
                    let (key, key_at) = self.key()?;
                    self.open.push(Open::Object { members: Map::new(), key, key_at });
                    return Ok(None);
                }
                Value::Object(Map::new())
            }
            _ => return Err(self.syntax("Send valid JSON: a value is missing.")),
        };
        Ok(Some(value))
    }

    /// Puts a value into its container; gives the container back when it is closed there.
    fn member(&mut self, container: Open, value: Value) -> Step<Option<Value>> {
        match container {
            Open::Array(mut items) => {
                items.push(value);
                if self.eat(b']') {
                    return Ok(Some(Value::Array(items)));
                }
                let separated = self.eat(b',');
                self.open.push(Open::Array(items));
                if !separated {
                    return Err(self.syntax("Send valid JSON: a comma or a closing bracket is missing."));
                }
            }
            Open::Object { mut members, key, key_at } => {
                match members.entry(key) {
                    Entry::Vacant(place) => place.insert(value),
                    Entry::Occupied(place) => {
                        let path = format!("{}/{}", self.path(), escape_pointer(place.key()));
                        let message = "Give every key of an object once.".to_owned();
                        return Err(JsonError { kind: JsonErrorKind::DuplicateKey, message, path, offset: key_at });
                    }
                };
                if self.eat(b'}') {
                    return Ok(Some(Value::Object(members)));
                }
                if !self.eat(b',') {
                    return Err(self.syntax("Send valid JSON: a comma or a closing brace is missing."));
                }
                let (key, key_at) = self.key()?;
                self.open.push(Open::Object { members, key, key_at });
            }
        }
        Ok(None)
    }

    fn enter(&mut self) -> Step<()> {
        if self.open.len() == self.depth {
            let message = format!("Nest arrays and objects at most {} deep.", self.depth);
            return Err(self.error(JsonErrorKind::Depth, message));
        }
        self.at += 1;
        Ok(())
    }

    fn key(&mut self) -> Step<(String, usize)> {
        self.skip_space();
        let at = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.syntax("Send valid JSON: a key in double quotes is missing."));
        }
        let key = self.string()?;
        if self.eat(b':') { Ok((key, at)) } else { Err(self.syntax("Send valid JSON: a colon is missing.")) }
    }

    fn word(&mut self, word: &str, value: Value) -> Step<Value> {
        if self.rest().starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.syntax("Send valid JSON: only true, false and null go without quotes."))
        }
    }

    fn number(&mut self) -> Step<Value> {
        let rest = self.rest();
        let digits = |from: usize| rest[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let start = usize::from(rest[0] == b'-');
        let whole = digits(start);
        let mut end = start + whole;
        let mut valid = whole == 1 || (whole > 1 && rest[start] != b'0');
        if rest.get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            valid &= fraction > 0;
            end += 1 + fraction;
        }
        if let Some(b'e' | b'E') = rest.get(end) {
            end += 1 + usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end);
            valid &= exponent > 0;
            end += exponent;
        }
        if !valid {
            return Err(self.syntax("Send valid JSON: this number is malformed."));
        }
        let Some(number) = number::read(&self.text[self.at..self.at + end]) else {
            let message = "Send a finite number, and an integer beyond 64 bits as text.".to_owned();
            return Err(self.error(JsonErrorKind::Number, message));
        };
        self.at += end;
        Ok(Value::Number(number))
    }

    /// Reads a string; the opening quote is at hand.
    fn string(&mut self) -> Step<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain = scan::plain_prefix(self.rest());
            let text = &self.text[self.at..self.at + plain];
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    // The usual string has no escape and is copied once, at its exact size.
                    return Ok(if out.is_empty() { text.to_owned() } else { out + text });
                }
                Some(b'\\') => {
                    out.push_str(text);
                    out.push(self.escape()?);
                }
                Some(_) => return Err(self.syntax("Send valid JSON: escape control characters in strings.")),
                None => return Err(self.syntax("Send valid JSON: a string is not closed.")),
            }
        }
    }

    fn escape(&mut self) -> Step<char> {
        let start = self.at;
        self.at += 2;
        Ok(match self.text.as_bytes().get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let unit = self.code_unit()?;
                let code = match unit {
                    0xD800..=0xDBFF => match self.rest() {
                        [b'\\', b'u', ..] => {
                            self.at += 2;
                            match self.code_unit()? {
                                low @ 0xDC00..=0xDFFF => 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00),
                                _ => unit,
                            }
                        }
                        _ => unit,
                    },
                    _ => unit,
                };
                match char::from_u32(code) {
                    Some(c) => c,
                    None => {
                        self.at = start;
                        return Err(self.error(JsonErrorKind::LoneSurrogate, "Send surrogates in pairs.".to_owned()));
                    }
                }
            }
            _ => {
                self.at = start;
                return Err(self.syntax("Send valid JSON: this escape does not exist."));
            }
        })
    }

    fn code_unit(&mut self) -> Step<u32> {
        let mut unit = 0;
        for i in 0..4 {
            match self.rest().get(i).and_then(|b| (*b as char).to_digit(16)) {
                Some(digit) => unit = unit * 16 + digit,
                None => return Err(self.syntax("Send valid JSON: four hexadecimal digits follow \\u.")),
            }
        }
        self.at += 4;
        Ok(unit)
    }

    fn rest(&self) -> &[u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Skips white space, then takes the byte if it is there.
    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn syntax(&self, message: &str) -> JsonError {
        self.error(JsonErrorKind::Syntax, message.to_owned())
    }

    fn error(&self, kind: JsonErrorKind, message: String) -> JsonError {
        JsonError { kind, message, path: self.path(), offset: self.at }
    }

    fn path(&self) -> String {
        let segment = |open: &Open| match open {
            Open::Array(items) => format!("/{}", items.len()),
            Open::Object { key, .. } => format!("/{}", escape_pointer(key)),
        };
        self.open.iter().map(segment).collect()
    }
}
