//! A kind of training, as a row of a table.

use super::job::Job;
use super::recipe::Parts;
use crate::data::Dataset;
use crate::error::Result;
use crate::methods::About;

/// A kind of training that a recipe can ask for.
pub struct Kind {
    /// How to ask for it: `kind = "..."` in a recipe.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// The published methods it can run.
    pub methods: fn() -> Vec<&'static About>,
    /// Its part of a recipe where a recipe of another kind is run by one of its methods; `None` if it depends too much on the data.
    pub usual: Option<&'static str>,
    /// Answers every open question of a recipe, or says which answer is missing.
    pub plan: fn(&Parts, &Dataset) -> Result<Box<dyn Job>>,
}
