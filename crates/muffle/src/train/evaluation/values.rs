//! Numbers.

use super::{Evaluation, Measures};
use crate::data::{Quantity, View};
use muffle_nn::{Examples, Target};

/// Errors of each number, in its own units.
pub(super) struct Values<'a> {
    quantities: &'a [Quantity],
    /// Sums of absolute and of squared errors.
    errors: Vec<(f64, f64)>,
}

impl<'a> Values<'a> {
    pub fn new(quantities: &'a [Quantity]) -> Values<'a> {
        Values { quantities, errors: vec![(0.0, 0.0); quantities.len()] }
    }
}

impl Measures for Values<'_> {
    fn note(&mut self, view: &View, index: usize, outputs: &[f32]) {
        let Target::Values(targets) = view.target(index) else { return };
        let pairs = outputs.iter().zip(targets).zip(self.quantities);
        for (((output, target), quantity), (absolute, squared)) in pairs.zip(&mut self.errors) {
            let error = quantity.in_units(*output) - quantity.in_units(*target);
            *absolute += error.abs();
            *squared += error * error;
        }
    }

    fn result(self: Box<Self>, evaluation: Evaluation) -> Evaluation {
        let share = 1.0 / evaluation.records.max(1) as f64;
        let names = || self.quantities.iter().map(|quantity| quantity.name.clone());
        Evaluation {
            mean_absolute_error: names().zip(self.errors.iter().map(|errors| errors.0 * share)).collect(),
            root_mean_squared_error: names()
                .zip(self.errors.iter().map(|errors| (errors.1 * share).sqrt()))
                .collect(),
            ..evaluation
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::targets::Table;
    use crate::data::{Dataset, Records, Scaling, Split, Targets, Task, Visibility};
    use muffle_nn::Shape;

    /// Targets 100 and 500 of a range from 100 to 500; outputs 0.25 and 0.5 are 200 and 300: errors of 100 and 200.
    #[test]
    fn errors_are_in_the_units_of_the_number() {
        let quantities = vec![Quantity { name: "price".to_string(), range: [100.0, 500.0] }];
        let targets = Targets::Values(Table::new(1, vec![0.0, 1.0]));
        let split = Split { records: Records::Floats(vec![0.0, 0.0]), targets };
        let scaling = Scaling::identity("as is");
        let dataset = Dataset::with_task(
            "prices",
            Shape::Vector(1),
            Task::Values(quantities.clone()),
            scaling,
            Visibility::Public,
            split.clone(),
            split,
        )
        .unwrap();
        let mut values = Box::new(Values::new(&quantities));
        values.note(&dataset.test(), 0, &[0.25]);
        values.note(&dataset.test(), 1, &[0.5]);
        let found = values.result(Evaluation { records: 2, ..Evaluation::default() });
        assert!((found.mean_absolute_error["price"] - 150.0).abs() < 1e-4, "{found:?}");
        assert!((found.root_mean_squared_error["price"] - 25_000f64.sqrt()).abs() < 1e-3, "{found:?}");
        assert_eq!(found.accuracy, None);
    }
}
