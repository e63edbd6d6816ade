//! `muffle predict`: what does a finished model say of each record?

use crate::CommandResult;
use crate::model_arguments::ModelArguments;
use clap::Args;
use muffle::atomic_file;
use muffle::data::Task;
use muffle::train::Evaluator;
use muffle::train::evaluation::predicted;
use std::path::PathBuf;

/// Write what a finished model says of each record, as CSV: a class with its probability, labels, or numbers.
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
    let task = dataset.task();
    let mut text = format!("record,{}\n", header(task, arguments.probabilities));
    let mut evaluator = Evaluator::new(trained.network.clone(), arguments.model.threads)?;
    evaluator.for_each(&trained.parameters, &view, |index, outputs| {
        text += &format!("{index},{}\n", answer(task, outputs, arguments.probabilities));
    })?;
    match &arguments.output {
        Some(path) => {
            atomic_file::write(path, text).map_err(|error| format!("--output {}: {error}", path.display()))?
        }
        None => print!("{text}"),
    }
    Ok(())
}

/// The columns behind the number of the record.
fn header(task: &Task, probabilities: bool) -> String {
    let names = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
    match task {
        Task::Classes(classes) if probabilities => format!("class,probability,{}", names(classes)),
        Task::Classes(_) => "class,probability".to_string(),
        Task::Labels(labels) => names(labels),
        Task::Values(quantities) => {
            names(&quantities.iter().map(|quantity| quantity.name.clone()).collect::<Vec<_>>())
        }
        Task::None => String::new(),
    }
}

/// What the model says: a class with its probability, the probability of every label, or numbers in their own units.
fn answer(task: &Task, outputs: &[f32], all: bool) -> String {
    let cells: Vec<String> = match task {
        Task::Classes(names) => {
            let (class, probabilities) = (predicted(outputs), softmax(outputs));
            let others = probabilities.iter().filter(|_| all).map(|probability| format!("{probability:.6}"));
            [quoted(&names[class]), format!("{:.6}", probabilities[class])]
                .into_iter()
                .chain(others)
                .collect()
        }
        Task::Labels(_) => {
            outputs.iter().map(|logit| format!("{:.6}", 1.0 / (1.0 + (-f64::from(*logit)).exp()))).collect()
        }
        Task::Values(quantities) => {
            let in_units =
                quantities.iter().zip(outputs).map(|(quantity, output)| quantity.in_units(*output));
            in_units.map(|value| format!("{value:.6}")).collect()
        }
        Task::None => Vec::new(),
    };
    cells.join(",")
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
