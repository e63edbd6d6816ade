//! `muffle evaluate`: how good is a finished model, and for whom?

use crate::CommandResult;
use crate::evaluate_generator::{self, GeneratorArguments};
use crate::evaluate_tables::text;
use crate::model_arguments::ModelArguments;
use crate::opened_generator::OpenedGenerator;
use clap::Args;
use muffle::data::Dataset;
use muffle::data::column::Column;
use muffle::train::Evaluator;
use muffle::train::evaluation::{Grouping, NOT_COVERED};
use serde_json::json;

/// Measure a finished model: by class with intervals, confusion matrix, areas under curves, calibration, and by group.
///
/// All figures are plain statistics of the records they are measured on: no epsilon covers them. If the test split is private,
/// publishing them is a release of its own. docs/measures.md says what each of them is, and how its interval is made.
///
/// Of a generator it measures what generated records are worth, and with --counts how that grows with their number, beside real records
/// and other generators (docs/generators.md).
#[derive(Args)]
#[command(after_help = "Examples:
  muffle evaluate runs/mnist-...
  muffle evaluate runs/adult-... --groups sex
  muffle evaluate runs/dpgan-mnist-...           what generated records are worth
  muffle evaluate runs/dpgan-mnist-... --counts 100,1000,10000 --repeats 10 --against runs/plain --plot curves.svg
  muffle evaluate runs/adult-... --groups age --edges 30,45,60
  muffle evaluate model.safetensors --data fashion-mnist --json")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// A column with categories, or of numbers with --edges: rates for each group, to see whether the model is as good for all
    #[arg(long, value_name = "COLUMN")]
    groups: Option<String>,
    /// For a column of numbers: where one group ends and the next begins
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        allow_negative_numbers = true,
        requires = "groups"
    )]
    edges: Vec<f64>,
    #[command(flatten)]
    generator: GeneratorArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What to do about a column of numbers that is asked for as if it had categories.
fn hint(arguments: &Arguments, dataset: &Dataset) -> &'static str {
    let asked = |column: &&Column| arguments.groups.as_ref() == Some(&column.name);
    match dataset.columns().iter().find(asked) {
        Some(column) if column.is_number() && arguments.edges.is_empty() => {
            "; this one holds numbers: say where groups begin, as in --edges 30,50"
        }
        _ => "",
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    if OpenedGenerator::is_in(&arguments.model) {
        return evaluate_generator::run(&arguments.model, &arguments.generator, arguments.json);
    }
    arguments.generator.refuse_for(&arguments.model)?;
    let (trained, dataset) = arguments.model.open()?;
    let view = arguments.model.view(&dataset);
    let by_column = |column: &String| match &arguments.edges[..] {
        [] => Grouping::by(&view, column),
        edges => Grouping::by_ranges(&view, column, edges),
    };
    let grouping = arguments.groups.as_ref().map(by_column).transpose();
    let grouping = grouping.map_err(|error| format!("--groups: {error}{}", hint(arguments, &dataset)))?;
    let evaluator = Evaluator::new(trained.network.clone(), arguments.model.threads)?;
    let mut evaluator = evaluator.deciding(trained.decision);
    let report = evaluator.report(&trained.parameters, &view, grouping.as_ref())?;
    report.summary.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
    if arguments.json {
        let mut object = json!(report);
        (object["model"], object["data"]) = (json!(trained.path), json!(dataset.name()));
        object["class_accuracy"] = json!(report.summary.by_class);
        object["not_covered"] = json!(NOT_COVERED);
        println!("{object}");
    } else {
        print!("{}", text(&report));
    }
    Ok(())
}
