//! `muffle evaluate`: how good is a finished model?

use crate::CommandResult;
use crate::model_arguments::ModelArguments;
use clap::Args;
use muffle::data::Task;
use muffle::train::{Evaluation, Evaluator};
use serde_json::json;

/// Measure a finished model: loss, accuracy by class, area under the curve and calibration for two classes, errors of numbers.
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
    if arguments.json {
        let mut object = json!(total);
        (object["model"], object["data"]) = (json!(trained.path), json!(dataset.name()));
        object["class_accuracy"] = json!(total.by_class);
        println!("{object}");
        return Ok(());
    }
    print(&total, dataset.task());
    Ok(())
}

fn print(total: &Evaluation, task: &Task) {
    if let Some(accuracy) = total.accuracy {
        println!("accuracy  {:.2} % of {} records", 100.0 * accuracy, total.records);
    }
    println!("loss      {:.4}", total.loss);
    if let Some(area) = total.area_under_curve {
        println!("area under the curve  {area:.4}");
    }
    if let Some(error) = total.calibration_error {
        println!("calibration error     {error:.4}");
    }
    let names: Vec<&String> = match task {
        Task::Classes(names) | Task::Labels(names) => names.iter().collect(),
        Task::Values(_) | Task::None => Vec::new(),
    };
    for name in names {
        let accuracy = total.by_class.get(name).copied().flatten();
        let accuracy = accuracy.map_or("no records".to_string(), |share| format!("{:6.2} %", 100.0 * share));
        println!("  {name:<20} {accuracy}");
    }
    for (name, error) in &total.mean_absolute_error {
        let root = total.root_mean_squared_error.get(name).copied().unwrap_or_default();
        println!("  {name:<20} mean absolute error {error:.4}, root of the mean square {root:.4}");
    }
}
