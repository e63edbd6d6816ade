//! Membership inference by what a model does on a record: its loss, or the length of its gradient.

use super::{Entry, Roc};
use crate::data::{Dataset, View};
use crate::error::{Error, Result};
use crate::noise::Key;
use crate::sampler::{FixedSize, Sampler};
use crate::train::Evaluator;
use crate::train::validation::hold_out;
use muffle_nn::{Engine, Examples, Loss, Network, Options, Purpose};
use std::sync::{Arc, Mutex, PoisonError};

/// What all attacks on membership find out.
pub(super) const QUESTION: &str = "who was in the training data?";

/// What all of them measure.
pub(super) const FIGURE: &str = "the area under the curve is the probability that a member scores above another record (0.5 is \
    guessing), with two standard errors (Hanley and McNeil 1982); beside it the share of members that is found while 0.1 %, 1 % \
    and 10 % of the others are accused by mistake, with the interval of Clopper and Pearson at 95 %. An attack that is sure of a \
    few records is dangerous even if its area is 0.5. Any (proved) is what the certificate allows the best attacker who is asked \
    about one record that a coin put in or left out";

/// The row of [`by_loss`] in the table.
pub static LOSS: Entry = Entry {
    name: "loss",
    command: "membership",
    paper: "Yeom, Giacomelli, Fredrikson, Jha, Privacy risk in machine learning: analyzing the connection to overfitting, CSF",
    year: 2018,
    question: QUESTION,
    needs: "the attacker sees the model's probabilities for records, half of them trained on",
    steps: "a record with a small loss is suspicious. Records (--records) are drawn half from the training split, without those \
            that were held out for validation, half from the test split",
    figure: FIGURE,
};

/// The row of [`by_gradient_norm`] in the table.
pub static GRADIENT_NORM: Entry = Entry {
    name: "gradient norm",
    command: "membership",
    paper: "Nasr, Shokri, Houmansadr, Comprehensive privacy analysis of deep learning, IEEE S&P; the norm alone",
    year: 2019,
    question: QUESTION,
    needs: "the attacker holds the parameters",
    steps: "a record with a short gradient is suspicious, of the same records as by loss. A network that mixes examples (batch \
            normalisation) has no gradient of a single one, and the attack is left out",
    figure: FIGURE,
};

/// Records of whom the attacker asks whether they were trained on: as many that were as that were not.
#[derive(Clone, Debug)]
pub struct Suspects<'a> {
    /// Records of the training split that took part.
    pub members: View<'a>,
    /// Records of the test split.
    pub others: View<'a>,
}

impl<'a> Suspects<'a> {
    /// At most `records` of them, drawn by the seed, where this share of the training records was held out.
    pub fn draw(dataset: &'a Dataset, share: f64, records: usize, seed: u64) -> Result<Suspects<'a>> {
        // By the rule that held records out of training, also in the test split: a shadow model may be given these.
        let candidates = |view: View| match share > 0.0 {
            true => hold_out(&view, share).0,
            false => (0..view.len()).collect(),
        };
        let (members, others) = (candidates(dataset.train()), candidates(dataset.test()));
        let each = (records / 2).min(members.len()).min(others.len());
        if each == 0 {
            return Err(Error::Plan(
                "no record is left to ask about: ask about at least two, and hold fewer out for validation"
                    .to_string(),
            ));
        }
        let key = Key::from_seed(seed);
        let draw = |step: u64, candidates: Vec<usize>| -> Vec<usize> {
            let drawn = FixedSize::new(&key, candidates.len(), each).draw(step);
            drawn.into_iter().map(|place| candidates[place]).collect()
        };
        Ok(Suspects {
            members: dataset.train().select(draw(0, members)),
            others: dataset.test().select(draw(1, others)),
        })
    }

    /// How many there are of each kind.
    pub fn each(&self) -> usize {
        self.members.len()
    }

    /// The curve of a score.
    pub(super) fn roc(&self, mut score: impl FnMut(&View) -> Result<Vec<f64>>) -> Result<Roc> {
        Ok(Roc::new(&score(&self.members)?, &score(&self.others)?))
    }
}

/// A record is suspicious if its loss is small.
///
/// # Source
/// Yeom, Giacomelli, Fredrikson and Jha 2018, "Privacy risk in machine learning: analyzing the connection to overfitting",
/// adversary 2, at all thresholds.
pub fn by_loss(evaluator: &mut Evaluator, parameters: &[f32], suspects: &Suspects) -> Result<Roc> {
    suspects.roc(|view| {
        let losses = evaluator.losses(parameters, view)?;
        Ok(losses.into_iter().map(|loss| -f64::from(loss)).collect())
    })
}

/// A record is suspicious if its gradient is short. The network must not mix examples, as batch normalisation does.
///
/// # Source
/// Nasr, Shokri and Houmansadr 2019, "Comprehensive privacy analysis of deep learning", §IV: the norm alone, without their
/// attack network.
pub fn by_gradient_norm(
    network: Arc<Network>,
    parameters: &[f32],
    suspects: &Suspects,
    threads: Option<usize>,
) -> Result<Roc> {
    let mut engine = Engine::new(network, Options { threads, ..Options::new(Purpose::Plain) })?;
    suspects.roc(|view| {
        // A record without a finite gradient is left at what says nothing.
        let scores = Mutex::new(vec![f64::NAN; view.len()]);
        let visit = |record: usize, gradient: &mut [f32], _: &mut [f32]| {
            let square: f64 = gradient.iter().map(|value| f64::from(*value).powi(2)).sum();
            scores.lock().unwrap_or_else(PoisonError::into_inner)[record] = -square;
        };
        engine.visit(parameters, view, Loss::SoftmaxCrossEntropy, 0, &visit)?;
        Ok(scores.into_inner().unwrap_or_else(PoisonError::into_inner))
    })
}
