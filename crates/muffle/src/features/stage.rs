//! The work of making features: long, in blocks that are kept, so that it can be stopped and taken up again.

use super::Features;
use super::cache::Cache;
use crate::data::{Dataset, Records, Scaling, Split, View};
use crate::error::Result;
use half::f16;
use half::slice::HalfFloatSliceExt;
use muffle_nn::{Engine, Examples, Options, Purpose};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records that are kept together.
pub(super) const BLOCK: usize = 2048;
/// Records that are read at a time; between two times the work can be stopped.
const BATCH: usize = 256;

/// Features of all records of a data set, on their way.
struct Stage<'a> {
    engine: Engine,
    /// Constants of the features.
    parameters: Vec<f32>,
    cache: Option<Cache>,
    stop: &'a AtomicBool,
    /// Told how many records are done, of how many.
    tell: &'a mut dyn FnMut(u64, u64),
    done: u64,
    of: u64,
}

impl Features {
    /// A data set with the features of every record in place of the record; `None` if `stop` was set before they were all there. `tell`
    /// hears how many records are done, of how many.
    pub fn apply(
        &self,
        dataset: &Dataset,
        threads: Option<usize>,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<Dataset>> {
        self.apply_with(Cache::usual(dataset, self), dataset, threads, stop, tell)
    }

    /// The same with what is kept in this cache.
    pub(super) fn apply_with(
        &self,
        cache: Option<Cache>,
        dataset: &Dataset,
        threads: Option<usize>,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<Dataset>> {
        let network = Arc::new(self.network(dataset.input())?);
        let output = network.output();
        let engine = Engine::new(network, Options { threads, ..Options::new(Purpose::Evaluate) })?;
        let parameters = self.parameters(dataset.input())?;
        let of = (dataset.train().len() + dataset.test().len()) as u64;
        let mut stage = Stage { engine, parameters, cache, stop, tell, done: 0, of };
        let Some(train) = stage.split("train", &dataset.train())? else { return Ok(None) };
        let Some(test) = stage.split("test", &dataset.test())? else { return Ok(None) };
        let about = format!("{}; then {self:?}", dataset.scaling().about());
        let (scaling, task) = (Scaling::identity(&about), dataset.task().clone());
        let made =
            Dataset::with_task(dataset.name(), output, task, scaling, dataset.visibility(), train, test)?;
        Ok(Some(made))
    }
}

impl Stage<'_> {
    /// Features of the records of a split, in half precision; `None` if the work was stopped.
    fn split(&mut self, name: &str, view: &View) -> Result<Option<Split>> {
        let width = self.engine.network().output().len();
        let mut values = vec![f16::ZERO; view.len() * width];
        for (number, block) in values.chunks_mut(BLOCK * width).enumerate() {
            let kept = self.cache.as_ref().and_then(|cache| cache.load(name, number, block.len()));
            match kept {
                Some(kept) => {
                    block.copy_from_slice(&kept);
                    self.report((block.len() / width) as u64);
                }
                None if !self.fill(view, number * BLOCK, block)? => return Ok(None),
                None => self.cache.iter().for_each(|cache| cache.store(name, number, block)),
            }
        }
        Ok(Some(Split { records: Records::Halves(values), targets: view.split().targets.clone() }))
    }

    /// Features of the records from this one on; whether the work came to its end.
    fn fill(&mut self, view: &View, first: usize, block: &mut [f16]) -> Result<bool> {
        let width = self.engine.network().output().len();
        let mut outputs = vec![0.0; (BATCH * width).min(block.len())];
        for (number, values) in block.chunks_mut(BATCH * width).enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let (first, records) = (first + number * BATCH, values.len() / width);
            let batch = view.select((first..first + records).collect::<Vec<usize>>());
            let outputs = &mut outputs[..values.len()];
            self.engine.outputs(&self.parameters, &batch, outputs)?;
            values.convert_from_f32_slice(outputs);
            self.report(records as u64);
        }
        Ok(true)
    }

    /// Says that so many more records are done.
    fn report(&mut self, records: u64) {
        self.done += records;
        (self.tell)(self.done, self.of);
    }
}
