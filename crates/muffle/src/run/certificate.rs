//! The certificate: what a run spent, by which argument, and what the figure leaves out.

use super::clock;
use super::terms::Terms;
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::methods::Mode;
use muffle_accounting::attacker::{Attack, best_attacks};
use muffle_accounting::{Adjacency, Event, Quotes};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// What is outside every figure here.
const NOT_COVERED: [&str; 4] = [
    "the choice of hyper-parameters, and of the best among several runs or epochs",
    "the test split: accuracies are plain statistics of its records",
    "floating point: noise is taken as exact real numbers",
    "records of one person in several rows: the unit is one record",
];

/// The assumption behind no epsilon at all.
const NO_PROOF: &str = "no accountant proves a finite epsilon";

/// Whose argument holds for noise that follows earlier releases.
const FILTER: &str = "rdp_filter";

/// What has to hold for it.
const FILTER_ASSUMPTION: &str =
    "noise and length may depend on earlier releases; the budget was fixed in advance.";

/// What to tell whoever reads a certificate of a run with a seed.
pub const REPRODUCIBLE: &str = "reproducible: the noise is known to whoever knows the seed";

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All steps were taken.
    Finished,
    /// It can be continued.
    Interrupted,
}

/// An epsilon with its argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proved {
    /// The smallest proved epsilon; `null` if there is none.
    pub epsilon: Option<f64>,
    /// At this delta.
    pub delta: f64,
    /// Whose argument it is.
    pub accountant: String,
    /// What has to hold.
    pub assumption: String,
}

/// What the guesses were worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CanaryMeasurement {
    /// Records that were in or out by fair coins.
    pub canaries: u64,
    /// Coins guessed from the model.
    pub guesses: u64,
    /// Guesses that were right.
    pub correct: u64,
    /// A lower bound on epsilon.
    pub epsilon: f64,
    /// At this delta.
    pub delta: f64,
    /// With this confidence.
    pub confidence: f64,
}

/// A release of all records before the first step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// What for.
    pub purpose: String,
    /// What it cost.
    pub event: Event,
}

/// `privacy.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Version of this format.
    pub format: u32,
    /// Version of muffle.
    pub muffle: String,
    /// When it was written.
    pub created: String,
    /// Whether the run came to its end.
    pub status: Status,
    /// The data.
    pub data: String,
    /// The method.
    pub method: String,
    /// Its form.
    pub mode: Mode,
    /// What a paper says without a proof that holds.
    pub claimed: Option<f64>,
    /// What the ledger proves.
    pub proved: Proved,
    /// A lower bound by an attack.
    pub measured: Option<f64>,
    /// The attack behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<CanaryMeasurement>,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// The probability with which the guarantee may fail.
    pub delta: f64,
    /// Epsilon by every accountant that applies; `null` stands for infinite.
    pub epsilon: BTreeMap<String, Option<f64>>,
    /// The best possible attacker.
    pub attacker: Vec<Attack>,
    /// Steps taken.
    pub steps: u64,
    /// What else is to be said of this kind of training: how records were drawn, how far one could move a sum, which noise hid
    /// it.
    #[serde(flatten)]
    pub training: Map<String, Value>,
    /// Releases by purpose, other than steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preparations: Vec<Preparation>,
    /// Whether the noise follows from a seed.
    pub reproducible: bool,
    /// What that means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// What the figures leave out.
    pub not_covered: Vec<String>,
    /// Everything that was spent: `muffle account --events` prices it.
    pub events: Event,
}

impl Certificate {
    /// Prices what was spent, beside what was measured.
    pub fn new(
        terms: &Terms,
        ledger: &Ledger,
        steps: u64,
        status: Status,
        audit: Option<CanaryMeasurement>,
    ) -> Certificate {
        let Terms { ref recipe, adjacency, .. } = *terms;
        let spent = ledger.total();
        // What follows from earlier releases has the price of its budget, not that of the noise it happened to take (R7).
        let filtered = recipe.epsilon.filter(|_| terms.filter_order.is_some());
        let budget = filtered.map(|epsilon| Event::ApproximateDp { epsilon, delta: recipe.delta });
        let (proved, epsilon) = match filtered {
            Some(epsilon) => (Some((epsilon, FILTER, FILTER_ASSUMPTION)), BTreeMap::new()),
            None => {
                let quotes = Quotes::ask(&spent, adjacency, recipe.delta);
                let proved = quotes.best().map(|quote| {
                    (quote.price.epsilon, quote.accountant.name(), quote.accountant.assumption())
                });
                (proved, quotes.by_name().collect())
            }
        };
        let (accountant, assumption) = proved.map_or(("none", NO_PROOF), |(_, name, why)| (name, why));
        let reproducible = recipe.seed.is_some();
        Certificate {
            format: 1,
            muffle: env!("CARGO_PKG_VERSION").to_string(),
            created: clock::now(),
            status,
            data: recipe.data.clone(),
            method: terms.method.to_string(),
            mode: terms.mode,
            claimed: terms.claimed,
            proved: Proved {
                epsilon: proved.map(|(epsilon, ..)| epsilon),
                delta: recipe.delta,
                accountant: accountant.to_string(),
                assumption: assumption.to_string(),
            },
            measured: audit.map(|audit| audit.epsilon),
            audit,
            adjacency,
            delta: recipe.delta,
            epsilon,
            attacker: best_attacks(budget.as_ref().unwrap_or(&spent), adjacency, &[0.001, 0.01, 0.1])
                .unwrap_or_default(),
            steps,
            training: terms.training.clone(),
            preparations: preparations(terms, ledger),
            reproducible,
            warning: reproducible.then(|| REPRODUCIBLE.to_string()),
            not_covered: NOT_COVERED.map(String::from).to_vec(),
            events: spent,
        }
    }

    /// Reads it from its file.
    pub fn read(path: &Path) -> Result<Certificate> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, error))?;
        serde_json::from_str(&text).map_err(|error| {
            Error::file(
                path,
                format!("{error}; restore the file, or remove the folder of the run to run it again"),
            )
        })
    }

    /// As a file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a certificate has a form in JSON") + "\n"
    }
}

fn preparations(terms: &Terms, ledger: &Ledger) -> Vec<Preparation> {
    let before = ledger.entries().iter().filter(|entry| terms.preparations.contains(&entry.purpose.as_str()));
    before.map(|entry| Preparation { purpose: entry.purpose.clone(), event: entry.event.clone() }).collect()
}
