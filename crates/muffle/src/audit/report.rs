//! What an audit found.

use crate::methods::Mode;
use muffle_accounting::Adjacency;
use serde::{Deserialize, Serialize};

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A deterministic check found it kept on the data at hand.
    Holds,
    /// It is refuted with the stated confidence.
    Violated,
    /// No attack of the audit came above it, which proves nothing.
    NoContradictionFound,
    /// There is neither a claim nor a proof that a measurement could contradict.
    NothingClaimed,
}

impl Verdict {
    /// What a lower bound makes of the claim of a paper, or, where there is none, of what is proved.
    pub fn of(claimed: Option<f64>, proved: Option<f64>, measured: f64) -> Verdict {
        match claimed.or(proved) {
            Some(said) if measured > said => Verdict::Violated,
            Some(_) => Verdict::NoContradictionFound,
            None => Verdict::NothingClaimed,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::NoContradictionFound => "no contradiction found",
            Verdict::NothingClaimed => "nothing was claimed",
        }
    }
}

/// By which argument errors became an epsilon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// Any mechanism.
    ClopperPearson,
    /// A mechanism that is Gaussian by design.
    Gaussian,
    /// A run of known events, up to a factor on their noise.
    NoiseFactor,
}

impl Argument {
    /// Of what the bound holds, in words.
    pub fn name(self) -> &'static str {
        match self {
            Argument::ClopperPearson => "whatever the mechanism",
            Argument::Gaussian => "of a mechanism that is Gaussian by design",
            Argument::NoiseFactor => {
                "of a run with the events that were planned, up to a factor on their noise"
            }
        }
    }
}

/// Three epsilons side by side, and the errors that the measured one rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What became of the claim.
    pub verdict: Verdict,
    /// The method.
    pub method: String,
    /// Its form.
    pub mode: Mode,
    /// What the paper's argument gives.
    pub claimed: Option<f64>,
    /// What is proved.
    pub proved: Option<f64>,
    /// A lower bound on the truth.
    pub measured: f64,
    /// Its argument.
    pub argument: Argument,
    /// The lower bound that holds for any mechanism.
    pub measured_without_assumptions: f64,
    /// Of the lower bounds.
    pub confidence: f64,
    /// Of all epsilons.
    pub delta: f64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// What the attacker sees and chooses.
    pub threat: String,
    /// Trials in each world that the bounds rest on.
    pub trials: u64,
    /// Those with the record in which the test said so.
    pub true_positives: u64,
    /// Those without it in which the test said so all the same.
    pub false_positives: u64,
    /// Of all random numbers of the audit.
    pub seed: u64,
}

impl Report {
    /// What is more than the bound: a test that never errs bounds epsilon by the number of trials alone.
    pub fn stronger_statement(&self) -> Option<String> {
        (self.true_positives == self.trials && self.false_positives == 0).then(|| {
            format!(
                "the test erred in none of {} trials: the bound is as high as so many trials can show, and more trials \
                 raise it",
                2 * self.trials
            )
        })
    }
}
