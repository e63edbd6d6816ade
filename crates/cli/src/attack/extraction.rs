//! `muffle attack extraction`: can the model be copied by asking it?

use super::models::{Models, Target, padded};
use super::trainer::{Options, Trainer};
use crate::CommandResult;
use crate::plot::{self, Line, Panel};
use crate::train::Outcome;
use clap::Args;
use muffle::attack::extraction::{Extraction, STEPS, extract};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Can the model be copied by asking it? Trains surrogates on its answers.
///
/// Threat model: the attacker sees the class that the model gives to test records, knows its layers, and trains a copy without
/// knowing its parameters, its records or its recipe. No epsilon speaks of this: differential privacy protects records, not models.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle attack extraction runs/private --against runs/plain
  muffle attack extraction runs/private --queries 100,1000,5000 --plot agreement.svg")]
pub struct Arguments {
    #[command(flatten)]
    models: Models,
    #[command(flatten)]
    trainer: Options,
    /// Numbers of queries, at most half of the test split
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [10, 30, 100, 300, 1000])]
    queries: Vec<usize>,
    /// Write the curves as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { models, trainer, queries, plot } = arguments;
    let (targets, trainer) = (models.open()?, Trainer::new(trainer, models.json)?);
    let attack = |target: &Target| -> Outcome<Extraction> {
        let (trained, steps) = (&target.trained, queries.len() as u64 * STEPS);
        trainer.train(&format!("surrogates of {}", target.name), steps, |trainings| {
            extract(&trained.description, &trained.parameters, &target.dataset, queries, trainings)
        })
    };
    let found = targets.iter().map(attack).collect::<Outcome<Vec<Extraction>>>()?;
    if let Some(path) = plot {
        plot::write(path, &[panel(&targets, &found)])?;
    }
    let objects = targets.iter().zip(&found).map(|(target, found)| object(target, found)).collect();
    models.report(objects, &text(&targets, &found));
    Ok(())
}

fn object(target: &Target, found: &Extraction) -> Value {
    let surrogates: Vec<Value> = found
        .surrogates
        .iter()
        .map(|surrogate| json!({ "queries": surrogate.queries, "agreement": surrogate.agreement }))
        .collect();
    json!({
        "run": target.name, "surrogates": surrogates, "judged_on": found.judged_on,
        "most_frequent_answer": found.most_frequent,
    })
}

fn text(targets: &[Target], found: &[Extraction]) -> String {
    let mut text = "Model extraction: a copy by the model's answers\nThreat model: the attacker sees the classes that the \
                    model gives to test records and knows its layers, nothing else.\n\n"
        .to_string();
    for (name, found) in padded(targets).iter().zip(found) {
        for surrogate in &found.surrogates {
            let (queries, agreement) = (surrogate.queries, 100.0 * surrogate.agreement);
            text += &format!(
                "{name}  {queries:>7} queries  {agreement:6.2} % of {} other answers\n",
                found.judged_on
            );
        }
        let most = 100.0 * found.most_frequent;
        text += &format!("{name}       no queries  {most:6.2} % by always saying the most frequent answer\n");
    }
    text
}

fn panel(targets: &[Target], found: &[Extraction]) -> Panel {
    let line = |(target, found): (&Target, &Extraction)| {
        let points =
            found.surrogates.iter().map(|found| (found.queries as f64, 100.0 * found.agreement)).collect();
        Line { name: format!("copy of {}", target.name), points, ..Line::default() }
    };
    Panel {
        title: "agreement of a copy with the model".into(),
        x_label: "queries".into(),
        y_label: "agreement %".into(),
        x_logarithmic: true,
        y_close_up: true,
        lines: targets.iter().zip(found).map(line).collect(),
        ..Panel::default()
    }
}
