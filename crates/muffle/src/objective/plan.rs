//! From a recipe and its data to numbers: what is released, with what noise, at what price.

use super::coefficients::Form;
use super::features::{FeatureMap, Features};
use super::methods;
use super::recipe::Recipe;
use super::targets::Rows;
use super::trainer::{CENTRE, COEFFICIENTS, DECODER, DRAFT, RELEVANCE};
use crate::data::{Dataset, Visibility};
use crate::error::{Error, Result};
use crate::ledger::{Access, Purpose};
use crate::mechanism::{NoiseKind, largest_multiplier};
use crate::methods::{About, Mode, Parameters};
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
    pub method: &'static About,
    /// What is released of each record.
    pub form: Form,
    /// The features of a record, before they have a centre.
    pub map: FeatureMap,
    /// The noise on the centre over that on the coefficients; zero for features without one.
    pub centre: f64,
    /// What is added to eigenvalues, in deviations of the noise times the root of the number of features.
    pub ridge: f64,
    /// The code that stands between the features and the head, if there is one.
    pub encoder: Option<Encoder>,
    /// How features are weighed by their relevance, if they are.
    pub weighing: Option<Weighing>,
    /// What the paper's argument gives for a form that is not proved.
    pub claimed: Option<f64>,
    /// Noise multiplier of the coefficients; zero without privacy.
    pub noise_multiplier: f64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
}

/// A code of features that is learned privately, by finding the features again in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoder {
    /// Hidden units.
    pub hidden: usize,
    /// Releases, each with the code that the one before gave.
    pub rounds: u64,
    /// The noise on each of them over that on the coefficients.
    pub noise: f64,
    /// Length of the weights of a hidden unit.
    pub gain: f64,
}

/// Weights of features that follow from how much they matter to a first model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighing {
    /// The noise on the coefficients of that model over that on those of the last.
    pub draft: f64,
    /// The same for the relevance, whose noise is Laplace noise.
    pub noise: f64,
    /// Over the mean relevance: what is above is strong.
    pub threshold: f64,
    /// The weight of weak features; strong ones have 1.
    pub weak: f64,
}

impl Weighing {
    /// The weight of each feature.
    pub fn weights(&self, relevance: &[f32]) -> Vec<f64> {
        let mean =
            relevance.iter().map(|value| f64::from(value.max(0.0))).sum::<f64>() / relevance.len() as f64;
        let strong = |value: &f32| f64::from(*value) >= self.threshold * mean;
        relevance.iter().map(|value| if strong(value) { 1.0 } else { self.weak }).collect()
    }
}

impl Plan {
    /// Answers every open question of a recipe, or says which answer is missing.
    ///
    /// # Guarantee
    /// If the recipe has an epsilon, the whole run is priced at no more than that.
    pub fn new(mut recipe: Recipe, dataset: &Dataset) -> Result<Plan> {
        let (method, parameters) = recipe.method()?;
        let adjacency = recipe.run.adjacency.unwrap_or(Adjacency::AddRemove);
        check_split(&recipe, dataset, adjacency)?;
        recipe.training.features = recipe.training.features.settled()?;
        let training = &recipe.training;
        let input =
            training.principal_components.map_or(dataset.input(), |pca| Shape::Vector(pca.dimensions));
        let map = training.features.map(input, training.noise)?;
        let form = form(Rows::of(dataset.task())?, training.noise, &parameters)?;
        let at_least_zero = |name: &str| match parameters.get(name) {
            value if value >= 0.0 => Ok(value),
            value => Err(Error::Plan(format!("parameters.{name} = {value} is outside [0, infinity)"))),
        };
        let published = training.mode == Mode::AsPublished;
        if published && training.noise != NoiseKind::Laplace {
            return Err(Error::Plan(
                "as published the noise is Laplace noise: set noise = \"laplace\"".to_string(),
            ));
        }
        // The papers leave features where they are.
        let centre = if published { 0.0 } else { at_least_zero("centre")? };
        let ridge = at_least_zero("ridge")?;
        recipe.run.adjacency = Some(adjacency);
        // Where it is private, nothing here needs it.
        let public = dataset.visibility() == Visibility::Public
            || adjacency != Adjacency::AddRemove
            || !recipe.run.private;
        let counted = Some(dataset.train().split().len() as u64).filter(|_| public);
        recipe.run.records = recipe.run.records.or(counted);
        let (encoder, weighing) = (encoder(method, &parameters)?, weighing(method, &parameters)?);
        if weighing.is_some() {
            check_weighing(&recipe, &form, input)?;
        }
        let (noise_multiplier, claimed) = (0.0, None);
        let mut plan = Plan {
            recipe,
            method,
            form,
            map,
            centre,
            ridge,
            encoder,
            weighing,
            claimed,
            noise_multiplier,
            adjacency,
        };
        plan.noise_multiplier = plan.settled_noise()?;
        plan.recipe.training.noise_multiplier = Some(plan.noise_multiplier).filter(|noise| *noise > 0.0);
        plan.check_noise()?;
        if plan.recipe.training.mode == Mode::AsPublished {
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
        let decoder = self.encoder.map_or(0, |_| self.decoder_form().count(self.width() + 1));
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
        let published = self.recipe.training.mode == Mode::AsPublished;
        let purposes =
            self.purposes().into_iter().filter(|(purpose, _)| !published || *purpose == COEFFICIENTS);
        Event::compose(purposes.map(|(purpose, _)| self.event(purpose, noise_multiplier)))
    }

    /// All accesses to the records, in their order.
    pub(super) fn accesses(&self) -> Vec<Access> {
        let claim = self.claimed.map(|epsilon| Event::Claimed {
            source: self.method.paper.to_string(),
            epsilon,
            delta: self.recipe.run.delta,
        });
        let access = |(purpose, number)| {
            let event = claim.clone().unwrap_or_else(|| self.event(purpose, self.noise_multiplier));
            Access::all(purpose, number, event)
        };
        self.purposes().into_iter().map(access).collect()
    }

    /// What records are looked at for, in order, with numbers.
    fn purposes(&self) -> Vec<(Purpose, u64)> {
        let rounds = self.encoder.map_or(0, |encoder| encoder.rounds);
        let components =
            self.recipe.training.principal_components.map(|_| (principal_components::PURPOSE, 0));
        let centre = (self.centre > 0.0).then_some((CENTRE, 0));
        let decoders = (0..rounds).map(|round| (DECODER, round));
        let weighing = self.weighing.into_iter().flat_map(|_| [(DRAFT, 0), (RELEVANCE, 0)]);
        components
            .into_iter()
            .chain(centre)
            .chain(decoders)
            .chain(weighing)
            .chain([(COEFFICIENTS, 0)])
            .collect()
    }

    /// The noise multiplier of a release, for this one of the coefficients.
    pub(super) fn noise(&self, purpose: Purpose, noise_multiplier: f64) -> f64 {
        let published = self.recipe.training.mode == Mode::AsPublished;
        let factor = match (self.encoder, self.weighing, self.recipe.training.principal_components) {
            _ if noise_multiplier == 0.0 => 0.0,
            (_, _, Some(choice)) if purpose == principal_components::PURPOSE => {
                return choice.noise_multiplier;
            }
            _ if purpose == CENTRE => self.centre,
            (Some(encoder), _, _) if purpose == DECODER => encoder.noise,
            (_, Some(_), _) if published && (purpose == DRAFT || purpose == RELEVANCE) => 0.0,
            (_, Some(weighing), _) if purpose == DRAFT => weighing.draft,
            (_, Some(weighing), _) if purpose == RELEVANCE => weighing.noise,
            _ => 1.0,
        };
        factor * noise_multiplier
    }

    fn event(&self, purpose: Purpose, noise_multiplier: f64) -> Event {
        let gaussian = self.form.noise == NoiseKind::Gaussian || purpose == principal_components::PURPOSE;
        match self.noise(purpose, noise_multiplier) {
            _ if !self.recipe.run.private => Event::NonPrivate,
            0.0 => Event::NonPrivate,
            noise if gaussian && purpose != RELEVANCE => Event::gaussian(noise),
            noise => Event::laplace(noise),
        }
    }

    /// Features that the head reads.
    pub fn width(&self) -> usize {
        self.encoder.map_or(self.map.width(), |encoder| encoder.hidden)
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
            preparations: [principal_components::PURPOSE, CENTRE, DECODER, DRAFT, RELEVANCE]
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

/// The code of a method that has one.
fn encoder(method: &About, parameters: &Parameters) -> Result<Option<Encoder>> {
    if method.name != methods::DPA.name {
        return Ok(None);
    }
    let whole = |name: &str| match parameters.get(name) {
        value if value >= 1.0 && value.fract() == 0.0 && value <= 4096.0 => Ok(value as usize),
        value => Err(Error::Plan(format!("parameters.{name} = {value} is not a whole number of 1 to 4096"))),
    };
    let positive = |name: &str| parameters.positive(name).map_err(Error::Plan);
    let (hidden, rounds) = (whole("hidden")?, whole("rounds")? as u64);
    Ok(Some(Encoder { hidden, rounds, noise: positive("decoder")?, gain: positive("gain")? }))
}

/// How a method weighs features, if it does.
fn weighing(method: &About, parameters: &Parameters) -> Result<Option<Weighing>> {
    if method.name != methods::PRIVR.name {
        return Ok(None);
    }
    let positive = |name: &str| parameters.positive(name).map_err(Error::Plan);
    let weak = parameters.share("weak").map_err(Error::Plan)?;
    let (draft, noise, threshold) = (positive("draft")?, positive("relevance")?, positive("threshold")?);
    Ok(Some(Weighing { draft, noise, threshold, weak }))
}

/// Refuses what has no relevance that weights could follow from.
fn check_weighing(recipe: &Recipe, form: &Form, input: Shape) -> Result<()> {
    if recipe.training.features != (Features::Raw {}) || !matches!(input, Shape::Vector(_)) {
        return Err(Error::Plan(
            "privr weighs the columns of a table: set features.kind = \"raw\", on records that are vectors"
                .to_string(),
        ));
    }
    match form.rows {
        Rows::TwoClasses | Rows::Classes(_) => Ok(()),
        _ => Err(Error::Plan(
            "privr is about classes, and the data has none: take functional-mechanism".to_string(),
        )),
    }
}

fn form(rows: Rows, noise: NoiseKind, parameters: &Parameters) -> Result<Form> {
    let quadratic = parameters.positive("quadratic").map_err(Error::Plan)? * rows.bound(noise);
    let intercept = parameters.share("intercept").map_err(Error::Plan)?;
    Ok(Form { rows, noise, quadratic, intercept })
}

/// Refuses to take the number of records for public where a hash decides which records are trained on.
fn check_split(recipe: &Recipe, dataset: &Dataset, adjacency: Adjacency) -> Result<()> {
    let private = dataset.visibility() == Visibility::Private && recipe.run.private;
    if private && dataset.is_split_by_hash() && adjacency == Adjacency::ReplaceOne {
        return Err(Error::Plan(
            "adjacency = \"replace_one\" takes the number of training records as public, but a hash decides which records these are, \
             and a record that is replaced can change sides: give the test records by `test_path`, or by a `split` column, or take \
             adjacency = \"add_remove\""
                .to_string(),
        ));
    }
    Ok(())
}
