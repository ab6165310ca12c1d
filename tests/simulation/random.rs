//! A seeded generator (SplitMix64): the same seed makes the same program on every machine.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn pick_some<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { Some(self.pick(from)) }
    }

    pub fn below_some(&mut self, bound: usize) -> Option<usize> {
        if bound == 0 { None } else { Some(self.below(bound)) }
    }

    /// An index, as often as its weight says; `None` where all weights are 0.
    pub fn weighted(&mut self, weights: &[usize]) -> Option<usize> {
        let total: usize = weights.iter().sum();
        if total == 0 {
            return None;
        }
        let mut left = self.below(total);
        weights.iter().position(|weight| {
            let hit = left < *weight;
            left = left.saturating_sub(*weight);
            hit
        })
    }
}

impl Random {
    /// One of some words.
    pub fn word(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }
}
