//! From a recipe and its data to numbers: what is released, with what noise, at what price.

mod check;

use super::belief::BeliefTraining;
use super::choices::{Choices, Descent, Weigh};
use super::coefficients::Form;
use super::features::{FeatureMap, Features};
use super::methods::Entry;
use super::purposes::{
    CENTRE, COEFFICIENTS, DECODER, DRAFT, EXTREMES, HEAD, PRETRAINING, RELEVANCE, REPORTS, STATISTICS,
};
use super::recipe::Recipe;
use super::targets::Rows;
use crate::data::{Dataset, Task, Visibility};
use crate::error::{Error, Result};
use crate::ledger::{Access, Purpose};
use crate::mechanism::{NoiseKind, Reporting, largest_multiplier};
use crate::methods::{Mode, Parameters};
use crate::principal_components;
use crate::run::Terms;
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Adjacency, Event};
use muffle_nn::Shape;
use serde_json::{Map, Value, json};

/// Less noise than this would not be there in single precision.
const LEAST_NOISE: f64 = 1e-30;

/// A recipe whose open questions are answered.
#[derive(Clone)]
pub struct Plan {
    /// The recipe, with noise multiplier and adjacency filled in.
    pub recipe: Recipe,
    /// The method, as a row of the table.
    pub method: &'static Entry,
    /// What is released of each record.
    pub form: Form,
    /// The features of a record, before they have a centre.
    pub map: FeatureMap,
    /// The noise on the centre over that on the coefficients; zero for features without one.
    pub centre: f64,
    /// What is added to eigenvalues, in deviations of the noise times the root of the number of features.
    pub ridge: f64,
    /// What is learned of the records before the coefficients.
    pub learned: Choices,
    /// Number of classes; zero for other targets.
    pub classes: usize,
    /// What the paper's argument gives for a form that is not proved.
    pub claimed: Option<f64>,
    /// Noise multiplier of the coefficients; zero without privacy.
    pub noise_multiplier: f64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
}

impl Plan {
    /// Answers every open question of a recipe, or says which answer is missing.
    ///
    /// # Guarantee
    /// If the recipe has an epsilon, the whole run is priced at no more than that.
    pub fn new(mut recipe: Recipe, dataset: &Dataset) -> Result<Plan> {
        let (method, parameters) = recipe.method()?;
        let adjacency = recipe.run.adjacency.unwrap_or(Adjacency::AddRemove);
        check::split(&recipe, dataset, adjacency)?;
        recipe.training.features = recipe.training.features.settled()?;
        let training = &recipe.training;
        let input =
            training.principal_components.map_or(dataset.input(), |pca| Shape::Vector(pca.dimensions));
        let form = form(Rows::of(dataset.task())?, training.noise, &parameters)?;
        let learned = Choices::of(method, training.mode, &parameters)?;
        let map = match &learned.belief {
            Some(belief) => BeliefTraining::untrained(belief, input, training.noise)?,
            None => training.features.map(input, training.noise)?,
        };
        let published = training.mode == Mode::AsPublished && learned.stack.is_none();
        if published && training.noise != NoiseKind::Laplace {
            return Err(Error::Plan(
                "as published the noise is Laplace noise: set noise = \"laplace\"".to_string(),
            ));
        }
        let at_least_zero = |name: &str| match parameters.get(name) {
            value if value >= 0.0 => Ok(value),
            value => Err(Error::Plan(format!("parameters.{name} = {value} is outside [0, infinity)"))),
        };
        // The papers leave features where they are, and reports need no mean.
        let centred = training.mode == Mode::Sound && learned.reports.is_none();
        let centre = if centred { at_least_zero("centre")? } else { 0.0 };
        let ridge = at_least_zero("ridge")?;
        recipe.run.adjacency = Some(adjacency);
        // Where it is private, nothing here needs it.
        let public = dataset.visibility() == Visibility::Public
            || adjacency != Adjacency::AddRemove
            || !recipe.run.private;
        let counted = Some(dataset.train().split().len() as u64).filter(|_| public);
        recipe.run.records = recipe.run.records.or(counted);
        let classes = match dataset.task() {
            Task::Classes(names) => names.len(),
            _ => 0,
        };
        check::learned(&learned, &recipe, input, classes, adjacency)?;
        let (noise_multiplier, claimed) = (0.0, None);
        let mut plan = Plan {
            recipe,
            method,
            form,
            map,
            centre,
            ridge,
            learned,
            classes,
            claimed,
            noise_multiplier,
            adjacency,
        };
        plan.noise_multiplier = plan.settled_noise()?;
        plan.recipe.training.noise_multiplier = Some(plan.noise_multiplier).filter(|noise| *noise > 0.0);
        plan.check_noise()?;
        if plan.recipe.training.mode == Mode::AsPublished && plan.recipe.run.private {
            let (price, run) = (plan.price(plan.noise_multiplier), &plan.recipe.run);
            plan.claimed = Some(Pld.epsilon(&price, adjacency, run.delta)?.epsilon);
        }
        Ok(plan)
    }

    /// The noise that the budget asks for, or the one that is given, if it keeps to the budget.
    fn settled_noise(&self) -> Result<f64> {
        let run = &self.recipe.run;
        if !run.private {
            return Ok(0.0);
        }
        let cost = |noise: f64| self.price(noise);
        let target =
            run.epsilon.map(|epsilon| Target { epsilon, delta: run.delta, adjacency: self.adjacency });
        match (target, self.recipe.training.noise_multiplier) {
            (Some(target), None) => Ok(calibrate::noise_multiplier(&Pld, &target, cost)?.value),
            (None, Some(noise)) => Ok(noise),
            (Some(target), Some(noise)) => {
                let price = Pld.epsilon(&cost(noise), target.adjacency, target.delta)?.epsilon;
                match price <= target.epsilon {
                    true => Ok(noise),
                    false => Err(Error::Plan(format!(
                        "noise_multiplier = {noise} costs {price:.4}, more than epsilon = {}; leave one of them out",
                        target.epsilon
                    ))),
                }
            }
            (None, None) => {
                Err(Error::Plan("set epsilon, or noise_multiplier: neither is given".to_string()))
            }
        }
    }

    /// Refuses noise that no number could hold.
    fn check_noise(&self) -> Result<()> {
        let decoder = self.learned.encoder.map_or(0, |_| self.decoder_form().count(self.width() + 1));
        let most = largest_multiplier(self.coefficients().max(decoder));
        let noises =
            self.purposes().into_iter().map(|(purpose, _)| self.noise(purpose, self.noise_multiplier));
        let (noise, largest) = (self.noise_multiplier, noises.fold(0.0, f64::max));
        match noise == 0.0 || noise >= LEAST_NOISE && largest <= most {
            true => Ok(()),
            false => Err(Error::Plan(format!(
                "noise multipliers of {noise:e} to {largest:e} are not within {LEAST_NOISE:e} to {most:e}, which numbers can hold; \
                 choose another epsilon, or noise_multiplier"
            ))),
        }
    }

    /// What a run with this noise on the coefficients costs; in a published form, what the paper takes it to cost: it charges for the
    /// coefficients alone.
    pub(super) fn price(&self, noise_multiplier: f64) -> Event {
        if self.learned.stack.is_some() {
            return Event::compose([Event::laplace(noise_multiplier)]);
        }
        let published = self.recipe.training.mode == Mode::AsPublished;
        let purposes =
            self.purposes().into_iter().filter(|(purpose, _)| !published || *purpose == COEFFICIENTS);
        Event::compose(
            purposes.map(|(purpose, _)| self.charge(purpose, self.event(purpose, noise_multiplier))),
        )
    }

    /// All accesses to the records, in their order.
    pub(super) fn accesses(&self) -> Vec<Access> {
        let claim = self.claimed.map(|epsilon| Event::Claimed {
            source: self.method.paper.to_string(),
            epsilon,
            delta: self.recipe.run.delta,
        });
        let access = |(purpose, number)| {
            let release = claim.clone().unwrap_or_else(|| self.event(purpose, self.noise_multiplier));
            let charge = Some(self.charge(purpose, release.clone()));
            Access { charge, keep: !sampled(purpose), ..Access::all(purpose, number, release) }
        };
        self.purposes().into_iter().map(access).collect()
    }

    /// What a release is charged for, with what sampling is worth.
    fn charge(&self, purpose: Purpose, release: Event) -> Event {
        match self.sample_rate() {
            Some(rate) if sampled(purpose) && rate < 1.0 => release.poisson_sampled(rate),
            _ => release,
        }
    }

    /// The steps on samples, if there are any.
    fn descent(&self) -> Option<Descent> {
        let belief = self.learned.belief.as_ref().map(|belief| belief.descent);
        belief.or(self.learned.stack.as_ref().map(|stack| stack.descent))
    }

    /// Probability that a record takes part in a step on a sample, if there are such.
    pub(super) fn sample_rate(&self) -> Option<f64> {
        self.descent().map(|descent| descent.sample_rate(self.records()))
    }

    /// The public number of records, where something needs it.
    fn records(&self) -> u64 {
        self.recipe.run.records.unwrap_or(1)
    }

    /// Steps of each layer that is trained on samples.
    pub(super) fn layer_steps(&self) -> u64 {
        self.descent().map_or(0, |descent| descent.steps(descent.epochs, self.records()))
    }

    /// What records are looked at for, in order, with numbers.
    fn purposes(&self) -> Vec<(Purpose, u64)> {
        let Choices { encoder, weighing, belief, reports, stack } = &self.learned;
        if let Some(stack) = stack {
            let layer = |layer: u64| {
                let steps = layer * self.layer_steps()..(layer + 1) * self.layer_steps();
                steps.map(|step| (PRETRAINING, step)).chain([(EXTREMES, layer)])
            };
            let head = stack.descent.steps(stack.epochs, self.records());
            let layers = (0..stack.layers.len() as u64).flat_map(layer);
            return layers.chain((0..head).map(|step| (HEAD, step))).collect();
        }
        let components =
            self.recipe.training.principal_components.map(|_| (principal_components::PURPOSE, 0));
        let layers = belief.as_ref().map_or(0, |belief| belief.layers.len() as u64);
        let statistics = (0..layers * self.layer_steps()).map(|step| (STATISTICS, step));
        // Inputs are weighed before features are made of them, features after they have a centre.
        let relevance = weighing.map(|_| (RELEVANCE, 0));
        let early = relevance.filter(|_| self.weighs_inputs());
        let late = relevance.filter(|_| !self.weighs_inputs());
        let centre = (self.centre > 0.0).then_some((CENTRE, 0));
        let decoders = (0..encoder.map_or(0, |encoder| encoder.rounds)).map(|round| (DECODER, round));
        let draft = weighing.and_then(|weighing| weighing.draft).map(|_| (DRAFT, 0));
        let last = if reports.is_some() { REPORTS } else { COEFFICIENTS };
        let before = components.into_iter().chain(statistics).chain(early).chain(centre);
        before.chain(decoders).chain(draft).chain(late).chain([(last, 0)]).collect()
    }

    /// Whether relevance is that of the inputs, and not of the features.
    pub(super) fn weighs_inputs(&self) -> bool {
        self.learned.weighing.is_some_and(|weighing| matches!(weighing.by, Weigh::Shares { .. }))
    }

    /// The noise multiplier of a release, for this one of the coefficients.
    pub(super) fn noise(&self, purpose: Purpose, noise_multiplier: f64) -> f64 {
        let Choices { encoder, weighing, belief, .. } = &self.learned;
        let published = self.recipe.training.mode == Mode::AsPublished;
        let factor = match purpose {
            _ if noise_multiplier == 0.0 => 0.0,
            principal_components::PURPOSE => {
                let choice = self.recipe.training.principal_components;
                return choice.map_or(0.0, |choice| choice.noise_multiplier);
            }
            DRAFT | RELEVANCE if published => 0.0,
            CENTRE => self.centre,
            DECODER => encoder.map_or(1.0, |encoder| encoder.noise),
            DRAFT => weighing.and_then(|weighing| weighing.draft).unwrap_or(1.0),
            RELEVANCE => weighing.map_or(1.0, |weighing| weighing.noise),
            STATISTICS => belief.as_ref().map_or(1.0, |belief| belief.noise),
            _ => 1.0,
        };
        factor * noise_multiplier
    }

    fn event(&self, purpose: Purpose, noise_multiplier: f64) -> Event {
        let gaussian = self.form.noise == NoiseKind::Gaussian
            || [principal_components::PURPOSE, STATISTICS].contains(&purpose);
        match self.noise(purpose, noise_multiplier) {
            _ if !self.recipe.run.private => Event::NonPrivate,
            0.0 => Event::NonPrivate,
            noise if purpose == REPORTS => {
                Reporting::event(noise, self.classes as u32, self.label_epsilon(noise))
            }
            noise if gaussian && purpose != RELEVANCE => Event::gaussian(noise),
            noise => Event::laplace(noise),
        }
    }

    /// What a record's label costs, for this noise on its inputs.
    pub fn label_epsilon(&self, noise_multiplier: f64) -> f64 {
        let labels = self.learned.reports.map_or(1.0, |reports| reports.labels);
        labels * self.adjacency.sensitivity() / noise_multiplier
    }

    /// Features that the head reads.
    pub fn width(&self) -> usize {
        self.learned.encoder.map_or(self.map.width(), |encoder| encoder.hidden)
    }

    /// Number of coefficients that are released at the end.
    pub fn coefficients(&self) -> usize {
        self.form.count(self.width() + 1)
    }

    /// What is released to find features again in their code.
    pub(super) fn decoder_form(&self) -> Form {
        let rows = Rows::Inputs(self.map.width());
        let quadratic =
            self.form.quadratic / self.form.rows.bound(self.form.noise) * rows.bound(self.form.noise);
        Form { rows, quadratic, ..self.form }
    }

    /// What is added to the eigenvalues of a release of this form, for so many features with the constant.
    pub(super) fn ridge(&self, form: &Form, noise_multiplier: f64, width: usize) -> f64 {
        self.ridge * form.deviation(noise_multiplier) * (width as f64).sqrt()
    }

    /// What the run has to keep to.
    pub fn terms(&self) -> Terms {
        Terms {
            recipe: self.recipe.run.clone(),
            adjacency: self.adjacency,
            steps: self.purposes().len() as u64,
            method: self.method.name,
            mode: self.recipe.training.mode,
            claimed: self.claimed,
            filter_order: None,
            preparations: [principal_components::PURPOSE, STATISTICS, CENTRE, DECODER, DRAFT, RELEVANCE]
                .map(|it| it.name())
                .to_vec(),
            training: self.certified(),
            not_covered: self.not_covered(),
        }
    }

    fn not_covered(&self) -> Vec<String> {
        match &self.recipe.training.features {
            Features::Network { weights, .. } => {
                vec![format!("the records that the public network {weights} was trained on")]
            }
            _ => Vec::new(),
        }
    }

    /// What the certificate says of this kind of training.
    fn certified(&self) -> Map<String, Value> {
        let training = &self.recipe.training;
        let source = match self.recipe.run.seed {
            Some(_) => "ChaCha20, key from a seed",
            None => "ChaCha20, key from the operating system, never stored",
        };
        let parts = [
            ("features", json!({ "choice": training.features, "number": self.width() })),
            ("coefficients", json!({ "number": self.coefficients(), "bound": self.form.bound() })),
            (
                "noise",
                json!({ "kind": training.noise, "noise_multiplier": self.noise_multiplier, "source": source }),
            ),
        ];
        parts.map(|(name, value)| (name.to_string(), value)).into_iter().collect()
    }
}

/// Whether a purpose looks at a sample of the records.
fn sampled(purpose: Purpose) -> bool {
    [STATISTICS, PRETRAINING, HEAD].contains(&purpose)
}

fn form(rows: Rows, noise: NoiseKind, parameters: &Parameters) -> Result<Form> {
    let quadratic = parameters.positive("quadratic").map_err(Error::Plan)? * rows.bound(noise);
    let intercept = parameters.share("intercept").map_err(Error::Plan)?;
    Ok(Form { rows, noise, quadratic, intercept })
}
