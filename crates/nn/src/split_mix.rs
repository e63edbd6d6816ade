//! Random numbers that are fast and reproducible, and no secret.

/// A small generator with a long period.
///
/// # Source
/// Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
pub struct SplitMix {
    state: u64,
}

impl SplitMix {
    /// A generator for a seed.
    pub fn new(seed: u64) -> SplitMix {
        SplitMix { state: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        (radius * (std::f64::consts::TAU * self.uniform()).cos()) as f32
    }

    /// Uniform in ±bound.
    pub(crate) fn fill_uniform(&mut self, values: &mut [f32], bound: f32) {
        values.iter_mut().for_each(|value| *value = (2.0 * self.uniform() - 1.0) as f32 * bound);
    }
}
