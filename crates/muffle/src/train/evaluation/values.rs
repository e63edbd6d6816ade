//! Numbers.

use super::summary::Evaluation;
use crate::data::Quantity;
use muffle_nn::Target;
use std::collections::BTreeMap;

/// Errors of each number, in its own units.
pub(super) struct Values<'a> {
    quantities: &'a [Quantity],
    /// Of every record, for each number.
    errors: Vec<Vec<f64>>,
}

impl<'a> Values<'a> {
    pub fn new(quantities: &'a [Quantity]) -> Values<'a> {
        Values { quantities, errors: vec![Vec::new(); quantities.len()] }
    }

    /// Notes the outputs for one record.
    pub fn note(&mut self, target: Target, outputs: &[f32]) {
        let Target::Values(targets) = target else { return };
        let pairs = outputs.iter().zip(targets).zip(self.quantities);
        for (((output, target), quantity), errors) in pairs.zip(&mut self.errors) {
            errors.push(quantity.in_units(*output) - quantity.in_units(*target));
        }
    }

    /// The mean absolute error of each number among some records; nothing among none.
    pub fn mean_absolute_error(&self, records: &[usize]) -> BTreeMap<String, f64> {
        self.means(records, f64::abs)
    }

    fn means(&self, records: &[usize], of: fn(f64) -> f64) -> BTreeMap<String, f64> {
        let share = 1.0 / records.len() as f64;
        let mean = |errors: &Vec<f64>| share * records.iter().map(|&record| of(errors[record])).sum::<f64>();
        let named = self.quantities.iter().zip(&self.errors).filter(|_| !records.is_empty());
        named.map(|(quantity, errors)| (quantity.name.clone(), mean(errors))).collect()
    }

    /// One figure for each measure, added to the loss.
    pub fn summary(&self, evaluation: Evaluation) -> Evaluation {
        let all: Vec<usize> = (0..evaluation.records).collect();
        let squares = self.means(&all, |error| error * error);
        let numbers = |record: &usize| self.errors.iter().any(|errors| errors[*record].is_nan());
        Evaluation {
            mean_absolute_error: self.mean_absolute_error(&all),
            root_mean_squared_error: squares.into_iter().map(|(name, mean)| (name, mean.sqrt())).collect(),
            not_numbers: all.iter().copied().filter(|record| numbers(record)).count(),
            ..evaluation
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Targets 100 and 500 of a range from 100 to 500; outputs 0.25 and 0.5 are 200 and 300: errors of 100 and 200.
    #[test]
    fn errors_are_in_the_units_of_the_number() {
        let quantities = vec![Quantity { name: "price".to_string(), range: [100.0, 500.0] }];
        let mut values = Values::new(&quantities);
        values.note(Target::Values(&[0.0]), &[0.25]);
        values.note(Target::Values(&[1.0]), &[0.5]);
        let found = values.summary(Evaluation { records: 2, ..Evaluation::default() });
        assert!((found.mean_absolute_error["price"] - 150.0).abs() < 1e-4, "{found:?}");
        assert!((found.root_mean_squared_error["price"] - 25_000f64.sqrt()).abs() < 1e-3, "{found:?}");
        assert_eq!((found.accuracy, found.not_numbers), (None, 0));
        assert!((values.mean_absolute_error(&[1])["price"] - 200.0).abs() < 1e-4);
        assert!(values.mean_absolute_error(&[]).is_empty());
    }

    /// JSON has no NaN: what was written down is read again all the same.
    #[test]
    fn errors_of_what_is_no_number_are_written_and_read() {
        let quantities = vec![Quantity { name: "price".to_string(), range: [0.0, 1.0] }];
        let mut values = Values::new(&quantities);
        values.note(Target::Values(&[0.0]), &[f32::NAN]);
        let found = values.summary(Evaluation { records: 1, ..Evaluation::default() });
        let text = serde_json::to_string(&found).unwrap();
        assert!(text.contains(r#""mean_absolute_error":{"price":null}"#), "{text}");
        let read: Evaluation = serde_json::from_str(&text).unwrap();
        assert!(read.mean_absolute_error["price"].is_nan() && read.root_mean_squared_error["price"].is_nan());
        assert_eq!(read.not_numbers, 1);
    }
}
