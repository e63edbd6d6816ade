//! Training by one release, as a run sees it.

use super::coefficients::{Form, Sums};
use super::features::{FeatureMap, Published};
use super::plan::{Encoder, Plan};
use super::solve::solve;
use crate::State;
use crate::bundle::Bundle;
use crate::data::{Dataset, Schema};
use crate::error::{Error, Result};
use crate::ledger::{Access, Head, Purpose, Receipt};
use crate::mechanism::Mechanism;
use crate::noise::Key;
use crate::principal_components::{self, Projection};
use crate::records::PrivateRecords;
use crate::relevance::{self, Of};
use crate::run::{MODEL_FILE, Measurements, Trainer, Work, ledger_entry, recipe_digest};
use crate::train::Evaluator;
use muffle_accounting::Event;
use muffle_nn::initialise::SplitMix;
use muffle_nn::relevance::Propagation;
use nalgebra::DMatrix;
use std::path::Path;
use std::sync::Arc;

/// The mean of the features.
pub const CENTRE: Purpose = Purpose::new("centre");
/// What finds features again in their code.
pub const DECODER: Purpose = Purpose::new("decoder");
/// The coefficients of a first model, by which features are weighed.
pub const DRAFT: Purpose = Purpose::new("draft");
/// How much each feature matters to it.
pub const RELEVANCE: Purpose = Purpose::new("relevance");
/// The coefficients of the objective.
pub const COEFFICIENTS: Purpose = Purpose::new("coefficients");

/// Keeps relevance finite where the values it is divided by are near zero.
const STABILISER: f32 = 1e-6;

/// From which the first weights of a code follow: public.
const CODE: u64 = 1;

/// Principal components where the recipe asks for them, the centre of the features, the code of an auto-encoder, then the coefficients: a
/// step each.
pub struct ObjectiveTrainer {
    plan: Plan,
    key: Key,
    /// What was trained on, as it was given.
    given: Arc<Dataset>,
    /// The same, on principal components if there are any.
    dataset: Arc<Dataset>,
    accesses: Vec<Access>,
    /// What was released, in single precision so that a run that goes on has the same numbers.
    released: Vec<Vec<f32>>,
    components: Option<Projection>,
    /// The features, less their centre once it is known.
    inputs: FeatureMap,
    /// What the head reads: the features, or a code of them.
    map: FeatureMap,
    /// The model by which features are weighed.
    draft: Option<Published>,
    model: Option<Published>,
}

impl ObjectiveTrainer {
    /// Before anything is touched.
    pub fn new(plan: &Plan, dataset: &Dataset, key: Key) -> Result<ObjectiveTrainer> {
        let dataset = Arc::new(dataset.clone());
        let mut trainer = ObjectiveTrainer {
            plan: plan.clone(),
            key,
            given: dataset.clone(),
            dataset,
            accesses: plan.accesses(),
            released: Vec::new(),
            components: None,
            inputs: plan.map.clone(),
            map: plan.map.clone(),
            draft: None,
            model: None,
        };
        trainer.read(plan.map.clone())?;
        Ok(trainer)
    }

    /// Goes on with these features, and with a code of them that is random so far where there is to be one.
    fn read(&mut self, inputs: FeatureMap) -> Result<()> {
        self.map = match self.plan.encoder {
            Some(Encoder { hidden, gain, .. }) => {
                let mut generator = SplitMix::new(CODE);
                let mut row = |_| (0..inputs.width()).map(|_| f64::from(generator.normal())).collect();
                inputs.encoded(&(0..hidden).map(&mut row).collect::<Vec<Vec<f64>>>(), gain)?
            }
            None => inputs.clone(),
        };
        self.inputs = inputs;
        Ok(())
    }

    /// The network with its parameters, once the coefficients are there.
    pub fn model(&self) -> Option<&Published> {
        self.model.as_ref()
    }

    /// Makes the release that the receipt is for.
    fn release(&self, receipt: Receipt) -> Result<Vec<f32>> {
        let Plan { recipe, form, noise_multiplier, .. } = &self.plan;
        let mechanism = Mechanism::new(self.key.clone(), 1.0);
        let records = PrivateRecords::new(self.dataset.clone());
        let purpose = receipt.purpose();
        let (view, receipt) = records.all(receipt);
        let noise = self.plan.noise(purpose, *noise_multiplier);
        if purpose == principal_components::PURPOSE {
            let choice = recipe.training.principal_components.expect("they were asked for and paid");
            let found = principal_components::release(&view, choice.dimensions, noise, &mechanism, receipt)?;
            return Ok(found.components().to_vec());
        }
        let form = if purpose == DECODER { self.plan.decoder_form() } else { *form };
        let map = if purpose == CENTRE { &self.inputs } else { &self.map };
        let sums =
            Sums { form: &form, map, inputs: &self.inputs, records: &view, threads: recipe.run.threads };
        let vector = if purpose == RELEVANCE {
            let draft = self.draft.as_ref().expect("it comes before its relevance");
            let propagation = Propagation::new(draft.network.clone(), STABILISER)?;
            relevance::bounded(&propagation, &draft.parameters, &view, Of::Inputs)?
        } else if purpose == CENTRE {
            sums.features()?
        } else {
            sums.coefficients()?
        };
        let (values, _) = mechanism.answer(vector, noise, receipt);
        Ok(values.into_iter().map(|value| value as f32).collect())
    }

    /// Goes on with what was released.
    fn learn(&mut self, values: Vec<f32>) -> Result<()> {
        let purpose = self.accesses[self.released.len()].purpose;
        if purpose == principal_components::PURPOSE {
            let choice =
                self.plan.recipe.training.principal_components.expect("they were asked for and paid");
            let projection = Projection::from_components(choice.dimensions, values.clone())?;
            self.dataset = Arc::new(projection.apply(&self.given)?);
            self.components = Some(projection);
        } else if purpose == CENTRE {
            self.read(self.inputs.centred(&centre(&self.plan.form, &values))?)?;
        } else if purpose == DECODER {
            self.map = self.tied(&values)?;
        } else if purpose == DRAFT {
            self.draft = Some(self.solved(DRAFT, &values)?);
        } else if purpose == RELEVANCE {
            let weighing = self.plan.weighing.expect("it was asked for and paid");
            self.read(self.inputs.weighed(&weighing.weights(&values))?)?;
        } else {
            self.model = Some(self.solved(COEFFICIENTS, &values)?);
        }
        self.released.push(values);
        Ok(())
    }

    /// The code whose hidden units look for what the decoder makes of them.
    fn tied(&self, values: &[f32]) -> Result<FeatureMap> {
        let Encoder { gain, .. } = self.plan.encoder.expect("a code was asked for and paid");
        let rows = self.least(DECODER, &self.plan.decoder_form(), values);
        let unit = |unit: usize| rows.column(unit).iter().copied().collect();
        self.inputs.encoded(&(0..self.map.width()).map(unit).collect::<Vec<Vec<f64>>>(), gain)
    }

    /// The rows that make a released objective least.
    fn least(&self, purpose: Purpose, form: &Form, values: &[f32]) -> DMatrix<f64> {
        let noise_multiplier = self.plan.noise(purpose, self.plan.noise_multiplier);
        let width = self.map.width() + 1;
        let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        solve(&form.restored(&values, width), self.plan.ridge(form, noise_multiplier, width))
    }

    /// The network whose last layer makes the released objective least.
    fn solved(&self, purpose: Purpose, values: &[f32]) -> Result<Published> {
        let (form, width) = (&self.plan.form, self.map.width() + 1);
        let (weights, moved) = form.rows.outputs(self.least(purpose, form, values));
        let (own, constant) = form.scales();
        let row = |row: usize| (0..width - 1).map(|column| (own * weights[(row, column)]) as f32).collect();
        let bias = |row: usize| (constant * weights[(row, width - 1)] + moved) as f32;
        let rows: Vec<Vec<f32>> = (0..weights.nrows()).map(row).collect();
        let biases: Vec<f32> = (0..weights.nrows()).map(bias).collect();
        self.map.published(&rows, &biases)
    }
}

/// The mean of features, from their noisy sum and that of the constant behind them, which counts the records.
fn centre(form: &Form, sums: &[f32]) -> Vec<f64> {
    let (own, constant) = form.scales();
    let (count, sums) = sums.split_last().expect("the constant is behind the features");
    // Where noise outweighs the records, there is still one.
    let records = (f64::from(*count) / constant).max(1.0);
    sums.iter().map(|sum| f64::from(*sum) / own / records).collect()
}

/// The name of what an access gave, in a saved state.
fn name(access: &Access) -> String {
    format!("{}.{}", access.purpose.name(), access.number)
}

impl Trainer for ObjectiveTrainer {
    fn upcoming(&self, _most: u64) -> Vec<Access> {
        self.accesses.get(self.released.len()).cloned().into_iter().collect()
    }

    fn perform(&mut self, receipt: Receipt) -> Result<()> {
        let values = self.release(receipt)?;
        self.learn(values)
    }

    fn step(&self) -> u64 {
        self.released.len() as u64
    }

    fn cost(&self, steps: u64) -> Event {
        let next = self.accesses.iter().skip(self.released.len()).take(steps as usize);
        Event::compose(next.map(|access| access.release.clone()))
    }

    fn work(&self) -> Work {
        let records = self.plan.recipe.run.records.unwrap_or_default();
        Work { expected: self.released.len() as u64 * records, excluded: 0 }
    }

    fn measure(&mut self) -> Result<Measurements> {
        let Some(model) = &self.model else { return Ok(Measurements::default()) };
        let mut evaluator = Evaluator::new(model.network.clone(), self.plan.recipe.run.threads)?;
        let test = evaluator.evaluate(&model.parameters, &self.dataset.test())?;
        Ok(Measurements::default().with("test", test))
    }

    fn state(&self) -> State {
        self.accesses.iter().map(name).zip(self.released.iter().cloned()).collect()
    }

    fn restore(&mut self, state: &State, _step: u64) -> Result<()> {
        while let Some(access) = self.accesses.get(self.released.len()) {
            let Some(values) = state.get(&name(access)) else { break };
            self.learn(values.clone())?;
        }
        Ok(())
    }

    fn leave_files(&self, folder: &Path, head: &Head) -> Result<Vec<String>> {
        let Some(Published { description, network, parameters }) = &self.model else {
            return Err(Error::Plan(
                "what was lost in an interruption was paid for, and epsilon does not allow the coefficients any more: there is no \
                 model; start another run, and count what this one has spent as well"
                    .to_string(),
            ));
        };
        let (schema, recipe) = (Schema::of(&self.given), self.plan.recipe.without_seed().to_toml());
        let bundle = Bundle::new(schema, self.components.as_ref(), recipe, recipe_digest(folder)?);
        let metadata = [ledger_entry(head), bundle.entry()];
        muffle_nn::weights::save_with(
            &folder.join(MODEL_FILE),
            network,
            Some(description),
            parameters,
            &metadata,
        )?;
        Ok(vec![MODEL_FILE.to_string()])
    }
}
