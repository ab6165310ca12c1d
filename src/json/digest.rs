//! Hashes of text and of values.

use super::Value;
use super::canonical::{hex_digit, write_canonical, write_string};
use sha2::{Digest, Sha256};

/// FNV-1a, 64 bits: a fast key, never proof of equality.
pub fn fnv1a64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// `sha256:` and 64 lower-case hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(7 + 64);
    text.extend_from_slice(b"sha256:");
    text.extend(sha256(bytes).iter().flat_map(|byte| [hex_digit(byte >> 4), hex_digit(byte & 0xf)]));
    // Only ASCII was written.
    String::from_utf8(text).unwrap_or_default()
}

/// Digest of a value's canonical form; of an output this is `outputDigest` (AS-BINDING-004).
pub fn digest_value(value: &Value) -> String {
    let mut text = Vec::with_capacity(256);
    write_canonical(value, &mut text);
    digest(&text)
}

/// Digest of canonical `{capabilityId, input}`: `issuedDigest` and `requestDigest` (AS-BINDING-001, AS-BINDING-002).
pub fn request_digest(capability_id: &str, input: &Value) -> String {
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(b"{\"capabilityId\":");
    write_string(capability_id, &mut text);
    text.extend_from_slice(b",\"input\":");
    write_canonical(input, &mut text);
    text.push(b'}');
    digest(&text)
}
