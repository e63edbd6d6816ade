//! `muffle audit`: measure the leak instead of trusting the claim.

mod all;
mod left;
mod participation;
mod plots;
mod replay;
mod run;
mod runs;
mod step;

use crate::train::search_for;
use clap::{Args, Subcommand};
use muffle::audit::{Argument, Report, Verdict};
use muffle::data::{Dataset, Search};
use muffle::run::{Job, USUAL_KIND};
use muffle::train::{DataShape, Plan, Recipe};
use muffle::{kinds, recipes};
use std::error::Error;
use std::path::PathBuf;

/// Measure privacy: attacks with lower bounds on epsilon, beside what is claimed and what is proved.
///
/// Every audit ends with exit code 1 if it refutes a claim.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Step(step::Arguments),
    Replay(replay::Arguments),
    Run(run::Arguments),
    Participation(participation::Arguments),
    All(all::Arguments),
}

/// A recipe with changes.
#[derive(Args)]
pub struct RecipeArguments {
    /// A recipe by name (see `muffle recipes`), a .toml file, the folder of a run or its model
    pub recipe: String,
    /// Change a key of the recipe: epsilon=2, method=icgc
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Folder to search for data first (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl RecipeArguments {
    /// Where data are looked for.
    pub fn search(&self) -> Search {
        Search::new(self.data_dir.as_deref())
    }

    /// The plan and its data, with some more settings, of a recipe that trains by gradients.
    pub fn prepare(&self, more: Vec<String>) -> Result<(Plan, Dataset), Box<dyn Error>> {
        let parts = recipes::find(&self.recipe, &[self.settings.clone(), more].concat())?;
        if parts.run.kind != USUAL_KIND {
            return Err(format!(
                "recipe `{}` is of kind \"{}\", and this audit is about steps on gradients: `muffle audit run {} --runs 200` \
                 audits whole trainings of every kind, `muffle audit step --method NAME` one release",
                self.recipe, parts.run.kind, self.recipe
            )
            .into());
        }
        let recipe = Recipe::of(&parts)?;
        let dataset = recipe.run.dataset(&search_for(&self.recipe, &self.search()))?;
        Ok((Plan::new(recipe, &DataShape::of(&dataset))?, dataset))
    }

    /// A job of whatever kind with its data, on one thread.
    pub fn prepare_job(&self) -> Result<Prepared, Box<dyn Error>> {
        let mut parts = recipes::find(&self.recipe, &self.settings)?;
        let dataset = parts.run.dataset(&search_for(&self.recipe, &self.search()))?;
        let threads = parts.run.threads.replace(1);
        Ok(Prepared { job: kinds::plan(&parts, &dataset)?, dataset, threads })
    }
}

/// A job to be run many times, side by side.
pub struct Prepared {
    /// On one thread.
    pub job: Box<dyn Job>,
    /// Its data.
    pub dataset: Dataset,
    /// Threads that the recipe had.
    pub threads: Option<usize>,
}

/// How an audit ends: with its code.
pub type Outcome = Result<u8, Box<dyn Error>>;

/// A refuted claim ends with a code of its own.
pub fn exit_code(verdict: Verdict) -> u8 {
    u8::from(verdict == Verdict::Violated)
}

/// An epsilon in a table.
pub fn shown(epsilon: Option<f64>) -> String {
    epsilon.map_or("none".to_string(), |value| format!("{value:.4}"))
}

/// Prints the verdict and the three epsilons.
fn print_epsilons(report: &Report) {
    println!("{}, {}: {}\n", report.method, report.mode.name(), report.verdict.name());
    println!("claimed     {}", shown(report.claimed));
    println!("proved      {}", shown(report.proved));
    println!(
        "measured    at least {:.4} with confidence {}, {}",
        report.measured,
        report.confidence,
        report.argument.name()
    );
    if report.argument != Argument::ClopperPearson {
        println!("            at least {:.4} without that assumption", report.measured_without_assumptions);
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Step(arguments) => step::run(arguments),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Participation(arguments) => participation::run(arguments),
        Command::All(arguments) => all::run(arguments),
    }
}
