//! `muffle attack`: what does a finished model give away?

mod attribute;
mod extraction;
mod inversion;
mod membership;
mod models;
mod poisoning;
mod trainer;

use crate::CommandResult;
use clap::{Args, Subcommand};

/// What an attack that found nothing is worth.
const PROVES_NOTHING: &str = "A failed attack proves nothing: the next one may not fail. What holds against all of them is the epsilon.";

/// Attack a finished model, private and plain side by side, to see what privacy bought.
///
/// Attacks read the training records: what they print is for the holder of the records, and no epsilon covers it. A failed attack
/// proves nothing.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    attack: Attack,
}

#[derive(Subcommand)]
enum Attack {
    Membership(membership::Arguments),
    Extraction(extraction::Arguments),
    Inversion(inversion::Arguments),
    Attribute(attribute::Arguments),
    Poisoning(poisoning::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.attack {
        Attack::Membership(arguments) => membership::run(arguments),
        Attack::Extraction(arguments) => extraction::run(arguments),
        Attack::Inversion(arguments) => inversion::run(arguments),
        Attack::Attribute(arguments) => attribute::run(arguments),
        Attack::Poisoning(arguments) => poisoning::run(arguments),
    }
}
