//! `muffle sweep`: hyper-parameters combined with each other, and the price of choosing the best.

use crate::CommandResult;
use crate::experiment::{Layout, Options, Remarks, run as run_experiment};
use crate::interrupt::stop_on_interrupt;
use crate::train::Outcome;
use crate::words::in_words;
use clap::Args;
use muffle::experiment::{Axis, Experiment, Results, Variant, check_settings, draw_runs, strangers};
use muffle::kinds;
use muffle::methods::Mode;
use muffle::run::REPRODUCIBLE;
use muffle_accounting::selection::{Repetitions, best_of};
use muffle_accounting::{Adjacency, Event, Quotes};
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
  muffle sweep mnist --method icgc --mode as-published --grid learning_rate=0.003,0.01 --seeds 1 --output published
  muffle sweep mnist --grid learning_rate=0.5,1,2 --seeds 1 --price --output priced
  muffle sweep adult-mlp --grid learning_rate=0.1,0.2 --rank-by balanced-accuracy --output ranked
  muffle sweep mnist --grid learning_rate=0.5,1,2,4 --grid batch_size=256,1024 --random 10 --output search")]
pub struct Arguments {
    /// A recipe by name (see `muffle recipes`), a .toml file, or the folder of a run
    recipe: String,
    /// Published method with its usual settings: see `muffle methods`
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,
    /// Form of the method: sound or as-published
    #[arg(long, value_name = "MODE", value_parser = [Mode::Sound.name(), Mode::AsPublished.name()])]
    mode: Option<String>,
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
    let axes = arguments.grid.iter().map(|text| Axis::parse("--grid", text));
    let axes = axes.collect::<Result<Vec<Axis>, String>>()?;
    let factors: Vec<String> = axes.iter().map(|axis| axis.key.clone()).collect();
    if let Some((_, key)) = factors.iter().enumerate().find(|(place, key)| factors[..*place].contains(key)) {
        return Err(format!("--grid {key}: the key is there twice; give all its values at once").into());
    }
    let mut variants = Vec::new();
    for levels in Axis::combinations(&axes) {
        let grid = axes.iter().zip(&levels).map(|(axis, level)| format!("{}={level}", axis.key));
        let form = arguments.mode.iter().map(|mode| format!("mode={mode}"));
        let settings: Vec<String> = form.chain(arguments.settings.iter().cloned()).chain(grid).collect();
        let recipe = kinds::find(&arguments.recipe, arguments.method.as_deref(), &settings)?;
        variants.push(Variant { name: Axis::folder_name(&axes, &levels), levels, recipe });
    }
    let output = &arguments.options.output;
    let experiment = Experiment::new(output, factors, variants, &arguments.options.search())?;
    if arguments.price || arguments.random.is_some() {
        check_one_guarantee(&experiment)?;
    }
    if arguments.random.is_some() {
        check_fixed_noise(&experiment)?;
    }
    let experiment = match (arguments.random, arguments.price) {
        (Some(mean), _) => {
            let draws = draw_runs(output, &experiment.groups, mean, arguments.shape)?;
            let experiment = experiment.with_draws(&draws)?;
            check_drawn(&experiment)?;
            experiment
        }
        (None, true) => experiment.with_secret_runs(arguments.seeds),
        (None, false) => experiment.with_seeds(arguments.seeds),
    };
    let numeric = |axis: &Axis| axis.values.iter().all(|value| value.parse::<f64>().is_ok());
    let title = format!("Sweep of {}", arguments.recipe);
    let layout = Layout { title, across: axes.iter().position(numeric), panels: 0 };
    run_experiment(&experiment, &arguments.options, &layout, &*stop_on_interrupt()?, |results| {
        arguments.remarks(&experiment, results)
    })
}

/// Figures of different kinds do not add up to one.
fn check_one_guarantee(experiment: &Experiment) -> CommandResult {
    let kind = |place: usize| {
        let terms = experiment.groups[place].job.terms();
        (terms.adjacency, terms.recipe.delta)
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

/// The theorem behind a random search takes runs whose price is known for every order, not a budget.
fn check_fixed_noise(experiment: &Experiment) -> CommandResult {
    match experiment.groups.iter().find(|group| group.job.terms().budget().is_some()) {
        Some(group) => Err(format!(
            "{}: the noise of this run follows what it released, so its price is its budget, which --random cannot take; use \
             --price, or fix the noise in advance",
            group.name
        )
        .into()),
        None => Ok(()),
    }
}

/// A run that was not drawn has read the records as well.
fn check_drawn(experiment: &Experiment) -> CommandResult {
    match strangers(experiment)?.first() {
        Some(run) => Err(format!(
            "{}: this search did not draw this run, and its price is that of the runs it drew; choose another --output",
            run.display()
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
            "Best of {count} runs by the {} on the test split: {}, {} (cells/{}).",
            results.measure,
            experiment.group(cell).levels.join(" "),
            results.measure.in_words(best),
            experiment.name(cell)
        ));
        remarks.fields.insert(
            "best".into(),
            json!({
                "folder": format!("cells/{}", experiment.name(cell)), results.measure.key(): best,
            }),
        );
        if let Some(mean) = self.random {
            self.price_search(experiment, results, mean, &mut remarks)?;
        } else if self.price {
            price_all(experiment, results, &mut remarks)?;
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

    /// What publishing the best of a random search costs.
    fn price_search(
        &self,
        experiment: &Experiment,
        results: &Results,
        mean: f64,
        remarks: &mut Remarks,
    ) -> CommandResult {
        let repetitions = Repetitions::new(mean, self.shape)?;
        let price = Price::new(experiment);
        let candidates = candidates(experiment, &results.spent()?)?;
        let epsilon = best_of(&candidates, &repetitions, price.adjacency, price.delta)?.epsilon;
        remarks.fields.insert("price".into(), price.json("random_search", epsilon));
        remarks.caution = "The number of runs, the other runs and this table must stay with the holder of the records: the price of \
                           publishing the best run holds only then."
            .to_string();
        remarks.paragraphs.push(format!(
            "Publishing the best run, and nothing else, costs {}: its values and the number of runs, {mean} on average, \
             were drawn at random (Papernot and Steinke 2022, Theorem 2). This holds as long as the number of runs, the \
             other runs and this table stay with the holder of the records.",
            price.in_words(epsilon)
        ));
        Ok(())
    }
}

/// Under which guarantee runs are priced together.
struct Price {
    adjacency: Adjacency,
    delta: f64,
}

impl Price {
    /// That of every run.
    fn new(experiment: &Experiment) -> Price {
        let terms = experiment.groups[0].job.terms();
        Price { adjacency: terms.adjacency, delta: terms.recipe.delta }
    }

    fn json(&self, kind: &str, epsilon: f64) -> Value {
        let epsilon = Some(epsilon).filter(|epsilon| epsilon.is_finite());
        json!({ "kind": kind, "epsilon": epsilon, "delta": self.delta, "adjacency": self.adjacency })
    }

    fn in_words(&self, epsilon: f64) -> String {
        format!("epsilon {} at delta {}, {}", in_words(epsilon), self.delta, self.adjacency)
    }
}

/// What one run may cost. Steps that were lost in an interruption are paid for as well: the certificates say what was spent.
fn candidates(experiment: &Experiment, spent: &[Event]) -> Outcome<Vec<Event>> {
    let planned = experiment.groups.iter().map(|group| group.job.cost());
    let mut events: Vec<Event> = planned.collect::<Result<_, _>>()?;
    for event in spent {
        if !events.contains(event) {
            events.push(event.clone());
        }
    }
    Ok(events)
}

/// What all runs in the folder cost together.
fn price_all(experiment: &Experiment, results: &Results, remarks: &mut Remarks) -> CommandResult {
    let (spent, each) = (results.spent()?, Price::new(experiment));
    let budgets = spent.iter().filter(|event| matches!(event, Event::ApproximateDp { .. })).count();
    // A budget has a delta of its own, and these add up; noise that was fixed in advance needs one for all.
    let deltas = budgets + usize::from(budgets < spent.len());
    let total = Price { delta: each.delta * deltas.max(1) as f64, ..each };
    let quotes = Quotes::ask(&Event::compose(spent.iter().cloned()), total.adjacency, total.delta);
    let epsilon = quotes.best().map_or(f64::INFINITY, |quote| quote.price.epsilon);
    remarks.fields.insert("price".into(), total.json("composition", epsilon));
    let count = spent.len();
    remarks.paragraphs.push(format!(
        "Choosing is not free. All {count} runs in this folder together cost {} by composition, whatever is published of them.",
        total.in_words(epsilon)
    ));
    if budgets == 0 {
        let repetitions = Repetitions::new(count as f64, 1.0)?;
        let candidates = candidates(experiment, &spent)?;
        let search = best_of(&candidates, &repetitions, each.adjacency, each.delta)?.epsilon;
        remarks.paragraphs.push(format!(
            "A random search of as many runs on average (--random {count}) publishes its best for {}; that figure is not one \
             for these runs.",
            each.in_words(search)
        ));
    }
    Ok(())
}
