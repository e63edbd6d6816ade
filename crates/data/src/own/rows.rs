//! Rows of a table becoming a split.

use crate::column::{Column, quoted};
use crate::dataset::{Records, Split};
use crate::error::{DataError, Result};
use crate::limits;
use crate::targets::{Table, Targets};
use crate::task::{Quantity, Task};
use std::fmt::Display;

/// Inputs and targets of the rows so far.
pub struct Rows<'a> {
    file: &'a str,
    columns: &'a [Column],
    task: &'a Task,
    count: usize,
    inputs: Vec<f32>,
    classes: Vec<u32>,
    numbers: Vec<f32>,
}

impl<'a> Rows<'a> {
    /// No rows yet.
    pub fn new(file: &'a str, columns: &'a [Column], task: &'a Task) -> Rows<'a> {
        let (inputs, classes, numbers) = (Vec::new(), Vec::new(), Vec::new());
        Rows { file, columns, task, count: 0, inputs, classes, numbers }
    }

    /// Names the file that the next rows are from.
    pub fn continue_in(&mut self, file: &'a str) {
        self.file = file;
    }

    /// Appends one row: its cells in the order of the columns, then those of its target.
    pub fn push<'c>(&mut self, position: &dyn Display, mut cell: impl FnMut(usize) -> &'c str) -> Result<()> {
        for (index, column) in self.columns.iter().enumerate() {
            column
                .encode(cell(index).trim(), &mut self.inputs)
                .map_err(|reason| self.wrong(position, &column.name, reason))?;
        }
        if self.inputs.len() as u64 > limits::MAXIMUM_VALUES {
            let reason = format!("more than {} input values", limits::MAXIMUM_VALUES);
            return Err(
                DataError::malformed(self.file, position, reason).remedy("use fewer rows or categories")
            );
        }
        let first = self.columns.len();
        match self.task {
            Task::Classes(names) => {
                let class = cell(first).trim();
                let label = names.iter().position(|known| known == class).ok_or_else(|| {
                    let reason = format!("class {}, the declared ones are {}", quoted(class), listed(names));
                    DataError::malformed(self.file, position, reason)
                        .remedy("correct it, or declare it in `classes`")
                })?;
                self.classes.push(label as u32);
            }
            Task::Labels(names) => {
                for (index, name) in names.iter().enumerate() {
                    let number = label(cell(first + index).trim())
                        .map_err(|reason| self.wrong(position, name, reason))?;
                    self.numbers.push(number);
                }
            }
            Task::Values(quantities) => {
                for (index, quantity) in quantities.iter().enumerate() {
                    let number = value(quantity, cell(first + index).trim())
                        .map_err(|reason| self.wrong(position, &quantity.name, reason))?;
                    self.numbers.push(number);
                }
            }
            Task::None => {}
        }
        self.count += 1;
        Ok(())
    }

    fn wrong(&self, position: &dyn Display, column: &str, reason: String) -> DataError {
        DataError::malformed(self.file, format!("{position}, column `{column}`"), reason)
            .remedy("then check again")
    }

    /// The rows so far.
    pub fn finish(self) -> Split {
        let targets = match self.task {
            Task::Classes(_) => Targets::Classes(self.classes),
            Task::Labels(names) => Targets::Labels(Table::new(names.len(), self.numbers)),
            Task::Values(quantities) => Targets::Values(Table::new(quantities.len(), self.numbers)),
            Task::None => Targets::None(self.count),
        };
        Split { records: Records::Floats(self.inputs), targets }
    }
}

/// Names, as many as fit into a message.
fn listed(names: &[String]) -> String {
    const MOST: usize = 10;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| quoted(name)).collect();
    let others = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    format!("{}{others}", shown.join(", "))
}

/// Whether a record has a label.
pub(super) fn label(cell: &str) -> std::result::Result<f32, String> {
    let is = |words: [&str; 3]| words.iter().any(|word| cell.eq_ignore_ascii_case(word));
    match cell {
        _ if is(["1", "yes", "true"]) => Ok(1.0),
        _ if is(["0", "no", "false"]) => Ok(0.0),
        _ => Err(format!(
            "{} does not say whether the label is there; write 0 or 1, or no or yes",
            quoted(cell)
        )),
    }
}

/// A cell that is a number.
pub(super) fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A number to predict, scaled by its declared range.
fn value(quantity: &Quantity, cell: &str) -> std::result::Result<f32, String> {
    let number = number(cell)
        .ok_or_else(|| format!("{} is not a number; correct it or leave the row out", quoted(cell)))?;
    Ok(quantity.scaled(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(task: &Task, rows: &[&[&str]]) -> Result<Split> {
        let columns = [Column::number("age", 0.0, 100.0)];
        let mut read = Rows::new("t.csv", &columns, task);
        for (index, row) in rows.iter().enumerate() {
            read.push(&format!("line {}", index + 2), |cell| row[cell])?;
        }
        Ok(read.finish())
    }

    #[test]
    fn targets_are_those_of_the_task() {
        let labels = Task::Labels(vec!["ill".into(), "old".into()]);
        let split = read(&labels, &[&["50", "yes", "0"], &["50", "False", "1"]]).unwrap();
        assert_eq!(split.targets, Targets::Labels(Table::new(2, vec![1.0, 0.0, 0.0, 1.0])));
        let values = Task::Values(vec![Quantity { name: "price".into(), range: [0.0, 10.0] }]);
        let split = read(&values, &[&["50", "5"], &["50", "-3"], &["50", "1e9"]]).unwrap();
        assert_eq!(split.targets, Targets::Values(Table::new(1, vec![0.5, 0.0, 1.0])));
        assert_eq!(read(&Task::None, &[&["50"], &["0"]]).unwrap().targets, Targets::None(2));

        let refused = |task: &Task, row: &[&str], parts: &[&str]| {
            let message = read(task, &[row]).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        };
        refused(&labels, &["50", "1", "perhaps"], &["line 2, column `old`", "0 or 1"]);
        refused(&values, &["50", "dear"], &["line 2, column `price`", "not a number"]);
        refused(&values, &["50", "NaN"], &["not a number"]);
    }
}
