//! Many records in one run, each with a coin of its own.

use crate::statistics::tails::beta;

/// Guesses about the coins of planted records in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneRun {
    /// Records that were in or out by fair coins, independently.
    pub canaries: u64,
    /// Coins that were guessed; how many was fixed before anything was seen.
    pub guesses: u64,
    /// Guesses that were right.
    pub correct: u64,
}

impl OneRun {
    /// A lower bound on epsilon at `delta` for a mechanism that is private for each single record.
    ///
    /// # Source
    /// Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run", theorem 5.2: if the mechanism were
    /// (ε, δ)-private, v or more right guesses of r would have probability β + 2mδ·a, with β = Pr[Bin ≥ v] for a binomial
    /// of r trials of probability 1/(1 + e^−ε), and a = max over i ≤ v of Pr[v − i ≤ Bin < v]/i.
    ///
    /// # Guarantee
    /// A mechanism whose epsilon is lower gives such a bound with probability 1 − `confidence` at most. Under add_remove, for
    /// records that are in or out; for coins that choose between two records, under replace_one.
    ///
    /// # Panics
    /// If there are more right guesses than guesses, or more guesses than canaries.
    pub fn epsilon(&self, delta: f64, confidence: f64) -> f64 {
        assert!(self.correct <= self.guesses && self.guesses <= self.canaries, "{self:?}");
        let unlikely = |epsilon: f64| self.probability(epsilon, delta) < 1.0 - confidence;
        if !unlikely(0.0) {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
        while unlikely(high) && high < 1e3 {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if unlikely(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// How likely so many right guesses are at most, if the mechanism is (ε, δ)-private.
    fn probability(&self, epsilon: f64, delta: f64) -> f64 {
        let (guesses, correct) = (self.guesses, self.correct);
        if correct == 0 {
            return 1.0;
        }
        let rate = 1.0 / (1.0 + (-epsilon).exp());
        let tail = beta(correct as f64, (guesses - correct + 1) as f64, rate);
        let (log_rate, log_miss) = (-(-epsilon).exp().ln_1p(), -epsilon - (-epsilon).exp().ln_1p());
        let log_ways = |count: u64| {
            let gamma = |number: u64| libm::lgamma(number as f64 + 1.0);
            gamma(guesses) - gamma(count) - gamma(guesses - count)
        };
        let (mut below, mut largest) = (0.0, 0.0f64);
        for count in 1..=correct {
            let hits = correct - count;
            let log = log_ways(hits) + hits as f64 * log_rate + (guesses - hits) as f64 * log_miss;
            below += log.exp();
            largest = largest.max(below / count as f64);
        }
        (tail + 2.0 * self.canaries as f64 * delta * largest).min(1.0)
    }
}

/// The least number of guesses of which, if all are right, a bound above zero can come with this confidence.
pub fn needed_guesses(confidence: f64) -> u64 {
    // Fair coins are all guessed with probability 2^−r.
    (1..).find(|&guesses| 0.5f64.powi(guesses) < 1.0 - confidence).unwrap_or(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Key, Purpose, Stream, Uniform};

    #[test]
    fn printed_vectors() {
        for (canaries, guesses, correct, expected) in [
            (1000, 1000, 600, 0.2972),
            (1000, 1000, 700, 0.7317),
            (1000, 200, 180, 1.7963),
            (1000, 100, 100, 3.4654),
            (5000, 100, 100, 3.3524),
        ] {
            let found = OneRun { canaries, guesses, correct }.epsilon(1e-5, 0.95);
            assert!((found - expected).abs() < 6e-5, "{canaries}, {guesses}, {correct}: {found}");
        }
    }

    #[test]
    fn few_or_wrong_guesses_show_nothing() {
        for (guesses, correct) in [(100, 0), (100, 50), (4, 4), (0, 0)] {
            assert_eq!(OneRun { canaries: 1000, guesses, correct }.epsilon(1e-5, 0.95), 0.0);
        }
        assert_eq!((needed_guesses(0.95), needed_guesses(0.99)), (5, 7));
        assert!(OneRun { canaries: 5, guesses: 5, correct: 5 }.epsilon(1e-5, 0.95) > 0.0);
    }

    /// Every coin is answered by randomised response of known epsilon, 2000 times over; a correct bound at 95 % fails more
    /// than 150 times with probability below 1e-6.
    #[test]
    fn the_bound_exceeds_the_truth_no_more_often_than_it_says() {
        let mut uniform = Uniform::new(&Key::from_seed(4), Stream::new(Purpose::Audit, 0));
        let bound = |correct: u64| OneRun { canaries: 60, guesses: 60, correct }.epsilon(1e-5, 0.95);
        let bounds: Vec<f64> = (0..=60).map(bound).collect();
        for epsilon in [0.5f64, 2.0] {
            let rate = 1.0 / (1.0 + (-epsilon).exp());
            let exceeded = (0..2000)
                .filter(|_| bounds[(0..60).filter(|_| uniform.chance(rate)).count()] > epsilon)
                .count();
            assert!(exceeded <= 150, "epsilon {epsilon}: {exceeded} of 2000");
        }
    }
}
