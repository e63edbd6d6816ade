//! What every accountant says about one event, side by side.

use crate::pricing::{Accountant, Price, Standing};
use crate::{AccountingError, Adjacency, Event, accountant};

/// What one accountant said.
pub struct Quote {
    /// Who.
    pub accountant: &'static dyn Accountant,
    /// What.
    pub price: Price,
}

/// What all accountants said.
pub struct Quotes {
    /// Those that can price the event, in the order of [`accountant::all`].
    pub quotes: Vec<Quote>,
    /// Those that cannot, and why.
    pub refusals: Vec<(&'static dyn Accountant, AccountingError)>,
}

impl Quotes {
    /// Asks all accountants.
    pub fn ask(event: &Event, adjacency: Adjacency, delta: f64) -> Quotes {
        let (mut quotes, mut refusals) = (Vec::new(), Vec::new());
        for accountant in accountant::all() {
            match accountant.epsilon(event, adjacency, delta) {
                Ok(price) => quotes.push(Quote { accountant, price }),
                Err(error) => refusals.push((accountant, error)),
            }
        }
        Quotes { quotes, refusals }
    }

    /// The smallest epsilon with a proof, which is the one to quote; the first in the list among equals.
    pub fn best(&self) -> Option<&Quote> {
        let proofs = self.quotes.iter().filter(|quote| quote.accountant.standing() == Standing::Proof);
        proofs
            .filter(|quote| quote.price.epsilon.is_finite())
            .min_by(|left, right| left.price.epsilon.total_cmp(&right.price.epsilon))
    }

    /// Every epsilon by the name of its accountant, lower ends as `NAME_lower`; `None` stands for infinite, for files that
    /// cannot hold it.
    pub fn by_name(&self) -> impl Iterator<Item = (String, Option<f64>)> {
        self.quotes.iter().flat_map(|Quote { accountant, price }| {
            let finite = Some(price.epsilon).filter(|epsilon| epsilon.is_finite());
            let lower = price.lower.map(|lower| (format!("{}_lower", accountant.name()), Some(lower)));
            [(accountant.name().to_string(), finite)].into_iter().chain(lower)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_proof_is_quoted_and_refusals_are_named() {
        let event = Event::gaussian(2.0).poisson_sampled(0.01).repeated(1000);
        let quotes = Quotes::ask(&event, Adjacency::AddRemove, 1e-5);
        let best = quotes.best().unwrap();
        assert_eq!(best.accountant.name(), "pld");
        for quote in quotes.quotes.iter().filter(|quote| quote.accountant.standing() == Standing::Proof) {
            assert!(best.price.epsilon <= quote.price.epsilon, "{}", quote.accountant.name());
        }
        assert!(quotes.refusals.iter().any(|(accountant, _)| accountant.name() == "zcdp_reshuffling"));
        assert!(quotes.by_name().any(|(name, epsilon)| name == "pld_lower" && epsilon.is_some()));
    }

    #[test]
    fn nothing_is_quoted_for_a_claim() {
        let quotes = Quotes::ask(&Event::NonPrivate, Adjacency::AddRemove, 1e-5);
        assert!(quotes.best().is_none());
        assert!(quotes.by_name().all(|(_, epsilon)| epsilon.is_none()));
    }
}
