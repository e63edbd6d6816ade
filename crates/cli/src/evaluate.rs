//! `muffle evaluate`: how good is a finished model?

use crate::CommandResult;
use crate::model_arguments::ModelArguments;
use clap::Args;
use muffle::train::Evaluator;
use muffle::train::evaluation::predicted;
use serde_json::json;

/// Measure a finished model: accuracy, loss, and accuracy by class.
///
/// Accuracies are plain statistics of the records they are measured on: no epsilon covers them.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle evaluate runs/mnist-...
  muffle evaluate model.safetensors --data fashion-mnist --json")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let (trained, dataset) = arguments.model.open()?;
    let view = arguments.model.view(&dataset);
    let mut evaluator = Evaluator::new(trained.network.clone(), arguments.model.threads)?;
    let total = evaluator.evaluate(&trained.parameters, &view)?;
    let mut classes = vec![(0u64, 0u64); dataset.classes().len()];
    evaluator.for_each(&trained.parameters, &view, |index, outputs| {
        let label = view.label(index) as usize;
        classes[label].0 += u64::from(predicted(outputs) == label);
        classes[label].1 += 1;
    })?;
    let share = |&(correct, count): &(u64, u64)| (count > 0).then(|| correct as f64 / count as f64);
    if arguments.json {
        let classes: serde_json::Map<String, serde_json::Value> = dataset
            .classes()
            .iter()
            .zip(&classes)
            .map(|(name, counts)| (name.clone(), json!(share(counts))))
            .collect();
        println!(
            "{}",
            json!({
                "model": trained.path, "data": dataset.name(), "records": total.records,
                "accuracy": total.accuracy, "loss": total.loss, "class_accuracy": classes,
            })
        );
        return Ok(());
    }
    println!("accuracy  {:.2} % of {} records", 100.0 * total.accuracy, total.records);
    println!("loss      {:.4}", total.loss);
    for (name, counts) in dataset.classes().iter().zip(&classes) {
        let accuracy =
            share(counts).map_or("no records".to_string(), |share| format!("{:6.2} %", 100.0 * share));
        println!("  {name:<20} {accuracy}");
    }
    Ok(())
}
