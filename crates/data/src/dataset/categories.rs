//! Columns with categories, found again in the inputs they became.

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

    /// The declared categories of a column; none if it has none.
    pub fn category_names(&self, name: &str) -> Vec<String> {
        let column = self.columns().iter().find(|column| column.name == name);
        column.and_then(|column| column.categories.clone()).unwrap_or_default()
    }
}

impl View<'_> {
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
