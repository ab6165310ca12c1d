//! Writes the JSON documents that leave the library, in a fixed member order, without building a
//! value first.

use serde_json::Value;

use crate::json;

/// Writes one JSON object, member by member.
pub struct ObjectWriter {
    out: Vec<u8>,
}

impl Default for ObjectWriter {
    fn default() -> Self {
        ObjectWriter::new()
    }
}

impl ObjectWriter {
    pub fn new() -> Self {
        ObjectWriter::with_capacity(256)
    }

    pub fn with_capacity(capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity);
        out.push(b'{');
        ObjectWriter { out }
    }

    /// Writes an object at the end of `out`, which is kept aside meanwhile.
    pub fn append(out: &mut Vec<u8>, write: impl FnOnce(&mut ObjectWriter)) {
        let mut writer = ObjectWriter { out: std::mem::take(out) };
        writer.out.push(b'{');
        write(&mut writer);
        *out = writer.into_bytes();
    }

    fn key(&mut self, key: &str) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        json::write_string(key, &mut self.out);
        self.out.push(b':');
    }

    pub fn string(&mut self, key: &str, value: &str) {
        self.key(key);
        json::write_string(value, &mut self.out);
    }

    pub fn optional_string(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.string(key, value);
        }
    }

    pub fn number(&mut self, key: &str, value: i64) {
        self.key(key);
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    pub fn boolean(&mut self, key: &str, value: bool) {
        self.raw(key, if value { b"true" } else { b"false" });
    }

    pub fn value(&mut self, key: &str, value: &Value) {
        self.key(key);
        json::write_canonical(value, &mut self.out);
    }

    /// `json` must be one JSON value.
    pub fn raw(&mut self, key: &str, json: &[u8]) {
        self.key(key);
        self.out.extend_from_slice(json);
    }

    pub fn object(&mut self, key: &str, write: impl FnOnce(&mut ObjectWriter)) {
        self.key(key);
        self.out.push(b'{');
        write(self);
        self.out.push(b'}');
    }

    /// Writes `items`, each rendered by `write` as one JSON value.
    pub fn array<T>(&mut self, key: &str, items: impl IntoIterator<Item = T>, write: impl FnMut(T, &mut Vec<u8>)) {
        self.key(key);
        write_array(&mut self.out, items, write);
    }

    /// How many bytes there are so far, the opening brace among them.
    pub fn position(&self) -> usize {
        self.out.len()
    }

    pub fn into_bytes(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    pub fn finish(self) -> String {
        text(self.into_bytes())
    }
}

/// Writes a JSON array into `out`.
pub fn write_array<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut write: impl FnMut(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

/// What the writers here produce is UTF-8, since every part of it was.
pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}
