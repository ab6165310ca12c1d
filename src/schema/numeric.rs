//! Exact arithmetic on JSON numbers: no 64-bit integer is rounded to a double on the way to a verdict.

use crate::json::Number;
use std::cmp::Ordering;

/// Whether the number has no fraction, however it was written (`1.0` and `1e300` are integers).
pub(super) fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|double| double.fract() == 0.0)
}

/// A count, as `minLength` and its like take it: an integer from 0; one beyond 64 bits is as good as the largest.
pub(super) fn as_count(number: &Number) -> Option<u64> {
    let double = || number.as_f64().filter(|double| number.is_f64() && *double >= 0.0 && double.fract() == 0.0);
    number.as_u64().or_else(|| double().map(|double| double as u64))
}

/// The exact order of two numbers, also of a 64-bit integer and a double.
pub fn compare(a: &Number, b: &Number) -> Ordering {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => compare_mixed(a, b.as_f64().unwrap_or_default()),
        (None, Some(b)) => compare_mixed(b, a.as_f64().unwrap_or_default()).reverse(),
        (None, None) => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// The cast saturates far outside 64 bits, which keeps the order.
fn compare_mixed(integer: i128, double: f64) -> Ordering {
    let whole = integer.cmp(&(double.trunc() as i128));
    whole.then_with(|| 0.0_f64.partial_cmp(&double.fract()).unwrap_or(Ordering::Equal))
}

/// A number as decimal digits and a power of ten, read off its shortest text: `0.0075` is 75 · 10⁻⁴, whatever binary
/// fraction the double holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// The absolute value of a number.
    pub(super) fn of(number: &Number) -> Decimal {
        if let Some(integer) = integer(number) {
            return Decimal { digits: integer.unsigned_abs(), exponent: 0 };
        }
        // `{:e}` writes the shortest digits that read back as the same double: d.ddde-x
        let text = format!("{:e}", number.as_f64().unwrap_or_default().abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().unwrap_or_default();
        Decimal { digits, exponent: exponent.parse::<i32>().unwrap_or_default() - fraction.len() as i32 }
    }

    /// Whether `self` is a whole multiple of `divisor`, which is not zero. Digits stay within 64 bits, so the products
    /// here stay within 128.
    pub(super) fn is_multiple_of(&self, divisor: &Decimal) -> bool {
        let shift = self.exponent - divisor.exponent;
        if shift >= 0 {
            let power = power_of_ten_mod(shift as u32, divisor.digits);
            return ((self.digits % divisor.digits) * power).is_multiple_of(divisor.digits);
        }
        // The divisor is scaled up instead; one that leaves 128 bits is larger than every value but zero.
        let scaled = 10_u128.checked_pow(shift.unsigned_abs()).and_then(|power| power.checked_mul(divisor.digits));
        scaled.map_or(self.digits == 0, |scaled| self.digits.is_multiple_of(scaled))
    }
}

fn power_of_ten_mod(exponent: u32, modulus: u128) -> u128 {
    (0..exponent).fold(1 % modulus, |power, _| power * 10 % modulus)
}
