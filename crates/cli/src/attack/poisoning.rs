//! `muffle attack poisoning`: what do wrong labels cost?

use super::models::{Models, Target, padded};
use super::trainer::{Options, Trainer};
use crate::CommandResult;
use crate::plot::{self, Line, Panel};
use crate::train::Outcome;
use clap::Args;
use muffle::attack::poisoning::{Poisoned, poison};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What do wrong labels cost? Trains the run again with a share of its labels wrong.
///
/// Threat model: the attacker may give some of the training records a random wrong label, and sees nothing. A private model
/// listens less to each record, so a few wrong ones move it less; epsilon bounds that for a few records, not for a tenth of them.
#[derive(Args)]
#[command(after_help = "Examples:
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
    /// Write the curves as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { models, trainer, fractions, plot } = arguments;
    let (targets, trainer) = (models.open()?, Trainer::new(trainer, models.json)?);
    let attack = |target: &Target| -> Outcome<Vec<Poisoned>> {
        let plan = target.plan()?;
        let steps = fractions.len() as u64 * plan.steps;
        trainer.train(&format!("poisoned models like {}", target.name), steps, |trainings| {
            poison(&plan, &target.dataset, fractions, trainings)
        })
    };
    let found = targets.iter().map(attack).collect::<Outcome<Vec<Vec<Poisoned>>>>()?;
    if let Some(path) = plot {
        plot::write(path, &[panel(&targets, &found)])?;
    }
    let objects = targets.iter().zip(&found).map(|(target, found)| object(target, found)).collect();
    models.report(objects, &text(&targets, &found));
    Ok(())
}

fn object(target: &Target, found: &[Poisoned]) -> Value {
    let models: Vec<Value> = found
        .iter()
        .map(|found| json!({ "fraction": found.fraction, "test_accuracy": found.accuracy }))
        .collect();
    json!({ "run": target.name, "models": models })
}

fn text(targets: &[Target], found: &[Vec<Poisoned>]) -> String {
    let mut text = "Poisoning: random wrong labels among the training records\nThreat model: the attacker gives a share of \
                    the records a wrong label, and sees nothing.\n\n"
        .to_string();
    for (name, found) in padded(targets).iter().zip(found) {
        for Poisoned { fraction, accuracy } in found {
            let (wrong, accuracy) = (100.0 * fraction, 100.0 * accuracy);
            text += &format!("{name}  {wrong:6.2} % of the labels wrong: test accuracy {accuracy:6.2} %\n");
        }
    }
    text
}

fn panel(targets: &[Target], found: &[Vec<Poisoned>]) -> Panel {
    let line = |(target, found): (&Target, &Vec<Poisoned>)| {
        let points = found.iter().map(|found| (100.0 * found.fraction, 100.0 * found.accuracy)).collect();
        Line { name: target.name.clone(), points, ..Line::default() }
    };
    Panel {
        title: "wrong labels among the training records".into(),
        x_label: "wrong labels %".into(),
        y_label: "test accuracy %".into(),
        y_close_up: true,
        lines: targets.iter().zip(found).map(line).collect(),
        ..Panel::default()
    }
}
