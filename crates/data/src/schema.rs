//! What a network has to know of records to read them, and of its outputs to name them.

use super::column::{Column, width};
use super::dataset::{Dataset, Records};
use super::limits;
use super::scaling::Scaling;
use super::task::Task;
use muffle_nn::shape::Shape;
use serde::{Deserialize, Serialize};

/// How values are stored before they are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stored {
    /// Whole numbers from 0 to 255, as pixels are.
    Bytes,
    /// Numbers of any size.
    Floats,
}

/// Everything between records as they lie in files and a network, without the records.
///
/// # Guarantee
/// It holds what was declared or published, and nothing that was computed from records: it may be given away with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// Sizes of one record, in PyTorch's order.
    pub input: Vec<usize>,
    /// What the outputs are about.
    pub task: Task,
    /// The column of a table that holds the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The columns of a table, in the order of the inputs they become; none for other data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<Column>,
    /// How many tokens there are, if records are arrays of token numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u32>,
    /// What the scaling is for.
    pub stored: Stored,
    /// From stored values to inputs.
    pub scaling: Scaling,
}

impl Schema {
    /// That of a data set.
    pub fn of(dataset: &Dataset) -> Schema {
        Schema {
            input: dataset.input().sizes(),
            task: dataset.task().clone(),
            label: dataset.label().map(str::to_string),
            columns: dataset.columns().to_vec(),
            vocabulary: dataset.vocabulary(),
            stored: match dataset.train().split().records {
                Records::Bytes(_) => Stored::Bytes,
                Records::Floats(_) | Records::Halves(_) => Stored::Floats,
            },
            scaling: dataset.scaling().clone(),
        }
    }

    /// The shape of one record.
    ///
    /// # Panics
    /// If the schema did not pass its [check](Schema::check).
    pub fn shape(&self) -> Shape {
        Shape::from_sizes(&self.input).expect("sizes were checked")
    }

    /// Columns of a table that hold the target, in the order of the task; `None` if their names are not known.
    pub fn target_columns(&self) -> Option<Vec<&str>> {
        match &self.task {
            Task::Classes(_) => self.label.as_deref().map(|label| vec![label]),
            Task::Labels(names) => Some(names.iter().map(String::as_str).collect()),
            Task::Values(quantities) => {
                Some(quantities.iter().map(|quantity| quantity.name.as_str()).collect())
            }
            Task::None => Some(Vec::new()),
        }
    }

    /// Checks that its parts fit together, wherever it was read from.
    pub fn check(&self) -> Result<(), String> {
        let sizes = &self.input;
        let values = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        let values = values.filter(|values| (1..=limits::MAXIMUM_RECORD).contains(values));
        let (Some(values), Some(shape)) = (values, Shape::from_sizes(sizes)) else {
            return Err(format!("records of sizes {sizes:?} cannot be read"));
        };
        self.task.check()?;
        self.columns.iter().try_for_each(Column::check)?;
        if self.vocabulary == Some(0) {
            return Err("a vocabulary of no tokens".to_string());
        }
        if !self.columns.is_empty() && width(&self.columns) != values {
            return Err(format!("its columns become {} inputs, not {values}", width(&self.columns)));
        }
        match self.scaling.fits(shape.sizes()[0]) {
            true => Ok(()),
            false => Err(format!("its scaling does not fit records of sizes {sizes:?}")),
        }
    }
}
