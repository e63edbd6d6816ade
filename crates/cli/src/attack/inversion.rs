//! `muffle attack inversion`: what does a class look like to the model?

use super::command::{Attack, help, question};
use super::models::{Models, Target};
use crate::train::Outcome;
use clap::Args;
use muffle::atomic_file;
use muffle::attack::Entry;
use muffle::attack::inversion::{ENTRY, Inversion, invert};
use muffle::picture::png;
use serde_json::{Value, json};
use std::path::PathBuf;

/// An image of which the model is sure.
#[derive(Args)]
#[command(about = question(Arguments::ENTRIES), long_about = help(Arguments::ENTRIES), after_help = "Examples:
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
    /// Directions in which images of the test split differ most, along which the image is sought; 0 changes single pixels
    #[arg(long, value_name = "N", default_value_t = 40)]
    prior: usize,
}

impl Attack for Arguments {
    const ENTRIES: &'static [&'static Entry] = &[&ENTRY];
    type Found = Inversion;

    fn models(&self) -> &Models {
        &self.models
    }

    fn attack(&self, targets: &[Target]) -> Outcome<Vec<Inversion>> {
        let Arguments { class, output, .. } = self;
        let attack = |target: &Target| -> Outcome<Inversion> {
            let (dataset, trained) = (&target.dataset, &target.trained);
            let place = dataset.classes().iter().position(|known| known == class).ok_or_else(|| {
                format!(
                    "--class {class}: there is no such class; the classes are {}",
                    dataset.classes().join(", ")
                )
            })?;
            Ok(invert(
                &trained.network,
                &trained.parameters,
                dataset,
                place,
                self.steps,
                (self.prior > 0).then_some(self.prior),
            )?)
        };
        let found = targets.iter().map(attack).collect::<Outcome<Vec<Inversion>>>()?;
        let shape = targets[0].dataset.input();
        if targets.iter().any(|target| target.dataset.input() != shape) {
            return Err("the two models take images of different shapes; give them one by one".into());
        }
        let images: Vec<&[u8]> = found.iter().map(|found| found.pixels.as_slice()).collect();
        atomic_file::write(output, png(shape, &images))
            .map_err(|error| format!("--output {}: {error}", output.display()))?;
        Ok(found)
    }

    fn object(&self, found: &Inversion) -> Value {
        json!({
            "class": self.class, "image": self.output, "probability_before": found.before, "probability": found.after,
            "likeness": found.likeness, "likeness_elsewhere": found.likeness_elsewhere,
        })
    }

    fn lines(&self, names: &[String], found: &[Inversion]) -> String {
        let mut text = format!("Class {}:\n", self.class);
        let first = if self.prior > 0 { "the mean image" } else { "a grey image" };
        for (name, Inversion { before, after, likeness, likeness_elsewhere, .. }) in names.iter().zip(found) {
            let (before, after) = (100.0 * before, 100.0 * after);
            text += &format!(
                "{name}  probability {after:.2} %, from {before:.2} % for {first}; likeness {likeness:.3} to training images, \
                 {likeness_elsewhere:.3} to test images\n"
            );
        }
        text += "\nLikeness is the correlation with the mean image of the class, both less the mean image of all where there is a prior.\n";
        text + &format!("Image: {}\n", self.output.display())
    }
}
