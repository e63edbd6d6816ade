//! `muffle attack attribute`: what does the model tell of a column that is not known?

use super::command::{Attack, help, question};
use super::models::{Models, Target};
use crate::train::{Outcome, cores};
use clap::Args;
use muffle::attack::Entry;
use muffle::attack::attribute::{AttributeInference, ENTRY, Guesses, infer_attribute};
use muffle::attack::membership::Suspects;
use muffle::train::Evaluator;
use serde_json::{Value, json};

/// What the model tells of a column that is not known.
#[derive(Args)]
#[command(about = question(Arguments::ENTRIES), long_about = help(Arguments::ENTRIES), after_help = "Examples:
  muffle attack attribute runs/adult --against runs/adult-plain --column marital-status
  muffle attack attribute model.safetensors --data people.toml --column job --json")]
pub struct Arguments {
    #[command(flatten)]
    models: Models,
    /// A column with categories
    #[arg(long, value_name = "NAME")]
    column: String,
    /// Records that the attacker asks about, half of them members
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(2..))]
    records: u64,
    /// Which records are asked about
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
}

impl Attack for Arguments {
    const ENTRIES: &'static [&'static Entry] = &[&ENTRY];
    type Found = AttributeInference;

    fn models(&self) -> &Models {
        &self.models
    }

    fn attack(&self, targets: &[Target]) -> Outcome<Vec<AttributeInference>> {
        let records = usize::try_from(self.records)?;
        let attack = |target: &Target| -> Outcome<AttributeInference> {
            let trained = &target.trained;
            let suspects = Suspects::draw(&target.dataset, trained.held_out(), records, self.seed)?;
            let mut evaluator = Evaluator::new(trained.network.clone(), Some(cores()))?;
            Ok(infer_attribute(&mut evaluator, &trained.parameters, &suspects, &self.column)?)
        };
        targets.iter().map(attack).collect()
    }

    fn object(&self, found: &AttributeInference) -> Value {
        let guesses = |guesses: Guesses| {
            json!({
                "right": guesses.right, "records": guesses.records, "rate": guesses.rate(), "interval": guesses.interval(),
            })
        };
        json!({
            "column": self.column, "members": guesses(found.members), "others": guesses(found.others),
            "most_frequent_value": guesses(found.most_frequent),
        })
    }

    fn lines(&self, names: &[String], found: &[AttributeInference]) -> String {
        let mut text = format!("Column {}:\n", self.column);
        for (name, found) in names.iter().zip(found) {
            for (whose, guesses) in [
                ("of training records", found.members),
                ("of test records", found.others),
                ("of training records, by the most frequent value", found.most_frequent),
            ] {
                let [low, high] = guesses.interval().map(|rate| 100.0 * rate);
                let rate = 100.0 * guesses.rate();
                text += &format!("{name}  right {rate:6.2} % [{low:.2}, {high:.2}] {whose}\n");
            }
        }
        text + "\nIntervals of Clopper and Pearson, 95 %.\n"
    }
}
