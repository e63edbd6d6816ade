//! `muffle compare --tune`: a key of everything that is compared is chosen first, by as many runs for each.

use crate::experiment::{Options, Ran, run_cells};
use crate::interrupt::Interrupted;
use crate::train::Outcome;
use clap::Args;
use muffle::experiment::{Axis, Experiment, Results, Variant};
use muffle::run::{Parts, RunRecipe};
use muffle::train::evaluation::Measure;
use serde_json::{Map, Value, json};
use std::sync::atomic::AtomicBool;

/// What is tuned, and on what.
#[derive(Args)]
pub struct TuningArguments {
    /// Choose a key first, for everything that is compared by itself: by one run of each value, tested on records of a published training
    /// set that are left out
    #[arg(long, value_name = "KEY=VALUES")]
    tune: Option<String>,
    /// Training records that are left out for that
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "tune")]
    tune_records: u64,
}

impl TuningArguments {
    /// The key and its values.
    pub fn axis(&self) -> Outcome<Option<Axis>> {
        let axis = self.tune.as_ref().map(|text| Axis::parse("--tune", text)).transpose()?;
        let Some(Axis { key, values }) = &axis else { return Ok(None) };
        if values.len() == 1 {
            return Err(format!("--tune {key}: there is nothing to choose from; use --set").into());
        }
        if RunRecipe::KEYS.contains(&&key[..]) || ["method", "mode"].contains(&&key[..]) {
            let reason =
                "it says what is run and on what; tune a setting of the training, such as learning_rate";
            return Err(format!("--tune {key}: {reason}").into());
        }
        Ok(axis)
    }

    /// Runs every variant with each value, and gives it the one that was best.
    pub fn tune(
        &self,
        axis: Axis,
        factors: &[String],
        variants: &mut [Variant],
        options: &Options,
        stop: &AtomicBool,
    ) -> Outcome<Tuning> {
        let key = axis.key.clone();
        let mut candidates = Vec::new();
        for variant in variants.iter() {
            if variant.recipe.run.test_from_training.is_some() {
                let reason = "choosing on the records that the comparison is tested on would flatter it; leave it to --tune-records";
                return Err(format!("test_from_training: {reason}").into());
            }
            for value in &axis.values {
                let mut recipe = with(&variant.recipe, &axis, value)?;
                (recipe.run.test_from_training, recipe.run.evaluations) = (Some(self.tune_records), 1);
                let own = std::slice::from_ref(value);
                candidates.push(Variant {
                    levels: [&variant.levels, own].concat(),
                    name: format!("{}+{}", variant.name, Axis::folder_name(std::slice::from_ref(&axis), own)),
                    recipe,
                });
            }
        }
        let factors = [factors, std::slice::from_ref(&key)].concat();
        let folder = options.output.join("tuning");
        let experiment = Experiment::new(&folder, factors, candidates, &options.search())
            .map_err(|error| format!("--tune {key}: {error}"))?
            .with_seeds(1);
        options.say(&format!("{key} is chosen first, on training records set aside"));
        let measure = experiment.measure(options.rank_by.as_deref())?;
        let Ran { outcomes, failures, interrupted, .. } = run_cells(&experiment, options, &measure, stop)?;
        if let Some(advice) = interrupted {
            return Err(Interrupted::without_result(advice, options.json()));
        }
        let results = Results::new(&experiment, &outcomes, &measure);
        let figure = |group: usize| {
            let found = results.groups.iter().find(|found| found.group == group)?;
            found.measured.map(|mean| mean.mean)
        };
        let mut choices = Vec::new();
        for (place, variant) in variants.iter_mut().enumerate() {
            let first = place * axis.values.len();
            let figures: Vec<Option<f64>> =
                (0..axis.values.len()).map(|value| figure(first + value)).collect();
            let Some(best) = best(&figures, &measure) else {
                let own = |failure: &&String| failure.starts_with(&format!("{}+", variant.name));
                let (levels, failure) = (variant.levels.join(" "), failures.iter().find(own));
                let failure = failure.map_or("", |failure| failure);
                return Err(format!("--tune {key}: no value led {levels} to a result: {failure}").into());
            };
            variant.recipe = with(&variant.recipe, &axis, &axis.values[best])?;
            choices.push(Choice { levels: variant.levels.clone(), figures, best });
        }
        let records = outcomes.iter().flatten().map(|outcome| outcome.test.records).max().unwrap_or(0);
        let factors = experiment.factors.clone();
        Ok(Tuning { axis, factors, records, measure, choices })
    }
}

/// A recipe with one value of the key.
fn with(recipe: &Parts, axis: &Axis, value: &str) -> Outcome<Parts> {
    let setting = format!("{}={value}", axis.key);
    Ok(Parts::new(&recipe.origin, &recipe.run, &recipe.training, &[setting])?)
}

/// The place of the best figure; of equal ones the first.
fn best(figures: &[Option<f64>], measure: &Measure) -> Option<usize> {
    let found = figures.iter().enumerate().filter_map(|(place, figure)| Some((place, (*figure)?)));
    let best = found.reduce(|best, next| if measure.is_better(next.1, best.1) { next } else { best });
    best.map(|(place, _)| place)
}

/// What became of one variant.
struct Choice {
    levels: Vec<String>,
    figures: Vec<Option<f64>>,
    best: usize,
}

/// What was tried, and what was chosen.
pub struct Tuning {
    axis: Axis,
    factors: Vec<String>,
    /// How many records tested it.
    records: usize,
    measure: Measure,
    choices: Vec<Choice>,
}

impl Tuning {
    /// A paragraph with a table.
    pub fn paragraph(&self) -> String {
        let Tuning { axis, records, measure, .. } = self;
        let values = axis.values.iter().map(|value| value.replace('|', "\\|"));
        let header: Vec<String> =
            self.factors[..self.factors.len() - 1].iter().cloned().chain(values).collect();
        let row = |choice: &Choice| {
            let figure = |(place, figure): (usize, &Option<f64>)| match figure {
                Some(figure) if place == choice.best => format!("**{}**", measure.shown(*figure)),
                Some(figure) => measure.shown(*figure),
                None => "failed".to_string(),
            };
            let figures = choice.figures.iter().enumerate().map(figure);
            let cells: Vec<String> = choice.levels.iter().cloned().chain(figures).collect();
            format!("| {} |", cells.join(" | "))
        };
        let rows: Vec<String> = self.choices.iter().map(row).collect();
        format!(
            "What has an epsilon had the best of {} values of {}, by the {measure} of one run with seed 1 on {records} training records set aside. \
             That read the records as well, and is in no epsilon (rule R8).\n\n| {} |\n|{}\n{}",
            axis.values.len(),
            axis.key,
            header.join(" | "),
            "---|".repeat(header.len()),
            rows.join("\n")
        )
    }

    /// The same for machines.
    pub fn json(&self) -> Value {
        let choice = |choice: &Choice| {
            let levels: Map<String, Value> =
                self.factors.iter().cloned().zip(choice.levels.iter().map(|level| json!(level))).collect();
            let tried =
                self.axis.values.iter().cloned().zip(choice.figures.iter().map(|figure| json!(figure)));
            json!({
                "levels": levels, "chosen": self.axis.values[choice.best], "tried": tried.collect::<Map<String, Value>>(),
            })
        };
        json!({
            "key": self.axis.key, "records": self.records, "measure": self.measure.to_string(),
            "choices": self.choices.iter().map(choice).collect::<Vec<Value>>(),
        })
    }
}
