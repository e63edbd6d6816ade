//! Training by one release, as a run sees it.

use super::belief::BeliefTraining;
use super::choices::{Encoder, Weigh};
use super::coefficients::{Form, Sums};
use super::course::Course;
use super::features::FeatureMap;
use super::plan::Plan;
use super::published::Published;
use super::purposes::{CENTRE, DECODER, DRAFT, RELEVANCE, REPORTS, STATISTICS};
use super::solve::solve;
use crate::State;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::ledger::{Access, Head, Purpose, Receipt};
use crate::mechanism::{Mechanism, Reporting};
use crate::noise::Key;
use crate::principal_components::{self, Projection};
use crate::records::PrivateRecords;
use crate::relevance::{self, Of};
use crate::run::{Measurements, Trainer, Work};
use crate::sampler::Poisson;
use muffle_accounting::Event;
use muffle_nn::initialise::SplitMix;
use muffle_nn::relevance::Propagation;
use nalgebra::DMatrix;
use std::path::Path;
use std::sync::Arc;

/// Keeps relevance finite where the values it is divided by are near zero.
const STABILISER: f32 = 1e-6;

/// From which the first weights of a code, and those of a public model, follow: public.
const CODE: u64 = 1;

/// The parameters of a layer of filters, in a saved state.
const FILTERS: &str = "filters";

/// Principal components where the recipe asks for them, what the method learns before its head, then the coefficients: a step for each
/// release.
pub struct ObjectiveTrainer {
    plan: Plan,
    key: Key,
    /// What was trained on, as it was given.
    given: Arc<Dataset>,
    /// The same, on principal components if there are any.
    dataset: Arc<Dataset>,
    course: Course,
    /// What was released, in single precision so that a run that goes on has the same numbers; what filters learned is in them.
    released: State,
    components: Option<Projection>,
    belief: Option<BeliefTraining>,
    /// The features, less their centre once it is known.
    inputs: FeatureMap,
    /// What the head reads: the features, or a code of them.
    map: FeatureMap,
    /// The model by which features are weighed.
    draft: Option<Published>,
    /// The shares of the inputs, once they are known.
    shares: Vec<f64>,
    model: Option<Published>,
}

impl ObjectiveTrainer {
    /// Before anything is touched.
    pub fn new(plan: &Plan, dataset: &Dataset, key: Key) -> Result<ObjectiveTrainer> {
        let dataset = Arc::new(dataset.clone());
        let belief = plan.learned.belief.as_ref();
        let begin = |belief| BeliefTraining::new(belief, dataset.input(), plan.layer_steps());
        let draft = plan.weighs_inputs().then(|| plan.map.at_random(plan.classes, CODE));
        let mut trainer = ObjectiveTrainer {
            plan: plan.clone(),
            key,
            belief: belief.map(begin).transpose()?,
            given: dataset.clone(),
            course: Course::new(plan.accesses()),
            released: State::new(),
            components: None,
            inputs: plan.map.clone(),
            map: plan.map.clone(),
            draft: draft.transpose()?,
            shares: vec![1.0; dataset.input().len()],
            model: None,
            dataset,
        };
        trainer.read(plan.map.clone())?;
        Ok(trainer)
    }

    /// Goes on with these features, and with a code of them that is random so far where there is to be one.
    fn read(&mut self, inputs: FeatureMap) -> Result<()> {
        self.map = match self.plan.learned.encoder {
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
        let noise = self.plan.noise(purpose, *noise_multiplier);
        if let (STATISTICS, Some(belief), Some(rate)) = (purpose, &self.belief, self.plan.sample_rate()) {
            let mut sampler = Poisson::new(&self.key, records.count(), rate);
            let (view, receipt) = records.draw(&mut sampler, receipt);
            let statistics = belief.statistics(&view, recipe.run.threads)?;
            return Ok(single(mechanism.answer(statistics, noise, receipt).0));
        }
        let (view, receipt) = records.all(receipt);
        if purpose == principal_components::PURPOSE {
            let choice = recipe.training.principal_components.expect("they were asked for and paid");
            let found = principal_components::release(&view, choice.dimensions, noise, &mechanism, receipt)?;
            return Ok(found.components().to_vec());
        }
        if let (REPORTS, Some(reports)) = (purpose, self.plan.learned.reports) {
            let reporting = Reporting {
                range: reports.range,
                shares: &self.shares,
                classes: self.plan.classes as u32,
                label_epsilon: self.plan.label_epsilon(noise),
            };
            let reported = mechanism.reported(&view, noise, &reporting, receipt);
            return Ok(single(Sums::of_reports(form, &self.map, &reported, recipe.run.threads)?));
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
        Ok(single(mechanism.answer(vector, noise, receipt).0))
    }

    /// Goes on with what was released.
    fn learn(&mut self, values: Vec<f32>) -> Result<()> {
        let access = self.course.next().expect("there is a release for every access");
        let (purpose, name) = (access.purpose, name(access));
        match purpose {
            STATISTICS => {
                let belief = self.belief.as_mut().expect("filters were asked for and paid");
                belief.learn(&values)?;
                self.course.done += 1;
                return self.see_filters();
            }
            principal_components::PURPOSE => {
                let choice = self.plan.recipe.training.principal_components;
                let dimensions = choice.expect("they were asked for and paid").dimensions;
                let projection = Projection::from_components(dimensions, values.clone())?;
                self.dataset = Arc::new(projection.apply(&self.given)?);
                self.components = Some(projection);
            }
            CENTRE => self.read(self.inputs.centred(&centre(&self.plan.form, &values))?)?,
            DECODER => self.map = self.tied(&values)?,
            DRAFT => self.draft = Some(self.solved(DRAFT, &values)?),
            RELEVANCE => self.weigh(&values)?,
            last => self.model = Some(self.solved(last, &values)?),
        }
        self.released.insert(name, values);
        self.course.done += 1;
        Ok(())
    }

    /// Goes on with what the filters have learned, once they have learned all.
    fn see_filters(&mut self) -> Result<()> {
        let Some(belief) = &self.belief else { return Ok(()) };
        let state = belief.state().into_iter().enumerate();
        self.released.extend(state.map(|(layer, values)| (format!("{FILTERS}.{layer}"), values)));
        if self.course.next().is_none_or(|access| access.purpose != STATISTICS) {
            self.read(belief.map(self.plan.form.noise)?)?;
        }
        Ok(())
    }

    /// Weighs features, or inputs, by their relevance.
    fn weigh(&mut self, relevance: &[f32]) -> Result<()> {
        let weighing = self.plan.learned.weighing.expect("it was asked for and paid");
        let weights = weighing.by.weights(relevance);
        match weighing.by {
            Weigh::Weak { .. } => self.read(self.inputs.weighed(&weights)?),
            // Reports are made of inputs as they are, with less noise where there is more relevance.
            Weigh::Shares { .. } if self.plan.learned.reports.is_some() => {
                self.shares = weights;
                Ok(())
            }
            Weigh::Shares { .. } => self.read(self.inputs.scaled(&weights)?),
        }
    }

    /// The code whose hidden units look for what the decoder makes of them.
    fn tied(&self, values: &[f32]) -> Result<FeatureMap> {
        let Encoder { gain, .. } = self.plan.learned.encoder.expect("a code was asked for and paid");
        let rows = self.least(DECODER, &self.plan.decoder_form(), values);
        let unit = |unit: usize| rows.column(unit).iter().copied().collect();
        self.inputs.encoded(&(0..self.map.width()).map(unit).collect::<Vec<Vec<f64>>>(), gain)
    }

    /// The rows that make a released objective least.
    fn least(&self, purpose: Purpose, form: &Form, values: &[f32]) -> DMatrix<f64> {
        let noise_multiplier = self.plan.noise(purpose, self.plan.noise_multiplier);
        let width = self.map.width() + 1;
        let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        let coefficients = form.restored(&values, width);
        let ridge = match purpose {
            // The trace counts the records, and reports have no noise but their own.
            REPORTS => self.plan.ridge * coefficients.quadratic.trace(),
            _ => self.plan.ridge(form, noise_multiplier, width),
        };
        solve(&coefficients, ridge)
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

/// In single precision, as they are kept.
fn single(values: Vec<f64>) -> Vec<f32> {
    values.into_iter().map(|value| value as f32).collect()
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
    fn upcoming(&self, most: u64) -> Vec<Access> {
        self.course.upcoming(most)
    }

    fn perform(&mut self, receipt: Receipt) -> Result<()> {
        let values = self.release(receipt)?;
        self.learn(values)
    }

    fn step(&self) -> u64 {
        self.course.done as u64
    }

    fn cost(&self, steps: u64) -> Event {
        self.course.cost(steps)
    }

    fn work(&self) -> Work {
        let records = self.plan.recipe.run.records.unwrap_or_default();
        Work { expected: self.step() * records, excluded: 0 }
    }

    fn measure(&mut self) -> Result<Measurements> {
        match &self.model {
            Some(model) => model.measure(&self.dataset, self.plan.recipe.run.threads),
            None => Ok(Measurements::default()),
        }
    }

    fn state(&self) -> State {
        self.released.clone()
    }

    fn restore(&mut self, state: &State, step: u64) -> Result<()> {
        let steps = self.course.first(step).iter().filter(|access| access.purpose == STATISTICS).count();
        if let Some(belief) = &mut self.belief {
            let layers = (0..).map_while(|layer| state.get(&format!("{FILTERS}.{layer}")).cloned());
            belief.restore(&layers.collect::<Vec<_>>(), steps as u64)?;
            self.course.done = steps;
            self.see_filters()?;
        }
        while let Some(access) = self.course.first(step).get(self.course.done) {
            let Some(values) = state.get(&name(access)) else { break };
            self.learn(values.clone())?;
        }
        Ok(())
    }

    fn leave_files(&self, folder: &Path, head: &Head) -> Result<Vec<String>> {
        let Some(model) = &self.model else {
            return Err(Error::Plan(
                "what was lost in an interruption was paid for, and epsilon does not allow the coefficients any more: there is no \
                 model; start another run, and count what this one has spent as well"
                    .to_string(),
            ));
        };
        model.leave(folder, &self.plan, &self.given, self.components.as_ref(), head)
    }
}
