//! What a sampler drew.

use crate::noise::{Key, Purpose, Stream, Uniform};
use crate::sampler::Sampler;

/// Makes the sampler of a run.
pub type MakeSampler<'a> = dyn Fn(&Key) -> Box<dyn Sampler> + 'a;

/// Counts over the first steps of several runs.
pub(super) struct Draws {
    /// Records there are.
    pub records: u64,
    /// Runs.
    pub runs: u64,
    /// Steps of each.
    pub steps: u64,
    /// In how many steps each record took part.
    pub counts: Vec<u64>,
    /// Records of every step.
    pub sizes: Vec<u64>,
    /// Records that steps 0 and 1, 2 and 3, ... of a run have in common.
    pub common: Vec<u64>,
    /// Records that took part in some step, over all runs.
    pub took_part: u64,
    /// Records that did not take part exactly once in a period, over all periods.
    pub not_once: u64,
    /// Steps in which records 0 and 1, 2 and 3, ... took part together.
    pub together: u64,
    /// Steps in which one pair of those did, another one in every step.
    pub one_pair_together: u64,
}

impl Draws {
    /// Draws the first steps of runs with keys that follow from the seed. A period is a part of the steps.
    pub fn new(
        make: &MakeSampler,
        records: usize,
        (runs, steps, period): (u64, u64, u64),
        seed: u64,
    ) -> Draws {
        let mut draws = Draws {
            records: records as u64,
            runs,
            steps,
            counts: vec![0; records],
            sizes: Vec::new(),
            common: Vec::new(),
            took_part: 0,
            not_once: 0,
            together: 0,
            one_pair_together: 0,
        };
        let mut seeds = Uniform::new(&Key::from_seed(seed), Stream::new(Purpose::Audit, 0));
        for _ in 0..runs {
            draws.add(&mut *make(&Key::from_seed(seeds.bits())), period);
        }
        draws
    }

    fn add(&mut self, sampler: &mut dyn Sampler, period: u64) {
        let records = self.counts.len();
        let (mut ever, mut in_period, mut before) = (vec![false; records], vec![0u32; records], Vec::new());
        for step in 0..self.steps {
            let drawn = sampler.draw(step);
            for &record in &drawn {
                self.counts[record] += 1;
                in_period[record] += 1;
                ever[record] = true;
            }
            let pair = self.sizes.len() % (records / 2).max(1);
            for two in drawn.windows(2).filter(|two| two[0] % 2 == 0 && two[0] + 1 == two[1]) {
                self.together += 1;
                self.one_pair_together += u64::from(two[0] / 2 == pair);
            }
            self.sizes.push(drawn.len() as u64);
            if step % 2 == 1 {
                let common = drawn.iter().filter(|record| before.binary_search(*record).is_ok());
                self.common.push(common.count() as u64);
            }
            before = drawn;
            if (step + 1) % period == 0 {
                self.not_once += in_period.iter().filter(|count| **count != 1).count() as u64;
                in_period.fill(0);
            }
        }
        self.took_part += ever.iter().filter(|ever| **ever).count() as u64;
    }
}
