//! The list of all accountants.

use crate::pricing::Accountant;
use crate::{basic, gdp, moments, pld, random_sampling, rdp, reshuffling, strong, zcdp};

/// All accountants, from the one to quote to the historical ones.
pub fn all() -> [&'static dyn Accountant; 12] {
    [
        &pld::Pld,
        &gdp::Gdp,
        &rdp::Rdp,
        &rdp::RdpClassical,
        &zcdp::Zcdp,
        &zcdp::ZcdpClassical,
        &moments::Moments,
        &random_sampling::RandomSampling,
        &reshuffling::Reshuffling,
        &strong::StrongComposition,
        &basic::BasicComposition,
        &gdp::CentralLimit,
    ]
}

/// The accountant of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Accountant> {
    let wanted = name.replace('-', "_");
    all().into_iter().find(|accountant| accountant.name() == wanted)
}
