//! `muffle attack poisoning`: what do wrong, inserted and deleted records cost?

use super::command::{Attack, curves, help, question};
use super::models::{Models, Target};
use super::trainer::{Options, Trainer};
use crate::train::Outcome;
use clap::{Args, ValueEnum};
use muffle::attack::Entry;
use muffle::attack::poisoning::{ENTRY, Poison, Poisoned, poison};
use muffle_page::plot::Panel;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The run again with a share of its records poisoned.
#[derive(Args)]
#[command(about = question(Arguments::ENTRIES), long_about = help(Arguments::ENTRIES), after_help = "Examples:
  muffle attack poisoning runs/private --against runs/plain
  muffle attack poisoning runs/private --fractions 0,0.1,0.4 --plot poison.svg
  muffle attack poisoning runs/private --against runs/plain --poison inserted --class 3
  muffle attack poisoning runs/private --poison deleted --class 3 --fractions 0,0.5,0.9")]
pub struct Arguments {
    #[command(flatten)]
    models: Models,
    #[command(flatten)]
    trainer: Options,
    /// What becomes of training records: a random wrong label, copies of records of the class added under the next class's label, or
    /// records of the class taken away
    #[arg(long, value_enum, default_value_t = Kind::Labels)]
    poison: Kind,
    /// The class that inserted and deleted records are about, by its name (default: the first)
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Shares of training records that are poisoned, or of the class's records that are deleted
    #[arg(long, value_name = "SHARE,SHARE,…", value_delimiter = ',', default_values_t = [0.0, 0.05, 0.1, 0.2, 0.4])]
    fractions: Vec<f64>,
    /// Draw the curves, as SVG or PNG by the ending of the file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// What becomes of training records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Labels,
    Inserted,
    Deleted,
}

impl Kind {
    /// What is poisoned, in a sentence.
    fn words(self) -> &'static str {
        match self {
            Kind::Labels => "of the labels wrong",
            Kind::Inserted => "as many records inserted",
            Kind::Deleted => "of the class deleted",
        }
    }
}

impl Arguments {
    /// What the attacker does to records of these classes.
    fn poison(&self, classes: &[String]) -> Outcome<Poison> {
        let class = match &self.class {
            Some(_) if self.poison == Kind::Labels => {
                return Err(
                    "--class is for --poison inserted and deleted: wrong labels are of all classes".into()
                );
            }
            None => 0,
            Some(name) => classes.iter().position(|known| known == name).ok_or_else(|| {
                format!("--class {name}: there is no such class; the classes are {}", classes.join(", "))
            })?,
        };
        Ok(match self.poison {
            Kind::Labels => Poison::Labels,
            Kind::Inserted => Poison::Inserted { class },
            Kind::Deleted => Poison::Deleted { class },
        })
    }
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
            let (plan, kind) = (target.plan()?, self.poison(target.dataset.classes())?);
            let steps = self.fractions.len() as u64 * plan.steps;
            trainer.train(&format!("poisoned models like {}", target.name), steps, |trainings| {
                poison(&plan, &target.dataset, kind, &self.fractions, trainings)
            })
        };
        targets.iter().map(attack).collect()
    }

    fn object(&self, found: &Vec<Poisoned>) -> Value {
        let models: Vec<Value> = found
            .iter()
            .map(|found| {
                let Poisoned { fraction, accuracy, class_accuracy } = found;
                json!({ "fraction": fraction, "test_accuracy": accuracy, "class_accuracy": class_accuracy })
            })
            .collect();
        json!({ "models": models })
    }

    fn lines(&self, names: &[String], found: &[Vec<Poisoned>]) -> String {
        let mut text = String::new();
        for (name, found) in names.iter().zip(found) {
            for Poisoned { fraction, accuracy, class_accuracy } in found {
                let (share, accuracy, words) = (100.0 * fraction, 100.0 * accuracy, self.poison.words());
                text += &format!("{name}  {share:6.2} % {words}: test accuracy {accuracy:6.2} %");
                if let Some(class) = class_accuracy {
                    text += &format!(", of the class {:6.2} %", 100.0 * class);
                }
                text.push('\n');
            }
        }
        text
    }

    fn plot(&self) -> Option<&Path> {
        self.plot.as_deref()
    }

    fn panel(&self, targets: &[Target], found: &[Vec<Poisoned>]) -> Option<Panel> {
        let points = |found: &Vec<Poisoned>| {
            let accuracy = |found: &Poisoned| found.class_accuracy.unwrap_or(found.accuracy);
            found.iter().map(|found| (100.0 * found.fraction, 100.0 * accuracy(found))).collect()
        };
        Some(Panel {
            title: "poisoned training records".into(),
            x_label: format!("% {}", self.poison.words()),
            y_label: match self.poison {
                Kind::Labels => "test accuracy %".into(),
                Kind::Inserted | Kind::Deleted => "test accuracy of the class %".into(),
            },
            y_close_up: true,
            lines: curves(targets, found, points),
            ..Panel::default()
        })
    }
}
