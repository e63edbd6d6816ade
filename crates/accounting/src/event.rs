//! Private computations as plain data.

use crate::error::AccountingError;
use serde::{Deserialize, Serialize};

/// How a partitioned epoch assigns records to batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assignment {
    /// The slots are permuted and cut into batches of equal size. Removing a record shifts all later ones, so
    /// there is no bound under add_remove.
    Reshuffled,
    /// Each record picks its batch independently and uniformly.
    BallsAndBins,
}

/// The largest noise multiplier of an event: far beyond any use, and as far as the grids of accountants reach.
pub const LARGEST_MULTIPLIER: f64 = 1e15;

/// What was done to the data. Events never carry data, only the public parameters of the mechanism.
///
/// All noise multipliers are relative to the most one present record can contribute (the clipping threshold).
/// Under [`Adjacency::ReplaceOne`](crate::Adjacency::ReplaceOne) the sum moves twice as far, and accountants
/// charge for that.
///
/// ```
/// use muffle_accounting::Event;
/// let training = Event::gaussian(1.0).poisson_sampled(0.01).repeated(10_000);
/// assert!(training.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A vector-valued sum over all records, each clipped to L2 norm C, released with independent
    /// `N(0, (noise_multiplier · C)²)` on every coordinate.
    Gaussian {
        /// Standard deviation of the noise over the clipping threshold.
        noise_multiplier: f64,
    },
    /// A vector-valued sum over all records, each clipped to L1 norm C, released with independent Laplace noise
    /// of scale `noise_multiplier · C` on every coordinate.
    Laplace {
        /// Scale of the noise over the clipping threshold.
        noise_multiplier: f64,
    },
    /// Every record reports one of `categories` values: its own with probability `e^ε/(e^ε + categories − 1)`,
    /// any other with `1/(e^ε + categories − 1)`. There is one report for each record, so the number of records is
    /// public: replace_one, or zero_out with a null record that reports as some fixed value would.
    RandomisedResponse {
        /// Number of values a report can take, at least two.
        categories: u32,
        /// Log-odds of the truth against any single lie.
        epsilon: f64,
    },
    /// Anything proved to be ε-differentially private under the adjacency at which it is priced.
    PureDp {
        /// The proved epsilon.
        epsilon: f64,
    },
    /// Anything proved to be (ε, δ)-differentially private under the adjacency at which it is priced.
    ApproximateDp {
        /// The proved epsilon.
        epsilon: f64,
        /// The proved delta.
        delta: f64,
    },
    /// The inner event on a sample in which each record is present independently with probability `sample_rate`.
    PoissonSampled {
        /// Probability that a record takes part. A public constant.
        sample_rate: f64,
        /// What is done with the sample.
        event: Box<Event>,
    },
    /// The inner event on a uniformly random subset of fixed size `sample_rate · N`.
    #[serde(rename = "fixed_size_sampled", alias = "sampled_without_replacement")]
    FixedSizeSampled {
        /// Size of the sample over the public number of records.
        sample_rate: f64,
        /// What is done with the sample.
        event: Box<Event>,
    },
    /// One pass over a partition of the records: the inner event on each batch in turn, later batches allowed to
    /// depend on the outputs of earlier ones. Each record is in exactly one batch.
    PartitionedEpoch {
        /// How records find their batch.
        assignment: Assignment,
        /// What is done with each batch.
        event: Box<Event>,
    },
    /// Several events on the same data, one after the other.
    Compose {
        /// The events, in order.
        events: Vec<Event>,
    },
    /// The same event, independently, `count` times on the same data.
    Repeat {
        /// How often, at least once.
        count: u64,
        /// What is repeated.
        event: Box<Event>,
    },
    /// A published figure without a proof. It keeps the paper's number for display, and its price is infinite: a
    /// claim can never enter a proved total.
    Claimed {
        /// Where the figure was printed.
        source: String,
        /// The printed epsilon.
        epsilon: f64,
        /// The printed delta.
        delta: f64,
    },
    /// The data was used without any protection. Its price is infinite.
    NonPrivate,
}

impl Event {
    /// A Gaussian sum query.
    pub fn gaussian(noise_multiplier: f64) -> Event {
        Event::Gaussian { noise_multiplier }
    }

    /// A Laplace sum query.
    pub fn laplace(noise_multiplier: f64) -> Event {
        Event::Laplace { noise_multiplier }
    }

    /// This event on a Poisson sample.
    pub fn poisson_sampled(self, sample_rate: f64) -> Event {
        Event::PoissonSampled { sample_rate, event: Box::new(self) }
    }

    /// This event on a sample of fixed size.
    pub fn fixed_size_sampled(self, sample_rate: f64) -> Event {
        Event::FixedSizeSampled { sample_rate, event: Box::new(self) }
    }

    /// This event on every batch of a partition.
    pub fn partitioned_epoch(self, assignment: Assignment) -> Event {
        Event::PartitionedEpoch { assignment, event: Box::new(self) }
    }

    /// This event `count` times. Repeating a repetition multiplies the counts, so the description stays one line.
    pub fn repeated(self, count: u64) -> Event {
        match self {
            Event::Repeat { count: inner, event } => {
                Event::Repeat { count: inner.saturating_mul(count), event }
            }
            event => Event::Repeat { count, event: Box::new(event) },
        }
    }

    /// The events one after the other; equal neighbours become one [`Event::Repeat`].
    pub fn compose(events: impl IntoIterator<Item = Event>) -> Event {
        let mut composed = Event::Compose { events: Vec::new() };
        for event in events {
            composed.append(event);
        }
        composed
    }

    /// Adds `next` after this event. If it equals the last part of a composition, only a counter changes, so a
    /// ledger of a million equal steps is one line.
    pub fn append(&mut self, next: Event) {
        if !matches!(self, Event::Compose { .. }) {
            let first = std::mem::replace(self, Event::Compose { events: Vec::new() });
            self.append(first);
        }
        let Event::Compose { events } = self else { return };
        let (count, event) = match next {
            Event::Repeat { count, event } => (count, *event),
            event => (1, event),
        };
        match events.last_mut() {
            Some(Event::Repeat { count: run, event: last }) if **last == event => {
                *run = run.saturating_add(count)
            }
            Some(last) if *last == event => *last = event.repeated(count.saturating_add(1)),
            _ if count == 1 => events.push(event),
            _ => events.push(event.repeated(count)),
        }
    }

    /// The same with every noise multiplier in the tree multiplied by `factor`: a schedule, scaled as a whole.
    pub fn with_noise_scaled(&self, factor: f64) -> Event {
        let inner = |event: &Event| Box::new(event.with_noise_scaled(factor));
        match self {
            Event::Gaussian { noise_multiplier } => Event::gaussian(noise_multiplier * factor),
            Event::Laplace { noise_multiplier } => Event::laplace(noise_multiplier * factor),
            Event::PoissonSampled { sample_rate, event } => {
                Event::PoissonSampled { sample_rate: *sample_rate, event: inner(event) }
            }
            Event::FixedSizeSampled { sample_rate, event } => {
                Event::FixedSizeSampled { sample_rate: *sample_rate, event: inner(event) }
            }
            Event::PartitionedEpoch { assignment, event } => {
                Event::PartitionedEpoch { assignment: *assignment, event: inner(event) }
            }
            Event::Compose { events } => Event::Compose {
                events: events.iter().map(|event| event.with_noise_scaled(factor)).collect(),
            },
            Event::Repeat { count, event } => Event::Repeat { count: *count, event: inner(event) },
            Event::RandomisedResponse { .. }
            | Event::PureDp { .. }
            | Event::ApproximateDp { .. }
            | Event::Claimed { .. }
            | Event::NonPrivate => self.clone(),
        }
    }

    /// The kind as it is spelled in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Gaussian { .. } => "gaussian",
            Event::Laplace { .. } => "laplace",
            Event::RandomisedResponse { .. } => "randomised_response",
            Event::PureDp { .. } => "pure_dp",
            Event::ApproximateDp { .. } => "approximate_dp",
            Event::PoissonSampled { .. } => "poisson_sampled",
            Event::FixedSizeSampled { .. } => "fixed_size_sampled",
            Event::PartitionedEpoch { .. } => "partitioned_epoch",
            Event::Compose { .. } => "compose",
            Event::Repeat { .. } => "repeat",
            Event::Claimed { .. } => "claimed",
            Event::NonPrivate => "non_private",
        }
    }

    /// Checks every parameter in the tree against its range.
    pub fn validate(&self) -> Result<(), AccountingError> {
        match self {
            Event::Gaussian { noise_multiplier } | Event::Laplace { noise_multiplier } => {
                match *noise_multiplier > 0.0 && *noise_multiplier <= LARGEST_MULTIPLIER {
                    true => Ok(()),
                    false => Err(AccountingError::out_of_range(
                        "noise_multiplier",
                        noise_multiplier,
                        "greater than 0, at most 1e15",
                    )),
                }
            }
            Event::RandomisedResponse { categories, epsilon } => {
                if *categories < 2 {
                    return Err(AccountingError::out_of_range("categories", categories, "2 or more"));
                }
                not_negative("epsilon", *epsilon)
            }
            Event::PureDp { epsilon } => not_negative("epsilon", *epsilon),
            Event::ApproximateDp { epsilon, delta } => {
                not_negative("epsilon", *epsilon)?;
                if (0.0..1.0).contains(delta) {
                    Ok(())
                } else {
                    Err(AccountingError::out_of_range("delta", delta, "[0, 1)"))
                }
            }
            Event::PoissonSampled { sample_rate, event } | Event::FixedSizeSampled { sample_rate, event } => {
                if !(*sample_rate > 0.0 && *sample_rate <= 1.0) {
                    return Err(AccountingError::out_of_range("sample_rate", sample_rate, "(0, 1]"));
                }
                event.validate()
            }
            Event::PartitionedEpoch { event, .. } => event.validate(),
            Event::Compose { events } => events.iter().try_for_each(Event::validate),
            Event::Repeat { count, event } => {
                if *count == 0 {
                    return Err(AccountingError::out_of_range("count", count, "1 or more"));
                }
                event.validate()
            }
            Event::Claimed { .. } | Event::NonPrivate => Ok(()),
        }
    }
}

fn not_negative(argument: &'static str, value: f64) -> Result<(), AccountingError> {
    if value >= 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(AccountingError::out_of_range(argument, value, "0 or more"))
    }
}
