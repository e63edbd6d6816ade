//! Arguments that say what ran, shared by `account` and `calibrate`.

use crate::events::Spent;
use crate::words::delta_warning;
use clap::{Args, ValueEnum};
use muffle_accounting::{Accountant, Adjacency, Assignment, Event, LARGEST_MULTIPLIER, accountant};
use muffle_page::plot::{Panel, curves};
use std::error::Error;
use std::path::PathBuf;

/// How batches are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SamplingChoice {
    /// Every record takes part independently with the sample rate.
    Poisson,
    /// Uniformly random batches of fixed size.
    #[value(alias = "without-replacement")]
    FixedSize,
    /// The records are shuffled and cut into batches, anew in each epoch.
    #[value(alias = "reshuffle")]
    Reshuffled,
    /// In each epoch every record picks its batch at random.
    BallsAndBins,
    /// Every record takes part in every step.
    Full,
}

/// What ran, or is to run.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// Standard deviation of the noise over the clipping threshold.
    #[arg(long, value_name = "SIGMA", allow_hyphen_values = true)]
    pub noise_multiplier: Option<f64>,

    /// Probability that a record is in a batch.
    #[arg(long, value_name = "RATE", conflicts_with_all = ["records", "batch_size"], allow_hyphen_values = true)]
    pub sample_rate: Option<f64>,

    /// Number of records; with --batch-size it gives the sample rate.
    #[arg(long, value_name = "N", requires = "batch_size")]
    pub records: Option<u64>,

    /// Expected batch size; with --records it gives the sample rate.
    #[arg(long, value_name = "B", requires = "records")]
    pub batch_size: Option<u64>,

    /// Number of steps.
    #[arg(long, value_name = "T", conflicts_with = "epochs")]
    pub steps: Option<u64>,

    /// Number of passes over the data, in place of --steps.
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    pub epochs: Option<f64>,

    /// Probability with which the guarantee may fail; well below one over the number of records.
    /// A certificate or a run brings its own.
    #[arg(long, value_name = "DELTA", allow_hyphen_values = true)]
    delta: Option<f64>,

    /// How batches are drawn.
    #[arg(long, value_enum, default_value_t = SamplingChoice::Poisson)]
    pub sampling: SamplingChoice,

    /// Neighbouring relation: add_remove, replace_one or zero_out. The default is the usual one for the sampling:
    /// add_remove, but replace_one for fixed-size and zero_out for reshuffled.
    #[arg(long, value_name = "RELATION")]
    pub adjacency: Option<Adjacency>,

    /// Read what ran instead: from a JSON file of events, a ledger.jsonl, a privacy.json, or the folder of a run.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["noise_multiplier", "sample_rate", "records", "batch_size", "steps", "epochs", "sampling"])]
    pub events: Option<PathBuf>,
}

impl RunArguments {
    /// The relation asked for, or the usual one for the sampling.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency.unwrap_or(match self.sampling {
            SamplingChoice::Poisson | SamplingChoice::BallsAndBins | SamplingChoice::Full => {
                Adjacency::AddRemove
            }
            SamplingChoice::FixedSize => Adjacency::ReplaceOne,
            SamplingChoice::Reshuffled => Adjacency::ZeroOut,
        })
    }

    /// What ran by `--events`, whose certificate also says which delta and adjacency are meant unless the arguments do. Checks every
    /// argument against its range.
    pub fn settle(&mut self) -> Result<Option<Event>, Box<dyn Error>> {
        let spent = self.events.as_deref().map(Spent::read).transpose()?;
        if let Some(spent) = &spent {
            self.delta = self.delta.or(spent.delta);
            self.adjacency = self.adjacency.or(spent.adjacency);
        }
        self.check()?;
        if let Some(warning) = self.records.and_then(|records| delta_warning(self.delta(), records)) {
            eprintln!("warning: {warning}");
        }
        Ok(spent.map(|spent| spent.event))
    }

    /// The probability with which the guarantee may fail.
    ///
    /// # Panics
    /// Before it is settled.
    pub fn delta(&self) -> f64 {
        self.delta.expect("it is settled")
    }

    fn check(&self) -> Result<(), Box<dyn Error>> {
        let delta = self.delta.ok_or_else(|| missing("--delta"))?;
        if !(delta > 0.0 && delta < 1.0) {
            return Err(out_of_range("--delta", delta, "(0, 1)"));
        }
        if let Some(noise) = self.noise_multiplier.filter(|noise| Event::gaussian(*noise).validate().is_err())
        {
            let allowed = format!("greater than 0, at most {LARGEST_MULTIPLIER:e}");
            return Err(out_of_range("--noise-multiplier", noise, &allowed));
        }
        if let Some(rate) = self.sample_rate.filter(|rate| !(*rate > 0.0 && *rate <= 1.0)) {
            return Err(out_of_range("--sample-rate", rate, "(0, 1]"));
        }
        if let (Some(records), Some(batch)) = (self.records, self.batch_size) {
            if records == 0 {
                return Err(out_of_range("--records", records, "1 or more"));
            }
            if batch == 0 || batch > records {
                return Err(out_of_range("--batch-size", batch, "1 up to --records"));
            }
        }
        if self.steps == Some(0) {
            return Err(out_of_range("--steps", 0, "1 or more"));
        }
        if let Some(epochs) = self.epochs.filter(|epochs| !(*epochs > 0.0 && epochs.is_finite())) {
            return Err(out_of_range("--epochs", epochs, "greater than 0"));
        }
        Ok(())
    }

    /// The sample rate, if it was given in either form; one without sampling.
    pub fn rate(&self) -> Option<f64> {
        match (self.sample_rate, self.records, self.batch_size) {
            _ if self.sampling == SamplingChoice::Full => Some(1.0),
            (Some(rate), _, _) => Some(rate),
            (None, Some(records), Some(batch)) => Some(batch as f64 / records as f64),
            _ => None,
        }
    }

    /// The number of steps, if it was given in either form. A last partial step counts.
    pub fn step_count(&self, rate: f64) -> Option<u64> {
        self.steps.or_else(|| self.epochs.map(|epochs| (epochs / rate).ceil().max(1.0) as u64))
    }

    /// The event of `steps` steps. Epochs of a partition are counted in full.
    pub fn event(&self, noise: f64, rate: f64, steps: u64) -> Event {
        let step = Event::gaussian(noise);
        let epochs = (steps as f64 * rate * (1.0 - 1e-12)).ceil().max(1.0) as u64;
        match self.sampling {
            SamplingChoice::Poisson => step.poisson_sampled(rate).repeated(steps),
            SamplingChoice::FixedSize => step.fixed_size_sampled(rate).repeated(steps),
            SamplingChoice::Reshuffled => step.partitioned_epoch(Assignment::Reshuffled).repeated(epochs),
            SamplingChoice::BallsAndBins => step.partitioned_epoch(Assignment::BallsAndBins).repeated(epochs),
            SamplingChoice::Full => step.repeated(steps),
        }
    }

    /// Epsilon of the first 1, …, `steps` steps.
    pub fn epsilon_against_steps(&self, noise: f64, rate: f64, steps: u64) -> Panel {
        curves::epsilon_against_steps(
            |count| self.event(noise, rate, count),
            self.adjacency(),
            self.delta(),
            steps,
        )
    }

    /// One line on what shuffling costs, where it applies.
    pub fn remark(&self) -> Option<&'static str> {
        match self.sampling {
            SamplingChoice::Reshuffled | SamplingChoice::BallsAndBins => Some(
                "Shuffled batches are not Poisson samples: every record is certain to take part once an epoch, so the \
                 bound that holds counts epochs, and sampling amplifies nothing.",
            ),
            SamplingChoice::Poisson | SamplingChoice::FixedSize | SamplingChoice::Full => None,
        }
    }
}

/// An error that names the argument and what it may be.
pub fn out_of_range(argument: &str, value: impl std::fmt::Display, allowed: &str) -> Box<dyn Error> {
    format!("{argument} {value} is outside the allowed range: {allowed}").into()
}

/// An error about an argument that is missing.
pub fn missing(argument: &str) -> Box<dyn Error> {
    format!("{argument} is missing").into()
}

/// The accountant of that name, or an error that lists all names.
pub fn find_accountant(name: &str) -> Result<&'static dyn Accountant, Box<dyn Error>> {
    accountant::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = accountant::all().iter().map(|accountant| accountant.name()).collect();
        format!("--accountant {name} is not one of {}", names.join(", ")).into()
    })
}
