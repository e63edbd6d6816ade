//! The work of making features: long, in blocks that are kept, so that it can be stopped and taken up again.

use super::Features;
use super::cache::{Cache, digest};
use super::shared::shared;
use crate::data::{Augmentation, Dataset, Records, Scaling, Split, View, Views};
use crate::digest::sha256;
use crate::error::{Error, Result};
use half::f16;
use half::slice::HalfFloatSliceExt;
use muffle_nn::{Engine, Examples, Options, Purpose};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records that are kept together.
pub(super) const BLOCK: usize = 2048;
/// Records that are read at a time; between two times the work can be stopped.
const BATCH: usize = 256;
/// From which the ways follow in which views differ: the same for every record, and for everyone.
const VIEWS_SEED: u64 = 5;

/// Features of all records of a data set, on their way.
struct Stage<'a> {
    engine: Engine,
    /// Constants of the features.
    parameters: Arc<Vec<f32>>,
    cache: Option<Cache>,
    stop: &'a AtomicBool,
    /// Told how many records are done, of how many.
    tell: &'a mut dyn FnMut(u64, u64),
    done: u64,
    of: u64,
}

impl Features {
    /// A data set with the features of every record in place of the record, and those of further views of training records, so many
    /// with the record itself; `None` if `stop` was set before they were all there. `tell` hears how many records are done, of how many.
    pub fn apply(
        &self,
        dataset: &Dataset,
        views: (Augmentation, usize),
        threads: Option<usize>,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<Arc<Dataset>>> {
        let digest = digest(dataset, self);
        // The same records with other targets are another data set.
        let targets = [dataset.train(), dataset.test()].map(|view| view.split().targets.clone());
        let name = sha256(format!("{digest} {views:?} {} {:?} {targets:?}", dataset.name(), dataset.task()));
        shared(name, || self.apply_with(Cache::usual(dataset, &digest), dataset, views, threads, stop, tell))
    }

    /// The same with what is kept in this cache.
    pub(super) fn apply_with(
        &self,
        cache: Option<Cache>,
        dataset: &Dataset,
        (augmentation, views): (Augmentation, usize),
        threads: Option<usize>,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<Dataset>> {
        let network = Arc::new(self.network(dataset.input())?);
        let output = network.output();
        let engine = Engine::new(network, Options { threads, ..Options::new(Purpose::Evaluate) })?;
        let parameters = self.parameters(dataset.input())?;
        let moved = numbers(augmentation, views)?;
        let of = (views * dataset.train().len() + dataset.test().len()) as u64;
        let mut stage = Stage { engine, parameters, cache, stop, tell, done: 0, of };
        let Some(train) = stage.records("train", &dataset.train(), None)? else { return Ok(None) };
        let Some(test) = stage.records("test", &dataset.test(), None)? else { return Ok(None) };
        let mut further = Vec::new();
        for number in moved {
            let name = format!("view-{augmentation:?}-{number}")
                .replace(|letter: char| !letter.is_alphanumeric(), "-");
            match stage.records(&name, &dataset.train(), Some((augmentation, number)))? {
                Some(view) => further.push(view),
                None => return Ok(None),
            }
        }
        let with_targets =
            |records: Records, view: View| Split { records, targets: view.split().targets.clone() };
        let (train, test) = (with_targets(train, dataset.train()), with_targets(test, dataset.test()));
        let about = format!("{}; then {self:?}", dataset.scaling().about());
        let (scaling, task) = (Scaling::identity(&about), dataset.task().clone());
        let made =
            Dataset::with_task(dataset.name(), output, task, scaling, dataset.visibility(), train, test)?;
        Ok(Some(made.with_further_views(further)))
    }
}

/// Numbers of the views of records beside the records themselves.
pub(crate) fn numbers(augmentation: Augmentation, views: usize) -> Result<Vec<u64>> {
    match augmentation.different(VIEWS_SEED, views - 1) {
        Some(numbers) if augmentation.is_none() == (views == 1) => Ok(numbers),
        _ => Err(Error::Plan(format!(
            "augmentation.views = {views}: features of views are made once, before training, the first of the record as it is; set views to 2 or \
             more, and not more than there are that differ by what augmentation allows"
        ))),
    }
}

impl Stage<'_> {
    /// Features of records as they are or as they look in a view, in half precision; `None` if the work was stopped.
    fn records(
        &mut self,
        name: &str,
        view: &View,
        moved: Option<(Augmentation, u64)>,
    ) -> Result<Option<Records>> {
        let width = self.engine.network().output().len();
        let mut values = vec![f16::ZERO; view.len() * width];
        for (number, block) in values.chunks_mut(BLOCK * width).enumerate() {
            let kept = self.cache.as_ref().and_then(|cache| cache.load(name, number, block.len()));
            match kept {
                Some(kept) => {
                    block.copy_from_slice(&kept);
                    self.report((block.len() / width) as u64);
                }
                None if !self.fill(view, moved, number * BLOCK, block)? => return Ok(None),
                None => self.cache.iter().for_each(|cache| cache.store(name, number, block)),
            }
        }
        Ok(Some(Records::Halves(values)))
    }

    /// Features of the records from this one on; whether the work came to its end.
    fn fill(
        &mut self,
        view: &View,
        moved: Option<(Augmentation, u64)>,
        first: usize,
        block: &mut [f16],
    ) -> Result<bool> {
        let width = self.engine.network().output().len();
        let mut outputs = vec![0.0; (BATCH * width).min(block.len())];
        for (number, values) in block.chunks_mut(BATCH * width).enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let (first, records) = (first + number * BATCH, values.len() / width);
            let batch = view.select((first..first + records).collect::<Vec<usize>>());
            let outputs = &mut outputs[..values.len()];
            let (augmentation, number) = moved.unwrap_or_default();
            let batch = Views::alike(batch, augmentation, VIEWS_SEED, number);
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
