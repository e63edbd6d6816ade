//! `muffle attack reconstruction`: what does the gradient of a record show of it?

use super::command::{Attack, help, question};
use super::models::{Models, Target};
use crate::train::Outcome;
use clap::Args;
use muffle::atomic_file;
use muffle::attack::Entry;
use muffle::attack::reconstruction::{ENTRY, Matching, Reconstruction};
use muffle::audit::Subject;
use muffle::picture::png;
use muffle_nn::{Batch, Examples, Shape};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Records from what one step on each of them shows.
#[derive(Args)]
#[command(about = question(Arguments::ENTRIES), long_about = help(Arguments::ENTRIES), after_help = "Examples:
  muffle attack reconstruction runs/private --against runs/plain --records 8 --output found.png")]
pub struct Arguments {
    #[command(flatten)]
    models: Models,
    /// Training records to look for, the first ones
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    records: u32,
    /// Changes of the inputs
    #[arg(long, value_name = "N", default_value_t = 3000, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Of first weights, noise and where the search begins
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Where a picture of images goes: each record with what was found behind it, a row for each model
    #[arg(long, value_name = "FILE.png")]
    output: Option<PathBuf>,
}

/// What was found of all records, by one model.
pub struct Found {
    /// What the attacker saw, in words.
    seen: &'static str,
    /// Records with what was found of each.
    records: Vec<(Vec<f32>, Reconstruction)>,
}

impl Found {
    fn mean(&self) -> f64 {
        self.records.iter().map(|(_, found)| found.likeness).sum::<f64>() / self.records.len().max(1) as f64
    }
}

impl Attack for Arguments {
    const ENTRIES: &'static [&'static Entry] = &[&ENTRY];
    type Found = Found;

    fn models(&self) -> &Models {
        &self.models
    }

    fn attack(&self, targets: &[Target]) -> Outcome<Vec<Found>> {
        let found = targets.iter().map(|target| self.look(target)).collect::<Outcome<Vec<Found>>>()?;
        if let Some(output) = &self.output {
            let picture = picture(targets[0].dataset.input(), &found)?;
            atomic_file::write(output, picture)
                .map_err(|error| format!("--output {}: {error}", output.display()))?;
        }
        Ok(found)
    }

    fn object(&self, found: &Found) -> Value {
        let one = |(_, found): &(Vec<f32>, Reconstruction)| json!({ "likeness": found.likeness, "cosine": found.cosine });
        json!({
            "seen": found.seen, "mean_likeness": found.mean(),
            "records": found.records.iter().map(one).collect::<Vec<Value>>(), "image": self.output,
        })
    }

    fn lines(&self, names: &[String], found: &[Found]) -> String {
        let mut text = String::new();
        for (name, found) in names.iter().zip(found) {
            let most =
                found.records.iter().map(|(_, found)| found.likeness).fold(f64::NEG_INFINITY, f64::max);
            let (mean, count, seen) = (found.mean(), found.records.len(), found.seen);
            text += &format!(
                "{name}  likeness {mean:.3} in the mean of {count} records, {most:.3} at most, from {seen}\n"
            );
        }
        text
    }
}

impl Arguments {
    fn look(&self, target: &Target) -> Outcome<Found> {
        let (plan, train) = (target.plan()?, target.dataset.train());
        let first = plan.recipe.training.initialisation.parameters(&plan.network, self.seed);
        let subject = Subject::of(&plan, first.clone());
        let mut matching = Matching::new(&plan.network, first, self.steps)?;
        let mut records = Vec::new();
        for place in 0..train.len().min(self.records as usize) {
            let mut record = vec![0.0; target.dataset.input().len()];
            train.read(place, &mut record);
            let (class, seed) = (train.label(place), self.seed.wrapping_add(place as u64));
            let alone = Batch::new(record.clone(), vec![class]);
            let seen = subject.first_release(&alone, seed)?;
            let found = matching.reconstruct(&seen, &record, class, seed)?;
            records.push((record, found));
        }
        let seen = if plan.recipe.run.private { "what a step releases" } else { "gradients as they are" };
        Ok(Found { seen, records })
    }
}

/// Values between the least and the most of each image as tones.
fn picture(shape: Shape, found: &[Found]) -> Outcome<Vec<u8>> {
    let Shape::Image { height, width, channels: channels @ (1 | 3) } = shape else {
        return Err(format!("--output: records of shape {shape} are no pictures; leave it out").into());
    };
    let tones = |values: &[f32]| -> Vec<u8> {
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        values.iter().map(|value| (255.0 * (value - least) / (most - least).max(1e-12)) as u8).collect()
    };
    let pairs = |found: &Found| -> Vec<Vec<u8>> {
        found.records.iter().flat_map(|(record, found)| [tones(record), tones(&found.inputs)]).collect()
    };
    let rows: Vec<Vec<Vec<u8>>> = found.iter().map(pairs).collect();
    let columns: Vec<Vec<u8>> =
        (0..rows[0].len()).map(|column| rows.iter().flat_map(|row| row[column].clone()).collect()).collect();
    let columns: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
    Ok(png(Shape::image(channels, height * rows.len(), width), &columns))
}
