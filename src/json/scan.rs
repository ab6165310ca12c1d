//! Finding what needs attention in the text of a string.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Length of the prefix that stands for itself inside JSON quotes: no quote, no backslash, no control character.
/// Eight bytes at a time, since most of a document is such text.
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    let mut words = bytes.chunks_exact(8);
    let mut at = 0;
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        let found = special_bytes(word);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + words.remainder().iter().take_while(|b| !matches!(b, b'"' | b'\\' | 0..=0x1f)).count()
}

/// Marks bytes that are not plain. A borrow can mark too many, but only after the first, which is all that is read.
fn special_bytes(word: u64) -> u64 {
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = zero_bytes(word ^ (ONES * b'"' as u64));
    let backslash = zero_bytes(word ^ (ONES * b'\\' as u64));
    (below_space | quote | backslash) & HIGH
}

fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}
