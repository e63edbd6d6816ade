//! `muffle attack generator`: whose records was a generator trained on?

use super::command::{help, question};
use crate::CommandResult;
use crate::train::Outcome;
use clap::Args;
use muffle::adversarial::{CRITIC_FILE, Generator};
use muffle::attack::generator::{CRITIC, DISTANCE, by_critic, by_distance};
use muffle::attack::membership::Suspects;
use muffle::attack::{Entry, Roc};
use muffle::data::Search;
use muffle::run::Parts;
use muffle_nn::initialise::SplitMix;
use muffle_nn::weights;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rows of the table.
const ENTRIES: &[&Entry] = &[&CRITIC, &DISTANCE];

/// The false-positive rate of the report.
const RATE: f64 = 0.01;

/// Training records, told from test records by a critic and by what a generator makes.
#[derive(Args)]
#[command(about = question(ENTRIES), long_about = help(ENTRIES), after_help = "Examples:
  muffle attack generator runs/private --against runs/plain
  muffle attack generator runs/private --records 2000 --generated 20000 --json")]
pub struct Arguments {
    /// The folder of a finished run
    run: PathBuf,
    /// A second run beside it: the same recipe without privacy, for instance
    #[arg(long, value_name = "RUN")]
    against: Option<PathBuf>,
    /// Records that the attacker asks about, half of them members
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(2..))]
    records: u64,
    /// Records that the attacker draws from the generator
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    generated: u64,
    /// Folder to search for data first (default: MUFFLE_DATA, then ~/.local/share/muffle)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Of the records that are asked about
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let runs: Vec<&PathBuf> = std::iter::once(&arguments.run).chain(&arguments.against).collect();
    let mut found = Vec::new();
    for run in runs {
        let curves = attack(arguments, run)?;
        found.extend(curves.into_iter().map(|(entry, roc)| (run.display().to_string(), entry, roc)));
    }
    if arguments.json {
        let object = |(run, attack, roc): &(String, &str, Roc)| -> Value {
            let rate = roc.at(RATE);
            json!({
                "run": run, "attack": attack, "auc": roc.area(), "auc_error": roc.area_error(),
                "fpr": rate.false_positive_rate, "tpr": rate.true_positive_rate, "interval": rate.interval(),
            })
        };
        println!("{}", json!({ "attacks": found.iter().map(object).collect::<Vec<_>>() }));
        return Ok(());
    }
    println!("{}", question(ENTRIES));
    for (run, attack, roc) in &found {
        let rate = roc.at(RATE);
        let (area, error) = (roc.area(), 2.0 * roc.area_error());
        let share = 100.0 * rate.true_positive_rate;
        println!("{run}  {attack:<18}  area {area:.4} ± {error:.4}  {share:.1} % found at 1 % false alarms");
    }
    Ok(())
}

fn attack(arguments: &Arguments, run: &Path) -> Outcome<Vec<(&'static str, Roc)>> {
    let mut generator = Generator::open(run, None)?;
    let parts = Parts::read(run, &[])?;
    let search = Search::new(arguments.data_dir.as_deref()).near(run);
    let dataset = parts.run.dataset(&search)?;
    let suspects = Suspects::draw(&dataset, 0.0, usize::try_from(arguments.records)?, arguments.seed)?;
    let (_, critic, parameters) = weights::open(&run.join(CRITIC_FILE))?;
    let by_critic = by_critic(&Arc::new(critic), &parameters, &suspects, None)?;
    let mut random = SplitMix::new(arguments.seed);
    let (generated, _) = generator.inputs(usize::try_from(arguments.generated)?, None, &mut random)?;
    Ok(vec![(CRITIC.name, by_critic), (DISTANCE.name, by_distance(&generated, &suspects)?)])
}
