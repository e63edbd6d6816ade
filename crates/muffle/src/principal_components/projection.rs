//! From records to their coordinates along the components.

use super::unit::scale_to_unit;
use crate::data::{DataError, Dataset, Records, Result, Scaling, Split, View};
use muffle_nn::kernel::matrix::{Matrix, product};
use muffle_nn::{Examples, Shape};
use rayon::prelude::*;

/// Records projected at a time.
const BLOCK: usize = 256;

/// Components on which records are projected. Once released, free to use and to publish (R9).
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    inputs: usize,
    dimensions: usize,
    components: Vec<f32>,
}

impl Projection {
    /// From the values of `dimensions` components, one after the other, as [`components`](Projection::components) gives
    /// them.
    pub fn from_components(dimensions: usize, components: Vec<f32>) -> Result<Projection> {
        let refuse =
            |reason: String| Err(DataError::Description { file: "principal components".to_string(), reason });
        if dimensions == 0 || components.is_empty() || !components.len().is_multiple_of(dimensions) {
            return refuse(format!(
                "{} values do not make {dimensions} components; restore as many as were saved",
                components.len()
            ));
        }
        if let Some(index) = components.iter().position(|value| !value.is_finite()) {
            return refuse(format!("value {index} is not finite; restore what was saved"));
        }
        Ok(Projection { inputs: components.len() / dimensions, dimensions, components })
    }

    /// The components, one after the other, each with as many values as a record had.
    pub fn components(&self) -> &[f32] {
        &self.components
    }

    /// Values of a record before.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Values of a record after.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The same records, scaled as they were, then to unit length, as coordinates along the components; the coordinates are
    /// read times the root of their number, so that each has about the size that networks expect. A record that is not
    /// finite becomes zeros.
    pub fn apply(&self, dataset: &Dataset) -> Result<Dataset> {
        if dataset.input().len() != self.inputs {
            return Err(DataError::Description {
                file: format!("data set `{}`", dataset.name()),
                reason: format!(
                    "records have {} values, but the principal components were found for {}; use the data set they \
                     were found for",
                    dataset.input().len(),
                    self.inputs
                ),
            });
        }
        let about = format!(
            "{}; then each record to unit length, then on {} principal components, times the root of {}",
            dataset.scaling().about(),
            self.dimensions,
            self.dimensions
        );
        let scaling = Scaling::times((self.dimensions as f64).sqrt(), &about);
        Dataset::with_task(
            dataset.name(),
            Shape::Vector(self.dimensions),
            dataset.task().clone(),
            scaling,
            dataset.visibility(),
            self.project(&dataset.train()),
            self.project(&dataset.test()),
        )
    }

    /// The coordinates of records that are scaled as they were, as a network reads them that was trained on [the same
    /// way](Projection::apply). The records themselves are scaled to unit length on the way.
    pub fn inputs_of(&self, records: &mut [f32]) -> Vec<f32> {
        let mut projected = vec![0.0; records.len() / self.inputs * self.dimensions];
        self.coordinates(records, &mut projected);
        let root = (self.dimensions as f64).sqrt() as f32;
        projected.iter_mut().for_each(|value| *value *= root);
        projected
    }

    fn coordinates(&self, records: &mut [f32], projected: &mut [f32]) {
        records.chunks_exact_mut(self.inputs).for_each(scale_to_unit);
        let components = Matrix::rows(&self.components, self.dimensions, self.inputs);
        let records = Matrix::rows(records, records.len() / self.inputs, self.inputs);
        product(records, components.transposed(), false, projected, self.dimensions);
    }

    fn project(&self, view: &View) -> Split {
        let mut projected = vec![0.0; view.len() * self.dimensions];
        projected.par_chunks_mut(BLOCK * self.dimensions).enumerate().for_each_init(
            || vec![0.0; BLOCK * self.inputs],
            |records, (block, projected)| {
                let count = projected.len() / self.dimensions;
                for (index, record) in records.chunks_exact_mut(self.inputs).take(count).enumerate() {
                    view.read(block * BLOCK + index, record);
                }
                self.coordinates(&mut records[..count * self.inputs], projected);
            },
        );
        Split { records: Records::Floats(projected), targets: view.split().targets.clone() }
    }
}
