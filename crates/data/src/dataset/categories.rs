//! Columns, found again in the inputs they became.

use super::{Dataset, View};
use crate::column::Column;
use muffle_nn::examples::Examples;
use std::ops::Range;

impl Dataset {
    /// The inputs that a column with categories becomes, one for each of them; if there is no such column, which there are.
    pub fn category_inputs(&self, name: &str) -> Result<Range<usize>, String> {
        let mut first = 0;
        for column in self.columns() {
            if column.name == name && column.categories.is_some() {
                return Ok(first..first + column.width());
            }
            first += column.width();
        }
        let with_categories = |column: &&Column| column.categories.is_some();
        let known: Vec<&str> =
            self.columns().iter().filter(with_categories).map(|column| column.name.as_str()).collect();
        Err(match known.is_empty() {
            true => format!("`{}` has no columns with categories", self.name()),
            false => format!("no column `{name}` with categories; there are {}", known.join(", ")),
        })
    }

    /// Where a column of numbers lies among the inputs, and what some of its values become there; if that cannot be, why.
    pub fn number_input(&self, name: &str, values: &[f64]) -> Result<NumberInput, String> {
        let mut first = 0;
        for column in self.columns() {
            if column.name == name && column.is_number() {
                // What lies outside of a range was moved to its ends.
                let [low, high] = column.range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
                return match values.iter().find(|value| !(low < **value && **value <= high)) {
                    Some(value) => {
                        Err(format!("{value} lies outside of the range of `{name}`, {low} to {high}"))
                    }
                    None => Ok(NumberInput {
                        place: first,
                        missing: column.indicator.then_some(first + 1),
                        values: values.iter().map(|value| column.scaled(*value)).collect(),
                    }),
                };
            }
            first += column.width();
        }
        let numbers = self.columns().iter().filter(|column| column.is_number());
        let known: Vec<&str> = numbers.map(|column| column.name.as_str()).collect();
        Err(match known.is_empty() {
            true => format!("`{}` has no columns of numbers", self.name()),
            false => format!("no column `{name}` of numbers; there are {}", known.join(", ")),
        })
    }

    /// The declared categories of a column; none if it has none.
    pub fn category_names(&self, name: &str) -> Vec<String> {
        let column = self.columns().iter().find(|column| column.name == name);
        column.and_then(|column| column.categories.clone()).unwrap_or_default()
    }
}

/// A column of numbers among the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberInput {
    /// The input.
    pub place: usize,
    /// The one that is 1 if the cell was empty.
    pub missing: Option<usize>,
    /// What the values that were asked for become there.
    pub values: Vec<f32>,
}

impl View<'_> {
    /// For every record, how many of the values are no larger than its own; `None` for an empty cell that was noted as one.
    pub fn intervals(&self, column: &NumberInput) -> Vec<Option<usize>> {
        let mut record = vec![0.0; self.dataset().input().len()];
        let interval = |index: usize| {
            self.read(index, &mut record);
            let empty = column.missing.is_some_and(|missing| record[missing] > 0.5);
            let below = column.values.iter().filter(|value| **value <= record[column.place]).count();
            (!empty).then_some(below)
        };
        (0..self.len()).map(interval).collect()
    }

    /// The category of every record, as its place among the inputs of its column.
    pub fn categories(&self, inputs: &Range<usize>) -> Vec<usize> {
        let mut record = vec![0.0; self.dataset().input().len()];
        let category = |index: usize| {
            self.read(index, &mut record);
            inputs.clone().position(|input| record[input] > 0.5).unwrap_or(0)
        };
        (0..self.len()).map(category).collect()
    }
}
