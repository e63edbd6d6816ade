//! `muffle audit step`: a step of a method, played thousands of times with and without a planted record.

use super::left::{PlotArguments, table};
use super::plots::{Scores, panels};
use super::{Outcome, exit_code, print_epsilons};
use clap::Args;
use muffle::audit::schedule::{self, Schedule};
use muffle::audit::step::{Settings, StepReport, audit};
use muffle::methods::Mode;
use muffle_accounting::Event;

/// Audit one step of a method: the release itself is seen, with and without a record that is planted for the purpose.
///
/// The real code of the method runs thousands of times on pairs of neighbouring data sets. Some plays choose the pair, the
/// statistic and the threshold, fresh ones count its errors. Exit code 1 if a claim is refuted.
///
/// With --steps all steps of a run are seen, and the record takes part when the sampler says so: for totals that are claimed with sampling.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle audit step --method dp-sgd
  muffle audit step --method dp-adam-ilg --mode as-published
  muffle audit step --method icgc --mode as-published --json --plot icgc.svg
  muffle audit step --method icgc --mode as-published --steps 1000 --sample-rate 0.01 --epsilon 0.51 --trials 400")]
pub struct Arguments {
    /// The method: see `muffle methods`
    #[arg(long, value_name = "NAME")]
    method: String,
    /// Its form
    #[arg(long, value_name = "MODE", default_value = "sound", value_parser = [Mode::Sound.name(), Mode::AsPublished.name()])]
    mode: String,
    #[command(flatten)]
    options: Options,
    /// See all of N steps, with the sampler on, in place of one step without it
    #[arg(long, value_name = "N", requires = "sample_rate")]
    steps: Option<u64>,
    /// Probability that the record takes part in a step
    #[arg(long, value_name = "Q", requires = "steps")]
    sample_rate: Option<f64>,
    /// The total that the noise of all steps is set for, by the form's own argument, in place of a noise multiplier
    #[arg(long, value_name = "EPSILON", requires = "steps", conflicts_with = "noise_multiplier")]
    epsilon: Option<f64>,
    /// Change a key of the recipe that the step runs by: parameters.outside=1
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    #[command(flatten)]
    plots: PlotArguments,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How thoroughly a step is audited.
#[derive(Args)]
pub struct Options {
    /// Standard deviation of the noise over the threshold
    #[arg(long, value_name = "SIGMA", default_value_t = 1.0)]
    noise_multiplier: f64,
    /// Values of an input of the planted network, which has 2 N + 4 parameters: 498 makes 1,000, 49998 makes 100,000
    #[arg(long, value_name = "N", default_value_t = 600)]
    width: usize,
    /// Plays with the record and without it, each
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    trials: u64,
    /// Of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of the lower bound
    #[arg(long, default_value_t = 0.95)]
    confidence: f64,
    /// Of all epsilons
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
}

impl Options {
    /// With a method.
    pub fn settings(&self, method: &str, mode: Mode, settings: Vec<String>) -> Settings {
        Settings {
            method: method.to_string(),
            mode,
            noise_multiplier: self.noise_multiplier,
            width: self.width,
            settings,
            trials: self.trials,
            seed: self.seed,
            confidence: self.confidence,
            delta: self.delta,
        }
    }
}

impl Arguments {
    /// The schedule that is asked for.
    fn schedule(&self) -> Option<Schedule> {
        let (steps, sample_rate) = self.steps.zip(self.sample_rate)?;
        Some(Schedule { steps, sample_rate, epsilon: self.epsilon })
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let modes = [Mode::Sound, Mode::AsPublished];
    let mode = modes.into_iter().find(|mode| mode.name() == arguments.mode).unwrap_or_default();
    let settings = arguments.options.settings(&arguments.method, mode, arguments.settings.clone());
    let schedule = arguments.schedule();
    let (found, attack) = match &schedule {
        Some(schedule) => schedule::audit(&settings, schedule)?,
        None => audit(&settings)?,
    };
    let event = Event::gaussian(found.noise_multiplier);
    let scores = Scores {
        statistic: found.statistic.split(':').next().unwrap_or_default(),
        present: &attack.present,
        absent: &attack.absent,
        event: (schedule.is_none() && found.course.is_none()).then_some(&event),
        adjacency: found.report.adjacency,
    };
    arguments.plots.leave(|| table("Audit of one step", &[&found.report]), || Ok(panels(&scores)?))?;
    match arguments.json {
        true => println!("{}", serde_json::to_string(&found)?),
        false => print(&found, schedule.as_ref()),
    }
    Ok(exit_code(found.report.verdict))
}

fn print(found: &StepReport, schedule: Option<&Schedule>) {
    let report = &found.report;
    let rate = |count: u64| 100.0 * count as f64 / report.trials as f64;
    print_epsilons(report);
    let steps = match (schedule, found.course) {
        (Some(Schedule { steps, sample_rate, .. }), _) => {
            format!("{steps} steps at a sample rate of {sample_rate}")
        }
        (None, Some(steps)) => format!("{steps} steps of the schedule"),
        (None, None) => "one step".to_string(),
    };
    println!(
        "            at delta {}, {}, {steps} with noise multiplier {}",
        report.delta, report.adjacency, found.noise_multiplier
    );
    if let Some(statement) = report.stronger_statement() {
        println!("            {statement}");
    }
    if let Some(other) = &found.same_as {
        println!("played      a step of {other}, which is the same");
    }
    println!("network     {} parameters, planted", found.parameters);
    println!("pair        {}", found.pair);
    println!("statistic   {}", found.statistic);
    println!(
        "errors      {:.2} % of {} plays with the record recognised, {:.2} % without it taken for one",
        rate(report.true_positives),
        report.trials,
        rate(report.false_positives)
    );
    println!("threat      {}", report.threat);
}
