//! `muffle attack extraction`: can the model be copied by asking it?

use super::command::{Attack, curves, help, question};
use super::models::{Models, Target};
use super::trainer::{Options, Trainer};
use crate::train::Outcome;
use clap::Args;
use muffle::attack::Entry;
use muffle::attack::extraction::{ENTRY, Extraction, STEPS, extract};
use muffle_page::plot::Panel;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Surrogates of the model, trained on its answers.
#[derive(Args)]
#[command(about = question(Arguments::ENTRIES), long_about = help(Arguments::ENTRIES), after_help = "Examples:
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
    /// Draw the curves, as SVG or PNG by the ending of the file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Attack for Arguments {
    const ENTRIES: &'static [&'static Entry] = &[&ENTRY];
    type Found = Extraction;

    fn models(&self) -> &Models {
        &self.models
    }

    fn attack(&self, targets: &[Target]) -> Outcome<Vec<Extraction>> {
        let (trainer, steps) =
            (Trainer::new(&self.trainer, self.models.json)?, self.queries.len() as u64 * STEPS);
        let attack = |target: &Target| {
            let Target { trained, dataset, .. } = target;
            trainer.train(&format!("surrogates of {}", target.name), steps, |trainings| {
                extract(&trained.description, &trained.parameters, dataset, &self.queries, trainings)
            })
        };
        targets.iter().map(attack).collect()
    }

    fn object(&self, found: &Extraction) -> Value {
        let surrogates: Vec<Value> = found
            .surrogates
            .iter()
            .map(|surrogate| json!({ "queries": surrogate.queries, "agreement": surrogate.agreement }))
            .collect();
        json!({
            "surrogates": surrogates, "judged_on": found.judged_on, "most_frequent_answer": found.most_frequent,
        })
    }

    fn lines(&self, names: &[String], found: &[Extraction]) -> String {
        let mut text = String::new();
        for (name, Extraction { surrogates, judged_on, most_frequent }) in names.iter().zip(found) {
            for surrogate in surrogates {
                let (queries, agreement) = (surrogate.queries, 100.0 * surrogate.agreement);
                text += &format!(
                    "{name}  {queries:>7} queries  {agreement:6.2} % of {judged_on} other answers\n"
                );
            }
            let most = 100.0 * most_frequent;
            text +=
                &format!("{name}       no queries  {most:6.2} % by always saying the most frequent answer\n");
        }
        text
    }

    fn plot(&self) -> Option<&Path> {
        self.plot.as_deref()
    }

    fn panel(&self, targets: &[Target], found: &[Extraction]) -> Option<Panel> {
        let points = |found: &Extraction| {
            found.surrogates.iter().map(|copy| (copy.queries as f64, 100.0 * copy.agreement)).collect()
        };
        Some(Panel {
            title: "agreement of a copy with the model".into(),
            x_label: "queries".into(),
            y_label: "agreement %".into(),
            x_logarithmic: true,
            y_close_up: true,
            lines: curves(targets, found, points),
            ..Panel::default()
        })
    }
}
