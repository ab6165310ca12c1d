//! JSON as it crosses the boundary: strict bounded parsing, the canonical form, digests and pointers.
//!
//! `serde_json`'s [`Value`] is the storage type only. Its own reader keeps the last of two equal keys without a word,
//! so that two readers of one document can see different requests; everything that comes from outside is read by
//! [`parse`] instead.
//!
//! **Numbers.** A number is what its canonical text says. [`parse`] stores every integer of the signed and unsigned
//! 64-bit range as that integer, also when it is written `1.0` or `1e3`, and everything else as a double. So two parsed
//! values are equal exactly when their canonical forms are, and `parse(canonical(v)) == v`.
//!
//! Source: system.md section 7, RFC 8259, RFC 8785, RFC 6901.

mod canonical;
mod depth;
mod digest;
mod number;
mod parse;
mod pointer;
mod scan;

pub use canonical::{canonical, equal, write_canonical, write_string};
pub use depth::within_depth;
pub use digest::{digest, digest_value, fnv1a64, request_digest, sha256};
pub use parse::{Bounds, JsonError, JsonErrorKind, MAX_DEPTH, parse};
pub use pointer::{escape_pointer, lookup};
pub use serde_json::{Map, Number, Value};
