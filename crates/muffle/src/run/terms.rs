//! What a run has to keep to, settled before it begins.

use super::recipe::RunRecipe;
use crate::error::Result;
use crate::methods::Mode;
use muffle_accounting::budget::Budget;
use muffle_accounting::calibrate::Target;
use muffle_accounting::{Adjacency, Event};
use serde_json::{Map, Value};

/// The terms of a run: its part of the recipe with every question answered, and what the certificate says of the training.
#[derive(Clone, Debug)]
pub struct Terms {
    /// What every run has.
    pub recipe: RunRecipe,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// Steps in all.
    pub steps: u64,
    /// The published method.
    pub method: &'static str,
    /// Its form.
    pub mode: Mode,
    /// What the paper's argument gives for a form that is not proved, as far as it is known in advance and there is one.
    pub claimed: Option<f64>,
    /// The order of the filter that stops a run whose noise follows what it released (R7).
    pub filter_order: Option<f64>,
    /// Purposes that come before the first step.
    pub preparations: Vec<&'static str>,
    /// What the certificate says of this kind of training.
    pub training: Map<String, Value>,
    /// What the figures leave out for this kind of training, beside what they always do.
    pub not_covered: Vec<String>,
}

impl Terms {
    /// Whether no accountant proves anything of this run, though it has noise: what runs is the form of a paper.
    pub fn is_unproved(&self) -> bool {
        self.mode == Mode::AsPublished && self.recipe.private
    }

    /// The budget of a run whose noise follows what it released; `None` if the noise is fixed in advance.
    pub fn filter(&self) -> Result<Option<Budget>> {
        let (Some(order), Some(target)) = (self.filter_order, self.target()) else { return Ok(None) };
        Ok(Some(Budget::adaptive(target, order)?))
    }

    /// The price of a run with a [filter](Terms::filter), whatever noise it happened to take; `None` for all others.
    ///
    /// # Guarantee
    /// Prices of noise that was chosen on the way do not compose like those of noise that was fixed in advance (R7).
    pub fn budget(&self) -> Option<Event> {
        let epsilon = self.recipe.epsilon.filter(|_| self.filter_order.is_some());
        epsilon.map(|epsilon| Event::ApproximateDp { epsilon, delta: self.recipe.delta })
    }

    /// The privacy that must not be exceeded, if there is a limit.
    pub fn target(&self) -> Option<Target> {
        let (delta, adjacency) = (self.recipe.delta, self.adjacency);
        self.recipe.epsilon.map(|epsilon| Target { epsilon, delta, adjacency })
    }
}
