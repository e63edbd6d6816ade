//! A data set in memory: records as they were stored, labels, and the public constants that scale them.

use super::error::{DataError, Result};
use super::limits;
use super::own::table::{self, Column};
use super::scaling::Scaling;
use super::view::View;
use muffle_nn::shape::Shape;

/// Stored values, record after record.
#[derive(Clone, Debug, PartialEq)]
pub enum Records {
    /// Pixels: a quarter of the memory of floats, converted when read.
    Bytes(Vec<u8>),
    /// Features.
    Floats(Vec<f32>),
}

impl Records {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Records::Bytes(values) => values.len(),
            Records::Floats(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records at these positions, each of `width` values, in this order.
    fn select(&self, width: usize, positions: &[usize]) -> Records {
        fn part<T: Copy>(values: &[T], width: usize, positions: &[usize]) -> Vec<T> {
            positions.iter().flat_map(|&at| &values[at * width..][..width]).copied().collect()
        }
        match self {
            Records::Bytes(values) => Records::Bytes(part(values, width, positions)),
            Records::Floats(values) => Records::Floats(part(values, width, positions)),
        }
    }

    /// These records and then others; as floats if either are.
    fn followed_by(self, others: Records) -> Records {
        match (self, others) {
            (Records::Bytes(first), Records::Bytes(second)) => Records::Bytes([first, second].concat()),
            (first, second) => Records::Floats([first.into_floats(), second.into_floats()].concat()),
        }
    }

    /// As floats, whatever they were.
    pub fn into_floats(self) -> Vec<f32> {
        match self {
            Records::Bytes(values) => values.into_iter().map(f32::from).collect(),
            Records::Floats(values) => values,
        }
    }
}

/// Records with their classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Values, record after record, images row by row with channels side by side.
    pub records: Records,
    /// The class of each record.
    pub labels: Vec<u32>,
}

impl Split {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The records at these positions, in this order; a position may come twice.
    ///
    /// # Panics
    /// If a position lies outside the split.
    pub fn select(&self, positions: &[usize]) -> Split {
        let width = self.records.len() / self.len().max(1);
        Split {
            records: self.records.select(width, positions),
            labels: positions.iter().map(|&position| self.labels[position]).collect(),
        }
    }

    /// These records and then others of the same width.
    pub fn followed_by(self, others: Split) -> Split {
        Split {
            records: self.records.followed_by(others.records),
            labels: [self.labels, others.labels].concat(),
        }
    }

    /// How many records each class has. On private records this is a statistic: not to be shown for free.
    pub fn class_counts(&self, classes: usize) -> Vec<usize> {
        let mut counts = vec![0; classes];
        for &label in &self.labels {
            counts[label as usize] += 1;
        }
        counts
    }
}

/// Who may see statistics of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// A published benchmark: the whole world has it.
    Public,
    /// The user's own records.
    Private,
}

/// A training and a test split with what describes them.
#[derive(Clone, Debug)]
pub struct Dataset {
    name: String,
    input: Shape,
    classes: Vec<String>,
    scaling: Scaling,
    visibility: Visibility,
    columns: Vec<Column>,
    train: Split,
    test: Split,
}

impl Dataset {
    /// Checks that shape, scaling, classes and splits fit together.
    pub fn new(
        name: &str,
        input: Shape,
        classes: Vec<String>,
        scaling: Scaling,
        visibility: Visibility,
        train: Split,
        test: Split,
    ) -> Result<Dataset> {
        let refuse =
            |reason: String| Err(DataError::Description { file: format!("data set `{name}`"), reason });
        if input.is_empty() || input.len() > limits::MAXIMUM_RECORD {
            return refuse(format!("a record of shape {input} cannot be an input of a network"));
        }
        if classes.len() < 2 || classes.len() > limits::MAXIMUM_CLASSES {
            return refuse(format!(
                "{} classes; a classifier needs 2 to {}",
                classes.len(),
                limits::MAXIMUM_CLASSES
            ));
        }
        let channels = *input.sizes().first().unwrap_or(&0);
        if !scaling.fits(channels) {
            return refuse(format!("the scaling constants do not fit {channels} channels"));
        }
        for (which, split) in [("training", &train), ("test", &test)] {
            if split.is_empty() {
                return refuse(format!("the {which} split is empty; check how records are split"));
            }
            if split.len().checked_mul(input.len()) != Some(split.records.len()) {
                return refuse(format!(
                    "{} values in the {which} split for {} records of shape {input}",
                    split.records.len(),
                    split.len()
                ));
            }
            if let Some(record) = split.labels.iter().position(|&label| label as usize >= classes.len()) {
                return refuse(format!(
                    "record {record} of the {which} split has label {}, but there are {} classes (0 to {}); \
                     correct the label or declare more classes",
                    split.labels[record],
                    classes.len(),
                    classes.len() - 1
                ));
            }
            if let Records::Floats(values) = &split.records
                && let Some(position) = values.iter().position(|value| !value.is_finite())
            {
                return refuse(format!(
                    "record {} of the {which} split has a value that is not finite",
                    position / input.len()
                ));
            }
        }
        let (name, columns) = (name.to_string(), Vec::new());
        Ok(Dataset { name, input, classes, scaling, visibility, columns, train, test })
    }

    /// The same with other records in its splits.
    pub fn with_splits(&self, train: Split, test: Split) -> Result<Dataset> {
        let (classes, scaling) = (self.classes.clone(), self.scaling.clone());
        let other = Dataset::new(&self.name, self.input, classes, scaling, self.visibility, train, test)?;
        Ok(Dataset { columns: self.columns.clone(), ..other })
    }

    /// The same, known to be the rows of a table.
    ///
    /// # Panics
    /// If the columns do not become as many inputs as a record has.
    pub fn with_columns(self, columns: Vec<Column>) -> Dataset {
        assert_eq!(table::width(&columns), self.input.len(), "inputs of the columns");
        Dataset { columns, ..self }
    }

    /// The name it is asked for by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape of one record.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// Names of the classes, in the order of the labels.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The public constants between stored values and inputs.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// Whether the records are published or the user's own.
    pub fn visibility(&self) -> Visibility {
        self.visibility
    }

    /// The columns of a table, in the order of the inputs they become; none for other data.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The records to learn from.
    pub fn train(&self) -> View<'_> {
        View::new(self, &self.train)
    }

    /// The records to measure on.
    pub fn test(&self) -> View<'_> {
        View::new(self, &self.test)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_chosen_and_joined_with_their_labels() {
        let bytes = Split { records: Records::Bytes(vec![1, 2, 3, 4, 5, 6]), labels: vec![0, 1, 2] };
        let chosen = bytes.select(&[2, 0, 2]);
        assert_eq!(chosen, Split { records: Records::Bytes(vec![5, 6, 1, 2, 5, 6]), labels: vec![2, 0, 2] });
        let joined = bytes.select(&[1]).followed_by(bytes.select(&[0]));
        assert_eq!(joined, bytes.select(&[1, 0]));
        let floats = Split { records: Records::Floats(vec![0.5, 0.25]), labels: vec![3] };
        let mixed = bytes.select(&[1]).followed_by(floats);
        assert_eq!(mixed, Split { records: Records::Floats(vec![3.0, 4.0, 0.5, 0.25]), labels: vec![1, 3] });
    }
}
