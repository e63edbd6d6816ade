//! How an experiment looks while it goes on: a table on a terminal, lines elsewhere, JSON for machines.

use crate::words::duration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use muffle::experiment::{Cell, Experiment, Outcome, Report};
use muffle::train::evaluation::Measure;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Instant;

/// Where reports go.
pub struct Display<'a> {
    experiment: &'a Experiment,
    measure: &'a Measure,
    form: Form,
    begun: Instant,
    /// Figures of finished cells, by group.
    finished: Vec<Vec<Option<f64>>>,
    /// Shares of the steps that running cells have taken, by group and number.
    running: BTreeMap<(usize, u64), f64>,
    fresh: usize,
    failures: Vec<String>,
}

enum Form {
    Quiet,
    Json,
    Lines,
    Table(ProgressBar),
}

/// Rows of a table that fit on a screen; a longer one shows only the groups that run.
const ROWS: usize = 24;

impl<'a> Display<'a> {
    /// Chooses the form, and says what is about to happen.
    pub fn new(experiment: &'a Experiment, measure: &'a Measure, json: bool, quiet: bool) -> Display<'a> {
        let form = if quiet {
            Form::Quiet
        } else if json {
            Form::Json
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg}").expect("the template is well formed");
            Form::Table(bar.with_style(style))
        } else {
            Form::Lines
        };
        if let Form::Lines | Form::Table(_) = form {
            eprintln!("{} runs in {} groups", experiment.cells.len(), experiment.groups.len());
        }
        let finished = vec![Vec::new(); experiment.groups.len()];
        Display {
            experiment,
            measure,
            form,
            begun: Instant::now(),
            finished,
            running: BTreeMap::new(),
            fresh: 0,
            failures: Vec::new(),
        }
    }

    /// What happened.
    pub fn show(&mut self, report: &Report) {
        match *report {
            Report::Running(cell, progress) => {
                let share = progress.step as f64 / progress.steps.max(1) as f64;
                self.running.insert((cell.group, cell.number), share);
            }
            Report::Finished { cell, outcome, fresh } => {
                self.running.remove(&(cell.group, cell.number));
                self.finished[cell.group].push(self.measure.of(&outcome.test));
                self.fresh += usize::from(fresh);
                self.announce(cell, outcome, fresh);
            }
            Report::Failed(cell, error) => {
                self.running.remove(&(cell.group, cell.number));
                let failure = format!("{}: {error}", self.experiment.name(cell));
                if let Form::Lines = self.form {
                    eprintln!("failed  {failure}");
                }
                self.failures.push(failure);
            }
        }
        if let Form::Table(bar) = &self.form {
            bar.set_message(self.table());
        }
    }

    fn announce(&self, cell: &Cell, outcome: &Outcome, fresh: bool) {
        let name = self.experiment.name(cell);
        match self.form {
            Form::Json => println!(
                "{}",
                json!({
                    "cell": name, "fresh": fresh, self.measure.key(): self.measure.of(&outcome.test),
                    "test_loss": outcome.test.loss,
                    "epsilon": outcome.epsilon,
                    "epsilon_if_seed_is_secret": outcome.epsilon_if_seed_is_secret, "claimed_epsilon": outcome.claimed, "steps": outcome.steps,
                })
            ),
            Form::Lines => {
                let (done, all) = (self.done(), self.experiment.cells.len());
                let kept = if fresh { "" } else { "  (kept)" };
                let figure = self.measure.of(&outcome.test);
                let figure = figure.map_or("-".to_string(), |figure| self.measure.in_words(figure));
                eprintln!("{done}/{all}  {name}  test {figure}{kept}");
            }
            Form::Quiet | Form::Table(_) => {}
        }
    }

    fn done(&self) -> usize {
        self.finished.iter().map(Vec::len).sum()
    }

    /// One row for every group: runs finished, their mean figure, and how far the running ones are.
    fn table(&self) -> String {
        let groups = &self.experiment.groups;
        let label = |place: usize| self.experiment.label(&groups[place], 0..0);
        let running = |place: usize| self.running.range((place, 0)..=(place, u64::MAX));
        let shown: Vec<usize> = (0..groups.len())
            .filter(|&place| groups.len() <= ROWS || running(place).next().is_some())
            .collect();
        let width = shown.iter().map(|&place| label(place).len()).max().unwrap_or(0);
        let mut lines: Vec<String> = shown
            .iter()
            .map(|&place| {
                let values = &self.finished[place];
                let all = self.experiment.cells.iter().filter(|cell| cell.group == place).count();
                let figures: Vec<f64> = values.iter().copied().flatten().collect();
                let mean = match figures.len() {
                    0 => "-".to_string(),
                    count => self.measure.in_words(figures.iter().sum::<f64>() / count as f64),
                };
                let now: String = running(place)
                    .map(|((_, number), share)| format!("  #{number} {:.0} %", 100.0 * share))
                    .collect();
                format!("{:<width$}  {:>3}/{all}  {mean:>8}{now}", label(place), values.len())
            })
            .collect();
        let (done, all) = (self.done(), self.experiment.cells.len());
        let left = match self.fresh {
            0 => String::new(),
            fresh => {
                let each = self.begun.elapsed().as_secs_f64() / fresh as f64;
                format!(", about {} left", duration(each * (all - done) as f64))
            }
        };
        lines.push(format!("{done} of {all} runs{left}"));
        lines.join("\n")
    }

    /// Leaves the last state on the screen, and says how many runs were finished just now and which failed, and why.
    pub fn finish(self) -> (usize, Vec<String>) {
        if let Form::Table(bar) = &self.form {
            bar.abandon();
        }
        (self.fresh, self.failures)
    }
}
