//! `muffle account`: what did this cost?

use crate::CommandResult;
use crate::run_arguments::{RunArguments, find_accountant, missing};
use crate::words::in_words;
use clap::Args;
use muffle_accounting::attacker::{self, Attack};
use muffle_accounting::{AccountingError, Adjacency, Event, Quote, Quotes, Standing, pld};
use muffle_page::plot::{self, Panel, curves};
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
  muffle account --noise-multiplier 6 --sample-rate 0.01 --epochs 400 --delta 1e-5 --sampling reshuffled
  muffle account --events events.json --delta 1e-6 --adjacency replace_one --json
  muffle account --events runs/mnist-...          what a run cost, by its certificate")]
pub struct Account {
    #[command(flatten)]
    run: RunArguments,

    /// Only this accountant; the default shows all that apply.
    #[arg(long, value_name = "NAME")]
    accountant: Option<String>,

    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,

    /// Draw epsilon against steps and delta against epsilon into this file, SVG or PNG by its ending.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Account {
    /// Prices what the arguments describe and prints the answer.
    pub fn run(mut self) -> CommandResult {
        let event = match self.run.settle()? {
            Some(event) => event,
            None => self.event()?,
        };
        let adjacency = self.run.adjacency();
        let quotes = self.price(&event, adjacency)?;
        let attacks = match quotes.best() {
            Some(_) => attacker::best_attacks(&event, adjacency, &FALSE_POSITIVE_RATES)?,
            None => Vec::new(),
        };
        if self.json {
            println!("{}", self.to_json(adjacency, &quotes, &attacks));
        } else {
            self.print(&event, adjacency, &quotes, &attacks);
        }
        if let Some(path) = &self.plot {
            plot::write(path, &self.panels(&event, adjacency)?)?;
        }
        Ok(())
    }

    fn event(&self) -> Result<Event, Box<dyn Error>> {
        let noise = self.run.noise_multiplier.ok_or_else(|| missing("--noise-multiplier (or --events)"))?;
        let rate = self.run.rate().ok_or_else(|| missing("--sample-rate (or --records and --batch-size)"))?;
        let steps = self.run.step_count(rate).ok_or_else(|| missing("--steps (or --epochs)"))?;
        Ok(self.run.event(noise, rate, steps))
    }

    fn price(&self, event: &Event, adjacency: Adjacency) -> Result<Quotes, Box<dyn Error>> {
        if let Some(name) = &self.accountant {
            let accountant = find_accountant(name)?;
            let price =
                accountant.epsilon(event, adjacency, self.run.delta()).map_err(|e| refusal(e, adjacency))?;
            return Ok(Quotes { quotes: vec![Quote { accountant, price }], refusals: Vec::new() });
        }
        let mut quotes = Quotes::ask(event, adjacency, self.run.delta());
        if quotes.quotes.is_empty() {
            // Nobody can price it: say why, and under which adjacency.
            let (_, error) = quotes.refusals.swap_remove(0);
            return Err(refusal(error, adjacency));
        }
        Ok(quotes)
    }

    fn to_json(&self, adjacency: Adjacency, quotes: &Quotes, attacks: &[Attack]) -> Value {
        // JSON has no infinity: null, with the reason under "notes".
        let epsilon: Map<String, Value> =
            quotes.by_name().map(|(name, epsilon)| (name, json!(epsilon))).collect();
        let notes: Map<String, Value> = quotes
            .quotes
            .iter()
            .filter_map(|quote| {
                Some((quote.accountant.name().to_string(), json!(quote.price.note.as_ref()?)))
            })
            .collect();
        let mut object = json!({"adjacency": adjacency, "delta": self.run.delta(), "epsilon": epsilon, "attacker": attacks});
        if !notes.is_empty() {
            object["notes"] = Value::Object(notes);
        }
        object
    }

    fn print(&self, event: &Event, adjacency: Adjacency, quotes: &Quotes, attacks: &[Attack]) {
        println!("{}", describe(event));
        println!("adjacency {adjacency}, delta {}\n", self.run.delta());
        println!("  {:<22} {:>12}", "accountant", "epsilon");
        let best = quotes.best();
        for Quote { accountant, price } in &quotes.quotes {
            let name = accountant.name();
            let mark = if best.is_some_and(|best| best.accountant.name() == name) {
                "<- quote this one"
            } else {
                ""
            };
            let standing = accountant.standing();
            let label = if standing == Standing::Proof { "" } else { standing.label() };
            let line = format!("  {name:<22} {:>12} {mark}{label}", in_words(price.epsilon));
            println!("{}", line.trim_end());
        }
        if !quotes.refusals.is_empty() {
            let names: Vec<&str> = quotes.refusals.iter().map(|(accountant, _)| accountant.name()).collect();
            println!("  not applicable: {}", names.join(", "));
        }
        println!();
        for Quote { accountant, price } in &quotes.quotes {
            if let Some(note) = &price.note {
                println!("{}: {note}.", accountant.name());
            }
        }
        if let Some(Quote { accountant, price }) = best {
            println!("{} assumes: {}", accountant.name(), accountant.assumption());
            if let Some(lower) = price.lower {
                println!("Certified: the exact epsilon lies in [{lower:.4}, {}].", in_words(price.epsilon));
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

    fn panels(&self, event: &Event, adjacency: Adjacency) -> Result<Vec<Panel>, Box<dyn Error>> {
        let mut panels = Vec::new();
        if let (None, Some(noise), Some(rate)) =
            (&self.run.events, self.run.noise_multiplier, self.run.rate())
        {
            let steps = self.run.step_count(rate).unwrap_or(1);
            panels.push(self.run.epsilon_against_steps(noise, rate, steps));
        }
        if let Ok((_, top)) = pld::delta(event, adjacency, 0.0) {
            panels.push(curves::delta_against_epsilon(event, adjacency, self.run.delta().min(top))?);
        }
        if panels.is_empty() {
            return Err("--plot: no accountant with a curve applies to this event".into());
        }
        Ok(panels)
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
        Event::FixedSizeSampled { sample_rate, event } => {
            format!("{} on samples of fixed size of rate {sample_rate}", describe(event))
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
