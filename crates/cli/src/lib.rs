//! The commands of the `muffle` binary: parse, check, call, print.

// First: its macros stand for those of the standard library in all others.
#[macro_use]
mod output;

mod account;
mod attack;
mod audit;
mod bar;
mod bench;
mod calibrate;
mod compare;
mod compare_tuning;
mod data;
mod destination;
mod evaluate;
mod evaluate_curve;
mod evaluate_generator;
mod evaluate_tables;
mod events;
mod experiment;
mod experiment_display;
mod experiment_plots;
mod interrupt;
mod message;
mod methods;
mod methods_summary;
mod model_arguments;
mod opened_generator;
mod predict;
mod progress;
mod recipes;
mod relevance;
mod report;
mod run_arguments;
mod sample;
mod search;
mod serve;
mod study;
mod study_gradient_norms;
mod study_places;
mod study_tables;
mod sweep;
mod train;
mod words;

use clap::{Parser, Subcommand};
use interrupt::{INTERRUPTED, Interrupted};
use message::printable;
use std::io::ErrorKind;
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
    Relevance(relevance::Arguments),
    Report(report::Arguments),
    Sample(sample::Arguments),
    Search(search::Arguments),
    Serve(serve::Arguments),
    Study(study::Arguments),
    Sweep(sweep::Arguments),
    Train(train::Arguments),
}

/// Bad input ends with this code, as bad arguments do in clap; so does what the system or the records do not allow.
const BAD_INPUT: u8 = 2;

/// What a command ends with whose reader went away: that of a process that a closed pipe ended.
const CLOSED_PIPE: u8 = 141;

/// Runs the command that the arguments of this process ask for.
pub fn main() -> ExitCode {
    let code = match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("{}", printable(&error.to_string()));
            INTERRUPTED
        }
        Err(error) => {
            eprintln!("error: {}", printable(&error.to_string()));
            BAD_INPUT
        }
    };
    ExitCode::from(match output::lost() {
        Some(error) if code == 0 && error.kind() == ErrorKind::BrokenPipe => CLOSED_PIPE,
        Some(error) if code == 0 => {
            eprintln!("error: standard output: {error}");
            BAD_INPUT
        }
        _ => code,
    })
}

/// Does what is asked, and says with which code to end.
fn run(command: Command) -> Result<u8, Box<dyn std::error::Error>> {
    match command {
        Command::Account(command) => command.run(),
        Command::Attack(arguments) => attack::run(&arguments),
        Command::Audit(arguments) => return audit::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Calibrate(command) => command.run(),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Data(arguments) => data::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Methods(arguments) => methods::run(&arguments),
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Recipes(arguments) => recipes::run(&arguments),
        Command::Relevance(arguments) => relevance::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Sample(arguments) => sample::run(&arguments),
        Command::Search(arguments) => search::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Study(arguments) => study::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
    }
    .map(|()| 0)
}
