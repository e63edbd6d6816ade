//! What takes the accountant a while to say of a run, from its certificate and its ledger.

use super::run::Run;
use super::state::State;
use crate::plot::{Panel, curves};
use muffle::run::{read_ledger, verify};
use muffle_accounting::pld::Pld;
use muffle_accounting::{Accountant, Adjacency, Event};

/// What was computed of a run.
#[derive(Default)]
pub struct Analysis {
    /// What an attacker can do at best.
    pub trade_off: Option<Panel>,
    /// Where the budget went.
    pub purposes: Vec<Purpose>,
    /// Whether recipe, ledger and files are those that the certificate is about, or why not.
    pub verified: Option<Result<(), String>>,
}

/// Accesses to the records for one purpose.
pub struct Purpose {
    /// What for.
    pub name: String,
    /// How many accesses.
    pub accesses: u64,
    /// What they cost by themselves; `None` if nothing is proved of them.
    pub epsilon: Option<f64>,
}

impl Analysis {
    /// Of a run that is not under way: one that is has no certificate yet, and is not to be held up.
    pub fn of(run: &Run) -> Analysis {
        let Some(certificate) = run.certificate.as_ref().filter(|_| run.state != State::Running) else {
            return Analysis::default();
        };
        let proved = certificate.conditional_epsilon().is_some();
        let trade_off = proved.then(|| curves::trade_off(&certificate.events, certificate.adjacency).ok());
        Analysis {
            trade_off: trade_off.flatten(),
            purposes: purposes(run, certificate.adjacency, certificate.delta),
            verified: Some(verify(&run.path).map(|_| ()).map_err(|error| error.to_string())),
        }
    }
}

/// The charges of a ledger by purpose, in the order in which they were first made.
fn purposes(run: &Run, adjacency: Adjacency, delta: f64) -> Vec<Purpose> {
    let Ok(ledger) = read_ledger(&run.path) else { return Vec::new() };
    let mut totals: Vec<(String, u64, Event)> = Vec::new();
    for entry in ledger.entries() {
        let place = totals.iter().position(|total| total.0 == entry.purpose).unwrap_or_else(|| {
            totals.push((entry.purpose.clone(), 0, Event::compose([])));
            totals.len() - 1
        });
        let total = &mut totals[place];
        total.1 += (entry.to - entry.from).max(1);
        match &entry.event {
            Event::Compose { events } => events.iter().for_each(|event| total.2.append(event.clone())),
            event => total.2.append(event.clone()),
        }
    }
    let price = |(name, accesses, event): (String, u64, Event)| {
        let price = Pld.epsilon(&event, adjacency, delta).ok();
        let epsilon = price.map(|price| price.epsilon).filter(|epsilon| epsilon.is_finite());
        Purpose { name, accesses, epsilon }
    };
    totals.into_iter().map(price).collect()
}
