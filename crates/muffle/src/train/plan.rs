//! From a recipe and the shape of its data to numbers: sample rate, steps, noise, epsilon.

mod floating_point;
mod looked_at;
mod numbers;
mod schedules;
mod trained_on;

use super::network::{check_shapes, check_texts, describe};
use super::origin::{Origin, Started};
use super::pricing::{CLASS_SHARES, METHOD, Pricing};
use super::recipe::Recipe;
use super::settle::settle;
use crate::data::{Dataset, Task, Visibility};
use crate::error::{Error, Result};
use crate::mechanism::Mechanism;
use crate::methods::{self, Entry, Method};
use crate::noise::Key;
use crate::principal_components;
use crate::run::Terms;
use crate::sampler::{Sampler, SamplerChoice};
use muffle_accounting::{Adjacency, Event};
use muffle_nn::shape::Shape;
use muffle_nn::{Loss, ModelDescription, Network};
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::sync::Arc;

/// A recipe whose open questions are answered. It is settled once and never changed after.
#[derive(Clone)]
pub struct Plan {
    /// The recipe, with steps, noise multiplier, adjacency and records filled in.
    pub recipe: Recipe,
    /// The network as it is published.
    pub description: ModelDescription,
    /// The network as it is trained: the same but for layers that are frozen, and without the features in front of it.
    pub network: Arc<Network>,
    /// What it starts from, if not at random.
    pub origin: Option<Origin>,
    /// What training makes small.
    pub loss: Loss,
    /// Probability that a record takes part in a step.
    pub sample_rate: f64,
    /// Number of steps.
    pub steps: u64,
    /// Noise multiplier before its schedule.
    pub noise_multiplier: f64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// The method, as a row of the table.
    pub method: &'static Entry,
    /// What stands in the ledger for a form that is not proved: what the paper's argument gives, or what `dp-sgd` would cost with this
    /// noise where the paper has none.
    pub charged: Option<f64>,
    /// The order of the filter that stops a run whose noise follows what it released (R7).
    pub filter_order: Option<f64>,
}

/// What is known of a record, without the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetShape {
    /// One of so many classes.
    Classes(usize),
    /// So many labels, each of which holds or not.
    Labels(usize),
    /// So many numbers.
    Values(usize),
    /// Nothing.
    None,
}

impl TargetShape {
    /// Of a task.
    pub fn of(task: &Task) -> TargetShape {
        match task {
            Task::Classes(names) => TargetShape::Classes(names.len()),
            Task::Labels(names) => TargetShape::Labels(names.len()),
            Task::Values(quantities) => TargetShape::Values(quantities.len()),
            Task::None => TargetShape::None,
        }
    }

    /// The usual loss; `None` if there is nothing to learn.
    pub fn usual_loss(self) -> Option<Loss> {
        match self {
            TargetShape::Classes(_) => Some(Loss::SoftmaxCrossEntropy),
            TargetShape::Labels(_) => Some(Loss::BinaryCrossEntropy),
            TargetShape::Values(_) => Some(Loss::MeanSquaredError),
            TargetShape::None => None,
        }
    }

    /// The loss that a recipe asks for, or the usual one.
    fn loss(self, chosen: Option<Loss>) -> Result<Loss> {
        let Some(usual) = self.usual_loss() else {
            return Err(Error::Plan("the records have no target: there is nothing to learn".to_string()));
        };
        let fits = |loss: &Loss| match self {
            TargetShape::Classes(_) => {
                matches!(loss, Loss::SoftmaxCrossEntropy | Loss::PolynomialCrossEntropy)
            }
            _ => matches!(loss, Loss::BinaryCrossEntropy | Loss::MeanSquaredError | Loss::Huber { .. }),
        };
        match chosen.unwrap_or(usual) {
            loss if fits(&loss) => Ok(loss),
            loss => Err(Error::Plan(format!(
                "loss = {loss:?} does not fit the targets ({self:?}); the usual one is {usual:?}"
            ))),
        }
    }
}

/// What a record looks like to a plan, without the records.
#[derive(Clone, Copy, Debug)]
pub struct DataShape {
    /// Shape of an input.
    pub input: Shape,
    /// What is known of a record.
    pub targets: TargetShape,
    /// Number of training records.
    pub records: usize,
    /// Whether that number is published.
    pub visibility: Visibility,
    /// Whether a hash of each record decided which of them are training records.
    pub split_by_hash: bool,
    /// What is known of the tokens, if records are texts.
    pub texts: Option<Texts>,
}

/// What a network has to know of texts: see [`check_texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts {
    /// Number of different tokens, that which fills up included.
    pub vocabulary: Option<u32>,
    /// The token that fills up short texts.
    pub padding: u32,
}

impl Texts {
    /// Of a data set whose records are one column of text.
    fn of(dataset: &Dataset) -> Option<Texts> {
        let [column] = dataset.columns() else { return None };
        let tokens = column.tokens.as_ref()?;
        Some(Texts { vocabulary: tokens.vocabulary(), padding: tokens.padding() })
    }
}

impl DataShape {
    /// Of a data set.
    pub fn of(dataset: &Dataset) -> DataShape {
        DataShape {
            input: dataset.input(),
            targets: TargetShape::of(dataset.task()),
            records: dataset.train().split().len(),
            visibility: dataset.visibility(),
            split_by_hash: dataset.is_split_by_hash(),
            texts: Texts::of(dataset),
        }
    }
}

impl Plan {
    /// Answers every open question of a recipe, or says which answer is missing.
    ///
    /// # Guarantee
    /// If the recipe has an epsilon, the whole run is priced at no more than that.
    pub fn new(mut recipe: Recipe, data: &DataShape) -> Result<Plan> {
        trained_on::settle(&mut recipe.training)?;
        let training = &recipe.training;
        let adjacency = recipe.run.adjacency.unwrap_or(training.sampler.usual_adjacency());
        looked_at::check_split(&recipe, data, adjacency)?;
        let records = nominal_records(&recipe, data, adjacency)?;
        check_sizes(&recipe, records)?;
        let input = trained_on::shape(training, data)?;
        let description = describe(&training.model, input)?;
        let Started { description, network, origin } = Started::new(&mut recipe.training, description)?;
        let description = match &recipe.training.features {
            Some(features) => features.in_front_of(data.input, description)?,
            None => description,
        };
        let (training, network) = (&recipe.training, Arc::new(network));
        let loss = data.targets.loss(training.loss)?;
        check_shapes(&network, input, data.targets)?;
        data.texts.map_or(Ok(()), |texts| check_texts(&network, texts))?;
        let method = find_method(&recipe)?;
        check_classes(&recipe, method, data.targets)?;
        if let Some(choice) = &training.audit {
            let components = training.principal_components.is_some();
            choice.check(records, adjacency, components).map_err(Error::Plan)?;
        }
        let trained_on = looked_at::check_held_out(&recipe, adjacency)? * records as f64;
        let sample_rate = training.sampler.sample_rate(training.batch_size as f64 / trained_on);
        schedules::end(&mut recipe.training, sample_rate)?;
        let pricing = Pricing { recipe: &recipe, network: &network, method, adjacency, sample_rate };
        clip_factor(pricing, 0)?;
        looked_at::check_closing(pricing)?;
        let settled = settle(pricing, data.records)?;
        numbers::check_numbers(pricing, settled.noise_multiplier, settled.steps)?;
        check_room(pricing, settled.noise_multiplier, settled.steps)?;
        recipe.run.adjacency = Some(adjacency);
        recipe.run.records = Some(records);
        recipe.training.steps = Some(settled.steps);
        recipe.training.epochs = None;
        recipe.training.noise_multiplier = Some(settled.noise_multiplier);
        Ok(Plan {
            recipe,
            description,
            network,
            origin,
            loss,
            sample_rate,
            steps: settled.steps,
            noise_multiplier: settled.noise_multiplier,
            adjacency,
            method,
            charged: settled.charged,
            filter_order: settled.filter_order,
        })
    }

    /// The same plan on this many threads.
    pub fn with_threads(&self, threads: usize) -> Plan {
        let mut plan = self.clone();
        plan.recipe.run.threads = Some(threads);
        plan
    }

    /// The same steps, each on all of some made-up records: to see how long they take.
    pub(super) fn rehearsal(&self) -> Plan {
        let mut recipe = self.recipe.clone();
        (recipe.training.validation, recipe.training.principal_components) = (None, None);
        recipe.training.threshold = None;
        // What is made up stands for features.
        recipe.training.features = None;
        // Made-up inputs keep to no narrow range.
        for (name, value) in [("low", -1e3), ("high", 1e3)] {
            if self.method.parameters.iter().any(|parameter| parameter.name == name) {
                recipe.training.parameters.insert(name.to_string(), value);
            }
        }
        Plan { sample_rate: 1.0, recipe, ..self.clone() }
    }

    pub(super) fn pricing(&self) -> Pricing<'_> {
        Pricing {
            recipe: &self.recipe,
            network: &self.network,
            method: self.method,
            adjacency: self.adjacency,
            sample_rate: self.sample_rate,
        }
    }

    /// What the run has to keep to.
    pub fn terms(&self) -> Terms {
        Terms {
            recipe: self.recipe.run.clone(),
            adjacency: self.adjacency,
            steps: self.steps,
            method: self.method.name,
            mode: self.recipe.training.mode,
            claimed: self.claimed(),
            filter_order: self.filter_order,
            preparations: [principal_components::PURPOSE, CLASS_SHARES, METHOD].map(|it| it.name()).to_vec(),
            training: self.certified(),
            not_covered: self.not_covered(),
        }
    }

    /// What the certificate says of training by gradients.
    fn certified(&self) -> Map<String, Value> {
        let training = &self.recipe.training;
        let sampler = json!({
            "kind": training.sampler,
            "sample_rate": self.sample_rate,
            "records": self.recipe.run.records,
            "divisor": training.batch_size,
        });
        let mut clip = json!({ "rule": training.clip });
        let mut noise = json!(training.noise);
        noise["noise_multiplier"] = json!(self.noise_multiplier);
        noise["source"] = json!(match self.recipe.run.seed {
            Some(_) => "ChaCha20, key from a seed",
            None => "ChaCha20, key from the operating system, never stored",
        });
        for (used, schedule) in [(&mut clip, &training.clip_schedule), (&mut noise, &training.noise_schedule)]
        {
            if let Some(schedule) = schedule {
                used["schedule"] = json!(schedule);
            }
        }
        let parts = [("sampler", sampler), ("clip", clip), ("noise", noise)];
        let parts = parts.map(|(name, value)| (name.to_string(), value));
        let mut all = Map::from_iter(parts);
        if self.recipe.run.private && self.noise_multiplier > 0.0 {
            all.insert("floating_point".to_string(), self.floating_point());
        }
        let chosen = [
            ("validation", training.validation.map(|it| json!(it))),
            ("class_weights", training.class_weights.as_ref().map(|it| json!(it))),
            ("class_shares", training.class_shares.as_ref().map(|it| json!(it))),
            ("threshold", training.threshold.map(|it| json!(it))),
            ("features", training.features.as_ref().map(|it| json!(it))),
            ("started_from", self.origin.as_ref().map(|origin| origin.certified())),
        ];
        all.extend(chosen.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))));
        all
    }

    /// The parameters before the first step.
    pub(crate) fn initial_parameters(&self, seed: u64) -> Result<Vec<f32>> {
        let initialisation = self.recipe.training.initialisation;
        match &self.origin {
            Some(origin) => origin.initial(&self.network, initialisation, seed),
            None => Ok(initialisation.parameters(&self.network, seed)),
        }
    }

    /// The sampler of a run on this many records.
    pub fn sampler(&self, key: &Key, records: usize) -> Box<dyn Sampler> {
        self.pricing().sampler(key, records)
    }

    /// What draws the noise of a run with this key.
    pub fn mechanism(&self, key: &Key) -> Mechanism {
        let training = &self.recipe.training;
        training.noise.mechanism(key, training.batch_size as f32)
    }

    /// Where schedules are at a step.
    pub fn time(&self, step: u64) -> u64 {
        self.pricing().time(step)
    }

    /// Whole passes over the data in this many steps.
    pub fn epochs(&self, step: u64) -> u64 {
        self.pricing().epochs(step)
    }

    /// Whether the model is checked on validation records after this many steps.
    pub fn checked_after(&self, step: u64) -> bool {
        let epochs = self.epochs(step);
        let check =
            self.recipe.training.validation.is_some_and(|validation| validation.checked_after(epochs));
        check && self.epochs(step - 1) < epochs
    }

    /// The factor on all thresholds at a step.
    pub fn clip_factor(&self, step: u64) -> Result<f64> {
        clip_factor(self.pricing(), step)
    }

    /// The method, ready for the first step.
    pub fn build_method(&self) -> Result<Box<dyn Method>> {
        self.pricing().build_method()
    }

    /// The noise multiplier at a step.
    pub fn noise_multiplier_at(&self, step: u64) -> f64 {
        self.noise_multiplier * self.pricing().noise_factor(step)
    }

    /// What the whole run costs; if its noise follows what was released, what it would cost with the noise it begins with.
    pub fn total_cost(&self) -> Result<Event> {
        let sampler = self.sampler(&Key::from_seed(0), self.recipe.run.records.unwrap_or_default() as usize);
        let method = self.build_method()?;
        Ok(self.pricing().run_cost(&*method, &*sampler, self.noise_multiplier, self.steps))
    }

    /// The price of a run whose noise follows what it released: the budget that its filter keeps to (R7).
    pub fn budget(&self) -> Option<Event> {
        self.terms().budget()
    }

    /// What steps cost that begin without anything paid.
    pub(super) fn steps_cost(&self, method: &dyn Method, sampler: &dyn Sampler, steps: Range<u64>) -> Event {
        self.pricing().steps_cost(method, sampler, self.noise_multiplier, steps)
    }
}

/// Refuses numbers that do not fit the records or the machine.
fn check_sizes(recipe: &Recipe, records: u64) -> Result<()> {
    if recipe.training.batch_size > records {
        return Err(Error::Plan(format!(
            "batch_size = {} is more than the {records} records there are",
            recipe.training.batch_size
        )));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match recipe.run.threads.filter(|threads| !(1..=cores).contains(threads)) {
        Some(threads) => Err(Error::Plan(format!(
            "threads = {threads} is outside 1 to {cores}, the cores of this machine"
        ))),
        None => Ok(()),
    }
}

/// The method of a recipe, if it has the form and the privacy that are asked for.
fn find_method(recipe: &Recipe) -> Result<&'static Entry> {
    let (method, mode) = (methods::find(&recipe.training.method).map_err(Error::Plan)?, recipe.training.mode);
    method.check_form(mode).map_err(Error::Plan)?;
    if !recipe.run.private && !method.without_privacy {
        return Err(Error::Plan(format!(
            "private = false goes with method = \"{}\"",
            methods::REFERENCE.name
        )));
    }
    Ok(method)
}

/// Refuses what is about classes where there are none.
fn check_classes(recipe: &Recipe, method: &Entry, targets: TargetShape) -> Result<()> {
    let training = &recipe.training;
    let asked = [
        ("audit", training.audit.is_some()),
        ("validation", training.validation.is_some()),
        ("class_weights", training.class_weights.is_some()),
        ("threshold", training.threshold.is_some()),
        (method.name, method.needs_classes),
    ];
    match asked.into_iter().find(|(_, asked)| *asked && !matches!(targets, TargetShape::Classes(_))) {
        Some((name, _)) => {
            Err(Error::Plan(format!("{name} is about classes, and the data has none; leave it out")))
        }
        None => looked_at::check_numbers_of_classes(training, targets),
    }
}

/// The factor on all thresholds at a step.
fn clip_factor(pricing: Pricing, step: u64) -> Result<f64> {
    let schedule = pricing.recipe.training.clip_schedule.as_ref();
    let factor = schedule.map_or(1.0, |schedule| schedule.at(pricing.time(step)));
    match factor > 0.0 && factor.is_finite() {
        true => Ok(factor),
        false => {
            Err(Error::Plan(format!("clip_schedule gives {factor} at step {step}; it has to be positive")))
        }
    }
}

/// Methods that ask more than one question share the noise among them, and with too little of it none is left for the
/// gradient.
fn check_room(pricing: Pricing, noise_multiplier: f64, steps: u64) -> Result<()> {
    let multipliers = (0..steps).map(|step| noise_multiplier * pricing.noise_factor(step));
    let smallest = multipliers.fold(f64::INFINITY, f64::min);
    let noisy = pricing.recipe.run.private && smallest > 0.0 && smallest.is_finite();
    if noisy && pricing.build_method()?.event(smallest) == Event::NonPrivate {
        return Err(Error::Plan(format!(
            "method `{}` counts records beside the gradient, and at noise multiplier {smallest:.4} and batch_size = {} \
             the counts alone cost more than that: raise parameters.count_noise, the batch size or the noise",
            pricing.method.name, pricing.recipe.training.batch_size
        )));
    }
    Ok(())
}

/// The public number of records that the sample rate refers to (R2).
fn nominal_records(recipe: &Recipe, data: &DataShape, adjacency: Adjacency) -> Result<u64> {
    let counted = data.records as u64;
    let public =
        data.visibility == Visibility::Public || adjacency != Adjacency::AddRemove || !recipe.run.private;
    match recipe.run.records {
        Some(records) if recipe.training.sampler == SamplerChoice::FixedSize && records != counted => {
            Err(Error::Plan(format!(
                "records = {records}, but there are {counted}; a sample of fixed size needs their exact number, which \
                 is then public"
            )))
        }
        Some(records) => Ok(records),
        None if public => Ok(counted),
        None => Err(Error::Plan(
            "records is missing: under add_remove the number of your records is itself private, so the sample rate \
             refers to a public figure; set records to a round number near theirs, or adjacency = \"replace_one\", \
             which takes their number as public"
                .to_string(),
        )),
    }
}

#[cfg(test)]
mod tests;
