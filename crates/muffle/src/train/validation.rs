//! Noise that falls when the accuracy on validation records no longer rises.

use crate::data::{Records, View};
use crate::state::restore;
use crate::{State, StateError};
use muffle_accounting::Event;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Lowers the noise multiplier where training stands still.
///
/// After each of the last `checks` epochs of a period the accuracy is measured on validation records. Their mean is compared
/// with that of the period before: if it has gained less than `gain`, the noise multiplier is multiplied by `factor`.
///
/// # Source
/// Yu et al. 2019, validation-based decay; for MNIST they print a period of 10 epochs, 5 checks, a gain of 0.01 and a
/// factor of 0.7.
///
/// # Guarantee
/// The noise depends on released weights and on what was paid for only (R1, R6). It is chosen from private outputs, so the
/// run is stopped by a filter that was fixed in advance (R7).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// Whose accuracy is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<ValidationRecords>,
    /// Epochs between decisions.
    pub period: u64,
    /// Checks before a decision, one an epoch.
    pub checks: u64,
    /// The gain in accuracy that keeps the noise where it is.
    pub gain: f64,
    /// What the noise multiplier is multiplied by otherwise.
    pub factor: f64,
}

/// Validation records, and why looking at them is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ValidationRecords {
    /// The test split, which the author of the recipe declares to be public. Looking at it costs nothing.
    PublicTest {},
    /// A part of the training records that is kept out of training. Every look is paid for.
    HeldOut {
        /// How large a part.
        share: f64,
        /// What one check costs: the number of correct records is answered with Laplace noise of scale 1/epsilon.
        epsilon: f64,
    },
}

impl Validation {
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(records) = self.records else {
            return Err("validation.records is missing: accuracies decide how much noise there is, so they must not come \
                        from private records for nothing. Declare the test split public with records = { kind = \
                        \"public-test\" }, or pay for a part of the training records with records = { kind = \"held-out\", \
                        share = 0.1, epsilon = 0.1 }"
                .to_string());
        };
        let range = |key: &str, value: f64, allowed: &str| {
            Err(format!("validation.{key} = {value} is outside {allowed}"))
        };
        records.check("validation")?;
        if self.period == 0 {
            return range("period", 0.0, "1 and above");
        }
        if !(1..=self.period).contains(&self.checks) {
            let allowed = format!("1 to {}: there is one an epoch, and they are of one period", self.period);
            return range("checks", self.checks as f64, &allowed);
        }
        if !self.gain.is_finite() {
            return range("gain", self.gain, "the finite numbers");
        }
        if !(self.factor > 0.0 && self.factor <= 1.0) {
            return range("factor", self.factor, "(0, 1]");
        }
        Ok(())
    }

    /// Whether there is a check after this many epochs.
    pub fn checked_after(&self, epochs: u64) -> bool {
        epochs > 0 && (epochs - 1) % self.period >= self.period - self.checks
    }

    /// What the checks of this many epochs cost; `None` if they are free.
    pub fn cost(&self, epochs: u64) -> Option<Event> {
        let begun = (epochs % self.period).saturating_sub(self.period - self.checks);
        let checks = epochs / self.period * self.checks + begun;
        self.event().filter(|_| checks > 0).map(|event| event.repeated(checks))
    }

    /// What a check costs; `None` if it is free.
    pub fn event(&self) -> Option<Event> {
        self.noise_multiplier().map(Event::laplace)
    }

    /// The scale of the noise on the number of correct records; `None` if there is no noise.
    pub fn noise_multiplier(&self) -> Option<f64> {
        self.records.and_then(|records| records.noise_multiplier())
    }
}

impl ValidationRecords {
    /// Checks the numbers of the `records` below a key.
    pub(super) fn check(&self, key: &str) -> Result<(), String> {
        match *self {
            ValidationRecords::HeldOut { share, .. } if !(share > 0.0 && share < 1.0) => {
                Err(format!("{key}.records.share = {share} is outside (0, 1)"))
            }
            ValidationRecords::HeldOut { epsilon, .. } if !(1e-6..=1e6).contains(&epsilon) => {
                Err(format!("{key}.records.epsilon = {epsilon} is outside [1e-6, 1e6]"))
            }
            _ => Ok(()),
        }
    }

    /// The share of the training records that is not trained on.
    pub fn share(&self) -> f64 {
        match self {
            ValidationRecords::HeldOut { share, .. } => *share,
            ValidationRecords::PublicTest {} => 0.0,
        }
    }

    /// The scale of the noise on a count; `None` if there is no noise.
    pub fn noise_multiplier(&self) -> Option<f64> {
        match self {
            ValidationRecords::HeldOut { epsilon, .. } => Some(1.0 / epsilon),
            ValidationRecords::PublicTest {} => None,
        }
    }
}

/// What the checks have said so far.
///
/// In single precision, like everything that is saved between steps, so that a resumed run goes on exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watch {
    rule: Validation,
    /// Of the noise multiplier.
    factor: f32,
    /// Sum of the accuracies of this period.
    sum: f32,
    /// Mean of the last one.
    previous: f32,
}

impl Watch {
    /// Before the first check.
    pub fn new(rule: Validation) -> Watch {
        Watch { rule, factor: 1.0, sum: 0.0, previous: f32::NEG_INFINITY }
    }

    /// The factor on the noise multiplier.
    pub fn factor(&self) -> f64 {
        f64::from(self.factor)
    }

    /// Takes note of an accuracy after this many epochs; at the end of a period the noise may fall.
    pub fn note(&mut self, accuracy: f32, epochs: u64) {
        self.sum += accuracy;
        if epochs.is_multiple_of(self.rule.period) {
            let mean = self.sum / self.rule.checks as f32;
            if f64::from(mean) - f64::from(self.previous) < self.rule.gain {
                self.factor *= self.rule.factor as f32;
            }
            (self.previous, self.sum) = (mean, 0.0);
        }
    }

    /// For a checkpoint.
    pub fn state(&self) -> State {
        State::from([("watch".to_string(), vec![self.factor, self.sum, self.previous])])
    }

    /// From a checkpoint.
    pub fn restore(&mut self, state: &State) -> Result<(), StateError> {
        let mut values = [0.0; 3];
        restore(state, "watch", &mut values)?;
        [self.factor, self.sum, self.previous] = values;
        Ok(())
    }
}

/// Splits the positions of records: those to train on, and a share that is held out.
///
/// # Guarantee
/// Where a record goes is decided by a hash of that record alone. So one record more or less moves no other one, which a rule by
/// position would; and a record that is there twice is never on both sides.
pub fn hold_out(records: &View, share: f64) -> (Vec<usize>, Vec<usize>) {
    // The largest share below one rounds to 2⁶⁴, and the conversion saturates.
    let limit = (share * 2f64.powi(64)) as u64;
    (0..records.split().len()).partition(|&record| {
        let digest = content_hash(records, record);
        let first = digest.first_chunk().expect("a digest has 32 bytes");
        u64::from_le_bytes(*first) >= limit
    })
}

/// A hash of one record: its values and its label.
pub(crate) fn content_hash(records: &View, record: usize) -> [u8; 32] {
    let (split, width) = (records.split(), records.dataset().input().len());
    let mut hash = Sha256::new();
    let values = record * width..(record + 1) * width;
    match &split.records {
        Records::Bytes(bytes) => hash.update(&bytes[values]),
        Records::Floats(floats) => {
            floats[values].iter().for_each(|value| hash.update(value.to_le_bytes()));
        }
        Records::Halves(halves) => {
            halves[values].iter().for_each(|value| hash.update(value.to_le_bytes()));
        }
    }
    hash.update(split.labels()[record].to_le_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Scaling, Split, Visibility};
    use muffle_nn::Shape;

    const RULE: Validation = Validation {
        records: Some(ValidationRecords::HeldOut { share: 0.25, epsilon: 0.5 }),
        period: 4,
        checks: 2,
        gain: 0.01,
        factor: 0.7,
    };

    #[test]
    fn the_last_epochs_of_a_period_are_checked_and_each_check_is_paid() {
        let checked: Vec<u64> = (0..10).filter(|&epochs| RULE.checked_after(epochs)).collect();
        assert_eq!(checked, [3, 4, 7, 8]);
        for epochs in 0..30 {
            let checks = (0..=epochs).filter(|&epochs| RULE.checked_after(epochs)).count() as u64;
            let expected = (checks > 0).then(|| Event::laplace(2.0).repeated(checks));
            assert_eq!(RULE.cost(epochs), expected, "{epochs} epochs");
        }
        let public = Validation { records: Some(ValidationRecords::PublicTest {}), ..RULE };
        assert_eq!(public.cost(100), None);
    }

    /// Means 0.5, 0.6, 0.605, 0.4: the last two gain less than 0.01.
    #[test]
    fn the_noise_falls_where_the_mean_of_a_period_stands_still() {
        let mut watch = Watch::new(RULE);
        let periods = [(0.4, 0.6, 1.0), (0.6, 0.6, 1.0), (0.61, 0.6, 0.7), (0.4, 0.4, 0.49)];
        for (period, (first, second, factor)) in periods.into_iter().enumerate() {
            let before = watch.factor();
            watch.note(first, 4 * period as u64 + 3);
            assert_eq!(watch.factor(), before);
            let mut resumed = Watch::new(RULE);
            resumed.restore(&watch.state()).unwrap();
            assert_eq!(resumed, watch);
            watch.note(second, 4 * period as u64 + 4);
            assert!((watch.factor() - factor).abs() < 1e-6, "{}", watch.factor());
        }
    }

    /// 4000 records: the share held out has a standard deviation of 0.0068, and five of them are allowed.
    #[test]
    fn where_a_record_goes_depends_on_nobody_else() {
        let set = |range: std::ops::Range<usize>| {
            let records = Records::Floats(range.clone().map(|record| record as f32).collect());
            let train = Split::classified(records, range.map(|record| (record % 2) as u32).collect());
            let test = Split::classified(Records::Floats(vec![0.0]), vec![0]);
            let classes = vec!["a".to_string(), "b".to_string()];
            let scaling = Scaling::identity("");
            Dataset::new("x", Shape::Vector(1), classes, scaling, Visibility::Private, train, test).unwrap()
        };
        let (training, held_out) = hold_out(&set(0..4000).train(), 0.25);
        assert!((held_out.len() as f64 / 4000.0 - 0.25).abs() < 0.034, "{}", held_out.len());
        assert_eq!(training.len() + held_out.len(), 4000);
        let (_, without_first) = hold_out(&set(1..4000).train(), 0.25);
        let moved: Vec<usize> = without_first.iter().map(|record| record + 1).collect();
        let expected: Vec<usize> = held_out.into_iter().filter(|&record| record > 0).collect();
        assert_eq!(moved, expected);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_remedy() {
        for (rule, part) in [
            (Validation { records: None, ..RULE }, "Declare the test split public"),
            (Validation { checks: 5, ..RULE }, "validation.checks = 5 is outside 1 to 4"),
            (Validation { period: 0, ..RULE }, "validation.period = 0"),
            (Validation { factor: 1.5, ..RULE }, "validation.factor = 1.5"),
            (Validation { gain: f64::NAN, ..RULE }, "validation.gain"),
        ] {
            let message = rule.check().unwrap_err();
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(RULE.check(), Ok(()));
    }
}
