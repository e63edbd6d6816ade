//! What a method learns of the records before its head, in numbers.

use super::methods::{Entry, Learns};
use crate::error::{Error, Result};
use crate::methods::{Mode, Parameters};
use crate::relevance::{Regions, Until, shares};
use muffle_nn::boltzmann::Units;
use muffle_nn::layers::chebyshev_sigmoid::SigmoidPolynomial;

/// A code of features that is learned privately, by finding the features again in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoder {
    /// Hidden units.
    pub hidden: usize,
    /// Releases, each with the code that the one before gave.
    pub rounds: u64,
    /// The noise on each of them over that on the coefficients.
    pub noise: f64,
    /// Length of the weights of a hidden unit.
    pub gain: f64,
}

/// Weights that follow from how much features or inputs matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighing {
    /// The noise on the coefficients of the model that they matter to, over that on those of the last; a model of random weights if
    /// absent.
    pub draft: Option<f64>,
    /// The same for the relevance, whose noise is Laplace noise.
    pub noise: f64,
    /// The way from one to the other.
    pub by: Weigh,
}

/// From relevances to weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weigh {
    /// Features below a threshold count for less.
    Weak {
        /// Over the mean relevance: what is above is strong.
        threshold: f64,
        /// The weight of weak features; strong ones have 1.
        weak: f64,
    },
    /// Inputs count by their share in the relevance, one on average.
    Shares {
        /// The least share.
        floor: f64,
        /// How many regions inputs of like relevance are joined to.
        regions: Option<usize>,
    },
}

impl Weigh {
    /// The weight of each feature.
    pub fn weights(&self, relevance: &[f32]) -> Vec<f64> {
        let relevance: Vec<f64> = relevance.iter().map(|value| f64::from(*value)).collect();
        match *self {
            Weigh::Weak { threshold, weak } => {
                let positive = relevance.iter().map(|value| value.max(0.0));
                let mean = positive.sum::<f64>() / relevance.len() as f64;
                let strong = |value: &f64| *value >= threshold * mean;
                relevance.iter().map(|value| if strong(value) { 1.0 } else { weak }).collect()
            }
            Weigh::Shares { floor, regions } => {
                let weights = match regions {
                    Some(count) => Regions::new(&relevance, Until::Count(count)).weight_of_features(),
                    None => relevance,
                };
                shares(&weights, floor).into_iter().map(f64::from).collect()
            }
        }
    }
}

/// What every record reports of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reports {
    /// What a label costs over what the inputs cost.
    pub labels: f64,
    /// Where inputs lie: they are cut to it.
    pub range: [f64; 2],
}

/// A layer of filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filters {
    /// How many.
    pub count: usize,
    /// Height and width of each.
    pub window: usize,
    /// Step of the window.
    pub stride: usize,
    /// Height and width of the window of the mean behind them.
    pub pool: usize,
}

/// Filters that are learned privately, layer by layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    /// The layers.
    pub layers: Vec<Filters>,
    /// What hidden units make of their input.
    pub units: Units,
    /// How long each layer is trained, and on what.
    pub descent: Descent,
    /// The longest contrastive divergence of a record.
    pub threshold: f64,
    /// The noise of a step over that on the coefficients.
    pub noise: f64,
}

/// Steps on samples of the records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Descent {
    /// Passes over the records.
    pub epochs: f64,
    /// Expected records of a step: the public divisor of every sum.
    pub batch: f64,
    /// Learning rate, for a mean over records.
    pub rate: f64,
    /// Where inputs lie: they are cut to it.
    pub range: [f64; 2],
}

impl Descent {
    /// Probability that a record takes part in a step.
    pub fn sample_rate(&self, records: u64) -> f64 {
        (self.batch / records as f64).min(1.0)
    }

    /// Steps of so many passes.
    pub fn steps(&self, epochs: f64, records: u64) -> u64 {
        (epochs / self.sample_rate(records)).ceil().max(1.0) as u64
    }
}

/// A layer of a published stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackLayer {
    /// So many hidden units from which their inputs are found again.
    Code(usize),
    /// Filters of a Boltzmann machine.
    Filters(Filters),
}

/// Layers, one after the other, and a head, as two papers print them.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// The layers.
    pub layers: Vec<StackLayer>,
    /// How long each layer is trained.
    pub descent: Descent,
    /// Units between the layers and the outputs.
    pub hidden: Option<usize>,
    /// Whether the noise on the head's coefficients is drawn anew in every step, and not once.
    pub redrawn: bool,
    /// Passes over the records for the head.
    pub epochs: f64,
    /// Its learning rate.
    pub rate: f64,
}

/// What a method learns before its head: nothing, or one or two of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// A code of the features.
    pub encoder: Option<Encoder>,
    /// Weights of features or inputs.
    pub weighing: Option<Weighing>,
    /// Filters.
    pub belief: Option<Belief>,
    /// Reports of the records, in place of coefficients.
    pub reports: Option<Reports>,
    /// A published stack, in place of everything else.
    pub stack: Option<Stack>,
}

impl Choices {
    /// Of a form of a method.
    pub fn of(entry: &Entry, mode: Mode, parameters: &Parameters) -> Result<Choices> {
        let read = Reader(parameters);
        let published = mode == Mode::AsPublished;
        let nothing = Choices::default();
        Ok(match entry.learns {
            Learns::Nothing => nothing,
            Learns::Code if published => Choices { stack: Some(read.codes()?), ..nothing },
            Learns::Code => Choices { encoder: Some(read.encoder()?), ..nothing },
            Learns::Filters if published => {
                let (layers, descent) = (read.filters()?, read.descent()?);
                let layers = layers.into_iter().map(StackLayer::Filters).collect();
                let hidden = Some(read.whole("head_hidden")?);
                let (epochs, rate) = (read.positive("head_epochs")?, read.positive("head_rate")?);
                let stack = Stack { layers, descent, hidden, redrawn: true, epochs, rate };
                Choices { stack: Some(stack), ..nothing }
            }
            Learns::Filters => Choices { belief: Some(read.belief()?), ..nothing },
            Learns::Weak => Choices { weighing: Some(read.weak()?), ..nothing },
            Learns::Shares { regions } => Choices { weighing: Some(read.shares(regions)?), ..nothing },
            Learns::Reports { regions } => {
                let reports = Reports { labels: read.positive("labels")?, range: read.range()? };
                Choices { weighing: Some(read.shares(regions)?), reports: Some(reports), ..nothing }
            }
        })
    }
}

/// Numbers of a method, each within its range.
struct Reader<'a>(&'a Parameters);

impl Reader<'_> {
    fn positive(&self, name: &str) -> Result<f64> {
        self.0.positive(name).map_err(Error::Plan)
    }

    fn whole(&self, name: &str) -> Result<usize> {
        match self.0.get(name) {
            value if value >= 1.0 && value.fract() == 0.0 && value <= 4096.0 => Ok(value as usize),
            value => {
                Err(Error::Plan(format!("parameters.{name} = {value} is not a whole number of 1 to 4096")))
            }
        }
    }

    /// A whole number, or nothing for zero.
    fn some(&self, name: &str) -> Result<Option<usize>> {
        if self.0.get(name) == 0.0 { Ok(None) } else { self.whole(name).map(Some) }
    }

    fn range(&self) -> Result<[f64; 2]> {
        match [self.0.get("low"), self.0.get("high")] {
            [low, high] if low < high => Ok([low, high]),
            [low, high] => {
                Err(Error::Plan(format!("parameters.low = {low} must lie below parameters.high = {high}")))
            }
        }
    }

    fn encoder(&self) -> Result<Encoder> {
        let (hidden, rounds) = (self.whole("hidden")?, self.whole("rounds")? as u64);
        Ok(Encoder { hidden, rounds, noise: self.positive("decoder")?, gain: self.positive("gain")? })
    }

    fn weak(&self) -> Result<Weighing> {
        let weak = self.0.share("weak").map_err(Error::Plan)?;
        let (draft, noise) = (Some(self.positive("draft")?), self.positive("relevance")?);
        Ok(Weighing { draft, noise, by: Weigh::Weak { threshold: self.positive("threshold")?, weak } })
    }

    fn shares(&self, regions: bool) -> Result<Weighing> {
        let floor = self.0.share("floor").map_err(Error::Plan)?;
        let regions = if regions { Some(self.whole("regions")?) } else { None };
        let noise = self.positive("relevance")?;
        Ok(Weighing { draft: None, noise, by: Weigh::Shares { floor, regions } })
    }

    fn descent(&self) -> Result<Descent> {
        let (epochs, batch) = (self.positive("epochs")?, self.whole("batch")? as f64);
        Ok(Descent { epochs, batch, rate: self.positive("rate")?, range: self.range()? })
    }

    fn filters(&self) -> Result<Vec<Filters>> {
        let (window, stride) = (self.whole("window")?, self.whole("stride")?);
        let pool = self.whole("pool")?;
        let counts = [Some(self.whole("filters")?), self.some("filters_2")?];
        Ok(counts.into_iter().flatten().map(|count| Filters { count, window, stride, pool }).collect())
    }

    fn belief(&self) -> Result<Belief> {
        let units = match self.0.get("chebyshev") {
            0.0 => Units::Sigmoid,
            _ => Units::Polynomial(SigmoidPolynomial::chebyshev(self.positive("chebyshev")? as f32)),
        };
        let (threshold, noise) = (self.positive("threshold")?, self.positive("statistics")?);
        Ok(Belief { layers: self.filters()?, units, descent: self.descent()?, threshold, noise })
    }

    /// The stack of auto-encoders.
    fn codes(&self) -> Result<Stack> {
        let counts = [Some(self.whole("hidden")?), self.some("hidden_2")?, self.some("hidden_3")?];
        let layers = counts.into_iter().flatten().map(StackLayer::Code).collect();
        let (epochs, rate) = (self.positive("head_epochs")?, self.positive("head_rate")?);
        Ok(Stack { layers, descent: self.descent()?, hidden: None, redrawn: false, epochs, rate })
    }
}
