//! `muffle attack`: what does a finished model give away?

mod attribute;
mod command;
mod equations;
mod extraction;
mod generator;
mod inversion;
mod list;
mod membership;
mod models;
mod poisoning;
mod reconstruction;
mod trainer;

use crate::CommandResult;
use clap::{Args, Subcommand};

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
    List(list::Arguments),
    Membership(membership::Arguments),
    Extraction(extraction::Arguments),
    Equations(equations::Arguments),
    Inversion(inversion::Arguments),
    Reconstruction(reconstruction::Arguments),
    Attribute(attribute::Arguments),
    Poisoning(poisoning::Arguments),
    Generator(generator::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.attack {
        Attack::List(arguments) => list::run(arguments),
        Attack::Membership(arguments) => command::run(arguments),
        Attack::Extraction(arguments) => command::run(arguments),
        Attack::Equations(arguments) => command::run(arguments),
        Attack::Inversion(arguments) => command::run(arguments),
        Attack::Reconstruction(arguments) => command::run(arguments),
        Attack::Attribute(arguments) => command::run(arguments),
        Attack::Poisoning(arguments) => command::run(arguments),
        Attack::Generator(arguments) => generator::run(arguments),
    }
}
