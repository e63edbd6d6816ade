//! The certificate: what a run spent, by which argument, and what the figure leaves out.

use super::binding::Binding;
use super::clock;
use super::terms::Terms;
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::methods::Mode;
use muffle_accounting::attacker::{Attack, best_attacks};
use muffle_accounting::{Adjacency, Event, Quotes};
use muffle_nn::model_file::explain::json_error;
use muffle_nn::regular_file;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// What is outside every figure here.
const NOT_COVERED: [&str; 3] = [
    "the choice of hyper-parameters, and of the best among several runs or epochs",
    "the test split: accuracies are plain statistics of its records",
    "records of one person in several rows: the unit is one record",
];

/// What is outside of them beside an audit.
const AUDIT_NOT_COVERED: &str = "the audit: its numbers of canaries and right guesses are computed from private records and coins \
                                 without noise, so they are for the holder of the records";

/// The assumption behind no epsilon at all.
const NO_PROOF: &str = "no accountant proves a finite epsilon";

/// Whose argument holds for noise that follows earlier releases.
const FILTER: &str = "rdp_filter";

/// What has to hold for it.
const FILTER_ASSUMPTION: &str =
    "noise and length may depend on earlier releases; the budget was fixed in advance.";

/// What to tell whoever reads a certificate of a run with a seed.
pub const REPRODUCIBLE: &str = "reproducible: the noise is known to whoever knows the seed, so no epsilon is proved; it holds if the \
                                seed is secret and was drawn at random";

/// The assumption behind no epsilon of a run with a seed.
const SEEDED: &str = "none is proved: the noise follows from the seed beside it";

/// What has to hold for the figure beside it.
const IF_SECRET: &str = "the seed is secret and was drawn at random.";

/// What has to hold for the figure of an interrupted run.
const INTERRUPTED: &str =
    "whoever stopped the run may have seen its accuracies, so this is the price of all that was planned.";

/// What has to hold for the figure of a run that diverged.
const DIVERGED: &str =
    "the run ended because of what it released, so this is the price of all that was planned.";

/// What has to hold for the price of the steps that were taken.
const STOPPED_BLINDLY: &str =
    "the run was stopped by a rule that did not look at the records or at anything computed from them.";

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All steps were taken.
    Finished,
    /// It can be continued.
    Interrupted,
    /// Weights are no finite numbers any more, or the test loss has run away: it cannot be continued.
    Diverged,
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

impl Proved {
    fn none(delta: f64, assumption: &str) -> Proved {
        Proved { epsilon: None, delta, accountant: "none".to_string(), assumption: assumption.to_string() }
    }

    /// The best price of events, if there is a finite one.
    fn best(quotes: &Quotes, delta: f64) -> Proved {
        match quotes.best() {
            Some(quote) => Proved {
                epsilon: Some(quote.price.epsilon),
                delta,
                accountant: quote.accountant.name().to_string(),
                assumption: quote.accountant.assumption().to_string(),
            },
            None => Proved::none(delta, NO_PROOF),
        }
    }

    /// With one more condition.
    fn provided(mut self, condition: &str) -> Proved {
        if self.epsilon.is_some() {
            self.assumption = format!("{} {condition}", self.assumption);
        }
        self
    }
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
    /// What the ledger proves; of one that did not come to its end, what all that was planned would cost.
    pub proved: Proved,
    /// What it would prove of a run with a seed if that were secret and had been drawn at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proved_if_seed_is_secret: Option<Proved>,
    /// What the steps of an interrupted run cost if it was stopped without a look at the records or at its accuracies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proved_if_stopped_without_looking: Option<Proved>,
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
    /// What is paid for: `muffle account --events` gives it the price that stands here. For a run whose noise follows what it
    /// released, the budget that its filter keeps to; for one that did not come to its end, everything that was planned.
    pub events: Event,
    /// What all this is about: recipe, ledger and files, by their digests.
    pub binding: Binding,
}

/// How a run ended, and what it leaves.
pub struct End {
    /// Steps taken.
    pub steps: u64,
    /// Whether it came to its end.
    pub status: Status,
    /// What was planned and is not paid for yet.
    pub rest: Event,
    /// What the paper's argument makes of a form that is not proved, by the end.
    pub claimed: Option<f64>,
    /// What an attack showed.
    pub audit: Option<CanaryMeasurement>,
    /// What the certificate is about.
    pub binding: Binding,
}

impl Certificate {
    /// Prices what was spent, beside what was measured.
    ///
    /// # Guarantee
    /// A figure under `proved` holds whatever the run did on the way: noise that followed earlier releases has the price of its
    /// budget (R7), a run that was stopped or diverged that of its plan, and one whose seed lies beside it none.
    pub fn new(terms: &Terms, ledger: &Ledger, end: End) -> Certificate {
        let Terms { ref recipe, adjacency, .. } = *terms;
        let End { steps, status, rest, claimed, audit, binding } = end;
        let (spent, delta) = (ledger.total(), recipe.delta);
        let filtered = recipe.epsilon.filter(|_| terms.filter_order.is_some());
        let events = terms.budget().unwrap_or_else(|| followed_by(spent.clone(), rest));
        let quotes = Quotes::ask(&events, adjacency, delta);
        let (figure, epsilon) = match filtered {
            Some(epsilon) => (filter_figure(epsilon, delta), BTreeMap::new()),
            None if terms.is_unproved() => (Proved::none(delta, NO_PROOF), quotes.by_name().collect()),
            None => (Proved::best(&quotes, delta), quotes.by_name().collect()),
        };
        let (interrupted, reproducible) = (status == Status::Interrupted, recipe.seed.is_some());
        let blind = (interrupted && !reproducible && filtered.is_none() && !terms.is_unproved())
            .then(|| Proved::best(&Quotes::ask(&spent, adjacency, delta), delta).provided(STOPPED_BLINDLY));
        let figure = match status {
            Status::Finished => figure,
            Status::Interrupted => figure.provided(INTERRUPTED),
            Status::Diverged => figure.provided(DIVERGED),
        };
        let (proved, if_secret) = match reproducible && figure.epsilon.is_some() {
            true => (Proved::none(delta, SEEDED), Some(figure.provided(IF_SECRET))),
            false => (figure, None),
        };
        Certificate {
            format: 2,
            muffle: env!("CARGO_PKG_VERSION").to_string(),
            created: clock::now(),
            status,
            data: recipe.data.clone(),
            method: terms.method.to_string(),
            mode: terms.mode,
            claimed,
            proved,
            proved_if_seed_is_secret: if_secret,
            proved_if_stopped_without_looking: blind.filter(|blind| blind.epsilon.is_some()),
            measured: audit.map(|audit| audit.epsilon),
            audit,
            adjacency,
            delta,
            epsilon,
            attacker: best_attacks(&events, adjacency, &[0.001, 0.01, 0.1]).unwrap_or_default(),
            steps,
            training: terms.training.clone(),
            preparations: preparations(terms, ledger),
            reproducible,
            warning: reproducible.then(|| REPRODUCIBLE.to_string()),
            not_covered: NOT_COVERED
                .into_iter()
                .chain(audit.map(|_| AUDIT_NOT_COVERED))
                .map(String::from)
                .chain(terms.not_covered.iter().cloned())
                .collect(),
            events,
            binding,
        }
    }

    /// The epsilon to show: the proved one, or that of a run with a seed on the condition that the seed is secret.
    pub fn conditional_epsilon(&self) -> Option<f64> {
        self.proved.epsilon.or(self.epsilon_if_seed_is_secret())
    }

    /// The epsilon of a run with a seed, if the seed is secret and was drawn at random.
    pub fn epsilon_if_seed_is_secret(&self) -> Option<f64> {
        self.proved_if_seed_is_secret.as_ref().and_then(|proved| proved.epsilon)
    }

    /// Reads it from its file.
    pub fn read(path: &Path) -> Result<Certificate> {
        let text = regular_file::read_to_string(path).map_err(|error| Error::file(path, error))?;
        Certificate::parse(path, &text)
    }

    /// Reads it from the text of its file.
    pub fn parse(path: &Path, text: &str) -> Result<Certificate> {
        serde_json::from_str(text).map_err(|error| {
            Error::file(
                path,
                format!(
                    "{}; restore the file, or remove the folder of the run to run it again",
                    json_error(&error)
                ),
            )
        })
    }

    /// As a file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a certificate has a form in JSON") + "\n"
    }
}

/// One after the other, without compositions inside of compositions.
fn followed_by(mut first: Event, then: Event) -> Event {
    match then {
        Event::Compose { events } => events.into_iter().fold(first, followed_by),
        event => {
            first.append(event);
            first
        }
    }
}

/// What a filter guarantees.
fn filter_figure(epsilon: f64, delta: f64) -> Proved {
    let (accountant, assumption) = (FILTER.to_string(), FILTER_ASSUMPTION.to_string());
    Proved { epsilon: Some(epsilon), delta, accountant, assumption }
}

fn preparations(terms: &Terms, ledger: &Ledger) -> Vec<Preparation> {
    let before = ledger.entries().iter().filter(|entry| terms.preparations.contains(&entry.purpose.as_str()));
    before.map(|entry| Preparation { purpose: entry.purpose.clone(), event: entry.event.clone() }).collect()
}
