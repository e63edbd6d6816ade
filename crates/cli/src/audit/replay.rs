//! `muffle audit replay`: the same randomness on two neighbours.

use super::left::PlotArguments;
use super::{Outcome, RecipeArguments, exit_code};
use clap::Args;
use muffle::audit::Verdict;
use muffle::audit::replay::{self, Movement};
use muffle::train::Plan;
use muffle_page::plot::{Line, Panel};
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
    #[command(flatten)]
    plots: PlotArguments,
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
    arguments.plots.leave(|| text(&plan, verdict, &movements), || Ok(vec![panel(&movements)]))?;
    if arguments.json {
        let proved = plan.recipe.run.epsilon.filter(|_| !plan.terms().is_unproved());
        println!(
            "{}",
            json!({
                "verdict": verdict, "method": plan.method.name, "mode": plan.recipe.training.mode, "claimed": plan.claimed(),
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

/// The verdict and every step, as a text.
fn text(plan: &Plan, verdict: Verdict, movements: &[Movement]) -> String {
    let (method, mode) = (plan.method.name, plan.recipe.training.mode.name());
    let rows = movements
        .iter()
        .map(|movement| format!("| {} | {:.4} | {:.4} |\n", movement.step, movement.moved, movement.allowed));
    format!(
        "# Replay of {method}, {mode}: {}\n\nHow far a release moves between neighbours with the same randomness, in deviations of the \
         noise, under {}; exact for the records replayed, and nothing of others.\n\n| step | moved | allowed |\n|---|---|---|\n{}",
        verdict.name(),
        plan.adjacency,
        rows.collect::<String>()
    )
}

/// How far releases move, and how far they may.
fn panel(movements: &[Movement]) -> Panel {
    let line = |name: &str, figure: fn(&Movement) -> f64| Line {
        name: name.into(),
        points: movements.iter().map(|movement| (movement.step as f64, figure(movement))).collect(),
        ..Line::default()
    };
    Panel {
        title: "movement of releases between neighbours".into(),
        x_label: "step".into(),
        y_label: "deviations of the noise".into(),
        lines: vec![line("moved", |movement| movement.moved), line("allowed", |movement| movement.allowed)],
        ..Panel::default()
    }
}
