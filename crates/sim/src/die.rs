//! Chance, from a seed: the same seed throws the same numbers for ever.

#[derive(Clone, Debug)]
pub struct Die(u64);

impl Die {
    pub fn new(seed: u64) -> Die {
        Die(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66_D1CE_B00C)
    }

    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `[from, to)`.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        from + (self.throw() % (to - from).max(1) as u64) as i64
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.throw().is_multiple_of(n)
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.throw() as usize % of.len()]
    }
}
