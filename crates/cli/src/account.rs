//! `muffle account`: what did this cost?

use crate::CommandResult;
use crate::plot;
use crate::run_arguments::{RunArguments, find_accountant, missing, read_events};
use clap::Args;
use muffle::atomic_file;
use muffle_accounting::attacker::{self, Attack};
use muffle_accounting::{Accountant, AccountingError, Adjacency, Event, Price, Standing, accountant, pld};
use serde_json::{Map, Value, json};
use std::error::Error;
use std::path::PathBuf;

/// False-positive rates at which the best attacker is described.
const FALSE_POSITIVE_RATES: [f64; 3] = [0.001, 0.01, 0.1];

/// What did this cost? The epsilon of a training run, by every accountant that can price it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  muffle account --noise-multiplier 1.0 --sample-rate 0.01 --steps 10000 --delta 1e-5
  muffle account --noise-multiplier 1.1 --records 60000 --batch-size 256 --epochs 60 --delta 1e-5
  muffle account --noise-multiplier 6 --sample-rate 0.01 --epochs 400 --delta 1e-5 --sampling reshuffle
  muffle account --events ledger.json --delta 1e-6 --adjacency replace_one --json")]
pub struct Account {
    #[command(flatten)]
    run: RunArguments,

    /// Only this accountant; the default shows all that apply.
    #[arg(long, value_name = "NAME")]
    accountant: Option<String>,

    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,

    /// Draw epsilon against steps and delta against epsilon into this SVG file.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// What one accountant said.
struct Row {
    accountant: &'static dyn Accountant,
    price: Price,
}

impl Account {
    /// Prices what the arguments describe and prints the answer.
    pub fn run(self) -> CommandResult {
        self.run.check()?;
        let event = self.event()?;
        let adjacency = self.run.adjacency();
        let (rows, refusals) = self.price(&event, adjacency)?;
        let quoted = quoted(&rows);
        let attacks = match quoted {
            Some(_) => attacker::best_attacks(&event, adjacency, &FALSE_POSITIVE_RATES)?,
            None => Vec::new(),
        };
        if self.json {
            println!("{}", self.to_json(adjacency, &rows, &attacks));
        } else {
            self.print(&event, adjacency, &rows, &refusals, quoted, &attacks);
        }
        if let Some(path) = &self.plot {
            let drawing = self.draw(&event, adjacency)?;
            atomic_file::write(path, &drawing)
                .map_err(|error| format!("--plot {}: {error}", path.display()))?;
        }
        Ok(())
    }

    fn event(&self) -> Result<Event, Box<dyn Error>> {
        if let Some(path) = &self.run.events {
            return read_events(path);
        }
        let noise = self.run.noise_multiplier.ok_or_else(|| missing("--noise-multiplier (or --events)"))?;
        let rate = self.run.rate().ok_or_else(|| missing("--sample-rate (or --records and --batch-size)"))?;
        let steps = self.run.step_count(rate).ok_or_else(|| missing("--steps (or --epochs)"))?;
        Ok(self.run.event(noise, rate, steps))
    }

    fn price(&self, event: &Event, adjacency: Adjacency) -> Result<(Vec<Row>, Vec<String>), Box<dyn Error>> {
        if let Some(name) = &self.accountant {
            let accountant = find_accountant(name)?;
            let price =
                accountant.epsilon(event, adjacency, self.run.delta).map_err(|e| refusal(e, adjacency))?;
            return Ok((vec![Row { accountant, price }], Vec::new()));
        }
        let (mut rows, mut refusals, mut first) = (Vec::new(), Vec::new(), None);
        for accountant in accountant::all() {
            match accountant.epsilon(event, adjacency, self.run.delta) {
                Ok(price) => rows.push(Row { accountant, price }),
                Err(error) => {
                    refusals.push(accountant.name().to_string());
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            // Nobody can price it: say why, and under which adjacency.
            Some(error) if rows.is_empty() => Err(refusal(error, adjacency)),
            _ => Ok((rows, refusals)),
        }
    }

    fn to_json(&self, adjacency: Adjacency, rows: &[Row], attacks: &[Attack]) -> Value {
        let mut epsilon = Map::new();
        let mut notes = Map::new();
        for row in rows {
            let name = row.accountant.name();
            // JSON has no infinity: null, with the reason under "notes".
            epsilon.insert(name.into(), json!(row.price.epsilon));
            if let Some(lower) = row.price.lower {
                epsilon.insert(format!("{name}_lower"), json!(lower));
            }
            if let Some(note) = &row.price.note {
                notes.insert(name.into(), json!(note));
            }
        }
        let mut object =
            json!({"adjacency": adjacency, "delta": self.run.delta, "epsilon": epsilon, "attacker": attacks});
        if !notes.is_empty() {
            object["notes"] = Value::Object(notes);
        }
        object
    }

    fn print(
        &self,
        event: &Event,
        adjacency: Adjacency,
        rows: &[Row],
        refusals: &[String],
        quoted: Option<usize>,
        attacks: &[Attack],
    ) {
        println!("{}", describe(event));
        println!("adjacency {adjacency}, delta {}\n", self.run.delta);
        println!("  {:<22} {:>12}", "accountant", "epsilon");
        for (place, row) in rows.iter().enumerate() {
            let mark = if Some(place) == quoted { "<- quote this one" } else { "" };
            let standing = row.accountant.standing();
            let label = if standing == Standing::Proof { "" } else { standing.label() };
            let line =
                format!("  {:<22} {:>12} {mark}{label}", row.accountant.name(), round_up(row.price.epsilon));
            println!("{}", line.trim_end());
        }
        if !refusals.is_empty() {
            println!("  not applicable: {}", refusals.join(", "));
        }
        println!();
        for row in rows {
            if let Some(note) = &row.price.note {
                println!("{}: {note}.", row.accountant.name());
            }
        }
        if let Some(row) = quoted.map(|place| &rows[place]) {
            println!("{} assumes: {}", row.accountant.name(), row.accountant.assumption());
            if let Some(lower) = row.price.lower {
                println!(
                    "Certified: the exact epsilon lies in [{:.4}, {}].",
                    lower,
                    round_up(row.price.epsilon)
                );
            }
        }
        if let Some(remark) = self.run.remark() {
            println!("{remark}");
        }
        if !attacks.is_empty() {
            println!(
                "\nThe best possible attacker, who knows everything except whether one record was used:"
            );
            for attack in attacks {
                println!(
                    "  accusing wrongly {:>4} % of the time, is right about at most {:.1} % of the records that were used",
                    100.0 * attack.fpr,
                    (1000.0 * attack.tpr).ceil() / 10.0
                );
            }
        }
        println!(
            "\nNot included: the choice of hyper-parameters and of the best epoch; noise is taken as exact real numbers."
        );
    }

    fn draw(&self, event: &Event, adjacency: Adjacency) -> Result<String, Box<dyn Error>> {
        let mut panels = Vec::new();
        if let (None, Some(noise), Some(rate)) =
            (&self.run.events, self.run.noise_multiplier, self.run.rate())
        {
            let steps = self.run.step_count(rate).unwrap_or(1);
            panels.push(plot::epsilon_against_steps(&self.run, noise, rate, steps)?);
        }
        if let Ok((_, top)) = pld::delta(event, adjacency, 0.0) {
            panels.push(plot::delta_against_epsilon(event, adjacency, self.run.delta.min(top))?);
        }
        if panels.is_empty() {
            return Err("--plot: no accountant with a curve applies to this event".into());
        }
        Ok(plot::draw(&panels))
    }
}

/// A refusal names the argument that a user would change.
fn refusal(error: AccountingError, adjacency: Adjacency) -> Box<dyn Error> {
    match error {
        AccountingError::Refused { .. } => format!("--adjacency {adjacency}, --accountant: {error}").into(),
        AccountingError::OutOfRange { .. }
        | AccountingError::Nesting { .. }
        | AccountingError::Unreachable { .. } => error.into(),
    }
}

/// The smallest proved epsilon; the first in the list among equals.
fn quoted(rows: &[Row]) -> Option<usize> {
    let proofs = rows.iter().enumerate().filter(|(_, row)| row.accountant.standing() == Standing::Proof);
    proofs
        .filter(|(_, row)| row.price.epsilon.is_finite())
        .min_by(|left, right| left.1.price.epsilon.total_cmp(&right.1.price.epsilon))
        .map(|(place, _)| place)
}

/// Four decimals, never below the value; infinity in words.
fn round_up(epsilon: f64) -> String {
    if epsilon.is_finite() { format!("{:.4}", (epsilon * 1e4).ceil() / 1e4) } else { "infinite".into() }
}

/// An event in a line of words.
fn describe(event: &Event) -> String {
    match event {
        Event::Gaussian { noise_multiplier } => format!("Gaussian noise of multiplier {noise_multiplier}"),
        Event::Laplace { noise_multiplier } => format!("Laplace noise of multiplier {noise_multiplier}"),
        Event::RandomisedResponse { categories, epsilon } => {
            format!("randomised response over {categories} values with epsilon {epsilon}")
        }
        Event::PureDp { epsilon } => format!("an event proved {epsilon}-DP"),
        Event::ApproximateDp { epsilon, delta } => format!("an event proved ({epsilon}, {delta})-DP"),
        Event::PoissonSampled { sample_rate, event } => {
            format!("{} on Poisson samples of rate {sample_rate}", describe(event))
        }
        Event::SampledWithoutReplacement { sample_rate, event } => {
            format!("{} on samples without replacement of rate {sample_rate}", describe(event))
        }
        Event::PartitionedEpoch { event, .. } => format!("epochs of {} on disjoint batches", describe(event)),
        Event::Compose { events } if events.len() == 1 => describe(&events[0]),
        Event::Compose { events } => format!("{} kinds of events in sequence", events.len()),
        Event::Repeat { count, event } => format!("{count} x {}", describe(event)),
        Event::Claimed { source, epsilon, .. } => {
            format!("a claim of epsilon {epsilon} without proof ({source})")
        }
        Event::NonPrivate => "an unprotected access".into(),
    }
}
