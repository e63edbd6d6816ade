//! Private records: nobody draws them without a receipt.

use crate::data::{Dataset, View};
use crate::ledger::Receipt;
use crate::sampler::Sampler;
use std::sync::Arc;

/// The training records of a data set, or some of them, behind the ledger.
pub struct PrivateRecords {
    dataset: Arc<Dataset>,
    /// Positions of the records in the training split, where some are left out.
    positions: Option<Vec<usize>>,
}

impl PrivateRecords {
    /// All training records of a data set.
    pub fn new(dataset: Arc<Dataset>) -> PrivateRecords {
        PrivateRecords { dataset, positions: None }
    }

    /// The training records at these positions.
    pub fn some(dataset: Arc<Dataset>, positions: Vec<usize>) -> PrivateRecords {
        PrivateRecords { dataset, positions: Some(positions) }
    }

    /// The records that a sampler takes in the step that the receipt is for. The receipt is then good for their release, and
    /// draws nothing more.
    ///
    /// # Panics
    /// If records were drawn with the receipt before.
    pub fn draw(&self, sampler: &mut dyn Sampler, receipt: Receipt) -> (View<'_>, Receipt) {
        let mut records = sampler.draw(receipt.number());
        if let Some(positions) = &self.positions {
            records.iter_mut().for_each(|record| *record = positions[*record]);
        }
        (self.dataset.train().select(records), receipt.drawn())
    }

    /// All records. The receipt is then good for a release of what is computed from them, and draws nothing more.
    ///
    /// # Panics
    /// If records were drawn with the receipt before.
    pub fn all(&self, receipt: Receipt) -> (View<'_>, Receipt) {
        let view = self.dataset.train();
        let view = match &self.positions {
            Some(positions) => view.select(&positions[..]),
            None => view,
        };
        (view, receipt.drawn())
    }

    /// How many there are. Under `add_remove` this number is private: it is for the sampler, not for print (R2).
    pub fn count(&self) -> usize {
        self.positions.as_ref().map_or(self.dataset.train().split().len(), Vec::len)
    }
}
