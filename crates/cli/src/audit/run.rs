//! `muffle audit run`: a whole training with canaries, and what its model gives away of them.

use super::left::PlotArguments;
use super::plots::run_panels;
use super::runs;
use super::{Outcome, RecipeArguments, exit_code, shown};
use crate::interrupt::stop_on_interrupt;
use crate::progress::Display;
use crate::train::{came_to, free_folder, unfinished};
use clap::Args;
use muffle::audit::Verdict;
use muffle::run::{begin, resume};
use muffle::train::canaries::{Canaries, usual_choice};
use muffle::train::{Evaluation, Evaluator, Trained};
use serde_json::json;
use std::path::PathBuf;

/// Train a recipe with canaries, and guess from the finished model which of them were there.
///
/// Canaries are training records with a wrong label, each in or out by a coin of its own. The attacker sees the model's
/// outputs only, so the bound is usually far below what is proved; above it, something is broken.
///
/// With --runs a recipe of any kind is trained many times instead, half of them with one canary, and the canary is looked for by its
/// loss.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle audit run mnist --canaries 2000
  muffle audit run my-recipe.toml --canaries 500 --guesses 60 --seed 3 --json
  muffle audit run my-recipe.toml --runs 200
  muffle audit run functional-adult --runs 200")]
pub struct Arguments {
    #[command(flatten)]
    pub recipe: RecipeArguments,
    /// Records that become canaries
    #[arg(long, value_name = "N", default_value_t = 1000)]
    canaries: u64,
    /// Coins to guess, fixed in advance (default: a fifth of the canaries)
    #[arg(long, value_name = "N")]
    guesses: Option<u64>,
    /// Train N times, half of them with one canary, in place of one run with many
    #[arg(long, value_name = "N", conflicts_with_all = ["canaries", "guesses", "output"])]
    runs: Option<u64>,
    /// Of the lower bound
    #[arg(long, default_value_t = 0.95)]
    pub confidence: f64,
    #[command(flatten)]
    pub plots: PlotArguments,
    /// Of canaries, coins and noise
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Folder of the run (default: runs/RECIPE-TIME)
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON; the last line is the result
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    if let Some(count) = arguments.runs {
        return runs::run(arguments, count);
    }
    arguments.plots.only_plot()?;
    let usual = usual_choice(arguments.canaries, arguments.seed);
    let guesses = arguments.guesses.unwrap_or(usual.guesses);
    let (plan, dataset) = arguments.recipe.prepare(vec![
        format!("seed={}", arguments.seed),
        format!("audit.canaries={}", usual.canaries),
        format!("audit.guesses={guesses}"),
        format!("audit.confidence={}", arguments.confidence),
        format!("audit.seed={}", usual.seed),
    ])?;
    let path = arguments.output.clone().unwrap_or_else(|| free_folder(&arguments.recipe.recipe));
    // As in training: until the first step a signal ends the process at once.
    let folder = begin(&path, &plan)?;
    let stop = stop_on_interrupt()?;
    let mut display = Display::new(&plan, arguments.json, false);
    let summary = resume(&folder, &plan, &dataset, &stop, &mut |progress| display.show(progress));
    display.finish();
    let summary = came_to(&path, summary, arguments.json)?;
    let certificate = &summary.certificate;
    let Some(audit) = certificate.audit else {
        return Err(unfinished(&path, certificate.status, arguments.json));
    };
    arguments.plots.leave(String::new, || {
        let choice = plan.recipe.training.audit.ok_or("the plan has no canaries")?;
        let trained = Trained::open(&path)?;
        let dataset = trained.dataset(None, &arguments.recipe.search())?;
        let mut evaluator = Evaluator::new(trained.network.clone(), plan.recipe.run.threads)?;
        let records = plan.recipe.run.records.unwrap_or_default();
        let losses =
            Canaries::plant(&dataset, choice, records)?.losses(&mut evaluator, &trained.parameters)?;
        run_panels(&plan, &losses)
    })?;
    // The audit's seed is secret to its attacker, and lies in the folder of the run: the figure holds for the one only.
    let (proved, if_secret) = (certificate.proved.epsilon, certificate.epsilon_if_seed_is_secret());
    let verdict = Verdict::of(certificate.claimed, certificate.conditional_epsilon(), audit.epsilon);
    if arguments.json {
        println!(
            "{}",
            json!({
                "verdict": verdict, "method": certificate.method, "mode": certificate.mode,
                "claimed": certificate.claimed, "proved": proved, "epsilon_if_seed_is_secret": if_secret,
                "measured": audit.epsilon,
                "confidence": audit.confidence, "delta": audit.delta, "adjacency": certificate.adjacency,
                "canaries": audit.canaries, "guesses": audit.guesses, "correct": audit.correct,
                "threat": "black box: the outputs of the finished model on the canaries",
                "test_accuracy": Evaluation::of(&summary.measured).accuracy, "run_dir": path,
            })
        );
    } else {
        println!("{}, {}: {}\n", certificate.method, certificate.mode.name(), verdict.name());
        println!("claimed     {}", shown(certificate.claimed));
        println!("proved      {}", shown(proved));
        if let Some(epsilon) = if_secret {
            println!("            {epsilon:.4} if the seed is secret");
        }
        println!("measured    at least {:.4} with confidence {}", audit.epsilon, audit.confidence);
        println!(
            "            {} of {} guesses right, {} canaries",
            audit.correct, audit.guesses, audit.canaries
        );
        println!("threat      black box: the outputs of the finished model on the canaries");
        println!("run         {}", path.display());
    }
    Ok(exit_code(verdict))
}
