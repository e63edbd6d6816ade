//! Losses that count more for some classes than for others.

use crate::data::View;
use crate::mechanism::BoundedVector;
use muffle_nn::{Examples, Target};
use serde::{Deserialize, Serialize};

/// What the loss of a record is multiplied by, for each class: numbers, or the word `balanced`.
///
/// # Guarantee
/// A record's gradient is multiplied before it is bounded, so that whatever the weights are, one record moves a sum by no more than
/// the rule's bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "class_weights is \"balanced\" or a list of numbers, one for each class")]
pub enum ClassWeights {
    /// Numbers, in the order of the classes. They are public.
    Given(Vec<f64>),
    /// Numbers that follow from the shares of the classes.
    Rule(WeightRule),
}

/// A rule for weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightRule {
    /// One over the share of the class and the number of classes: all classes count alike, and the mean weight is one.
    Balanced,
}

/// The shares of the classes, and why they may be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "class_shares is a list of public shares, one for each class, or { epsilon = 0.05 } to count the classes with noise"
)]
pub enum ClassShares {
    /// Public figures, in the order of the classes.
    Public(Vec<f64>),
    /// Records are counted by class before the first step, with Laplace noise, and this is paid for.
    Counted {
        /// What the count costs: the noise has scale 1/epsilon.
        epsilon: f64,
    },
}

impl ClassWeights {
    /// Checks the numbers of both keys, and that each has what it needs of the other.
    pub(super) fn check(weights: Option<&ClassWeights>, shares: Option<&ClassShares>) -> Result<(), String> {
        let good = |value: &&f64| (1e-6..=1e6).contains(*value);
        match (weights, shares) {
            (Some(ClassWeights::Rule(WeightRule::Balanced)), None) => Err(
                "class_shares is missing: balanced weights follow from how frequent the classes are, and counting private records \
                 is not free. Give public shares, class_shares = [0.9, 0.1], or pay for a noisy count with class_shares = \
                 { epsilon = 0.05 }"
                    .to_string(),
            ),
            (None | Some(ClassWeights::Given(_)), Some(_)) => {
                Err("class_shares goes with class_weights = \"balanced\"; leave it out".to_string())
            }
            (Some(ClassWeights::Given(values)), None) => match values.iter().find(|value| !good(value)) {
                Some(value) => Err(format!("class_weights: {value} is outside [1e-6, 1e6]")),
                None => Ok(()),
            },
            (Some(_), Some(ClassShares::Public(shares))) => match shares.iter().find(|share| !good(share)) {
                Some(share) => Err(format!("class_shares: {share} is outside [1e-6, 1e6]")),
                None => Ok(()),
            },
            (Some(_), Some(ClassShares::Counted { epsilon })) if !good(&epsilon) => {
                Err(format!("class_shares.epsilon = {epsilon} is outside [1e-6, 1e6]"))
            }
            (Some(_), Some(ClassShares::Counted { .. })) | (None, None) => Ok(()),
        }
    }

    /// For how many classes there are numbers; `None` if they are counted.
    pub(super) fn classes(&self, shares: Option<&ClassShares>) -> Option<usize> {
        match (self, shares) {
            (ClassWeights::Given(values), _) | (_, Some(ClassShares::Public(values))) => Some(values.len()),
            _ => None,
        }
    }

    /// The weights, where nothing has to be counted.
    pub(super) fn in_advance(&self, shares: Option<&ClassShares>) -> Option<Vec<f32>> {
        match (self, shares) {
            (ClassWeights::Given(values), _) => Some(values.iter().map(|value| *value as f32).collect()),
            (_, Some(ClassShares::Public(shares))) => Some(balanced(shares)),
            _ => None,
        }
    }
}

/// One over the share of each class and the number of classes.
fn balanced(shares: &[f64]) -> Vec<f32> {
    let whole: f64 = shares.iter().sum();
    shares.iter().map(|share| (whole / share / shares.len() as f64) as f32).collect()
}

/// How many records of a view each class has, for a release.
///
/// # Guarantee
/// Adding or removing one record changes the numbers by one at most, in L1 norm.
pub(crate) fn counted(view: &View, classes: usize) -> BoundedVector {
    let mut counts = vec![0.0; classes];
    (0..view.len()).for_each(|index| counts[view.label(index) as usize] += 1.0);
    BoundedVector::l1(counts, 1.0)
}

/// Balanced weights from counts with noise of this scale. A count below the noise says only that there are few: it is taken for the
/// noise, so that no weight is out of all proportion.
pub(super) fn from_counts(counts: &[f64], scale: f64) -> Vec<f32> {
    let at_least: Vec<f64> = counts.iter().map(|count| count.max(scale).max(1.0)).collect();
    balanced(&at_least)
}

/// Examples whose losses are multiplied by the weights of their classes.
pub struct Weighted<'a> {
    /// The examples, each with a class.
    pub examples: &'a dyn Examples,
    /// In the order of the classes.
    pub weights: &'a [f32],
}

impl Examples for Weighted<'_> {
    fn len(&self) -> usize {
        self.examples.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.examples.read(index, input);
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.examples.target(index)
    }

    fn weight(&self, index: usize) -> f32 {
        match self.examples.target(index) {
            Target::Class(class) => self.examples.weight(index) * self.weights[class as usize],
            _ => self.examples.weight(index),
        }
    }

    fn views(&self) -> usize {
        self.examples.views()
    }

    fn identity(&self, record: usize) -> u64 {
        self.examples.identity(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_weights_make_classes_count_alike() {
        // scikit-learn's rule for class_weight="balanced": records / (classes · count).
        assert_eq!(balanced(&[0.75, 0.25]), [1.0 / 1.5, 2.0]);
        assert_eq!(balanced(&[6.0, 1.0, 1.0]), [8.0 / 18.0, 8.0 / 3.0, 8.0 / 3.0]);
        // Noise of scale 20 has made 3 of a rare class negative.
        assert_eq!(from_counts(&[980.0, -17.0], 20.0), [1000.0 / 1960.0, 25.0]);
        assert!(from_counts(&[0.0, 0.0], 0.0).iter().all(|weight| *weight == 1.0));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_remedy() {
        let rule = Some(&ClassWeights::Rule(WeightRule::Balanced));
        let given = |values: &[f64]| ClassWeights::Given(values.to_vec());
        for (weights, shares, part) in [
            (rule, None, "class_shares = [0.9, 0.1]"),
            (rule, Some(ClassShares::Counted { epsilon: 0.0 }), "class_shares.epsilon = 0"),
            (rule, Some(ClassShares::Public(vec![0.5, f64::NAN])), "class_shares: NaN"),
            (Some(&given(&[1.0, -1.0])), None, "class_weights: -1"),
            (Some(&given(&[1.0, 1.0])), Some(ClassShares::Counted { epsilon: 1.0 }), "leave it out"),
            (None, Some(ClassShares::Counted { epsilon: 1.0 }), "leave it out"),
        ] {
            let message = ClassWeights::check(weights, shares.as_ref()).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(ClassWeights::check(rule, Some(&ClassShares::Public(vec![0.9, 0.1]))), Ok(()));
    }
}
