//! `muffle audit replay`: the same randomness on two neighbours.

use super::{Outcome, RecipeArguments, exit_code};
use clap::Args;
use muffle::audit::Verdict;
use muffle::audit::replay::{self, Movement};
use serde_json::json;

/// Replay the first steps of a recipe on neighbours with the same randomness, and compare how far each release moves with how
/// far it may.
///
/// In every step one record of the sample is removed, zeroed out or exchanged, as the adjacency has it. The check is exact
/// for the records at hand, and says nothing of others.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle audit replay mnist
  muffle audit replay mnist --set method=icgc --set mode=as-published --steps 5")]
pub struct Arguments {
    #[command(flatten)]
    recipe: RecipeArguments,
    /// Steps to replay
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Of the randomness that is replayed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let (plan, dataset) = arguments.recipe.prepare(Vec::new())?;
    let movements = replay::run(&plan, &dataset, arguments.steps, arguments.seed)?;
    let share = |movement: &Movement| movement.moved / movement.allowed;
    let worst = movements.iter().max_by(|one, two| share(one).total_cmp(&share(two)));
    let worst = worst.ok_or("every sample was empty: replay more steps")?;
    let verdict = if movements.iter().all(Movement::holds) { Verdict::Holds } else { Verdict::Violated };
    let noise_depends = movements.iter().any(|movement| movement.noise_change > 10.0 * replay::ROUNDING);
    if arguments.json {
        let proved = plan.recipe.run.epsilon.filter(|_| plan.claimed.is_none());
        println!(
            "{}",
            json!({
                "verdict": verdict, "method": plan.method.name, "mode": plan.recipe.training.mode, "claimed": plan.claimed,
                "proved": proved, "measured": null, "confidence": 1.0, "adjacency": plan.adjacency,
                "steps": movements.len(), "largest_movement": Some(worst.moved).filter(|moved| moved.is_finite()),
                "allowed": worst.allowed, "step_of_largest": worst.step,
                "noise_depends_on_records": noise_depends,
            })
        );
    } else {
        println!(
            "{}, {}: {}, on the records replayed\n",
            plan.method.name,
            plan.recipe.training.mode.name(),
            verdict.name()
        );
        println!("replayed   {} steps under {}", movements.len(), plan.adjacency);
        match worst.moved.is_finite() {
            true => println!(
                "largest    {:.4} deviations of the noise in step {}, of {:.4} allowed",
                worst.moved, worst.step, worst.allowed
            ),
            false => println!(
                "largest    in step {} a coordinate has no noise at all in an empty batch",
                worst.step
            ),
        }
        if noise_depends {
            println!("noise      depends on the records");
        }
    }
    Ok(exit_code(verdict))
}
