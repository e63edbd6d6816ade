//! The audit of a whole job by everything it releases.

use super::attack::{Attack, Objective, attack};
use super::game::Game;
use super::step::{Said, Settings, StepReport};
use crate::State;
use crate::data::{Dataset, Records, Scaling, Split, Visibility};
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::methods::Mode;
use crate::run::{Job, Kind, Parts, Purse, RunRecipe, Trainer, ready};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Adjacency, Composition, Event, Mechanism, Release, Sampling, Step};
use muffle_nn::Shape;
use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

/// The attacker's position.
pub const THREAT: &str = "white box: the attacker sees every number that is released, knows all other records, and chooses the record";

/// Values of a record.
const WIDTH: usize = 8;
/// Records beside the one in question: enough that noise on a mean does not hide where it is.
const OTHERS: usize = 128;
/// Units of a hidden layer, where there is one: few, so that plays are short.
const HIDDEN: usize = 4;
/// The share of the noise that is left of it where the attacker works out what a release would have been.
const NEXT_TO_NOTHING: f64 = 1e-6;

/// A job on either of two neighbouring data sets.
struct Pair {
    name: &'static str,
    noisy: Box<dyn Job>,
    /// The same job with next to no noise, by which the attacker knows what either data set would have given.
    exact: Box<dyn Job>,
    with: Dataset,
    without: Dataset,
    /// Whether only the last release is published: what a form that is not proved computes on the way is hidden.
    last_only: bool,
    /// What is then published without noise, without the record and with it.
    expected: [OnceCell<(String, Vec<f32>)>; 2],
}

impl Pair {
    fn dataset(&self, present: bool) -> &Dataset {
        if present { &self.with } else { &self.without }
    }

    /// Everything that a run releases.
    fn releases(&self, present: bool, seed: u64) -> Result<State> {
        self.published(&*self.noisy.with_seed(Some(seed)), present)
    }

    /// What is published of a run of a job.
    fn published(&self, job: &dyn Job, present: bool) -> Result<State> {
        let mut trainer = job.trainer(self.dataset(present))?;
        ready(&mut *trainer)?;
        let steps = job.terms().steps;
        take(&mut *trainer, steps - 1)?;
        let before = if self.last_only { trainer.state() } else { State::new() };
        take(&mut *trainer, 1)?;
        Ok(trainer.state().into_iter().filter(|(name, _)| !before.contains_key(name)).collect())
    }

    /// How far apart the last releases of both data sets are, without noise.
    fn distance(&self) -> Result<f64> {
        let (with, without) = (self.published(&*self.exact, true)?, self.published(&*self.exact, false)?);
        let apart = with.values().flatten().zip(without.values().flatten());
        Ok(apart.map(|(with, without)| f64::from(with - without).abs()).sum())
    }

    /// What the release after these would be on a data set, without noise: its name with its numbers.
    fn next(&self, present: bool, before: &State, step: u64) -> Result<(String, Vec<f32>)> {
        if self.last_only {
            let expected = &self.expected[usize::from(present)];
            if expected.get().is_none() {
                let last = self.published(&*self.exact, present)?.into_iter().next();
                let _ = expected.set(last.expect("a step releases something"));
            }
            return Ok(expected.get().expect("it was worked out").clone());
        }
        let mut trainer = self.exact.trainer(self.dataset(present))?;
        ready(&mut *trainer)?;
        trainer.restore(before, step)?;
        take(&mut *trainer, 1)?;
        let new = trainer.state().into_iter().find(|(name, _)| !before.contains_key(name));
        Ok(new.expect("a step releases something"))
    }
}

/// Pays for steps from nowhere, and takes them.
fn take(trainer: &mut dyn Trainer, steps: u64) -> Result<()> {
    let mut purse = Purse::new(Ledger::in_memory(), None)?;
    (0..steps).try_for_each(|_| purse.pay_and_do(trainer, 1).map(|_| ()))
}

/// The attacker sees all numbers.
struct AllNumbers(Rc<Pair>);

impl Game for AllNumbers {
    fn name(&self) -> &str {
        self.0.name
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        Ok(self.0.releases(present, seed)?.into_values().flatten().collect())
    }

    fn parts(&self) -> Vec<Range<usize>> {
        let lens = self.0.releases(false, 0).unwrap_or_default().into_values().map(|values| values.len());
        let parts = lens.scan(0, |end, len| {
            *end += len;
            Some(*end - len..*end)
        });
        parts.collect()
    }
}

/// The attacker works out for every release what it would have been with the record and without it, given those before, and sees the
/// likelihood ratios: of Gaussian noise, then of Laplace noise, up to the scale of the noise.
struct LikelihoodRatios(Rc<Pair>);

impl Game for LikelihoodRatios {
    fn name(&self) -> &str {
        self.0.name
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let (mut released, mut before) = (self.0.releases(present, seed)?, State::new());
        let [mut gaussian, mut laplace] = [Vec::new(), Vec::new()];
        for step in 0..released.len() as u64 {
            let (name, with) = self.0.next(true, &before, step)?;
            let (_, without) = self.0.next(false, &before, step)?;
            let seen = released.remove(&name).unwrap_or_default();
            let sum = |term: fn(f64, f64) -> f64| {
                let terms = seen.iter().zip(with.iter().zip(&without)).map(|(seen, (with, without))| {
                    let from = |middle: &f32| f64::from(*seen) - f64::from(*middle);
                    term(from(without), from(with))
                });
                terms.sum::<f64>() as f32
            };
            gaussian.push(sum(|without, with| without.powi(2) - with.powi(2)));
            laplace.push(sum(|without, with| without.abs() - with.abs()));
            before.insert(name, seen);
        }
        Ok([gaussian, laplace].concat())
    }

    fn parts(&self) -> Vec<Range<usize>> {
        Vec::new()
    }
}

/// The values of a record's input, then its class.
type Record = ([f32; WIDTH], u32);

/// Records of two classes.
fn dataset(records: &[Record]) -> Result<Dataset> {
    let values = records.iter().flat_map(|(values, _)| *values).collect();
    let split = Split::classified(Records::Floats(values), records.iter().map(|(_, class)| *class).collect());
    let classes = vec!["no".to_string(), "yes".to_string()];
    let (scaling, shape) = (Scaling::identity("as is"), Shape::Vector(WIDTH));
    Ok(Dataset::new("planted", shape, classes, scaling, Visibility::Public, split.clone(), split)?)
}

/// What an attacker plays against a job on planted records: a record that moves sums as far as it can, and under `replace_one` one of which
/// only the label differs.
pub fn games(kind: &Kind, settings: &Settings) -> Result<Vec<Box<dyn Game>>> {
    let along = |place: usize, value: f32| {
        let mut record = [0.0; WIDTH];
        record[place] = value;
        record
    };
    // In pairs of opposites, so that they have no mean.
    let other = |record: usize| {
        let (place, sign) = (1 + record / 2 % (WIDTH - 1), if record.is_multiple_of(2) { 1.0 } else { -1.0 });
        (along(place, sign), (record / 4 % 2) as u32)
    };
    let others: Vec<Record> = (0..OTHERS).map(other).collect();
    let pairs: Vec<(&'static str, Option<Record>)> = match planted(kind, settings, 1.0)?.terms().adjacency {
        // An empty record adds nothing to a sum, so that it may as well not be there.
        Adjacency::AddRemove | Adjacency::ZeroOut => vec![("a record beside others", None)],
        Adjacency::ReplaceOne => vec![
            ("a record in place of another", Some((along(1, 1.0), 0))),
            ("a record with another label", Some((along(0, 1.0), 0))),
        ],
    };
    let mut found = Vec::new();
    for (name, other) in pairs {
        let with = dataset(&[&others[..], &[(along(0, 1.0), 1)]].concat())?;
        let without = dataset(&others.iter().copied().chain(other).collect::<Vec<_>>())?;
        found.push(pair(kind, settings, name, with, without)?);
    }
    if settings.mode == Mode::AsPublished {
        found.push(tipping(kind, settings)?);
    }
    let mut games: Vec<Box<dyn Game>> = Vec::new();
    for pair in found.into_iter().map(Rc::new) {
        games.push(Box::new(LikelihoodRatios(pair.clone())));
        games.push(Box::new(AllNumbers(pair)));
    }
    Ok(games)
}

fn pair(
    kind: &Kind,
    settings: &Settings,
    name: &'static str,
    with: Dataset,
    without: Dataset,
) -> Result<Pair> {
    let (noisy, exact) = (planted(kind, settings, 1.0)?, planted(kind, settings, NEXT_TO_NOTHING)?);
    Ok(Pair {
        name,
        noisy,
        exact,
        with,
        without,
        last_only: settings.mode == Mode::AsPublished,
        expected: Default::default(),
    })
}

/// A record that tips the relevance of a feature, beside as many others with that feature as it takes: all of theirs change with it.
fn tipping(kind: &Kind, settings: &Settings) -> Result<Pair> {
    let record = |place: usize, sign: f32| {
        let mut record = [0.0; WIDTH];
        (record[place], record[WIDTH - 1]) = (sign, sign);
        (record, u32::from(sign > 0.0))
    };
    let among = |alike: usize| {
        let other = |index: usize| {
            let place = if index < alike { 0 } else { 1 + index / 2 % (WIDTH - 2) };
            record(place, if index.is_multiple_of(2) { 1.0 } else { -1.0 })
        };
        let others: Vec<Record> = (0..OTHERS).map(other).collect();
        let with = dataset(&[&others[..], &[record(0, 1.0)]].concat())?;
        pair(kind, settings, "a record that tips the relevance of a feature", with, dataset(&others)?)
    };
    let mut best = (among(0)?, 0.0);
    for alike in 1..OTHERS / 2 {
        let pair = among(alike)?;
        let distance = pair.distance()?;
        if distance > best.1 {
            best = (pair, distance);
        }
    }
    Ok(best.0)
}

/// A job of a method on planted records, with so much of the noise. What is added to eigenvalues in proportion to it stays what it was.
fn planted(kind: &Kind, settings: &Settings, share: f64) -> Result<Box<dyn Job>> {
    let about = (kind.methods)().into_iter().find(|about| about.name == settings.method);
    let usual = about.map_or(&[][..], |about| about.settings).iter().map(ToString::to_string);
    let own = [
        format!("noise_multiplier={}", share * settings.noise_multiplier),
        format!("method={}", settings.method),
        format!("mode={}", settings.mode.name()),
        "threads=1".to_string(),
        "seed=0".to_string(),
    ];
    let parameters = about.map_or(&[][..], |about| about.parameters).iter();
    let changed = parameters.filter_map(|parameter| match parameter.name {
        "hidden" => Some(format!("parameters.hidden={HIDDEN}")),
        "ridge" => Some(format!("parameters.ridge={}", parameter.default / share)),
        _ => None,
    });
    let changes: Vec<String> =
        usual.chain(own).chain(changed).chain(settings.settings.iter().cloned()).collect();
    let Some(training) = kind.usual else {
        return Err(Error::Plan(format!("training of kind \"{}\" has no audit of its releases", kind.name)));
    };
    let run = RunRecipe { delta: settings.delta, kind: kind.name.to_string(), ..RunRecipe::new("none") };
    let training: toml::Table = training.parse().expect("the usual settings of a kind are TOML");
    let parts = Parts::parse("the audit", &Parts::to_toml(&run, &training), &changes)?;
    (kind.plan)(&parts, &dataset(&[([0.0; WIDTH], 0)])?)
}

/// Audits everything that a job of a method releases.
pub fn audit(kind: &Kind, settings: &Settings) -> Result<(StepReport, Attack)> {
    let job = planted(kind, settings, 1.0)?;
    let (terms, cost) = (job.terms(), job.cost()?);
    let proved = match settings.mode {
        Mode::Sound => Some(Pld.epsilon(&cost, terms.adjacency, settings.delta)?.epsilon),
        Mode::AsPublished => None,
    };
    let gaussian = proved.is_some() && is_gaussian(&cost)?;
    let objective = if gaussian { Objective::Mu } else { Objective::Epsilon { delta: settings.delta } };
    let mut games = games(kind, settings)?;
    let found = attack(&mut games, objective, settings.confidence, settings.trials, settings.seed)?;
    let parameters = games[1].play(false, 0)?.len();
    let said = Said { adjacency: terms.adjacency, claimed: terms.claimed, proved, gaussian, threat: THREAT };
    Ok((StepReport::new(said, &found, settings, parameters), found))
}

/// Whether everything is a Gaussian mechanism on all records: so is the whole.
pub(super) fn is_gaussian(cost: &Event) -> Result<bool> {
    let gaussian = |step: &Step| {
        matches!(step.mechanism, Mechanism { sampling: Sampling::Full, release: Release::Gaussian { .. } })
    };
    Ok(Composition::of(cost)?.steps.iter().all(gaussian))
}
