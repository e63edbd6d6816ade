//! `muffle relevance`: which pixels does a model look at?

use crate::CommandResult;
use crate::model_arguments::ModelArguments;
use crate::train::Outcome;
use clap::Args;
use muffle::atomic_file;
use muffle::data::Dataset;
use muffle::ledger::Ledger;
use muffle::noise::Key;
use muffle::picture::Picture;
use muffle::records::PrivateRecords;
use muffle::relevance::{ORIGIN, Of, Regions, Until, release, shares};
use muffle::run::verify;
use muffle::train::Trained;
use muffle_accounting::Adjacency;
use muffle_nn::relevance::Propagation;
use muffle_nn::{Examples, Shape, Target};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The least and the most that the relevance of all records may cost.
const EPSILON: [f64; 2] = [1e-6, 100.0];

/// Draw which pixels of a record a model looks at, or, for a price, of all training records together
///
/// Relevance is carried back from the logit of the record's class (docs/relevance.md). Of one record, what speaks for its class is red
/// and what speaks against it blue, beside the record itself: nothing protects the record, so the picture is for whoever may see it. With
/// --mean the relevance of all training records is released with Laplace noise at a price of epsilon, which is in a ledger of its own
/// before the records are read; --regions joins pixels of like relevance, which costs nothing more.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle relevance runs/mnist-... --record 7 --output seven.png
  muffle relevance runs/mnist-... --mean --epsilon 0.1 --output mean.png
  muffle relevance runs/mnist-... --mean --epsilon 0.1 --regions 8 --output regions.png")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// The record of the split, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "mean")]
    record: usize,
    /// The training records together, with noise
    #[arg(long, requires = "epsilon")]
    mean: bool,
    /// What --mean costs
    #[arg(long, requires = "mean")]
    epsilon: Option<f64>,
    /// Which data sets are neighbours: add_remove, replace_one or zero_out
    #[arg(long, default_value = "add_remove", requires = "mean")]
    adjacency: Adjacency,
    /// Join pixels of like relevance to so many regions, each drawn by its weight
    #[arg(long, value_name = "N", requires = "mean")]
    regions: Option<usize>,
    /// Where the charge of --mean is written (default: relevance.ledger.jsonl in the folder of the run, or beside the model)
    #[arg(long, value_name = "FILE.jsonl", requires = "mean")]
    ledger: Option<PathBuf>,
    /// Added to the size of every sum before it shares out relevance
    #[arg(long, value_name = "BETA", default_value_t = 0.01)]
    stabiliser: f32,
    /// Where the picture goes
    #[arg(long, value_name = "FILE.png")]
    output: Option<PathBuf>,
    /// Print JSON, with the numbers
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let (trained, dataset) = arguments.model.open()?;
    let input = trained.network.input();
    if arguments.output.is_some()
        && (!matches!(dataset.input(), Shape::Image { .. }) || dataset.input() != input)
    {
        return Err(format!(
            "--output: the model reads {input} of `{}`, which is no image; without it the numbers are printed (--json)",
            dataset.name()
        )
        .into());
    }
    let propagation = Propagation::new(trained.network.clone(), arguments.stabiliser)?;
    let (object, text, pictures) = match arguments.epsilon {
        Some(epsilon) => of_all(arguments, epsilon, &trained, dataset, &propagation)?,
        None => of_record(arguments, &trained, &dataset, &propagation)?,
    };
    if let Some(output) = &arguments.output {
        atomic_file::write(output, Picture::side_by_side(&pictures))
            .map_err(|error| format!("--output {}: {error}\n{text}", output.display()))?;
    }
    if arguments.json {
        println!("{object}");
    } else {
        print!("{text}");
        arguments.output.iter().for_each(|output| println!("picture              {}", output.display()));
    }
    Ok(())
}

/// What is printed in either way, and what is drawn.
type Found = (Value, String, Vec<Picture>);

fn of_record(
    arguments: &Arguments,
    trained: &Trained,
    dataset: &Dataset,
    propagation: &Propagation,
) -> Outcome<Found> {
    let (view, record) = (arguments.model.view(dataset), arguments.record);
    if record >= view.len() {
        let count = view.len();
        return Err(format!("--record {record}: the split has {count} records, counted from 0").into());
    }
    let Target::Class(class) = view.target(record) else {
        return Err(format!(
            "`{}` has no classes: relevance is carried back from the logit of one",
            dataset.name()
        )
        .into());
    };
    let found = propagation.relevances(&trained.parameters, &view, record..record + 1)?.remove(0);
    // The last neurons are the logits, of which that of the class has all relevance.
    let logits = trained.network.output().len();
    let logit: f32 = found.neurons[found.neurons.len() - logits..].iter().sum();
    let sum: f32 = found.inputs.iter().sum();
    let class = &dataset.classes()[class as usize];
    let mut values = vec![0.0; dataset.input().len()];
    view.read(record, &mut values);
    let pictures =
        [Picture::of_record(dataset.input(), &values), Picture::of_signed(dataset.input(), &found.inputs)];
    let object = json!({
        "record": record, "class": class, "logit": logit, "sum": sum, "relevance": found.inputs,
        "output": arguments.output,
    });
    let text = format!(
        "record               {record}, class {class}\nlogit                {logit:.4}\n\
         relevance            {sum:.4} in all; what is missing went to biases and the stabiliser\n"
    );
    Ok((object, text, pictures.into_iter().flatten().collect()))
}

fn of_all(
    arguments: &Arguments,
    epsilon: f64,
    trained: &Trained,
    dataset: Dataset,
    propagation: &Propagation,
) -> Outcome<Found> {
    let [least, most] = EPSILON;
    if !(least..=most).contains(&epsilon) {
        return Err(format!("--epsilon {epsilon} must lie between {least} and {most}").into());
    }
    let (shape, pixels) = (dataset.input(), dataset.input().len());
    if let Some(regions) = arguments.regions.filter(|regions| !(2..pixels).contains(regions)) {
        return Err(format!("--regions {regions} must lie between 2 and {}", pixels - 1).into());
    }
    if dataset.classes().is_empty() {
        return Err(format!(
            "`{}` has no classes: relevance is carried back from the logit of one",
            dataset.name()
        )
        .into());
    }
    let ledger = arguments.ledger.clone().unwrap_or_else(|| beside(&arguments.model.run));
    let found = release(
        propagation,
        &trained.parameters,
        &PrivateRecords::new(Arc::new(dataset)),
        Of::Inputs,
        (epsilon, arguments.adjacency),
        &mut Ledger::open(&ledger, ORIGIN, false)?,
        Key::from_entropy()?,
    )?;
    let even = shares(&found.sum, 0.0);
    let doubles: Vec<f64> = even.iter().map(|share| f64::from(*share)).collect();
    let regions = arguments.regions.map(|count| Regions::new(&doubles, Until::Count(count)));
    let shown: Vec<f32> = match &regions {
        Some(regions) => regions.weight_of_features().iter().map(|weight| *weight as f32).collect(),
        None => even,
    };
    let covered = proved(&arguments.model.run);
    let object = json!({
        "relevance": found.sum, "noise_deviation": found.deviation, "epsilon": epsilon, "delta": 0.0,
        "adjacency": arguments.adjacency, "event": found.event, "ledger": ledger, "output": arguments.output,
        "regions": regions.as_ref().map(|regions| json!({
            "of": regions.of, "sizes": regions.sizes, "weights": regions.weights(),
        })),
        "model_is_private": covered,
    });
    let mut text = format!(
        "relevance            of {pixels} inputs, with noise of deviation {:.3} on sums of shares of records\n\
         cost                 epsilon {epsilon} at delta 0 under {}, beside what the model cost\nledger               {}\n",
        found.deviation,
        arguments.adjacency,
        ledger.display()
    );
    if let Some(regions) = &regions {
        for (size, weight) in regions.sizes.iter().zip(regions.weights()) {
            text += &format!("region               {size} inputs of weight {weight:.3}\n");
        }
    }
    if !covered {
        text += "No certificate proves the model itself private: what its training shows is not covered by this epsilon.\n";
    }
    Ok((object, text, Picture::of_scale(shape, &shown).into_iter().collect()))
}

/// Whether a certificate beside the model proves an epsilon for its training.
fn proved(run: &Path) -> bool {
    run.is_dir() && verify(run).is_ok_and(|certificate| certificate.proved.epsilon.is_some())
}

/// The ledger of a run's or a model's relevance.
fn beside(run: &Path) -> PathBuf {
    match run.is_dir() {
        true => run.join("relevance.ledger.jsonl"),
        false => run.with_extension("relevance.ledger.jsonl"),
    }
}
