//! Search for a network that learns well under clipping and noise, with every look at the records paid for.

mod genotype;

use crate::atomic_file;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::ledger::{self, Access, Ledger};
use crate::mechanism::{BoundedVector, Mechanism};
use crate::methods::Mode;
use crate::noise::{self, Key, Purpose, Stream, Uniform};
use crate::records::PrivateRecords;
use crate::run::{Binding, Certificate, End, Purse, Status, Trainer, lock, ready};
use crate::sampler::SamplerChoice;
use crate::train::validation::hold_out;
use crate::train::{DataShape, Evaluator, GradientTrainer, ModelChoice, Plan, Recipe, TargetShape};
use genotype::Cell;
use muffle_accounting::Event;
use muffle_accounting::calibrate::{self, Target};
use muffle_accounting::pld::Pld;
use muffle_nn::layers::activation::Activation;
use muffle_nn::models::dpnas;
use muffle_nn::{ModelDescription, Shape};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A count of held-out records that a candidate classifies correctly.
const REWARD: ledger::Purpose = ledger::Purpose::with_noise("validation", noise::Purpose::ValidationNoise);

/// Name of the file of the network that was found.
const MODEL: &str = "model.toml";

/// How a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Networks that are tried.
    pub candidates: u64,
    /// Share of the training records that judges them, and that they are not trained on.
    pub share: f64,
    /// What one judgement costs.
    pub reward_epsilon: f64,
    /// Channels of the three cells, multiples of eight.
    pub channels: [usize; 3],
}

/// A network that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Counted from one.
    pub number: u64,
    /// Accuracy on the records held out, with noise: it may lie outside zero and one.
    pub accuracy: f64,
    /// Whether it is the best so far.
    pub best: bool,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best network.
    pub model: ModelDescription,
    /// Its accuracy on the records held out, with noise.
    pub accuracy: f64,
    /// What the search has spent.
    pub certificate: Certificate,
}

/// Trains candidates privately, one change of the best cell so far after the other, and keeps the best by noisy counts of
/// held-out records. Writes `search.toml`, `model.toml`, `ledger.jsonl` and `privacy.json`.
///
/// The recipe says how a candidate is trained; its epsilon is for the whole search. `stop` ends the search after a candidate.
///
/// # Source
/// The cells and operations of Cheng et al. 2022; a walk of single changes takes the place of their controller, and their
/// rewards had no noise.
///
/// # Guarantee
/// Candidates depend on the records through noisy rewards only (R6), each is paid for on disk before it is trained, and the
/// noise is the same for all, so that the whole search costs no more than the recipe's epsilon by composition. What is
/// trained later with the network that was found costs its own.
pub fn search(
    folder: &Path,
    recipe: &Recipe,
    settings: &Settings,
    dataset: &Dataset,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&Candidate),
) -> Result<Found> {
    let file = |name: &str| folder.join(name);
    let plans = Plans::new(recipe, settings, dataset)?;
    std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
    let _lock = lock(folder)?;
    if file("ledger.jsonl").exists() {
        return Err(Error::file(folder, "there is a search already; choose another folder"));
    }
    let write = |name: &str, text: &str| {
        atomic_file::write(&file(name), text).map_err(|error| Error::file(&file(name), error))
    };
    let described = format!("# {settings:?}\n{}", plans.recipe.to_toml());
    write("search.toml", &described)?;
    // Nothing of a search is repeated: whatever happens is paid for.
    let mut purse = Purse::new(Ledger::open(&file("ledger.jsonl"), &described, false)?, None)?;
    let (training, held_out) = hold_out(&dataset.train(), settings.share);
    let all = dataset.train().split();
    let parts = dataset.with_splits(all.select(&training), all.select(&held_out))?;
    let judges = PrivateRecords::some(Arc::new(dataset.clone()), held_out);
    let key = |number: u64| match recipe.run.seed {
        Some(seed) => Ok(Key::from_seed(seed.wrapping_mul(1 << 20).wrapping_add(number))),
        None => Key::from_entropy(),
    };
    // Number zero makes the search's own choices and the noise on rewards.
    let own = key(0)?;
    let mut best: Option<(Cell, f64)> = None;
    let mut tried = 0;
    while tried < settings.candidates && !(stop.load(Ordering::Relaxed) && best.is_some()) {
        let mut uniform = Uniform::new(&own, Stream::new(Purpose::Data, tried));
        let cell = match &best {
            Some((cell, _)) => cell.neighbour(&mut uniform),
            None => Cell::random(&mut uniform),
        };
        let plan = plans.of(&cell)?;
        let mut trainer = GradientTrainer::new(&plan, &parts, key(tried + 1)?)?;
        ready(&mut trainer)?;
        while trainer.step() < plan.steps {
            purse.pay_and_do(&mut trainer, plan.steps)?;
        }
        let receipt = purse.ledger.pay_one(Access::all(REWARD, tried, settings.reward()))?;
        let (view, receipt) = judges.all(receipt);
        let correct =
            Evaluator::new(plan.network.clone(), recipe.run.threads)?.correct(trainer.result(), &view)?;
        let count = BoundedVector::l1(vec![correct as f64], 1.0);
        let (correct, _) =
            Mechanism::new(own.clone(), 1.0).answer(count, 1.0 / settings.reward_epsilon, receipt);
        let accuracy = correct[0] / (settings.share * plans.records as f64);
        tried += 1;
        let better = best.as_ref().is_none_or(|(_, highest)| accuracy > *highest);
        if better {
            best = Some((cell, accuracy));
        }
        observe(&Candidate { number: tried, accuracy, best: better });
    }
    let (cell, accuracy) = best.expect("there is at least one candidate");
    let status = if tried == settings.candidates { Status::Finished } else { Status::Interrupted };
    let plan = plans.of(&cell)?;
    write(MODEL, &plan.description.to_toml())?;
    let binding = Binding::new(folder, &described, purse.ledger.head(), &[MODEL.to_string()])?;
    let rest = settings.cost(plan.total_cost()?, settings.candidates - tried);
    let end = End { steps: tried * plan.steps, status, rest, claimed: None, audit: None, binding };
    let certificate = Certificate::new(&plan.terms(), &purse.ledger, end);
    write("privacy.json", &certificate.to_json())?;
    Ok(Found { model: plan.description, accuracy, certificate })
}

impl Settings {
    /// What one judgement costs.
    fn reward(&self) -> Event {
        Event::laplace(1.0 / self.reward_epsilon)
    }

    /// What so many candidates cost, each of which costs this to train.
    fn cost(&self, single: Event, candidates: u64) -> Event {
        match candidates {
            0 => Event::compose([]),
            _ => Event::compose([single, self.reward()].map(|event| event.repeated(candidates))),
        }
    }

    fn check(&self, recipe: &Recipe) -> Result<()> {
        let refuse = |reason: &str| Err(Error::Plan(reason.to_string()));
        if self.candidates == 0 {
            return refuse("a search needs at least one candidate");
        }
        if !(self.share > 0.0 && self.share < 1.0) {
            return refuse("the share of records that is held out has to lie between 0 and 1");
        }
        if !(1e-6..=1e6).contains(&self.reward_epsilon) {
            return refuse("the epsilon of a reward has to lie between 1e-6 and 1e6");
        }
        if self.channels.iter().any(|channels| *channels == 0 || channels % 8 != 0) {
            return refuse("the channels of the cells have to be multiples of eight");
        }
        let sampled = matches!(recipe.training.sampler, SamplerChoice::Poisson | SamplerChoice::BallsAndBins);
        if !recipe.run.private || recipe.training.mode != Mode::Sound || !sampled {
            return refuse(
                "a search needs private = true, mode = \"sound\" and sampler = \"poisson\" or \"balls-and-bins\"",
            );
        }
        let training = &recipe.training;
        let staged = training.features.is_some() || training.principal_components.is_some();
        if training.validation.is_some() || staged {
            return refuse("a search takes recipes without validation, features and principal_components");
        }
        Ok(())
    }
}

/// Plans of candidates, all with the same noise.
struct Plans {
    recipe: Recipe,
    shape: DataShape,
    channels: [usize; 3],
    /// The public number of all records, those held out included.
    records: u64,
}

impl Plans {
    /// Finds the noise with which the whole search costs the recipe's epsilon.
    fn new(recipe: &Recipe, settings: &Settings, dataset: &Dataset) -> Result<Plans> {
        settings.check(recipe)?;
        let Some(epsilon) = recipe.run.epsilon else {
            return Err(Error::Plan(
                "a search needs epsilon, the budget of all candidates together".to_string(),
            ));
        };
        let shape = DataShape::of(dataset);
        let Shape::Image { .. } = shape.input else {
            return Err(Error::Plan(format!("cells are for images; the records have shape {}", shape.input)));
        };
        let mut recipe = recipe.clone();
        (recipe.run.epsilon, recipe.training.noise_multiplier) = (None, Some(1.0));
        let mut plans = Plans { recipe, shape, channels: settings.channels, records: 0 };
        // All candidates cost the same, so any will do.
        let any = Cell::random(&mut Uniform::new(&Key::from_seed(0), Stream::new(Purpose::Data, 0)));
        let resolved = plans.of(&any)?.recipe;
        plans.records = resolved.run.records.unwrap_or_default();
        plans.recipe.run.adjacency = resolved.run.adjacency;
        // Candidates are trained on what is not held out.
        plans.recipe.run.records =
            Some((plans.records as f64 * (1.0 - settings.share)).round().max(1.0) as u64);
        let plan = plans.of(&any)?;
        let single = plan.total_cost()?;
        let total = |noise: f64| settings.cost(single.with_noise_scaled(noise), settings.candidates);
        let target = Target { epsilon, delta: plans.recipe.run.delta, adjacency: plan.adjacency };
        let found = calibrate::noise_multiplier(&Pld, &target, total)?;
        plans.recipe.training.noise_multiplier = Some(found.value);
        Ok(plans)
    }

    /// The plan of one candidate.
    fn of(&self, cell: &Cell) -> Result<Plan> {
        let input = self.shape.input;
        let TargetShape::Classes(classes) = self.shape.targets else {
            return Err(Error::Plan("a search judges classes, and the data has none".to_string()));
        };
        let model = dpnas::network(input, classes, &cell.genotype(), self.channels, Activation::Tanh);
        let mut recipe = self.recipe.clone();
        recipe.training.model = ModelChoice::from(&model);
        Plan::new(recipe, &self.shape)
    }
}
