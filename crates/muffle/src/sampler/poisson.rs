//! Each record takes part independently.

use super::Sampler;
use crate::noise::{Key, Purpose, Stream, Uniform};
use muffle_accounting::Event;

/// Takes every record with the same probability, independently of all others and of all other steps.
///
/// # Source
/// Abadi et al. 2016; gaps between records are drawn from the geometric distribution (Devroye 1986, chapter X.2), so
/// that a step costs time in proportion to the records drawn.
///
/// # Guarantee
/// Each record is in a step with probability `sample_rate`, to within 2⁻⁵³, independently; adding a record at the end
/// does not change which others are drawn.
pub struct Poisson {
    key: Key,
    records: usize,
    sample_rate: f64,
}

impl Poisson {
    /// The sample rate is a public constant, not a batch size over the number of records at hand (R2).
    ///
    /// # Panics
    /// If the rate is not in (0, 1].
    pub fn new(key: &Key, records: usize, sample_rate: f64) -> Poisson {
        assert!(sample_rate > 0.0 && sample_rate <= 1.0, "a sample rate of {sample_rate} is not in (0, 1]");
        Poisson { key: key.clone(), records, sample_rate }
    }
}

impl Sampler for Poisson {
    fn draw(&mut self, step: u64) -> Vec<usize> {
        let mut uniform = Uniform::new(&self.key, Stream::new(Purpose::Sampling, step));
        let mut drawn = Vec::with_capacity((1.2 * self.sample_rate * self.records as f64) as usize + 16);
        let per_record = (-self.sample_rate).ln_1p();
        let mut next = 0;
        loop {
            // 1 − unit is in (0, 1]: the probability of a gap of at least g records is (1 − rate)^g.
            let gap = (1.0 - uniform.unit()).ln() / per_record;
            // Compared before the conversion: a gap can be longer than any number of records.
            if gap >= (self.records - next) as f64 {
                return drawn;
            }
            next += gap as usize;
            drawn.push(next);
            next += 1;
        }
    }

    fn amplify(&self, event: Event) -> Event {
        event.poisson_sampled(self.sample_rate)
    }
}
