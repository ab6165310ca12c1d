//! Minted ids: 128 bits and more from the operating system, or from a seed in tests.

use crate::sync::Mutex;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 62^22 is more than 2^130.
const DIGITS: usize = 22;

/// One per registry, so that a forked child, which must make its own, never repeats its parent's.
pub struct Random {
    state: Mutex<State>,
}

struct State {
    seed: Option<u64>,
    /// Random bytes in stock: one system call serves many ids.
    stock: [u8; 512],
    left: usize,
}

impl Random {
    /// `None` where the operating system has no randomness to give.
    pub fn new(seed: Option<u64>) -> Option<Random> {
        let mut state = State { seed, stock: [0; 512], left: 0 };
        state.refill()?;
        Some(Random { state: Mutex::new(state) })
    }

    /// `prefix` + 22 base62 characters.
    pub fn id(&self, prefix: &str) -> String {
        let mut id = String::with_capacity(prefix.len() + DIGITS);
        id.push_str(prefix);
        let mut state = self.state.lock();
        while id.len() < prefix.len() + DIGITS {
            let byte = state.byte();
            // 248 = 4 * 62; taking more would favour the first characters.
            if byte < 248 {
                id.push(ALPHABET[(byte % 62) as usize] as char);
            }
        }
        id
    }
}

impl State {
    fn byte(&mut self) -> u8 {
        // The source answered once; should it fail later, the stock is stretched by a generator
        // keyed with what it gave rather than repeated.
        if self.left == 0 && self.refill().is_none() {
            let mut seed = u64::from_le_bytes(std::array::from_fn(|i| self.stock[i]));
            fill(&mut self.stock, &mut seed);
            self.left = self.stock.len();
        }
        self.left -= 1;
        self.stock[self.left]
    }

    fn refill(&mut self) -> Option<()> {
        match &mut self.seed {
            Some(seed) => fill(&mut self.stock, seed),
            None => getrandom::fill(&mut self.stock).ok()?,
        }
        self.left = self.stock.len();
        Some(())
    }
}

/// SplitMix64.
fn fill(bytes: &mut [u8], seed: &mut u64) {
    for chunk in bytes.chunks_mut(8) {
        *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_long_enough_and_seeds_repeat() {
        let random = Random::new(None).expect("randomness");
        let (a, b) = (random.id("inv_"), random.id("inv_"));
        assert_eq!(a.len(), 4 + DIGITS);
        assert_ne!(a, b);
        let seeded = || Random::new(Some(7)).map(|random| (random.id("x"), random.id("x")));
        assert_eq!(seeded(), seeded());
    }
}
