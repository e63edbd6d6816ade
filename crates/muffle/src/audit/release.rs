//! The audit of a whole job by everything it releases.

use super::attack::{Attack, Objective, attack};
use super::game::Game;
use super::reports::ReportGame;
use super::step::{Said, Settings, StepReport};
use crate::State;
use crate::data::{Dataset, Records, Scaling, Split, Visibility};
use crate::error::Result;
use crate::ledger::Ledger;
use crate::methods::Mode;
use crate::objective::{KIND, Plan, Recipe, planted as planted_settings};
use crate::run::{Job, Parts, Purse, RunRecipe, Trainer, ready};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Adjacency, Composition, Event, Mechanism, Release, Sampling, Step};
use muffle_nn::Shape;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The attacker's position.
pub const THREAT: &str = "white box: the attacker sees every number that is released, knows all other records, and chooses the record";

/// Values of a record.
const WIDTH: usize = 8;
/// Records beside the one in question: enough that noise on a mean does not hide where it is.
const OTHERS: usize = 128;
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
    expected: [OnceLock<State>; 2],
}

/// A release: what is known before it, and what it shows.
struct Seen {
    before: State,
    shown: State,
}

impl Pair {
    fn dataset(&self, present: bool) -> &Dataset {
        if present { &self.with } else { &self.without }
    }

    /// Everything that a run releases.
    fn releases(&self, present: bool, seed: u64) -> Result<Vec<Seen>> {
        self.published(&*self.noisy.with_seed(Some(seed)), present)
    }

    /// What is published of a run of a job.
    fn published(&self, job: &dyn Job, present: bool) -> Result<Vec<Seen>> {
        let mut releases = self.steps(job, present, job.terms().steps)?;
        Ok(if self.last_only { releases.split_off(releases.len() - 1) } else { releases })
    }

    /// What the first steps of a job show, one by one.
    fn steps(&self, job: &dyn Job, present: bool, steps: u64) -> Result<Vec<Seen>> {
        let mut trainer = job.trainer(self.dataset(present))?;
        ready(&mut *trainer)?;
        let (mut releases, mut before) = (Vec::new(), trainer.state());
        for _ in 0..steps {
            let shown = step(&mut *trainer, &before)?;
            releases.push(Seen { before, shown });
            before = trainer.state();
        }
        Ok(releases)
    }

    /// How far apart the last releases of both data sets are, without noise.
    fn distance(&self) -> Result<f64> {
        let last = |present: bool| -> Result<Vec<f32>> {
            let releases = self.published(&*self.exact, present)?.pop();
            Ok(releases.map_or(Vec::new(), |last| last.shown.into_values().flatten().collect()))
        };
        let (with, without) = (last(true)?, last(false)?);
        Ok(with.iter().zip(&without).map(|(with, without)| f64::from(with - without).abs()).sum())
    }

    /// What the release after these would show on a data set, without noise.
    fn next(&self, present: bool, before: &State, taken: u64) -> Result<State> {
        if self.last_only {
            let expected = &self.expected[usize::from(present)];
            if expected.get().is_none() {
                let last = self.published(&*self.exact, present)?.pop();
                let _ = expected.set(last.map_or(State::new(), |last| last.shown));
            }
            return Ok(expected.get().expect("it was worked out").clone());
        }
        let mut trainer = self.exact.trainer(self.dataset(present))?;
        ready(&mut *trainer)?;
        trainer.restore(before, taken)?;
        step(&mut *trainer, before)
    }
}

/// Pays for a step from nowhere, takes it, and says what is new in the state.
fn step(trainer: &mut dyn Trainer, before: &State) -> Result<State> {
    Purse::new(Ledger::in_memory(), None)?.pay_and_do(trainer, 1)?;
    let state = trainer.state().into_iter();
    Ok(state.filter(|(name, values)| before.get(name) != Some(values)).collect())
}

/// The attacker sees all numbers.
struct AllNumbers(Arc<Pair>);

impl Game for AllNumbers {
    fn name(&self) -> &str {
        self.0.name
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let releases = self.0.releases(present, seed)?.into_iter();
        Ok(releases.flat_map(|release| release.shown.into_values().flatten()).collect())
    }

    fn parts(&self) -> Vec<Range<usize>> {
        let releases = self.0.releases(false, 0).unwrap_or_default().into_iter();
        let lens = releases.flat_map(|release| release.shown.into_values().map(|values| values.len()));
        let parts = lens.scan(0, |end, len| {
            *end += len;
            Some(*end - len..*end)
        });
        parts.collect()
    }
}

/// The attacker subtracts how far the first two steps moved something: noise that they share is gone.
struct Difference(Arc<Pair>);

impl Game for Difference {
    fn name(&self) -> &str {
        self.0.name
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let releases = self.0.steps(&*self.0.noisy.with_seed(Some(seed)), present, 2)?;
        // What a step leaves as it was has moved by nothing.
        let moved = |release: &Seen| -> Vec<f32> {
            let pairs = release.before.iter().map(|(name, before)| (before, release.shown.get(name)));
            let steps = pairs.flat_map(|(before, now)| now.unwrap_or(before).iter().zip(before));
            steps.map(|(now, before)| now - before).collect()
        };
        let (first, second) = (moved(&releases[0]), moved(&releases[1]));
        Ok(first.iter().zip(&second).map(|(first, second)| first - second).collect())
    }

    fn parts(&self) -> Vec<Range<usize>> {
        Vec::new()
    }
}

/// The attacker works out for every release what it would have been with the record and without it, given those before, and sees the
/// likelihood ratios: of Gaussian noise, then of Laplace noise, up to the scale of the noise.
struct LikelihoodRatios(Arc<Pair>);

impl Game for LikelihoodRatios {
    fn name(&self) -> &str {
        self.0.name
    }

    fn play(&mut self, present: bool, seed: u64) -> Result<Vec<f32>> {
        let [mut gaussian, mut laplace] = [Vec::new(), Vec::new()];
        for (taken, Seen { before, shown }) in self.0.releases(present, seed)?.into_iter().enumerate() {
            let with = self.0.next(true, &before, taken as u64)?;
            let without = self.0.next(false, &before, taken as u64)?;
            let names =
                shown.iter().filter_map(|(name, seen)| Some((seen, with.get(name)?, without.get(name)?)));
            let [mut square, mut size, mut squares, mut sizes] = [0.0; 4];
            for (seen, with, without) in names {
                for (seen, (with, without)) in seen.iter().zip(with.iter().zip(without)) {
                    let [seen, with, without] = [seen, with, without].map(|value| f64::from(*value));
                    square += (seen - without).powi(2) - (seen - with).powi(2);
                    size += (seen - without).abs() - (seen - with).abs();
                    squares += (with - without).powi(2);
                    sizes += (with - without).abs();
                }
            }
            // Over the distance of both worlds, so that releases of any scale can be added up.
            gaussian.push(if squares > 0.0 { (square / squares) as f32 } else { 0.0 });
            laplace.push(if sizes > 0.0 { (size / sizes) as f32 } else { 0.0 });
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

/// What an attacker plays against a job on planted records, with so much of the noise that is paid for: a record that moves sums as far as it can, and under `replace_one` one of which
/// only the label differs.
pub fn games(settings: &Settings, share: f64) -> Result<Vec<Box<dyn Game>>> {
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
    let pairs: Vec<(&'static str, Option<Record>)> = match planted(settings, 1.0)?.adjacency {
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
        found.push(pair((settings, share), name, with, without)?);
    }
    let mut games: Vec<Box<dyn Game>> = Vec::new();
    let reports = ReportGame::of(&planted(settings, share)?);
    games.extend(reports.map(|game| Box::new(game) as Box<dyn Game>));
    if settings.mode == Mode::AsPublished {
        found.push(tipping((settings, share))?);
        // Beside one that says nothing, and perhaps in one of two steps only.
        let (quiet, ones) = (([0.0; WIDTH], 0), ([1.0; WIDTH], 1));
        let (with, without) = (dataset(&[quiet, ones])?, dataset(&[quiet])?);
        let alone =
            Arc::new(pair((settings, share), "a record beside a quiet one, in two steps", with, without)?);
        let mut difference = Difference(alone.clone());
        if !difference.play(false, 0)?.is_empty() {
            games.push(Box::new(difference));
        }
        games.push(Box::new(AllNumbers(alone)));
    }
    for pair in found.into_iter().map(Arc::new) {
        games.push(Box::new(LikelihoodRatios(pair.clone())));
        games.push(Box::new(AllNumbers(pair)));
    }
    Ok(games)
}

fn pair(
    (settings, share): (&Settings, f64),
    name: &'static str,
    with: Dataset,
    without: Dataset,
) -> Result<Pair> {
    Ok(Pair {
        name,
        noisy: Box::new(planted(settings, share)?),
        exact: Box::new(planted(settings, NEXT_TO_NOTHING)?),
        with,
        without,
        last_only: settings.mode == Mode::AsPublished,
        expected: Default::default(),
    })
}

/// A record that tips the relevance of a feature, beside as many others with that feature as it takes: all of theirs change with it.
fn tipping(settings: (&Settings, f64)) -> Result<Pair> {
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
        pair(settings, "a record that tips the relevance of a feature", with, dataset(&others)?)
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
fn planted(settings: &Settings, share: f64) -> Result<Plan> {
    let about = (KIND.methods)().into_iter().find(|about| about.name == settings.method);
    let usual = about.map_or(&[][..], |about| about.settings).iter().map(ToString::to_string);
    let own = [
        format!("noise_multiplier={}", share * settings.noise_multiplier),
        format!("method={}", settings.method),
        format!("mode={}", settings.mode.name()),
        "threads=1".to_string(),
        "seed=0".to_string(),
    ];
    let small = planted_settings(&settings.method, settings.mode).iter().map(ToString::to_string);
    let parameters = about.map_or(&[][..], |about| about.parameters).iter();
    let ridge = parameters.filter(|parameter| parameter.name == "ridge" && parameter.default > 0.0);
    let ridge = ridge.map(|parameter| format!("parameters.ridge={}", parameter.default / share));
    let changes: Vec<String> =
        usual.chain(own).chain(small).chain(ridge).chain(settings.settings.iter().cloned()).collect();
    let run = RunRecipe { delta: settings.delta, kind: KIND.name.to_string(), ..RunRecipe::new("none") };
    let parts = Parts::new("the audit", &run, &toml::Table::new(), &changes)?;
    Plan::new(Recipe::of(&parts)?, &dataset(&[([0.0; WIDTH], 0)])?)
}

/// Audits everything that a job of a method releases.
pub fn audit(settings: &Settings) -> Result<(StepReport, Attack)> {
    audit_with(settings, 1.0)
}

/// The same if the noise were so much of what is paid for: a mistake that an audit has to find.
pub fn audit_with(settings: &Settings, share: f64) -> Result<(StepReport, Attack)> {
    let job = planted(settings, 1.0)?;
    let (terms, cost) = (job.terms(), job.cost()?);
    let proved = match settings.mode {
        Mode::Sound => Some(Pld.epsilon(&cost, terms.adjacency, settings.delta)?.epsilon),
        Mode::AsPublished => None,
    };
    let gaussian = proved.is_some() && is_gaussian(&cost)?;
    let objective = match proved {
        Some(_) => Objective::Mu,
        None => Objective::Epsilon { delta: settings.delta },
    };
    let mut games = games(settings, share)?;
    let found = attack(&mut games, objective, settings.confidence, settings.trials, settings.seed)?;
    let parameters = games[1].play(false, 0)?.len();
    let event = Some(cost).filter(|_| proved.is_some());
    let said =
        Said { adjacency: terms.adjacency, claimed: terms.claimed, proved, gaussian, event, threat: THREAT };
    Ok((StepReport::new(said, &found, settings, parameters)?, found))
}

/// Whether everything is a Gaussian mechanism on all records: so is the whole.
pub(super) fn is_gaussian(cost: &Event) -> Result<bool> {
    let gaussian = |step: &Step| {
        matches!(step.mechanism, Mechanism { sampling: Sampling::Full, release: Release::Gaussian { .. } })
    };
    Ok(Composition::of(cost)?.steps.iter().all(gaussian))
}
