//! The audit of one step by its release.

use super::attack::{Attack, Objective, attack};
use super::committee;
use super::course;
use super::game::Game;
use super::neighbours::{labels, neighbours};
use super::planted::{Planted, Record};
use super::release;
use super::report::{Argument, Report, Verdict};
use super::schedule::Schedule;
use super::steps_game::StepsGame;
use super::subject::{MakeMethod, Subject};
use crate::State;
use crate::clip::ClipRule;
use crate::data::Visibility;
use crate::error::{Error, Result};
use crate::methods::{self, Claim, Mode};
use crate::noise::Key;
use crate::objective;
use crate::pate;
use crate::run::RunRecipe;
use crate::train::{DataShape, GradientRecipe, ModelChoice, Plan, Recipe, TargetShape};
use muffle_accounting::pld::Pld;
use muffle_accounting::reshuffling::Reshuffling;
use muffle_accounting::{Accountant, Adjacency, Assignment, Event};
use muffle_nn::Shape;
use serde::{Deserialize, Serialize};

/// The attacker's position in an audit of a step.
pub const THREAT: &str = "gradient-level white box: the attacker sees the release, knows all other records and the parameters, \
                          and chooses the record; it is forced into the batch, so that the step is compared without sampling";

/// The public batch size, which divides the sums; what is in a batch does not depend on it. A power of two leaves the bits of a sum
/// as they are, which the attacker would otherwise have to guess.
const BATCH_SIZE: u64 = 128;

/// What to audit, and how thoroughly.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A method.
    pub method: String,
    /// Its form.
    pub mode: Mode,
    /// Standard deviation of the noise over the threshold.
    pub noise_multiplier: f64,
    /// Values of an input: the network has twice as many parameters, and four.
    pub width: usize,
    /// Changes of the recipe that the step runs by.
    pub settings: Vec<String>,
    /// Plays in each world that the bound rests on.
    pub trials: u64,
    /// Of all random numbers.
    pub seed: u64,
    /// Of the bound.
    pub confidence: f64,
    /// Of all epsilons.
    pub delta: f64,
}

/// What an audit of one step without sampling found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// The three epsilons.
    #[serde(flatten)]
    pub report: Report,
    /// Standard deviation of the noise over the threshold.
    pub noise_multiplier: f64,
    /// The pair of data sets that was told apart best.
    pub pair: String,
    /// By which statistic.
    pub statistic: String,
    /// Number of parameters of the network, or of numbers that are released.
    pub parameters: usize,
    /// Steps of a schedule that were played together; absent if one step was, or a whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<u64>,
    /// The method whose audit this is, where both take the same step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
}

/// A step with what is said of it.
pub struct Case {
    /// The step.
    pub plan: Plan,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// What the paper's argument gives.
    pub claimed: Option<f64>,
    /// What is proved.
    pub proved: Option<f64>,
    /// Whether it is Gaussian by design: what is proved is, and a published form may be.
    pub gaussian: bool,
    /// What the method has learned before the step.
    learned: Option<State>,
}

impl Case {
    /// One step of a method without sampling, on a [`Planted`] network with threshold one.
    pub fn new(settings: &Settings) -> Result<Case> {
        Case::on(&Planted::new(settings.width), settings, &Schedule::ONE_STEP)
    }

    /// The steps of a schedule, on a network of one's choice.
    pub(super) fn on(planted: &Planted, settings: &Settings, schedule: &Schedule) -> Result<Case> {
        let entry = methods::find(&settings.method).map_err(Error::Plan)?;
        let own = |setting: &&&str| {
            ["sampler", "adjacency", "noise", "clip"]
                .iter()
                .any(|key| setting.split(['=', '.']).next() == Some(key))
        };
        // Of a method's settings, those of a single step, and schedules where there are several; optimizers and networks come before or
        // after a release.
        let kept = |setting: &&&str| own(setting) || schedule.steps > 1 && course::is_schedule(setting);
        let mut changes: Vec<String> = entry.settings.iter().filter(kept).map(ToString::to_string).collect();
        changes.extend(settings.settings.iter().cloned());
        // A price that is stated for epochs of batches has no meaning for a step: its steps are those of the sound form.
        let epochs = entry.claim == Claim::ReshuffledEpoch && settings.mode == Mode::AsPublished;
        if epochs && *schedule != Schedule::ONE_STEP {
            return Err(Error::Plan(format!(
                "the published price of `{}` is for epochs of disjoint batches, which have no sampling to be audited",
                entry.name
            )));
        }
        let model = ModelChoice::from(&planted.model());
        let recipe = Recipe {
            run: RunRecipe { delta: settings.delta, epsilon: schedule.epsilon, ..RunRecipe::new("none") },
            training: GradientRecipe {
                method: entry.name.to_string(),
                mode: if epochs { Mode::Sound } else { settings.mode },
                noise_multiplier: schedule.epsilon.is_none().then_some(settings.noise_multiplier),
                steps: Some(schedule.steps),
                ..GradientRecipe::new(model, BATCH_SIZE, 1.0, 1.0)
            },
        };
        let data = DataShape {
            input: Shape::Vector(settings.width),
            targets: TargetShape::Classes(2),
            records: (BATCH_SIZE as f64 / schedule.sample_rate).round() as usize,
            visibility: Visibility::Public,
            split_by_hash: false,
            texts: None,
        };
        let plan = Plan::new(recipe.with(&changes)?, &data)?;
        if epochs {
            return Case::reshuffled(plan);
        }
        let event = plan.total_cost()?;
        let proved = match settings.mode {
            Mode::Sound => Some(Pld.epsilon(&event, plan.adjacency, settings.delta)?.epsilon),
            Mode::AsPublished => None,
        };
        let gaussian = proved.is_some() || plan.build_method()?.is_gaussian();
        let claimed = plan.claimed();
        let learned = learned(&plan, planted)?;
        Ok(Case { adjacency: plan.adjacency, claimed, proved, gaussian, plan, learned })
    }

    /// The step at the planted parameters.
    pub(super) fn subject(&self, planted: &Planted) -> Subject<'_> {
        let subject = Subject::of(&self.plan, planted.parameters(&self.plan.network));
        let method: MakeMethod = match &self.learned {
            Some(state) => Box::new(move || {
                let mut method = self.plan.build_method()?;
                method.restore(state)?;
                Ok(method)
            }),
            None => subject.method,
        };
        Subject { adjacency: self.adjacency, method, ..subject }
    }

    /// What Yu et al. print for an epoch of batches, where a record is exchanged for another: their price of random
    /// samples has no meaning without sampling.
    fn reshuffled(plan: Plan) -> Result<Case> {
        let (noise, delta) = (plan.noise_multiplier, plan.recipe.run.delta);
        let epoch = Event::gaussian(noise).partitioned_epoch(Assignment::Reshuffled);
        let claimed = Reshuffling.epsilon(&epoch, Adjacency::ZeroOut, delta)?.epsilon;
        let adjacency = Adjacency::ReplaceOne;
        let proved = Pld.epsilon(&epoch, adjacency, delta)?.epsilon;
        let (claimed, proved) = (Some(claimed), Some(proved));
        Ok(Case { plan, adjacency, claimed, proved, gaussian: true, learned: None })
    }
}

/// Records of either kind that a method learns from before the step.
const LEARNED_FROM: usize = 32;

/// What a method learns from records that are no secret before the step: it is then audited as it runs, and not as what it is
/// without that. Nothing if it does not learn.
fn learned(plan: &Plan, planted: &Planted) -> Result<Option<State>> {
    let mut method = plan.build_method()?;
    if method.preparation().is_none() {
        return Ok(None);
    }
    let either = [Record::with_gradient(1.0), Record { inputs: [0.0, 1.0], class: 1 }];
    let mut parameters = planted.parameters(&plan.network);
    let examples = planted.batch(&either.repeat(LEARNED_FROM));
    Subject::of(plan, parameters.clone()).prepare(
        &mut *method,
        &mut parameters,
        &Key::from_seed(0),
        &examples,
    )?;
    Ok(Some(method.state()))
}

/// The largest claim that a thousand plays can refute without assumptions.
const REFUTABLE: f64 = 5.5;
/// How often noise is doubled for that at most.
const DOUBLINGS: usize = 4;

/// The same with as much noise as it takes for the claim to be one that plays can refute: a claim above what they can show would stand
/// whatever the release gives away.
pub fn refutable(settings: &Settings) -> Result<Settings> {
    let mut settings = settings.clone();
    let claims = methods::find(&settings.method).is_ok() && settings.mode == Mode::AsPublished;
    // Not every claim falls with the noise.
    for _ in 0..if claims { DOUBLINGS } else { 0 } {
        if Case::new(&settings)?.claimed.is_none_or(|claimed| claimed <= REFUTABLE) {
            break;
        }
        settings.noise_multiplier *= 2.0;
    }
    Ok(settings)
}

/// The method that takes the same step under the same clip, where an audit of one is an audit of both: what tells them apart comes
/// before a release or after it.
pub fn same_as(settings: &Settings) -> Result<Option<&'static str>> {
    let Ok(entry) = methods::find(&settings.method) else { return Ok(None) };
    let reference = methods::REFERENCE.name;
    if settings.mode != Mode::Sound || entry.name == reference || course::applies(settings)? {
        return Ok(None);
    }
    // The planted network has no activations, which a method may be about.
    let bounded = Planted::with_bounded_activation(settings.width);
    let case = Case::new(settings)
        .or_else(|refusal| Case::on(&bounded, settings, &Schedule::ONE_STEP).map_err(|_| refusal));
    let plan = case?.plan;
    let flat = matches!(plan.recipe.training.clip, ClipRule::Flat { .. });
    Ok((flat && plan.build_method()?.is_dp_sgd()).then_some(reference))
}

/// The audit of a method by that of the one that takes the same step, if there is one.
pub(super) fn of_same(
    settings: &Settings,
    audit: impl Fn(&Settings) -> Result<(StepReport, Attack)>,
) -> Result<Option<(StepReport, Attack)>> {
    let Some(reference) = same_as(settings)? else { return Ok(None) };
    let (found, attack) = audit(&Settings { method: reference.to_string(), ..settings.clone() })?;
    Ok(Some((found.of_same(&settings.method), attack)))
}

/// Audits a step of a published method, or the schedule that makes it one; of a method that takes no steps of descent, everything that
/// it releases.
pub fn audit(settings: &Settings) -> Result<(StepReport, Attack)> {
    check(settings)?;
    if objective::METHODS.iter().any(|entry| entry.name == settings.method) {
        return release::audit(settings);
    }
    if pate::METHODS.iter().any(|about| about.name == settings.method) {
        return committee::audit(settings);
    }
    if let Some(found) = of_same(settings, audit)? {
        return Ok(found);
    }
    if course::applies(settings)? {
        return course::audit(settings);
    }
    let case = Case::new(settings)?;
    let (planted, biased) = (Planted::new(settings.width), Planted::with_biases(settings.width));
    // Of a published form that is about classes, what it gives away of them by themselves.
    let open = settings.mode == Mode::AsPublished && case.plan.method.needs_classes;
    let labelled = open.then(|| Case::on(&biased, settings, &Schedule::ONE_STEP)).transpose()?;
    let subjects = (case.subject(&planted), labelled.as_ref().map(|case| case.subject(&biased)));
    let mut games = games(&subjects.0, &planted)?;
    if let Some(subject) = &subjects.1 {
        games.push(Box::new(StepsGame::new(subject, labels(&biased, subject.adjacency))?));
    }
    let objective = objective(case.gaussian, settings);
    let found = attack(&mut games, objective, settings.confidence, settings.trials, settings.seed)?;
    Ok((report(&case, &found, settings)?, found))
}

/// Looks for the best attack on a subject.
pub fn search(subject: &Subject, planted: &Planted, gaussian: bool, settings: &Settings) -> Result<Attack> {
    let mut games = games(subject, planted)?;
    attack(&mut games, objective(gaussian, settings), settings.confidence, settings.trials, settings.seed)
}

fn games<'a>(subject: &'a Subject<'a>, planted: &Planted) -> Result<Vec<Box<dyn Game + 'a>>> {
    let mut games: Vec<Box<dyn Game + 'a>> = Vec::new();
    for pair in neighbours(planted, subject.adjacency) {
        games.push(Box::new(StepsGame::new(subject, pair)?));
    }
    Ok(games)
}

fn objective(gaussian: bool, settings: &Settings) -> Objective {
    if gaussian { Objective::Mu } else { Objective::Epsilon { delta: settings.delta } }
}

pub(super) fn check(settings: &Settings) -> Result<()> {
    let refuse = |reason: String| Err(Error::Plan(reason));
    if !(settings.confidence > 0.0 && settings.confidence < 1.0) {
        return refuse(format!("confidence {} is outside (0, 1)", settings.confidence));
    }
    if settings.trials == 0 {
        return refuse("0 trials show nothing; take 1000 or more".to_string());
    }
    if !(2..=1 << 20).contains(&settings.width) {
        return refuse(format!("a width of {} is outside 2 to {}", settings.width, 1 << 20));
    }
    if !(settings.noise_multiplier > 0.0 && settings.noise_multiplier.is_finite()) {
        return refuse(format!("noise multiplier {} is outside (0, infinity)", settings.noise_multiplier));
    }
    Ok(())
}

fn report(case: &Case, attack: &Attack, settings: &Settings) -> Result<StepReport> {
    let said = Said {
        adjacency: case.adjacency,
        claimed: case.claimed,
        proved: case.proved,
        gaussian: case.gaussian,
        event: None,
        threat: THREAT,
    };
    StepReport::new(said, attack, settings, case.plan.network.parameter_len())
}

/// What is said of a release, before it is attacked.
pub(super) struct Said {
    pub adjacency: Adjacency,
    pub claimed: Option<f64>,
    pub proved: Option<f64>,
    /// Whether it is Gaussian by design.
    pub gaussian: bool,
    /// What is paid for, where that is not Gaussian and known.
    pub event: Option<Event>,
    pub threat: &'static str,
}

impl StepReport {
    /// What an attack makes of it.
    pub(super) fn new(
        said: Said,
        attack: &Attack,
        settings: &Settings,
        parameters: usize,
    ) -> Result<StepReport> {
        let (found, delta, confidence) = (attack.detections, settings.delta, settings.confidence);
        let free = found.epsilon(delta, confidence);
        let (argument, measured) = match said.event {
            _ if said.gaussian => (Argument::Gaussian, found.gaussian_epsilon(delta, confidence)),
            Some(event) => {
                (Argument::NoiseFactor, found.epsilon_within(&event, said.adjacency, delta, confidence)?)
            }
            None => (Argument::ClopperPearson, free),
        };
        let report = Report {
            verdict: Verdict::of(said.claimed, said.proved, measured),
            method: settings.method.clone(),
            mode: settings.mode,
            claimed: said.claimed,
            proved: said.proved,
            measured,
            argument,
            measured_without_assumptions: free,
            confidence,
            delta,
            adjacency: said.adjacency,
            threat: said.threat.to_string(),
            trials: found.present,
            true_positives: found.true_positives,
            false_positives: found.false_positives,
            seed: settings.seed,
        };
        Ok(StepReport {
            report,
            noise_multiplier: settings.noise_multiplier,
            pair: attack.pair.clone(),
            statistic: attack.statistic.clone(),
            parameters,
            course: None,
            same_as: None,
        })
    }

    /// The same audit, for another method that takes the same step.
    pub fn of_same(&self, method: &str) -> StepReport {
        let mut found = StepReport { same_as: Some(self.report.method.clone()), ..self.clone() };
        found.report.method = method.to_string();
        found
    }
}
