//! The audit of a committee of teachers: whole runs on planted records, of which one decides how one teacher votes.

use super::attack::{Attack, Objective, attack};
use super::game::Game;
use super::release::is_gaussian;
use super::step::{Said, Settings, StepReport};
use crate::data::{Dataset, Records, Scaling, Split, Targets, Visibility};
use crate::error::Result;
use crate::ledger::Ledger;
use crate::methods::Mode;
use crate::pate::{self, Learner, PateRecipe, Votes};
use crate::run::{Job, Parts, Purse, RunRecipe};
use crate::schedule::Scheduled;
use crate::train::ModelChoice;
use muffle_accounting::Accountant;
use muffle_accounting::pld::Pld;
use muffle_nn::config::LayerConfig;
use muffle_nn::{ModelDescription, Shape};
use std::f64::consts::SQRT_2;
use std::ops::Range;

/// The attacker's position.
pub const THREAT: &str = "the attacker sees every answer of the teachers and every figure that is printed, knows all other records and \
                          the public pool, and chooses the record";

/// Queries of a run.
const QUERIES: usize = 4;
/// Where the records of a teacher lie, where the one in question does, and where the queries do: far enough out that it decides them.
const NEAR: f32 = 0.5;
const FAR: f32 = 8.0;
const ASKED: f32 = 6.0;

/// A committee with the record and without it.
struct Committee {
    name: &'static str,
    job: Box<dyn Job>,
    with: Dataset,
    without: Dataset,
}

impl Committee {
    /// The first teacher votes for the first class, and with one record more for the second; of the others so many vote for each.
    fn new(name: &'static str, others: [usize; 2], settings: &Settings) -> Result<Committee> {
        let teachers = 1 + others.iter().sum::<usize>();
        let class = |teacher: usize| u32::from(teacher > others[0]);
        let mut records: Vec<(f32, u32)> = Vec::new();
        for teacher in 0..teachers {
            records.push(record_of(teacher, teachers, class(teacher), NEAR)?);
        }
        let without = dataset(&records)?;
        records.push(record_of(0, teachers, 1, FAR)?);
        let with = dataset(&records)?;
        let job = planted(teachers, settings, &without)?;
        Ok(Committee { name, job, with, without })
    }

    /// How many answers of a whole run name the second class, and what is printed of the votes as they are.
    fn run(&self, present: bool, seed: u64) -> Result<(f32, Option<f64>)> {
        let (job, dataset) =
            (self.job.with_seed(Some(seed)), if present { &self.with } else { &self.without });
        let mut trainer = job.trainer(dataset)?;
        let mut purse = Purse::new(Ledger::in_memory(), None)?;
        while trainer.step() < job.terms().steps {
            purse.pay_and_do(&mut *trainer, QUERIES as u64)?;
        }
        purse.pay_and_close(&mut *trainer, true)?;
        let answers = trainer.state().remove("answers").unwrap_or_default();
        // A class and whose word it is, for each query.
        let second = answers.chunks_exact(2).filter(|answer| answer[0] == 1.0).count();
        Ok((second as f32, trainer.claimed()))
    }

    /// The largest epsilon that is printed of it, with the record or without; `None` if none is.
    fn claimed(&self) -> Result<Option<f64>> {
        let printed = [self.run(false, 0)?.1, self.run(true, 0)?.1];
        Ok(printed.into_iter().flatten().reduce(f64::max))
    }
}

impl Game for Committee {
    fn name(&self) -> &str {
        self.name
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let (second, printed) = self.run(present, seed)?;
        Ok([second].into_iter().chain(printed.map(|epsilon| epsilon as f32)).collect())
    }

    fn parts(&self) -> Vec<Range<usize>> {
        Vec::new()
    }
}

/// Numbers in two classes, and the queries.
fn dataset(records: &[(f32, u32)]) -> Result<Dataset> {
    let (values, classes) = records.iter().copied().unzip();
    let train = Split::classified(Records::Floats(values), classes);
    let test = Split::classified(Records::Floats(vec![ASKED]), vec![0]);
    let pool = Split { records: Records::Floats(vec![ASKED; QUERIES]), targets: Targets::None(QUERIES) };
    let (names, scaling) = (["first", "second"].map(String::from).to_vec(), Scaling::identity("as is"));
    let set = Dataset::new("planted", Shape::Vector(1), names, scaling, Visibility::Public, train, test)?;
    Ok(set.with_public(pool)?)
}

/// A record of a class that belongs to a teacher, as near to a place as its hash allows.
fn record_of(teacher: usize, teachers: usize, class: u32, place: f32) -> Result<(f32, u32)> {
    // Of a thousand records each of a handful of teachers has some.
    let candidates: Vec<(f32, u32)> = (0..1000).map(|step| (place + step as f32 * 1e-4, class)).collect();
    let parts = pate::split(&dataset(&candidates)?.train(), teachers);
    Ok(candidates[parts[teacher][0]])
}

/// So many steps of a layer that tells two classes apart.
fn learner(steps: u64) -> Learner {
    let dense = LayerConfig::Dense { features: 2, bias: true };
    Learner {
        model: ModelChoice::from(&ModelDescription { input: Shape::Vector(1), layers: vec![dense.into()] }),
        steps,
        batch_size: 4,
        learning_rate: Scheduled::Number(2.0),
        optimizer: Default::default(),
        initialisation: Default::default(),
        augmentation: Default::default(),
        moving_average: None,
    }
}

/// A committee whose answers together are one mechanism with the given noise multiplier; in the published form, with Laplace noise
/// of that scale on each count.
fn planted(teachers: usize, settings: &Settings, dataset: &Dataset) -> Result<Box<dyn Job>> {
    let noise = settings.noise_multiplier;
    let votes = match settings.mode {
        Mode::Sound => Votes::Gaussian { deviation: Some(noise * SQRT_2 * (QUERIES as f64).sqrt()) },
        Mode::AsPublished => Votes::Laplace { inverse_scale: Some(1.0 / noise) },
    };
    let run = RunRecipe {
        kind: pate::KIND.name.to_string(),
        delta: settings.delta,
        threads: Some(1),
        seed: Some(0),
        evaluations: 1,
        ..RunRecipe::new("none")
    };
    let training = PateRecipe {
        mode: settings.mode,
        queries: Some(QUERIES as u64),
        ..PateRecipe::new(teachers, votes, learner(12), learner(1))
    };
    let parts = Parts::new("the audit", &run, &training, &settings.settings)?;
    (pate::KIND.plan)(&parts, dataset)
}

/// Audits everything that a committee releases: its answers on a near-tie, and in the published form the epsilon that is computed from
/// its votes.
pub fn audit(settings: &Settings) -> Result<(StepReport, Attack)> {
    let committee = match settings.mode {
        Mode::Sound => Committee::new("a record that breaks a tie of the other teachers", [1, 1], settings)?,
        Mode::AsPublished => {
            Committee::new("a record that one of twelve teachers changes its mind for", [11, 0], settings)?
        }
    };
    let (terms, cost, claimed) = (committee.job.terms(), committee.job.cost()?, committee.claimed()?);
    let proved = match settings.mode {
        Mode::Sound => Some(Pld.epsilon(&cost, terms.adjacency, settings.delta)?.epsilon),
        Mode::AsPublished => None,
    };
    let gaussian = proved.is_some() && is_gaussian(&cost)?;
    let objective = if gaussian { Objective::Mu } else { Objective::Epsilon { delta: settings.delta } };
    let mut games: Vec<Box<dyn Game>> = vec![Box::new(committee)];
    let found = attack(&mut games, objective, settings.confidence, settings.trials, settings.seed)?;
    let seen = games[0].play(false, 0)?.len();
    let said = Said { adjacency: terms.adjacency, claimed, proved, gaussian, event: None, threat: THREAT };
    Ok((StepReport::new(said, &found, settings, seen)?, found))
}
