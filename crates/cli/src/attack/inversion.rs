//! `muffle attack inversion`: what does a class look like to the model?

use super::models::{Models, Target, padded};
use crate::CommandResult;
use crate::train::Outcome;
use clap::Args;
use muffle::atomic_file;
use muffle::attack::inversion::{Inversion, invert, png};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What does a class look like to the model? Makes an image of which the model is sure.
///
/// Threat model: the attacker holds the parameters and descends on the pixels towards a class, from a grey image. Where a class is one
/// person, the image may be that person; where it is many, it is at best their mean.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle attack inversion runs/private --against runs/plain --class 3 --output three.png")]
pub struct Arguments {
    #[command(flatten)]
    models: Models,
    /// The class, by its name
    #[arg(long, value_name = "CLASS")]
    class: String,
    /// Where the image goes; those of two models stand side by side
    #[arg(long, value_name = "FILE.png")]
    output: PathBuf,
    /// Changes of the pixels
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { models, class, output, steps } = arguments;
    let targets = models.open()?;
    let attack = |target: &Target| -> Outcome<Inversion> {
        let (dataset, trained) = (&target.dataset, &target.trained);
        let place = dataset.classes().iter().position(|known| known == class).ok_or_else(|| {
            format!(
                "--class {class}: there is no such class; the classes are {}",
                dataset.classes().join(", ")
            )
        })?;
        Ok(invert(&trained.network, &trained.parameters, dataset, place, *steps)?)
    };
    let found = targets.iter().map(attack).collect::<Outcome<Vec<Inversion>>>()?;
    let shape = targets[0].dataset.input();
    if targets.iter().any(|target| target.dataset.input() != shape) {
        return Err("the two models take images of different shapes; give them one by one".into());
    }
    let images: Vec<&[u8]> = found.iter().map(|found| found.pixels.as_slice()).collect();
    atomic_file::write(output, png(shape, &images))
        .map_err(|error| format!("--output {}: {error}", output.display()))?;
    let objects =
        targets.iter().zip(&found).map(|(target, found)| object(target, arguments, found)).collect();
    models.report(objects, &text(&targets, arguments, &found));
    Ok(())
}

fn object(target: &Target, arguments: &Arguments, found: &Inversion) -> Value {
    json!({
        "run": target.name, "class": arguments.class, "image": arguments.output, "probability_before": found.before,
        "probability": found.after, "likeness": found.likeness,
    })
}

fn text(targets: &[Target], arguments: &Arguments, found: &[Inversion]) -> String {
    let mut text = format!(
        "Model inversion: an image of class {}\nThreat model: the attacker holds the parameters.\n\n",
        arguments.class
    );
    for (name, found) in padded(targets).iter().zip(found) {
        let Inversion { before, after, likeness, .. } = found;
        let (before, after) = (100.0 * before, 100.0 * after);
        text += &format!(
            "{name}  probability {after:.2} %, from {before:.2} % for a grey image; likeness {likeness:.3}\n"
        );
    }
    text += "\nLikeness is the correlation with the mean training image of the class.\n";
    text + &format!("Image: {}\n", arguments.output.display())
}
