//! The commands of the `muffle` binary: parse, check, call, print.

mod account;
mod attack;
mod audit;
mod bar;
mod bench;
mod calibrate;
mod compare;
mod data;
mod destination;
mod evaluate;
mod evaluate_tables;
mod experiment;
mod experiment_display;
mod experiment_plots;
mod methods;
mod model_arguments;
mod plot;
mod predict;
mod progress;
mod recipes;
mod run_arguments;
mod search;
mod study;
mod study_tables;
mod sweep;
mod train;
mod words;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// What a command reports when it cannot do what was asked: one message that names the place and the remedy.
type CommandResult = Result<(), Box<dyn std::error::Error>>;

/// Train neural networks under differential privacy, and know what it cost.
#[derive(Parser)]
#[command(name = "muffle", version, about, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Account(account::Account),
    Attack(attack::Arguments),
    Audit(audit::Arguments),
    Bench(bench::Arguments),
    Calibrate(calibrate::Calibrate),
    Compare(compare::Arguments),
    Data(data::Arguments),
    Evaluate(evaluate::Arguments),
    Methods(methods::Arguments),
    Predict(predict::Arguments),
    Recipes(recipes::Arguments),
    Search(search::Arguments),
    Study(study::Arguments),
    Sweep(sweep::Arguments),
    Train(train::Arguments),
}

/// Bad input ends with this code, as bad arguments do in clap.
const BAD_INPUT: u8 = 2;

/// Runs the command that the arguments of this process ask for.
pub fn main() -> ExitCode {
    let result: CommandResult = match Arguments::parse().command {
        Command::Account(command) => command.run(),
        Command::Attack(arguments) => attack::run(&arguments),
        Command::Audit(arguments) => match audit::run(&arguments) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Calibrate(command) => command.run(),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Data(arguments) => data::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Methods(arguments) => methods::run(&arguments),
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Recipes(arguments) => recipes::run(&arguments),
        Command::Search(arguments) => search::run(&arguments),
        Command::Study(arguments) => study::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(BAD_INPUT)
        }
    }
}
