//! What teachers follow from, so that none is taken for another.

use super::plan::PatePlan;
use crate::data::View;
use crate::digest::hexadecimal;
use crate::train::validation::content_hash;
use sha2::{Digest, Sha256};

/// What all teachers of a run follow from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// A fingerprint of how teachers learn, of how many there are, of the records, of the seed and of the version of the program.
    pub digest: String,
    /// Whether that decides about every weight: without a seed it does not.
    pub whole: bool,
}

impl Origin {
    /// Of the teachers of a plan for these records.
    pub fn new(plan: &PatePlan, records: &View) -> Origin {
        let (recipe, seed, scaling) = (&plan.recipe, plan.run.seed, records.dataset().scaling());
        let settings = serde_json::json!([env!("CARGO_PKG_VERSION"), recipe.teachers, recipe.teacher, seed]);
        let mut hash = Sha256::new();
        hash.update(format!("{settings} {:?} {scaling:?}", records.dataset().input()));
        (0..records.split().len()).for_each(|record| hash.update(content_hash(records, record)));
        Origin { digest: hexadecimal(&hash.finalize()), whole: seed.is_some() }
    }
}
