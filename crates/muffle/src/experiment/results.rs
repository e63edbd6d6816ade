//! Results of an experiment: by cell for machines, by group for readers.

use super::cell::Outcome;
use super::groups::Experiment;
use super::spent::spent;
use crate::error::Result;
use crate::run::metrics;
use crate::statistics::Mean;
use crate::train::Evaluation;
use crate::train::evaluation::Measure;
use muffle_accounting::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// A group's results.
pub struct GroupResult {
    /// Its place in the experiment.
    pub group: usize,
    /// Its finished cells.
    pub runs: usize,
    /// The measure over its cells; `None` if one of them does not have it.
    pub measured: Option<Mean>,
    /// Where the mean lies, from two cells up.
    pub interval: Option<(f64, f64)>,
    /// Test loss over its cells; `None` if it is no longer a number in one of them.
    pub loss: Option<Mean>,
    /// The largest proved epsilon of a cell; `None` if a cell has none.
    pub epsilon: Option<f64>,
    /// The largest epsilon of a cell with a seed, if the seeds are secret and were drawn at random.
    pub epsilon_if_seed_is_secret: Option<f64>,
    /// The claim of a form that is not proved.
    pub claimed: Option<f64>,
    /// Classes that some cell never predicts.
    pub never_predicted: BTreeSet<String>,
}

/// A number for every cell, beside those that every experiment has.
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// In the order of the cells; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

/// What is finished of an experiment.
pub struct Results<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) outcomes: &'a [Option<Outcome>],
    /// What the runs are compared by.
    pub measure: &'a Measure,
    /// Groups of which a cell is finished.
    pub groups: Vec<GroupResult>,
}

impl<'a> Results<'a> {
    /// Of the outcomes of all cells, compared by a measure.
    pub fn new(
        experiment: &'a Experiment,
        outcomes: &'a [Option<Outcome>],
        measure: &'a Measure,
    ) -> Results<'a> {
        let mut groups = Vec::new();
        for group in 0..experiment.groups.len() {
            let cells: Vec<&Outcome> = experiment
                .cells
                .iter()
                .zip(outcomes)
                .filter(|(cell, _)| cell.group == group)
                .filter_map(|(_, outcome)| outcome.as_ref())
                .collect();
            if cells.is_empty() {
                continue;
            }
            let figures: Option<Vec<f64>> = cells.iter().map(|cell| measure.of(&cell.test)).collect();
            let measured = figures.and_then(|figures| Mean::of(&figures).ok());
            let interval = measured.and_then(|mean| mean.interval(CONFIDENCE));
            let losses: Option<Vec<f64>> =
                cells.iter().map(|cell| (cell.test.records > 0).then_some(cell.test.loss)).collect();
            groups.push(GroupResult {
                group,
                runs: cells.len(),
                measured,
                interval: interval.map(|interval| (interval.low, interval.high)),
                loss: losses.and_then(|losses| Mean::of(&losses).ok()),
                epsilon: largest(cells.iter().map(|cell| cell.epsilon)),
                epsilon_if_seed_is_secret: largest(cells.iter().map(|cell| cell.epsilon_if_seed_is_secret)),
                claimed: cells.iter().find_map(|cell| cell.claimed),
                never_predicted: cells.iter().flat_map(|cell| cell.test.never_predicted.clone()).collect(),
            });
        }
        Results { experiment, outcomes, measure, groups }
    }

    /// How many cells are finished.
    pub fn finished(&self) -> usize {
        self.outcomes.iter().flatten().count()
    }

    /// What every run in the folder is to be charged: see [`spent`].
    pub fn spent(&self) -> Result<Vec<Event>> {
        spent(self.experiment, self.outcomes)
    }

    /// Whether the noise of the runs follows from seeds.
    fn seeded(&self) -> bool {
        self.experiment.cells.iter().any(|cell| cell.seed.is_some())
    }

    /// One row for every finished cell, with further columns.
    pub fn csv(&self, columns: &[Column]) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let measure = self.measure.to_string();
        let own = [
            "seed",
            &measure,
            "loss",
            "proved_epsilon",
            "epsilon_if_seed_is_secret",
            "claimed_epsilon",
            "delta",
            "noise_multiplier",
            "steps",
        ];
        let factors = self.experiment.factors.iter().map(String::as_str);
        let further = columns.iter().map(|column| column.name);
        let header: Vec<&str> = factors.chain(own).chain(further).chain(["folder"]).collect();
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let mut rows = vec![header.iter().map(ToString::to_string).collect::<Vec<String>>()];
        for (place, (cell, outcome)) in self.experiment.cells.iter().zip(self.outcomes).enumerate() {
            let Some(outcome) = outcome else { continue };
            let group = self.experiment.group(cell);
            let mut row = group.levels.clone();
            row.extend([
                cell.seed.map_or(String::new(), |seed| seed.to_string()),
                number(self.measure.of(&outcome.test)),
                outcome.test.loss.to_string(),
                number(outcome.epsilon),
                number(outcome.epsilon_if_seed_is_secret),
                number(outcome.claimed),
                group.job.terms().recipe.delta.to_string(),
                group.job.figures().get("noise_multiplier").map_or(String::new(), ToString::to_string),
                outcome.steps.to_string(),
            ]);
            row.extend(columns.iter().map(|column| number(column.values[place])));
            row.push(format!("cells/{}", self.experiment.name(cell)));
            rows.push(row);
        }
        rows.iter().for_each(|row| writer.write_record(row).expect("rows of one length go to memory"));
        String::from_utf8(writer.into_inner().expect("memory is never full")).expect("rows are text")
    }

    /// A table with one row for every group, in Markdown.
    pub fn markdown(&self) -> String {
        let factors = &self.experiment.factors;
        let epsilon = if self.seeded() { "epsilon if the seed is secret" } else { "proved epsilon" };
        let mut text = format!(
            "| {} | {epsilon} | runs | {} | deviation | 95 % interval | loss |\n",
            factors.join(" | "),
            self.measure.heading()
        );
        text += &format!("|{}---|---|---|---|---|---|\n", "---|".repeat(factors.len()));
        for result in &self.groups {
            let levels: Vec<String> = self.experiment.groups[result.group]
                .levels
                .iter()
                .map(|level| level.replace('|', "\\|"))
                .collect();
            let epsilon = match (result.epsilon.or(result.epsilon_if_seed_is_secret), result.claimed) {
                // Rounded up: a figure that is quoted should hold.
                (Some(epsilon), _) => format!("{:.4}", (epsilon * 1e4).ceil() / 1e4),
                (None, Some(claimed)) => format!("none (claimed: {claimed:.4})"),
                (None, None) => "none".to_string(),
            };
            let shown = |figure: Option<f64>| figure.map_or("-".into(), |figure| self.measure.shown(figure));
            let spread = shown(result.measured.and_then(|mean| mean.standard_deviation));
            let interval = result.interval.map_or("-".into(), |(low, high)| {
                format!("{} to {}", self.measure.shown(low), self.measure.shown(high))
            });
            let loss = result.loss.map_or("-".into(), |loss| format!("{:.4}", loss.mean));
            let _ = writeln!(
                text,
                "| {} | {epsilon} | {} | {} | {spread} | {interval} | {loss} |",
                levels.join(" | "),
                result.runs,
                shown(result.measured.map(|mean| mean.mean))
            );
        }
        text
    }

    /// The mean of the measure over a group's finished cells at every step where all that measured it have it.
    pub fn by_step(&self, group: usize) -> Vec<(u64, f64)> {
        let mut steps: BTreeMap<u64, Vec<Option<f64>>> = BTreeMap::new();
        let cells = self.experiment.cells.iter().zip(self.outcomes);
        for (cell, _) in cells.filter(|(cell, outcome)| cell.group == group && outcome.is_some()) {
            for metric in metrics::read(&self.experiment.path(cell).join("metrics.jsonl")) {
                let figure = self.measure.of(&Evaluation::of(&metric.measured));
                steps.entry(metric.step).or_default().push(figure);
            }
        }
        let mean = |(step, figures): (u64, Vec<Option<f64>>)| {
            let figures: Option<Vec<f64>> = figures.into_iter().collect();
            figures.map(|figures| (step, figures.iter().sum::<f64>() / figures.len() as f64))
        };
        steps.into_iter().filter_map(mean).collect()
    }

    /// The cell that is best by the measure, the first of several, with its figure.
    pub fn best(&self) -> Option<(usize, f64)> {
        let figure = |outcome: &Outcome| self.measure.of(&outcome.test);
        let cells = self.outcomes.iter().enumerate();
        let finished = cells.filter_map(|(place, outcome)| Some((place, figure(outcome.as_ref()?)?)));
        finished.reduce(|best, next| if self.measure.is_better(next.1, best.1) { next } else { best })
    }
}

/// The largest of several figures; `None` if one is missing.
fn largest(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.reduce(|one, two| Some(one?.max(two?))).flatten()
}
