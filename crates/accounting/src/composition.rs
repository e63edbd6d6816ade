//! An event tree, flattened once for all accountants: which mechanism ran how often.

use crate::error::AccountingError;
use crate::event::{Assignment, Event};
use std::cmp::Ordering;
use std::fmt;

/// One noisy release, without regard to how the records it saw were chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Release {
    /// See [`Event::Gaussian`].
    Gaussian {
        /// Standard deviation over the clipping threshold.
        noise_multiplier: f64,
    },
    /// See [`Event::Laplace`].
    Laplace {
        /// Scale over the clipping threshold.
        noise_multiplier: f64,
    },
    /// See [`Event::RandomisedResponse`].
    RandomisedResponse {
        /// Number of values.
        categories: u32,
        /// Log-odds of the truth against one lie.
        epsilon: f64,
    },
    /// See [`Event::PureDp`] and [`Event::ApproximateDp`]; `delta` is zero for pure DP.
    Proved {
        /// The proved epsilon.
        epsilon: f64,
        /// The proved delta.
        delta: f64,
    },
}

/// How the records that a release sees are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// Every record, every time.
    Full,
    /// See [`Event::PoissonSampled`].
    Poisson {
        /// Probability that a record takes part.
        sample_rate: f64,
    },
    /// See [`Event::FixedSizeSampled`].
    FixedSize {
        /// Sample size over number of records.
        sample_rate: f64,
    },
    /// See [`Event::PartitionedEpoch`].
    Partitioned {
        /// How records find their batch.
        assignment: Assignment,
    },
}

/// A leaf of the event tree: the smallest thing an accountant prices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mechanism {
    /// Which records it sees.
    pub sampling: Sampling,
    /// What it releases.
    pub release: Release,
}

/// A mechanism and how often it ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What ran.
    pub mechanism: Mechanism,
    /// How often.
    pub count: u64,
}

/// Everything that ran, in a canonical order with equal mechanisms merged, so that prices cannot depend on the
/// order of composition or on how repetition was written down.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Composition {
    /// What has a price.
    pub steps: Vec<Step>,
    /// Why the whole has no finite price, if so: an unproved claim or an unprotected access.
    pub unbounded: Option<String>,
}

impl Composition {
    /// Flattens a validated event.
    pub fn of(event: &Event) -> Result<Composition, AccountingError> {
        event.validate()?;
        let mut composition = Composition::default();
        composition.collect(event, 1)?;
        composition.steps.sort_by(|left, right| order(&left.mechanism, &right.mechanism));
        composition.steps.dedup_by(|next, kept| {
            let equal = next.mechanism == kept.mechanism;
            if equal {
                kept.count = kept.count.saturating_add(next.count);
            }
            equal
        });
        Ok(composition)
    }

    fn collect(&mut self, event: &Event, count: u64) -> Result<(), AccountingError> {
        match event {
            Event::Gaussian { noise_multiplier } => {
                self.push(Release::Gaussian { noise_multiplier: *noise_multiplier }, count)
            }
            Event::Laplace { noise_multiplier } => {
                self.push(Release::Laplace { noise_multiplier: *noise_multiplier }, count)
            }
            Event::RandomisedResponse { categories, epsilon } => {
                self.push(Release::RandomisedResponse { categories: *categories, epsilon: *epsilon }, count)
            }
            Event::PureDp { epsilon } => self.push(Release::Proved { epsilon: *epsilon, delta: 0.0 }, count),
            Event::ApproximateDp { epsilon, delta } => {
                self.push(Release::Proved { epsilon: *epsilon, delta: *delta }, count)
            }
            Event::PoissonSampled { sample_rate, event: inner } => {
                let mechanism = self.sampled(event, inner)?;
                if let Some(Mechanism { sampling, release }) = mechanism {
                    let sampling = match sampling {
                        Sampling::Full => Sampling::Poisson { sample_rate: *sample_rate },
                        Sampling::Poisson { sample_rate: rate } => {
                            Sampling::Poisson { sample_rate: rate * sample_rate }
                        }
                        Sampling::FixedSize { .. } | Sampling::Partitioned { .. } => {
                            return Err(nesting(event, inner));
                        }
                    };
                    self.steps.push(Step { mechanism: Mechanism { sampling, release }, count });
                }
            }
            Event::FixedSizeSampled { sample_rate, event: inner } => {
                let mechanism = self.sampled(event, inner)?;
                if let Some(Mechanism { sampling, release }) = mechanism {
                    if sampling != Sampling::Full {
                        return Err(nesting(event, inner));
                    }
                    let sampling = Sampling::FixedSize { sample_rate: *sample_rate };
                    self.steps.push(Step { mechanism: Mechanism { sampling, release }, count });
                }
            }
            Event::PartitionedEpoch { assignment, event: inner } => {
                let parts = Composition::of(inner)?;
                self.unbounded = self.unbounded.take().or(parts.unbounded);
                for part in parts.steps {
                    if part.mechanism.sampling != Sampling::Full {
                        return Err(nesting(event, inner));
                    }
                    let sampling = Sampling::Partitioned { assignment: *assignment };
                    let mechanism = Mechanism { sampling, release: part.mechanism.release };
                    self.steps.push(Step { mechanism, count: part.count.saturating_mul(count) });
                }
            }
            Event::Compose { events } => {
                for event in events {
                    self.collect(event, count)?;
                }
            }
            Event::Repeat { count: times, event } => self.collect(event, count.saturating_mul(*times))?,
            Event::Claimed { source, .. } => {
                self.unbounded = Some(format!("it contains a claim without a proof ({source})"));
            }
            Event::NonPrivate => {
                self.unbounded = Some("it contains an access to the data without any protection".into());
            }
        }
        Ok(())
    }

    fn push(&mut self, release: Release, count: u64) {
        self.steps.push(Step { mechanism: Mechanism { sampling: Sampling::Full, release }, count });
    }

    /// Everything done with one sample as a single mechanism. Gaussian releases on the same sample are one
    /// Gaussian release of the concatenated, rescaled vector; other combinations have no such form.
    fn sampled(&mut self, outer: &Event, inner: &Event) -> Result<Option<Mechanism>, AccountingError> {
        let parts = Composition::of(inner)?;
        if parts.unbounded.is_some() {
            self.unbounded = parts.unbounded;
            return Ok(None);
        }
        if let [Step { mechanism, count: 1 }] = parts.steps[..] {
            return Ok(Some(mechanism));
        }
        let mut precision = 0.0;
        for step in &parts.steps {
            match step.mechanism {
                Mechanism { sampling: Sampling::Full, release: Release::Gaussian { noise_multiplier } } => {
                    precision += step.count as f64 / (noise_multiplier * noise_multiplier);
                }
                Mechanism { .. } => return Err(nesting(outer, inner)),
            }
        }
        if parts.steps.is_empty() {
            return Ok(None);
        }
        let release = Release::Gaussian { noise_multiplier: 1.0 / f64::sqrt(precision) };
        Ok(Some(Mechanism { sampling: Sampling::Full, release }))
    }
}

fn nesting(outer: &Event, inner: &Event) -> AccountingError {
    AccountingError::Nesting {
        outer: outer.kind(),
        inner: format!("`{}`", inner.kind()),
        remedy: "sampling may enclose one release, or several Gaussian releases on the same sample; \
                 compose sampled events instead of sampling a composition",
    }
}

/// A total order on mechanisms, for the canonical form.
fn order(left: &Mechanism, right: &Mechanism) -> Ordering {
    let key = |mechanism: &Mechanism| {
        let (sampling, rate) = match mechanism.sampling {
            Sampling::Full => (0, 0.0),
            Sampling::Poisson { sample_rate } => (1, sample_rate),
            Sampling::FixedSize { sample_rate } => (2, sample_rate),
            Sampling::Partitioned { assignment: Assignment::Reshuffled } => (3, 0.0),
            Sampling::Partitioned { assignment: Assignment::BallsAndBins } => (4, 0.0),
        };
        let (release, first, second) = match mechanism.release {
            Release::Gaussian { noise_multiplier } => (0, noise_multiplier, 0.0),
            Release::Laplace { noise_multiplier } => (1, noise_multiplier, 0.0),
            Release::RandomisedResponse { categories, epsilon } => (2, epsilon, f64::from(categories)),
            Release::Proved { epsilon, delta } => (3, epsilon, delta),
        };
        (sampling, release, [rate, first, second])
    };
    let (left, right) = (key(left), key(right));
    (left.0, left.1).cmp(&(right.0, right.1)).then_with(|| {
        left.2
            .iter()
            .zip(right.2)
            .map(|(a, b)| a.total_cmp(&b))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Release::Gaussian { .. } => formatter.write_str("a Gaussian release"),
            Release::Laplace { .. } => formatter.write_str("a Laplace release"),
            Release::RandomisedResponse { .. } => formatter.write_str("randomised response"),
            Release::Proved { delta: 0.0, .. } => formatter.write_str("a pure DP event"),
            Release::Proved { .. } => formatter.write_str("an approximate DP event"),
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let release = self.release;
        match self.sampling {
            Sampling::Full => write!(formatter, "{release}"),
            Sampling::Poisson { .. } => write!(formatter, "{release} on a Poisson sample"),
            Sampling::FixedSize { .. } => {
                write!(formatter, "{release} on a sample of fixed size")
            }
            Sampling::Partitioned { assignment: Assignment::Reshuffled } => {
                write!(formatter, "{release} in reshuffled epochs")
            }
            Sampling::Partitioned { assignment: Assignment::BallsAndBins } => {
                write!(formatter, "{release} in balls-and-bins epochs")
            }
        }
    }
}
