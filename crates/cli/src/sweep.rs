//! `muffle sweep`: hyper-parameters combined with each other, and the price of choosing the best.

use crate::CommandResult;
use crate::experiment::{Layout, Options, Remarks, run as run_experiment};
use crate::train::Outcome;
use crate::words::in_words;
use clap::Args;
use muffle::experiment::{Axis, Experiment, Results, Variant, check_settings, draw_runs};
use muffle::run::REPRODUCIBLE;
use muffle::train::recipes;
use muffle_accounting::selection::{Repetitions, best_of};
use muffle_accounting::{Accountant, Event, pld::Pld};
use serde_json::{Value, json};

/// Sweep hyper-parameters: a run for every combination of values, with several seeds, as a table and plots.
///
/// Choosing the best of several runs is not free: each of them read the records, and the epsilon of a run is that of a run
/// chosen in advance. --price says what the choice costs by composition. --random draws the number of runs and the values
/// of each, and the price of the best run then hardly grows with their number (Papernot and Steinke 2022), if nothing else is published.
/// With either, every run has noise of its own that nobody can repeat.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle sweep mnist --grid learning_rate=0.5,1,2 --grid clip.threshold=0.1,1 --seeds 3 --output sweep
  muffle sweep mnist --grid learning_rate=0.5,1,2 --seeds 1 --price --output priced
  muffle sweep mnist --grid learning_rate=0.5,1,2,4 --grid batch_size=256,1024 --random 10 --output search")]
pub struct Arguments {
    /// A recipe by name (see `muffle recipes`), a .toml file, or the folder of a run
    recipe: String,
    /// A key of the recipe and the values it takes; several grids are combined
    #[arg(long = "grid", value_name = "KEY=VALUES", required = true)]
    grid: Vec<String>,
    /// Runs of each combination, with the seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Change a key of the recipe for all runs: epochs=5, epsilon=2
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Price the choice among all runs, which then have no seeds
    #[arg(long)]
    price: bool,
    /// Draw the number of runs, with this mean, and the values of each run, in place of all combinations
    #[arg(long, value_name = "MEAN", conflicts_with_all = ["seeds", "price"])]
    random: Option<f64>,
    /// With --random: shape of the number of runs; 1 is geometric, 0 logarithmic (cheaper, less even)
    #[arg(long, value_name = "SHAPE", default_value_t = 1.0, requires = "random")]
    shape: f64,
    #[command(flatten)]
    options: Options,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    check_settings(&arguments.settings)?;
    let axes = arguments.grid.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<Axis>, String>>()?;
    let factors: Vec<String> = axes.iter().map(|axis| axis.key.clone()).collect();
    if let Some((_, key)) = factors.iter().enumerate().find(|(place, key)| factors[..*place].contains(key)) {
        return Err(format!("--grid {key}: the key is there twice; give all its values at once").into());
    }
    let mut variants = Vec::new();
    for levels in Axis::combinations(&axes) {
        let grid = axes.iter().zip(&levels).map(|(axis, level)| format!("{}={level}", axis.key));
        let settings: Vec<String> = arguments.settings.iter().cloned().chain(grid).collect();
        let recipe = recipes::find(&arguments.recipe, &settings)?;
        variants.push(Variant { name: Axis::folder_name(&axes, &levels), levels, recipe });
    }
    let output = &arguments.options.output;
    let experiment = Experiment::new(output, factors, variants, &arguments.options.search())?;
    if arguments.price || arguments.random.is_some() {
        check_one_guarantee(&experiment)?;
    }
    let experiment = match (arguments.random, arguments.price) {
        (Some(mean), _) => {
            let draws = draw_runs(output, &experiment.groups, mean, arguments.shape)?;
            experiment.with_draws(&draws)?
        }
        (None, true) => experiment.with_secret_runs(arguments.seeds),
        (None, false) => experiment.with_seeds(arguments.seeds),
    };
    let numeric = |axis: &Axis| axis.values.iter().all(|value| value.parse::<f64>().is_ok());
    let title = format!("Sweep of {}", arguments.recipe);
    let layout = Layout { title, across: axes.iter().position(numeric), panels: 0 };
    run_experiment(&experiment, &arguments.options, &layout, |results| {
        arguments.remarks(&experiment, results)
    })
}

/// Figures of different kinds do not add up to one.
fn check_one_guarantee(experiment: &Experiment) -> CommandResult {
    let kind = |place: usize| {
        let plan = &experiment.groups[place].plan;
        (plan.adjacency, plan.recipe.run.delta)
    };
    match (1..experiment.groups.len()).find(|&place| kind(place) != kind(0)) {
        Some(place) => Err(format!(
            "{}: the choice has a price only if all runs have one delta and one adjacency; leave these out of the grid",
            experiment.groups[place].name
        )
        .into()),
        None => Ok(()),
    }
}

impl Arguments {
    /// The best run, and what choosing it costs.
    fn remarks(&self, experiment: &Experiment, results: &Results) -> Outcome<Remarks> {
        let mut remarks = Remarks::default();
        let Some((place, best)) = results.best() else { return Ok(remarks) };
        let (cell, count) = (&experiment.cells[place], experiment.cells.len());
        remarks.paragraphs.push(format!(
            "Best of {count} runs by the accuracy on the test split: {}, {:.2} % (cells/{}).",
            experiment.group(cell).levels.join(" "),
            100.0 * best.accuracy,
            experiment.name(cell)
        ));
        remarks.fields.insert(
            "best".into(),
            json!({
                "folder": format!("cells/{}", experiment.name(cell)), "test_accuracy": best.accuracy,
            }),
        );
        let plan = &experiment.group(cell).plan;
        let (adjacency, delta) = (plan.adjacency, plan.recipe.run.delta);
        let finite = |epsilon: f64| Some(epsilon).filter(|epsilon| epsilon.is_finite());
        let at = |epsilon: f64| format!("epsilon {} at delta {delta}, {adjacency}", in_words(epsilon));
        let spent = results.events();
        // Steps that were lost in an interruption are paid for as well: the ledgers say what was spent.
        let candidates = || -> Outcome<Vec<Event>> {
            let planned = experiment.groups.iter().map(|group| group.plan.total_cost());
            let mut events: Vec<Event> = planned.collect::<Result<_, _>>()?;
            for event in &spent {
                if !events.contains(event) {
                    events.push(event.clone());
                }
            }
            Ok(events)
        };
        let mut price = |kind: &str, epsilon: f64| {
            let value =
                json!({ "kind": kind, "epsilon": finite(epsilon), "delta": delta, "adjacency": adjacency });
            remarks.fields.insert("price".into(), value);
        };
        if let Some(mean) = self.random {
            let repetitions = Repetitions::new(mean, self.shape)?;
            let epsilon = best_of(&candidates()?, &repetitions, adjacency, delta)?.epsilon;
            price("random_search", epsilon);
            remarks.paragraphs.push(format!(
                "Publishing the best run, and nothing else, costs {}: its values and the number of runs, {mean} on average, \
                 were drawn at random (Papernot and Steinke 2022, Theorem 2). This holds as long as the number of runs, the \
                 other runs and this table stay with the holder of the records.",
                at(epsilon)
            ));
        } else if self.price {
            let epsilon = Pld.epsilon(&Event::compose(spent.iter().cloned()), adjacency, delta)?.epsilon;
            price("composition", epsilon);
            let search =
                best_of(&candidates()?, &Repetitions::new(count as f64, 1.0)?, adjacency, delta)?.epsilon;
            remarks.paragraphs.push(format!(
                "Choosing is not free. All {count} runs together cost {} by composition, whatever is published of them.",
                at(epsilon)
            ));
            remarks.paragraphs.push(format!(
                "A random search of as many runs on average (--random {count}) publishes its best for {}; that figure is not \
                 one for these runs.",
                at(search)
            ));
        } else {
            remarks.fields.insert("price".into(), Value::Null);
            remarks.paragraphs.push(format!(
                "Choosing the best of {count} runs is not free: each of them read the records, and a run's epsilon is that of \
                 a run chosen in advance. --price and --random price the choice."
            ));
            remarks.paragraphs.push(REPRODUCIBLE.to_string());
        }
        Ok(remarks)
    }
}
