//! Records as a network reads them: scaled when asked for, all of a split or those at given indices.

use super::{Dataset, Records, Split};
use half::slice::HalfFloatSliceExt;
use muffle_nn::examples::{Examples, Target};
use std::borrow::Cow;

/// Records of one split in a given order. Cheap to make: a view borrows, and converts one record at a time.
#[derive(Clone, Debug)]
pub struct View<'a> {
    dataset: &'a Dataset,
    split: &'a Split,
    indices: Option<Cow<'a, [usize]>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(dataset: &'a Dataset, split: &'a Split) -> View<'a> {
        View { dataset, split, indices: None }
    }

    /// The records at these positions of the split, in this order; a position may come twice.
    ///
    /// # Panics
    /// If a position lies outside the split.
    pub fn select(&self, indices: impl Into<Cow<'a, [usize]>>) -> View<'a> {
        let indices = indices.into();
        if let Some(outside) = indices.iter().find(|index| **index >= self.split.len()) {
            panic!("record {outside} of a split with {} records", self.split.len());
        }
        View { indices: Some(indices), ..self.clone() }
    }

    /// The data set the records belong to.
    pub fn dataset(&self) -> &'a Dataset {
        self.dataset
    }

    /// The split the records belong to.
    pub fn split(&self) -> &'a Split {
        self.split
    }

    /// The position in the split of one example of the view: who it is, whatever the batch.
    pub fn record(&self, index: usize) -> usize {
        match &self.indices {
            Some(indices) => indices[index],
            None => index,
        }
    }

    /// The input that one example has among these records, of the split or of another view of it.
    pub(crate) fn read_from(&self, records: &Records, index: usize, input: &mut [f32]) {
        let width = self.dataset.input().len();
        let start = self.record(index) * width;
        match records {
            Records::Bytes(values) => self.dataset.scaling().apply(&values[start..start + width], input),
            Records::Floats(values) => self.dataset.scaling().apply(&values[start..start + width], input),
            Records::Halves(values) => values[start..start + width].convert_to_f32_slice(input),
        }
    }

    /// The class of one example.
    ///
    /// # Panics
    /// If the records have no classes.
    pub fn label(&self, index: usize) -> u32 {
        self.split.labels()[self.record(index)]
    }
}

impl Examples for View<'_> {
    fn len(&self) -> usize {
        self.indices.as_ref().map_or(self.split.len(), |indices| indices.len())
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.read_from(&self.split.records, index, input);
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.split.targets.target(self.record(index))
    }

    /// The record's position in the split.
    fn identity(&self, record: usize) -> u64 {
        self.record(record) as u64
    }
}
