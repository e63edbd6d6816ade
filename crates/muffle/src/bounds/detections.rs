//! A test in two worlds: with one record, and without it.

use super::clopper_pearson::upper_rate;
use crate::statistics::tails::normal_quantile_above;
use muffle_accounting::attacker::best_attacks;
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, AccountingError, Adjacency, Event, gdp};

/// How often a test said "present" in independent trials. Its threshold must have been fixed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detections {
    /// Trials with the record.
    pub present: u64,
    /// Those in which the test said so.
    pub true_positives: u64,
    /// Trials without it.
    pub absent: u64,
    /// Those in which the test said "present" all the same.
    pub false_positives: u64,
}

/// The least number of trials in each world of which, if the test errs in none, a bound above zero can come.
pub fn needed_trials(delta: f64, confidence: f64) -> u64 {
    // Without an error in n trials its rate u has (1 − u)^n = level, and 1 − u − δ has to be more than u.
    ((0.5 * (1.0 - confidence)).ln() / (0.5 * (1.0 + delta)).ln()) as u64 + 1
}

impl Detections {
    /// The same rates in `times` as many trials.
    pub fn repeated(&self, times: u64) -> Detections {
        Detections {
            present: times * self.present,
            true_positives: times * self.true_positives,
            absent: times * self.absent,
            false_positives: times * self.false_positives,
        }
    }

    /// How large at most the rates of both errors are, false positives first, with this confidence for both together.
    fn errors(&self, confidence: f64) -> (f64, f64) {
        let level = 0.5 * (1.0 - confidence);
        let missed = self.present - self.true_positives;
        (upper_rate(self.false_positives, self.absent, level), upper_rate(missed, self.present, level))
    }

    /// A lower bound on epsilon at `delta`, whatever the mechanism.
    ///
    /// # Source
    /// Jagielski, Ullman and Oprea 2020, "Auditing differentially private machine learning", with Clopper-Pearson bounds.
    ///
    /// # Guarantee
    /// A mechanism whose epsilon is lower gives such a bound with probability 1 − `confidence` at most.
    pub fn epsilon(&self, delta: f64, confidence: f64) -> f64 {
        let (false_positives, missed) = self.errors(confidence);
        let one = ((1.0 - missed - delta) / false_positives).ln();
        let other = ((1.0 - false_positives - delta) / missed).ln();
        // The logarithm of a negative number is not a number, and loses against zero.
        0f64.max(one).max(other)
    }

    /// A lower bound on μ: the least Gaussian mechanism on which a test can be this good.
    ///
    /// # Source
    /// Nasr et al. 2023, "Tight auditing of differentially private machine learning".
    ///
    /// # Guarantee
    /// A mechanism that is μ-GDP for a lower μ gives such a bound with probability 1 − `confidence` at most. So it refutes a
    /// claim of μ-GDP without assumptions; as an epsilon it is a bound for Gaussian mechanisms only.
    pub fn mu(&self, confidence: f64) -> f64 {
        let (false_positives, missed) = self.errors(confidence);
        if false_positives >= 1.0 || missed >= 1.0 {
            return 0.0;
        }
        (normal_quantile_above(false_positives) + normal_quantile_above(missed)).max(0.0)
    }

    /// The epsilon of the Gaussian mechanism of [`mu`](Detections::mu).
    pub fn gaussian_epsilon(&self, delta: f64, confidence: f64) -> f64 {
        gdp::epsilon(self.mu(confidence), delta)
    }

    /// A lower bound on epsilon for mechanisms that differ from `event` only by a factor on their noise: for sampled and
    /// composed mechanisms, what [`gaussian_epsilon`](Detections::gaussian_epsilon) is for one Gaussian.
    ///
    /// # Source
    /// Nasr et al. 2023, section 5: the trade-off curve of the privacy loss distribution in place of the Gaussian one.
    ///
    /// # Guarantee
    /// If the mechanism is `event` with its noise times some factor, the bound exceeds its epsilon with probability
    /// 1 − `confidence` at most.
    pub fn epsilon_within(
        &self,
        event: &Event,
        adjacency: Adjacency,
        delta: f64,
        confidence: f64,
    ) -> Result<f64, AccountingError> {
        let (false_positives, missed) = self.errors(confidence);
        let tpr = 1.0 - missed;
        let possible = |factor: f64| -> Result<bool, AccountingError> {
            let best = best_attacks(&event.with_noise_scaled(factor), adjacency, &[false_positives])?;
            Ok(best[0].tpr >= tpr)
        };
        // The most noise under which a test can be this good.
        let (mut low, mut high) = (2f64.powi(-6), 2f64.powi(10));
        if tpr <= false_positives || possible(high)? {
            return Ok(0.0);
        }
        if !possible(low)? {
            high = low;
        }
        while high / low > 1.0 + 1e-3 {
            let middle = (low * high).sqrt();
            if possible(middle)? { low = middle } else { high = middle }
        }
        let price = Pld.epsilon(&event.with_noise_scaled(high), adjacency, delta)?;
        Ok(price.lower.unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{GaussianNoise, Key, Purpose, Stream, Uniform};

    fn perfect(trials: u64) -> Detections {
        Detections { present: trials, true_positives: trials, absent: trials, false_positives: 0 }
    }

    const GOOD: Detections =
        Detections { present: 1000, true_positives: 500, absent: 1000, false_positives: 5 };

    #[test]
    fn printed_vectors() {
        for (detections, epsilon, mu) in [
            (perfect(1000), 5.60, 5.36),
            (perfect(5000), 7.21, 6.36),
            (perfect(100), 3.28, 3.59),
            (GOOD, 3.696, 2.19),
        ] {
            assert!((detections.epsilon(1e-5, 0.95) - epsilon).abs() < 6e-3, "{detections:?}");
            assert!((detections.mu(0.95) - mu).abs() < 6e-3, "{detections:?}");
        }
    }

    #[test]
    fn fewer_trials_than_needed_show_nothing() {
        for (delta, confidence, needed) in [(1e-5, 0.95, 6), (1e-5, 0.99, 8), (0.7, 0.95, 23)] {
            assert_eq!(needed_trials(delta, confidence), needed);
            assert_eq!(perfect(needed - 1).epsilon(delta, confidence), 0.0);
            assert!(perfect(needed).epsilon(delta, confidence) > 0.0);
        }
    }

    #[test]
    fn guessing_shows_nothing() {
        for hits in [0, 300, 500, 1000] {
            let guess =
                Detections { present: 1000, true_positives: hits, absent: 1000, false_positives: hits };
            assert_eq!((guess.epsilon(1e-5, 0.95), guess.mu(0.95)), (0.0, 0.0));
            assert_eq!(
                guess.epsilon_within(&Event::gaussian(1.0), Adjacency::AddRemove, 1e-5, 0.95).unwrap(),
                0.0
            );
        }
    }

    /// The mirrored test is as good: what matters is which error is rare.
    #[test]
    fn both_errors_count() {
        let mirrored = Detections { present: 1000, true_positives: 995, absent: 1000, false_positives: 500 };
        assert!((mirrored.epsilon(1e-5, 0.95) - GOOD.epsilon(1e-5, 0.95)).abs() < 1e-9);
    }

    /// On one Gaussian release the family of noises is the Gaussian bound; a sampled release hides more, so the same test
    /// is worth a higher epsilon there.
    #[test]
    fn a_family_of_noises_generalises_the_gaussian_bound() {
        let within = |event: Event| GOOD.epsilon_within(&event, Adjacency::AddRemove, 1e-5, 0.95).unwrap();
        let full = within(Event::gaussian(1.0));
        assert!((full / GOOD.gaussian_epsilon(1e-5, 0.95) - 1.0).abs() < 5e-3, "{full}");
        assert!(within(Event::gaussian(1.0).poisson_sampled(0.7)) > full);
    }

    /// Randomised response with known epsilon is audited 2000 times; a correct bound at 95 % fails more than 150 times with
    /// probability below 1e-6.
    #[test]
    fn bounds_exceed_the_truth_no_more_often_than_they_say() {
        let mut uniform = Uniform::new(&Key::from_seed(2), Stream::new(Purpose::Audit, 0));
        for epsilon in [0.3f64, 1.5] {
            let truth = 1.0 / (1.0 + (-epsilon).exp());
            let exceeded = (0..2000)
                .filter(|_| {
                    let mut count = |rate: f64| (0..100).filter(|_| uniform.chance(rate)).count() as u64;
                    let (true_positives, false_positives) = (count(truth), count(1.0 - truth));
                    let detections =
                        Detections { present: 100, true_positives, absent: 100, false_positives };
                    detections.epsilon(0.0, 0.95) > epsilon
                })
                .count();
            assert!(exceeded <= 150, "epsilon {epsilon}: {exceeded} of 2000");
        }
    }

    /// The same for a Gaussian mechanism of μ = 1 and its best test.
    #[test]
    fn the_gaussian_bound_exceeds_the_truth_no_more_often_than_it_says() {
        let mut normals = vec![0.0; 2000 * 200];
        GaussianNoise::new(&Key::from_seed(3), Stream::new(Purpose::Audit, 1)).fill(0, 1.0, &mut normals);
        let exceeded = normals
            .chunks(200)
            .filter(|trials| {
                let above = |shift: f32, part: &[f32]| {
                    part.iter().filter(|normal| **normal + shift > 0.5).count() as u64
                };
                let (true_positives, false_positives) =
                    (above(1.0, &trials[..100]), above(0.0, &trials[100..]));
                Detections { present: 100, true_positives, absent: 100, false_positives }.mu(0.95) > 1.0
            })
            .count();
        assert!(exceeded <= 150, "{exceeded} of 2000");
    }
}
