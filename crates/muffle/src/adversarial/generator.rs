//! A generator that may be given away: its file, and records drawn from it.

use super::maker::Maker;
use crate::bundle::Bundle;
use crate::data::{Dataset, Records, Schema, Split, Targets, Task};
use crate::error::{Error, Result};
use crate::ledger::Head;
use crate::run::{ledger_entry, verify};
use muffle_nn::initialise::SplitMix;
use muffle_nn::model_file::explain::json_error;
use muffle_nn::{ModelDescription, Network, weights};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the generator in the folder of a run.
pub const GENERATOR_FILE: &str = "generator.safetensors";

/// Name of the critic.
pub const CRITIC_FILE: &str = "critic.safetensors";

/// Key of what a generator is asked with, among the metadata of its file.
const KEY: &str = "muffle.generator";

/// What a generator is asked with, and what it makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Random numbers in front of an input.
    pub latent: usize,
    /// Classes behind them; none if the generator knows of none.
    pub classes: usize,
    /// The one class whose records it makes, if it was trained on no others.
    pub class: Option<u32>,
    /// How frequent the classes are: public, or released.
    pub shares: Vec<f32>,
}

/// A generator with everything that it takes to draw records from it. What is drawn costs nothing (R9).
pub struct Generator {
    /// Its file, if it has one.
    pub path: PathBuf,
    /// What it is asked with.
    pub asked: Asked,
    /// What its records are.
    pub schema: Schema,
    parameters: Vec<f32>,
    maker: Maker,
}

impl Generator {
    /// From its parts.
    pub fn new(
        network: Arc<Network>,
        parameters: Vec<f32>,
        asked: Asked,
        schema: Schema,
        threads: Option<usize>,
    ) -> Result<Generator> {
        let maker = Maker::new(network, asked.latent, asked.classes, threads)?;
        Ok(Generator { path: PathBuf::new(), asked, schema, parameters, maker })
    }

    /// Opens the folder of a finished run, or its generator alone.
    ///
    /// # Guarantee
    /// A folder is [verified](verify): generator, ledger and recipe are those that its certificate is about.
    pub fn open(path: &Path, threads: Option<usize>) -> Result<Generator> {
        let file = if path.is_dir() { path.join(GENERATOR_FILE) } else { path.to_path_buf() };
        if path.is_dir() {
            let certificate = verify(path)?;
            if !certificate.binding.files.contains_key(GENERATOR_FILE) {
                return Err(Error::file(
                    path,
                    "there is no finished generator here; train one by a recipe of kind \"adversarial\", or go on with `muffle \
                     train --resume`",
                ));
            }
        }
        let unusable = |reason: String| {
            let remedy = "get the file again, or use the version of muffle that wrote it";
            Error::file(&file, format!("it is no generator that can be used ({reason}); {remedy}"))
        };
        let (_, network, parameters) = weights::open(&file)?;
        let entries = weights::metadata(&file)?;
        let entry = entries.get(KEY).ok_or_else(|| unusable("it does not say what to ask it with".into()))?;
        let asked: Asked = serde_json::from_str(entry).map_err(|error| unusable(json_error(&error)))?;
        let bundle = Bundle::read(&file)?.ok_or_else(|| unusable("it does not say what it makes".into()))?;
        bundle.schema.check().map_err(&unusable)?;
        let fits = network.input().len() == asked.latent + asked.classes
            && network.output() == bundle.schema.shape()
            && asked.shares.len() == asked.classes.max(1)
            && asked.shares.iter().all(|share| *share >= 0.0 && share.is_finite())
            && (asked.classes == 0 || asked.classes == bundle.schema.task.classes().len());
        if !fits {
            return Err(unusable("its parts do not fit together".to_string()));
        }
        let generator = Generator::new(Arc::new(network), parameters, asked, bundle.schema, threads)?;
        Ok(Generator { path: file, ..generator })
    }

    /// Writes its file.
    pub(super) fn save(
        path: &Path,
        network: &(ModelDescription, Arc<Network>),
        parameters: &[f32],
        asked: &Asked,
        bundle: &Bundle,
        head: &Head,
    ) -> Result<()> {
        let asked = serde_json::to_string(asked).expect("it has a form in JSON");
        let metadata = [ledger_entry(head), bundle.entry(), (KEY.to_string(), asked)];
        Ok(weights::save_with(path, &network.1, Some(&network.0), parameters, &metadata)?)
    }

    /// Inputs of so many records, and their classes: all of one, or by their shares.
    pub fn inputs(
        &mut self,
        count: usize,
        class: Option<u32>,
        random: &mut SplitMix,
    ) -> Result<(Vec<f32>, Vec<u32>)> {
        let classes = match class {
            Some(class) => vec![class; count],
            None => self.maker.classes(&self.asked.shares, count, random),
        };
        let asked = self.maker.inputs(&classes, random);
        let made = self.maker.make(&self.parameters, &asked)?;
        let classes = self.asked.class.map_or(classes, |class| vec![class; count]);
        Ok((made, classes))
    }

    /// So many records in the form of those that were learned from.
    pub fn records(&mut self, count: usize, class: Option<u32>, random: &mut SplitMix) -> Result<Split> {
        let (inputs, classes) = self.inputs(count, class, random)?;
        let records: Records = self.schema.stored(&inputs, random);
        let known = self.asked.classes > 0 || self.asked.class.is_some();
        let targets = match &self.schema.task {
            Task::Classes(_) if known => Targets::Classes(classes),
            _ => Targets::None(count),
        };
        Ok(Split { records, targets })
    }

    /// A data set whose training records are generated and whose test records are real.
    pub fn in_place_of(&mut self, dataset: &Dataset, count: usize, seed: u64) -> Result<Dataset> {
        let made = self.records(count, None, &mut SplitMix::new(seed))?;
        Ok(dataset.with_splits(made, dataset.test().split().clone())?)
    }
}
