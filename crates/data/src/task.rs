//! What a network is to say of a record.

use super::limits;
use serde::{Deserialize, Serialize};

/// A number to predict, with the public range it is scaled by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// What it is.
    pub name: String,
    /// The declared smallest and largest value, in the user's units.
    pub range: [f64; 2],
}

impl Quantity {
    /// The target of a value: the declared range becomes 0 to 1; what lies outside is moved to the nearer end, as for
    /// inputs.
    pub fn scaled(&self, value: f64) -> f32 {
        let [low, high] = self.range;
        ((value.clamp(low, high) - low) / (high - low)) as f32
    }

    /// The way back: an output of a network in the user's units.
    pub fn in_units(&self, scaled: f32) -> f64 {
        let [low, high] = self.range;
        low + f64::from(scaled) * (high - low)
    }
}

/// What is known of every record of a data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// One of these classes.
    Classes(Vec<String>),
    /// Each of these labels, or not.
    Labels(Vec<String>),
    /// These numbers.
    Values(Vec<Quantity>),
    /// Nothing: records to read, not to learn from.
    None,
}

impl Task {
    /// Names of the classes, none for another task.
    pub fn classes(&self) -> &[String] {
        match self {
            Task::Classes(names) => names,
            _ => &[],
        }
    }

    /// Number of outputs a network needs for it.
    pub fn outputs(&self) -> usize {
        match self {
            Task::Classes(names) | Task::Labels(names) => names.len(),
            Task::Values(quantities) => quantities.len(),
            Task::None => 0,
        }
    }

    /// Number of cells of a table that hold a record's target.
    pub(crate) fn cells(&self) -> usize {
        match self {
            Task::Classes(_) => 1,
            _ => self.outputs(),
        }
    }

    /// Checks that it asks for something that can be learnt.
    pub fn check(&self) -> Result<(), String> {
        let most = limits::MAXIMUM_CLASSES;
        match self {
            Task::Classes(names) if names.len() < 2 || names.len() > most => {
                Err(format!("{} classes; a classifier needs 2 to {most}", names.len()))
            }
            Task::Labels(names) if names.is_empty() || names.len() > most => {
                Err(format!("{} labels; declare 1 to {most}", names.len()))
            }
            Task::Values(quantities) if quantities.is_empty() || quantities.len() > most => {
                Err(format!("{} values; declare 1 to {most}", quantities.len()))
            }
            Task::Values(quantities) => match quantities.iter().find(|quantity| !has_range(quantity)) {
                Some(Quantity { name, range: [low, high] }) => {
                    Err(format!("value `{name}`: range {low} to {high} is empty or not finite"))
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

fn has_range(quantity: &Quantity) -> bool {
    let [low, high] = quantity.range;
    low < high && low.is_finite() && high.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_scaled_by_their_range_and_back() {
        let price = Quantity { name: "price".into(), range: [100.0, 500.0] };
        assert_eq!(
            [0.0, 100.0, 200.0, 500.0, 1e9].map(|value| price.scaled(value)),
            [0.0, 0.0, 0.25, 1.0, 1.0]
        );
        assert_eq!([0.0, 0.25, 1.0].map(|scaled| price.in_units(scaled)), [100.0, 200.0, 500.0]);
    }

    #[test]
    fn what_cannot_be_learnt_is_refused() {
        let quantity = |low, high| Task::Values(vec![Quantity { name: "price".into(), range: [low, high] }]);
        assert!(quantity(3.0, 3.0).check().unwrap_err().contains("`price`"));
        assert!(quantity(0.0, f64::INFINITY).check().is_err());
        assert!(Task::Labels(vec![]).check().is_err() && Task::Classes(vec!["one".into()]).check().is_err());
        assert_eq!(Task::None.check(), Ok(()));
        assert_eq!((quantity(0.0, 1.0).outputs(), Task::None.outputs()), (1, 0));
    }
}
