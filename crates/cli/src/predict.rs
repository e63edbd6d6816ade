//! `muffle predict`: what does a finished model say of each record?

use crate::CommandResult;
use crate::model_arguments::ModelArguments;
use clap::Args;
use muffle::atomic_file;
use muffle::train::Evaluator;
use muffle::train::evaluation::predicted;
use std::path::PathBuf;

/// Write the class that a finished model gives to each record, as CSV: record, class, probability.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle predict runs/mnist-... --output predictions.csv
  muffle predict model.safetensors --data people.toml --probabilities")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// File to write (default: standard output)
    #[arg(long, value_name = "FILE.csv")]
    output: Option<PathBuf>,
    /// A column with the probability of every class
    #[arg(long)]
    probabilities: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let (trained, dataset) = arguments.model.open()?;
    let view = arguments.model.view(&dataset);
    let names: Vec<String> = dataset.classes().iter().map(|name| quoted(name)).collect();
    let mut text = "record,class,probability".to_string();
    if arguments.probabilities {
        names.iter().for_each(|name| text += &format!(",{name}"));
    }
    text += "\n";
    let mut evaluator = Evaluator::new(trained.network.clone(), arguments.model.threads)?;
    evaluator.for_each(&trained.parameters, &view, |index, outputs| {
        let (class, probabilities) = (predicted(outputs), softmax(outputs));
        text += &format!("{index},{},{:.6}", names[class], probabilities[class]);
        if arguments.probabilities {
            probabilities.iter().for_each(|probability| text += &format!(",{probability:.6}"));
        }
        text += "\n";
    })?;
    match &arguments.output {
        Some(path) => {
            atomic_file::write(path, text).map_err(|error| format!("--output {}: {error}", path.display()))?
        }
        None => print!("{text}"),
    }
    Ok(())
}

fn softmax(outputs: &[f32]) -> Vec<f64> {
    let largest = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = outputs.iter().map(|output| f64::from(output - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

/// A name as a cell of CSV.
fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_string(),
    }
}
