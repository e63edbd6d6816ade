//! How long a step of a published method takes beside one of plain DP-SGD.

use super::Workload;
use crate::data::{Dataset, Records, Scaling, Split, Visibility};
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::methods::{self, Entry, Mode};
use crate::noise::Key;
use crate::recipes::key;
use crate::run::{Purse, RunRecipe, Trainer};
use crate::train::{DataShape, GradientRecipe, GradientTrainer, ModelChoice, Plan, Recipe};
use muffle_nn::initialise::SplitMix;
use serde::Serialize;
use std::time::{Duration, Instant};

/// How long a step of one form of a method takes.
#[derive(Clone, Debug, Serialize)]
pub struct MethodMeasurement {
    /// Workload.
    pub workload: String,
    /// Method.
    pub method: String,
    /// Its form.
    pub mode: Mode,
    /// Examples expected in a step.
    pub batch: usize,
    /// Steps measured.
    pub steps: usize,
    /// Median step time in milliseconds.
    pub step_ms: f64,
    /// Median step time over that of `dp-sgd`.
    pub ratio: f64,
}

/// Random records, as many times the batch.
const BATCHES: usize = 8;
/// Most steps of one form.
const MOST: usize = 1000;
/// Fewest steps to take a median of.
const FEWEST: usize = 3;

/// Takes steps of `dp-sgd` and of every form of the methods named in turn, all on the same random batches, so that what
/// else the machine does falls on all alike.
pub fn measure_methods(
    workload: &Workload,
    names: &[String],
    batch: Option<usize>,
    threads: Option<usize>,
    seconds: f64,
) -> Result<Vec<MethodMeasurement>> {
    if !(seconds > 0.0 && seconds.is_finite()) {
        return Err(Error::Plan(format!("seconds: {seconds} is not a positive time")));
    }
    let Some(model) = workload.model else {
        let reason = "is the step of a critic: methods are measured on the workloads w1 to w7";
        return Err(Error::Plan(format!("{} {reason}", workload.name)));
    };
    let batch = batch.unwrap_or(workload.batch);
    let mut forms = vec![(methods::REFERENCE.name, Mode::Sound)];
    for name in names {
        let entry = methods::find(name).map_err(Error::Plan)?;
        let others = entry.modes.iter().map(|mode| (entry.name, *mode)).filter(|form| *form != forms[0]);
        forms.extend(others.collect::<Vec<_>>());
    }
    let dataset = random_records(workload, batch)?;
    let plans: Result<Vec<Plan>> = forms
        .iter()
        .map(|(name, mode)| {
            let entry = methods::find(name).map_err(Error::Plan)?;
            plan(model, entry, *mode, batch, threads, &dataset)
        })
        .collect();
    let plans = plans?;
    let trainers: Result<Vec<GradientTrainer>> =
        plans.iter().map(|plan| GradientTrainer::new(plan, &dataset, Key::from_seed(0))).collect();
    let (mut trainers, mut purse) = (trainers?, Purse::new(Ledger::in_memory(), None)?);
    for trainer in &mut trainers {
        // The first step finds its memory.
        while trainer.step() == 0 {
            purse.pay_and_do(trainer, 1)?;
        }
    }
    let mut times = vec![Vec::new(); forms.len()];
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while times[0].len() < FEWEST || (Instant::now() < end && times[0].len() < MOST - 1) {
        for (trainer, times) in trainers.iter_mut().zip(&mut times) {
            let begin = Instant::now();
            purse.pay_and_do(trainer, 1)?;
            times.push(begin.elapsed().as_secs_f64());
        }
    }
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
    let measurement = |((name, mode), median): (&(&str, Mode), &f64)| MethodMeasurement {
        workload: workload.name.to_string(),
        method: name.to_string(),
        mode: *mode,
        batch,
        steps: times[0].len(),
        step_ms: 1e3 * median,
        ratio: median / medians[0],
    };
    Ok(forms.iter().zip(&medians).map(measurement).collect())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Noise without signal, in the shape of the workload.
fn random_records(workload: &Workload, batch: usize) -> Result<Dataset> {
    let network = workload.description()?.network()?;
    let (input, classes) = (network.input(), network.output().len());
    let mut generator = SplitMix::new(0);
    let mut split = |records: usize| {
        Split::classified(
            Records::Floats(workload.inputs(records * input.len(), &mut generator)),
            (0..records).map(|record| (record % classes) as u32).collect(),
        )
    };
    let (train, test) = (split(BATCHES * batch), split(1));
    let classes = (0..classes).map(|class| class.to_string()).collect();
    let scaling = Scaling::identity("random numbers");
    Ok(Dataset::new("random", input, classes, scaling, Visibility::Public, train, test)?)
}

fn plan(
    model: &str,
    entry: &Entry,
    mode: Mode,
    batch: usize,
    threads: Option<usize>,
    dataset: &Dataset,
) -> Result<Plan> {
    let recipe = Recipe {
        run: RunRecipe { threads, ..RunRecipe::new("random") },
        training: GradientRecipe {
            noise_multiplier: Some(1.0),
            steps: Some(MOST as u64),
            ..GradientRecipe::new(ModelChoice::Named(model.to_string()), batch as u64, 1.0, 0.05)
        },
    };
    // A step is measured on the workload's network and batch, also of a method that usually has others.
    let own = |setting: &String| !["model", "batch_size"].contains(&key(setting));
    let settings: Vec<String> = entry.form(mode).filter(own).collect();
    Plan::new(recipe.with(&settings)?, &DataShape::of(dataset))
}
