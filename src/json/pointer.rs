//! JSON Pointer (RFC 6901).

use super::Value;

/// The value at a pointer; `None` when there is none or the pointer is malformed.
pub fn lookup<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    value.pointer(pointer)
}

/// One reference token, escaped: `~` as `~0`, `/` as `~1`.
pub fn escape_pointer(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}
