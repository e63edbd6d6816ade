//! `muffle attack attribute`: what does the model tell of a column that is not known?

use super::models::{Models, Target, padded};
use crate::CommandResult;
use crate::train::{Outcome, cores};
use clap::Args;
use muffle::attack::attribute::{AttributeInference, Guesses, infer_attribute};
use muffle::attack::membership::Suspects;
use muffle::train::Evaluator;
use serde_json::{Value, json};

/// What does the model tell of a column that is not known? Guesses it from all others and the model's answers.
///
/// Threat model: the attacker asks the model about a record whose other columns and class it knows, once for each category.
/// Where it is right more often of training records than of test records, the model gives its records away; where it is equally
/// right of both, it learned of the population, which no epsilon forbids.
#[derive(Args)]
#[command(after_help = "Examples:
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

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { models, column, records, seed } = arguments;
    let targets = models.open()?;
    let attack = |target: &Target| -> Outcome<AttributeInference> {
        let trained = &target.trained;
        let records = usize::try_from(*records)?;
        let suspects = Suspects::draw(&target.dataset, trained.recipe.as_ref(), records, *seed)?;
        let mut evaluator = Evaluator::new(trained.network.clone(), Some(cores()))?;
        Ok(infer_attribute(&mut evaluator, &trained.parameters, &suspects, column)?)
    };
    let found = targets.iter().map(attack).collect::<Outcome<Vec<AttributeInference>>>()?;
    let objects = targets.iter().zip(&found).map(|(target, found)| object(target, column, found)).collect();
    models.report(objects, &text(&targets, column, &found));
    Ok(())
}

fn object(target: &Target, column: &str, found: &AttributeInference) -> Value {
    let guesses = |guesses: Guesses| {
        json!({
            "right": guesses.right, "records": guesses.records, "rate": guesses.rate(), "interval": guesses.interval(),
        })
    };
    json!({
        "run": target.name, "column": column, "members": guesses(found.members), "others": guesses(found.others),
        "most_frequent_value": guesses(found.most_frequent),
    })
}

fn text(targets: &[Target], column: &str, found: &[AttributeInference]) -> String {
    let mut text = format!(
        "Attribute inference: column {column}\nThreat model: the attacker knows all other columns and the class, and sees \
         the model's probabilities.\n\n"
    );
    for (name, found) in padded(targets).iter().zip(found) {
        for (whose, guesses) in [
            ("of training records", found.members),
            ("of test records", found.others),
            ("of training records, by the most frequent value", found.most_frequent),
        ] {
            let [low, high] = guesses.interval().map(|rate| 100.0 * rate);
            text +=
                &format!("{name}  right {:6.2} % [{low:.2}, {high:.2}] {whose}\n", 100.0 * guesses.rate());
        }
    }
    text + "\nIntervals of Clopper and Pearson, 95 %.\n"
}
