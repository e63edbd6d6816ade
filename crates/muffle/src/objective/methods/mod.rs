//! The published methods that release an objective, and what each learns before it: a row each.

mod dpa;
mod functional_mechanism;
mod local;
mod pcdbn;
mod privr;
mod relevant_head;

pub use functional_mechanism::ENTRY as FUNCTIONAL_MECHANISM;

use crate::methods::{About, Mode, Parameter};
use muffle_nn::model_file::nearest::nearest;
use std::ops::Deref;

/// A published way to a model by few releases.
pub struct Entry {
    /// What it is.
    pub about: About,
    /// What it learns of the records before the coefficients of its head.
    pub learns: Learns,
    /// Settings under which its sound form is small enough to be audited on records of eight values of −1 to 1.
    pub planted: &'static [&'static str],
    /// The same for its published form: where there are samples, two steps of half of the records.
    pub planted_as_published: &'static [&'static str],
}

/// What comes before the coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learns {
    /// Nothing.
    Nothing,
    /// A code of the features, by finding them again in it.
    Code,
    /// Filters of an image, by what their reconstruction of it lacks.
    Filters,
    /// Which features of a first model are weak.
    Weak,
    /// The share of each input, or of each region of inputs, in the relevance.
    Shares {
        /// Whether inputs of like relevance are joined.
        regions: bool,
    },
    /// The same; then every record reports itself with noise, and there is nothing more to be released.
    Reports {
        /// Whether inputs of like relevance are joined.
        regions: bool,
    },
}

impl Deref for Entry {
    type Target = About;

    fn deref(&self) -> &About {
        &self.about
    }
}

/// Every method of this kind.
pub static METHODS: &[&Entry] = &[
    &functional_mechanism::ENTRY,
    &privr::ENTRY,
    &relevant_head::ADLM,
    &relevant_head::AFRRS,
    &local::ADLM,
    &local::AFRRS,
    &dpa::ENTRY,
    &pcdbn::ENTRY,
];

/// Settings of an audit of a form of a method.
pub fn planted(method: &str, mode: Mode) -> &'static [&'static str] {
    METHODS.iter().find(|entry| entry.name == method).map_or(&[], |entry| match mode {
        Mode::Sound => entry.planted,
        Mode::AsPublished => entry.planted_as_published,
    })
}

/// The method of this name.
pub(super) fn find(name: &str) -> Result<&'static Entry, String> {
    METHODS.iter().copied().find(|entry| entry.name == name).ok_or_else(|| {
        let names = || METHODS.iter().map(|entry| entry.name);
        let meant = nearest(name, names()).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
        let known: Vec<&str> = names().collect();
        format!("method `{name}` releases no objective{meant}; those that do are {}", known.join(", "))
    })
}

const QUADRATIC: Parameter = Parameter {
    name: "quadratic",
    default: 1.0,
    meaning: "κ/τ, the weight of the products of features beside those with the target; the functional mechanism's is 1/4, which has \
              four times the noise on them",
};
const INTERCEPT: Parameter = Parameter {
    name: "intercept",
    default: 0.2,
    meaning: "the constant feature behind those of a record, as a part of its norm",
};
const CENTRE: Parameter = Parameter {
    name: "centre",
    default: 8.0,
    meaning: "c, the noise on the mean of the features over that on the coefficients; 0 leaves them where they are, as the papers do",
};
const RIDGE: Parameter = Parameter {
    name: "ridge",
    default: 0.5,
    meaning: "what is added to the eigenvalues, in deviations of the noise times the root of the number of features; the functional \
              mechanism adds 4 deviations",
};
const FLOOR: Parameter = Parameter {
    name: "floor",
    default: 0.1,
    meaning: "the least share of an input in the relevance, over the mean",
};
const REGIONS: Parameter = Parameter {
    name: "regions",
    default: 8.0,
    meaning: "how many regions inputs of like relevance are joined to",
};
const BATCH: Parameter =
    Parameter { name: "batch", default: 1024.0, meaning: "expected records of a step before the head" };
const LOW: Parameter = Parameter { name: "low", default: 0.0, meaning: "the least that an input can be" };
const HIGH: Parameter = Parameter { name: "high", default: 1.0, meaning: "the most that an input can be" };
const HEAD_EPOCHS: Parameter = Parameter {
    name: "head_epochs",
    default: 10.0,
    meaning: "passes over the records for the head (as published)",
};
const HEAD_RATE: Parameter = Parameter {
    name: "head_rate",
    default: 0.001,
    meaning: "learning rate of the head, by adaptive moments (as published)",
};
