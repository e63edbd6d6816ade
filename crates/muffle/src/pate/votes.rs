//! How votes become an answer: the noise, what it costs, and its release.

use crate::ledger::{Access, Purpose, Receipt};
use crate::mechanism::{BoundedVector, Mechanism};
use muffle_accounting::Event;
use muffle_accounting::pate::{GaussianVotes, LaplaceVotes};
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// The noisy winner of a vote.
pub const ANSWERS: Purpose = Purpose::new("votes");

/// The noisy test whether enough teachers agree.
pub const CHECKS: Purpose = Purpose::new("checks_of_votes");

/// How the votes on a record are answered. The noise follows from `epsilon` and `queries` where it is not given.
///
/// # Source
/// Papernot et al. 2017 for `laplace` (LNMax), Papernot et al. 2018 for `gaussian` (GNMax), `confident` (Confident-GNMax) and
/// `interactive` (Interactive-GNMax).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Votes {
    /// The class with most votes after Laplace noise on each count.
    Laplace {
        /// γ: the noise has scale 1/γ.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inverse_scale: Option<f64>,
    },
    /// The class with most votes after Gaussian noise on each count.
    Gaussian {
        /// Standard deviation of the noise, in votes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deviation: Option<f64>,
    },
    /// The same, if the most votes of a class pass a noisy test.
    Confident {
        /// Votes that a class needs.
        threshold: f64,
        /// Deviation of the noise on the test, as a multiple of that on the counts.
        #[serde(default = "check")]
        check: f64,
        /// Standard deviation of the noise on the counts, in votes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deviation: Option<f64>,
    },
    /// The same, where the test asks how far the votes are from what the student says already. Where they are not, the student's own
    /// word is taken if it is sure.
    Interactive {
        /// Votes by which a class has to lead what the student expects.
        threshold: f64,
        /// Deviation of the noise on the test, as a multiple of that on the counts.
        #[serde(default = "check")]
        check: f64,
        /// How often a student is trained before the last one.
        rounds: u64,
        /// From which probability on the student's word is taken.
        confidence: f64,
        /// Standard deviation of the noise on the counts, in votes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deviation: Option<f64>,
    },
}

fn check() -> f64 {
    3.0
}

impl Votes {
    /// Checks the range of every number by itself.
    pub(super) fn check(&self, teachers: usize) -> Result<(), String> {
        let positive = |key: &str, value: f64| match value > 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(format!("votes.{key} = {value} is outside (0, infinity)")),
        };
        if let Some(noise) = self.noise() {
            positive(if let Votes::Laplace { .. } = self { "inverse_scale" } else { "deviation" }, noise)?;
        }
        if let Votes::Confident { threshold, check, .. } | Votes::Interactive { threshold, check, .. } = *self
        {
            positive("check", check)?;
            if !(0.0..=teachers as f64).contains(&threshold) {
                return Err(format!("votes.threshold = {threshold} is outside 0 to the {teachers} teachers"));
            }
        }
        if let Votes::Interactive { rounds, confidence, .. } = *self {
            if rounds == 0 {
                return Err("votes.rounds = 0 is outside 1 and above".to_string());
            }
            if !(0.0..=1.0).contains(&confidence) {
                return Err(format!("votes.confidence = {confidence} is outside [0, 1]"));
            }
        }
        Ok(())
    }

    /// Scale of the noise on a count, in votes, if it is given.
    pub(super) fn noise(&self) -> Option<f64> {
        match *self {
            Votes::Laplace { inverse_scale } => inverse_scale.map(|inverse| 1.0 / inverse),
            Votes::Gaussian { deviation }
            | Votes::Confident { deviation, .. }
            | Votes::Interactive { deviation, .. } => deviation,
        }
    }

    /// The same with noise of this scale.
    pub(super) fn with_noise(mut self, noise: f64) -> Votes {
        match &mut self {
            Votes::Laplace { inverse_scale } => *inverse_scale = Some(1.0 / noise),
            Votes::Gaussian { deviation }
            | Votes::Confident { deviation, .. }
            | Votes::Interactive { deviation, .. } => *deviation = Some(noise),
        }
        self
    }

    /// How often a student is trained before the last one.
    pub(super) fn rounds(&self) -> u64 {
        if let Votes::Interactive { rounds, .. } = *self { rounds } else { 0 }
    }

    /// Votes that a class needs in the test, where there is one.
    pub(super) fn threshold(&self) -> Option<f64> {
        match *self {
            Votes::Confident { threshold, .. } | Votes::Interactive { threshold, .. } => Some(threshold),
            Votes::Laplace { .. } | Votes::Gaussian { .. } => None,
        }
    }

    /// Deviation of the noise on the test, where there is one.
    pub(super) fn check_deviation(&self) -> Option<f64> {
        match *self {
            Votes::Confident { check, deviation, .. } | Votes::Interactive { check, deviation, .. } => {
                deviation.map(|deviation| check * deviation)
            }
            Votes::Laplace { .. } | Votes::Gaussian { .. } => None,
        }
    }

    /// What an answer costs, whatever the votes.
    ///
    /// # Panics
    /// If the noise is not settled.
    fn answer_event(&self) -> Event {
        let noise = self.noise().expect("the noise is settled");
        match *self {
            Votes::Laplace { inverse_scale } => {
                LaplaceVotes { inverse_scale: inverse_scale.expect("the noise is settled") }.event()
            }
            _ => GaussianVotes { deviation: noise }.event(),
        }
    }

    /// The accesses that a query takes, in order. All of them are paid for, also where the test fails and nothing is answered:
    /// which queries are answered is known only behind the test.
    pub(super) fn accesses(&self, query: u64) -> Vec<Access> {
        let check =
            self.check_deviation().map(|deviation| Access::all(CHECKS, query, Event::gaussian(deviation)));
        check.into_iter().chain([Access::all(ANSWERS, query, self.answer_event())]).collect()
    }

    /// What so many queries cost.
    ///
    /// # Guarantee
    /// One record changes the vote of one teacher: two counts by one vote each, and the most votes of a class by one at most.
    pub(super) fn cost(&self, queries: u64) -> Event {
        let parts = self.accesses(0).into_iter().map(|access| access.release.repeated(queries));
        Event::compose(parts.filter(|_| queries > 0))
    }

    /// Whether enough teachers agree, or disagree with the student, after noise.
    ///
    /// # Panics
    /// If there is no such test, or the receipt is for something else.
    pub(super) fn passes(
        &self,
        votes: &[u64],
        expected: &[f64],
        mechanism: &Mechanism,
        receipt: Receipt,
    ) -> bool {
        let threshold = self.threshold().expect("votes with a test");
        let leads = votes.iter().zip(expected).map(|(count, expected)| *count as f64 - expected);
        // One vote more or less for a class changes the largest of the leads by one at most; what is expected is public.
        let most = BoundedVector::l2(vec![leads.fold(f64::NEG_INFINITY, f64::max)], 1.0);
        let deviation = self.check_deviation().expect("a test has noise");
        let (noisy, _) = mechanism.answer(most, deviation, receipt);
        noisy[0] >= threshold
    }

    /// The winner after noise.
    ///
    /// # Panics
    /// If the receipt is for something else.
    pub(super) fn winner(&self, votes: &[u64], mechanism: &Mechanism, receipt: Receipt) -> u32 {
        let noise = self.noise().expect("the noise is settled");
        let counts: Vec<f64> = votes.iter().map(|count| *count as f64).collect();
        let (noisy, _) = match *self {
            Votes::Laplace { inverse_scale } => {
                let scale = 1.0 / inverse_scale.expect("the noise is settled");
                mechanism.answer(BoundedVector::few(counts, 2, 1.0), scale, receipt)
            }
            _ => mechanism.answer(BoundedVector::l2(counts, SQRT_2), noise / SQRT_2, receipt),
        };
        let better = |best: usize, class: usize| if noisy[class] > noisy[best] { class } else { best };
        (0..noisy.len()).fold(0, better) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Detections;
    use crate::ledger::Ledger;
    use crate::noise::Key;
    use muffle_accounting::pld::Pld;
    use muffle_accounting::{Accountant, Adjacency};

    const TRIALS: u64 = 1500;

    /// In how many trials the rule lets `votes` through and then names the first class.
    fn named(rule: &Votes, votes: &[u64], seed: u64) -> u64 {
        let (mechanism, mut ledger) = (Mechanism::new(Key::from_seed(seed), 1.0), Ledger::in_memory());
        let mut trial = |query: u64| {
            let mut receipts = ledger.pay(&rule.accesses(query)).unwrap().into_iter();
            let expected = vec![0.0; votes.len()];
            let passed = rule.check_deviation().is_none()
                || rule.passes(votes, &expected, &mechanism, receipts.next().unwrap());
            passed && rule.winner(votes, &mechanism, receipts.next().unwrap()) == 0
        };
        (0..TRIALS).filter(|&query| trial(query)).count() as u64
    }

    /// A teacher that changes its mind at a near-tie is the worst case of an answer. Confidence 95 per cent, fixed seeds.
    #[test]
    fn an_answer_gives_away_no_more_than_it_costs() {
        for rule in [
            Votes::Laplace { inverse_scale: Some(1.0) },
            Votes::Gaussian { deviation: Some(1.0) },
            Votes::Confident { threshold: 3.0, check: 1.0, deviation: Some(1.0) },
        ] {
            let found = Detections {
                present: TRIALS,
                true_positives: named(&rule, &[3, 2, 0], 1),
                absent: TRIALS,
                false_positives: named(&rule, &[2, 3, 0], 2),
            };
            let proved = Pld.epsilon(&rule.cost(1), Adjacency::AddRemove, 1e-5).unwrap().epsilon;
            let shown = found.epsilon(1e-5, 0.95);
            assert!(shown > 0.3 && shown < proved, "{rule:?}: {shown} shown, {proved} proved");
        }
    }

    /// Noise of deviation σ on each of two counts that are σ·√2 apart: the larger wins with probability Φ(1) = 0.841345.
    #[test]
    fn the_winner_wins_as_often_as_the_noise_lets_it() {
        let rule = Votes::Gaussian { deviation: Some(10.0 / SQRT_2) };
        let share = named(&rule, &[110, 100], 3) as f64 / TRIALS as f64;
        // Standard error 0.0094; four of them are accepted (false alarm 6·10⁻⁵).
        assert!((share - 0.841_345).abs() < 4.0 * 0.0094, "{share}");
    }

    #[test]
    fn a_tie_is_a_fair_draw() {
        for rule in [Votes::Laplace { inverse_scale: Some(0.1) }, Votes::Gaussian { deviation: Some(10.0) }] {
            let share = named(&rule, &[50, 50], 4) as f64 / TRIALS as f64;
            // Standard error 0.0129; four of them are accepted (false alarm 6·10⁻⁵).
            assert!((share - 0.5).abs() < 4.0 * 0.0129, "{rule:?}: {share}");
        }
    }

    #[test]
    fn every_query_is_charged_for_its_test_and_its_answer() {
        let rule = Votes::Confident { threshold: 3.0, check: 2.0, deviation: Some(5.0) };
        let both =
            Event::compose([Event::gaussian(10.0).repeated(7), Event::gaussian(5.0 / SQRT_2).repeated(7)]);
        assert_eq!(rule.cost(7), both);
        assert_eq!(rule.cost(0), Event::compose([]));
    }
}
