//! Numbers: literal to stored number, and stored number to canonical text.

use super::Number;

/// The number that a literal of JSON's grammar stands for; `None` when it has no exact or finite meaning here.
pub(super) fn read(literal: &str) -> Option<Number> {
    if literal.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) {
        return from_double(literal.parse().ok()?);
    }
    integer(literal).or_else(|| {
        // Beyond 64 bits only what canonical text itself contains: anything else would lose digits silently.
        let double: f64 = literal.parse().ok()?;
        (double.is_finite() && ryu_js::Buffer::new().format_finite(double) == literal)
            .then(|| Number::from_f64(double))?
    })
}

/// The stored form of a double: the integer that its ECMAScript text names where 64 bits hold it, else itself.
pub(super) fn from_double(double: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: up to here every integral double is its own text
    if double.fract() != 0.0 {
        return Number::from_f64(double);
    }
    if double.abs() <= EXACT {
        return Some(Number::from(double as i64));
    }
    integer(ryu_js::Buffer::new().format_finite(double)).or_else(|| Number::from_f64(double))
}

/// An integer literal of the signed or unsigned 64-bit range. `-0` is `0`.
fn integer(literal: &str) -> Option<Number> {
    if literal.starts_with('-') {
        literal.parse::<i64>().ok().map(Number::from)
    } else {
        literal.parse::<u64>().ok().map(Number::from)
    }
}

/// Canonical text: exact digits for integers, ECMAScript form for doubles (RFC 8785 section 3.2.2.3).
pub(super) fn write(number: &Number, out: &mut Vec<u8>) {
    if let Some(n) = number.as_u64() {
        out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    } else if let Some(n) = number.as_i64() {
        out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    } else if let Some(double) = number.as_f64() {
        out.extend_from_slice(ryu_js::Buffer::new().format_finite(double).as_bytes());
    }
}

/// Equality of canonical text.
pub(super) fn equal(a: &Number, b: &Number) -> bool {
    match (a.is_f64(), b.is_f64()) {
        (false, false) => a == b,
        (true, true) => a.as_f64() == b.as_f64(),
        (true, false) => a.as_f64().and_then(from_double).is_some_and(|a| a == *b),
        (false, true) => equal(b, a),
    }
}
