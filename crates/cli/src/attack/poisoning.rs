//! `muffle attack poisoning`: what do wrong labels cost?

use super::command::{Attack, curves, help, question};
use super::models::{Models, Target};
use super::trainer::{Options, Trainer};
use crate::train::Outcome;
use clap::Args;
use muffle::attack::Entry;
use muffle::attack::poisoning::{ENTRY, Poisoned, poison};
use muffle_page::plot::Panel;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The run again with a share of its labels wrong.
#[derive(Args)]
#[command(about = question(Arguments::ENTRIES), long_about = help(Arguments::ENTRIES), after_help = "Examples:
  muffle attack poisoning runs/private --against runs/plain
  muffle attack poisoning runs/private --fractions 0,0.1,0.4 --plot poison.svg")]
pub struct Arguments {
    #[command(flatten)]
    models: Models,
    #[command(flatten)]
    trainer: Options,
    /// Shares of training records with a wrong label
    #[arg(long, value_name = "SHARE,SHARE,…", value_delimiter = ',', default_values_t = [0.0, 0.05, 0.1, 0.2, 0.4])]
    fractions: Vec<f64>,
    /// Draw the curves, as SVG or PNG by the ending of the file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Attack for Arguments {
    const ENTRIES: &'static [&'static Entry] = &[&ENTRY];
    type Found = Vec<Poisoned>;

    fn models(&self) -> &Models {
        &self.models
    }

    fn attack(&self, targets: &[Target]) -> Outcome<Vec<Vec<Poisoned>>> {
        let trainer = Trainer::new(&self.trainer, self.models.json)?;
        let attack = |target: &Target| {
            let plan = target.plan()?;
            let steps = self.fractions.len() as u64 * plan.steps;
            trainer.train(&format!("poisoned models like {}", target.name), steps, |trainings| {
                poison(&plan, &target.dataset, &self.fractions, trainings)
            })
        };
        targets.iter().map(attack).collect()
    }

    fn object(&self, found: &Vec<Poisoned>) -> Value {
        let models: Vec<Value> = found
            .iter()
            .map(|found| json!({ "fraction": found.fraction, "test_accuracy": found.accuracy }))
            .collect();
        json!({ "models": models })
    }

    fn lines(&self, names: &[String], found: &[Vec<Poisoned>]) -> String {
        let mut text = String::new();
        for (name, found) in names.iter().zip(found) {
            for Poisoned { fraction, accuracy } in found {
                let (wrong, accuracy) = (100.0 * fraction, 100.0 * accuracy);
                text +=
                    &format!("{name}  {wrong:6.2} % of the labels wrong: test accuracy {accuracy:6.2} %\n");
            }
        }
        text
    }

    fn plot(&self) -> Option<&Path> {
        self.plot.as_deref()
    }

    fn panel(&self, targets: &[Target], found: &[Vec<Poisoned>]) -> Option<Panel> {
        let points = |found: &Vec<Poisoned>| {
            found.iter().map(|found| (100.0 * found.fraction, 100.0 * found.accuracy)).collect()
        };
        Some(Panel {
            title: "wrong labels among the training records".into(),
            x_label: "wrong labels %".into(),
            y_label: "test accuracy %".into(),
            y_close_up: true,
            lines: curves(targets, found, points),
            ..Panel::default()
        })
    }
}
