//! How a search goes.

use super::strategy::Strategy;
use crate::error::{Error, Result};
use crate::methods::Mode;
use crate::sampler::SamplerChoice;
use crate::train::Recipe;
use muffle_accounting::Event;

/// How a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How the next candidate follows from those before.
    pub strategy: Strategy,
    /// Networks that are tried.
    pub candidates: u64,
    /// Share of the training records that judges them, and that they are not trained on.
    pub share: f64,
    /// What one judgement costs.
    pub reward_epsilon: f64,
    /// Channels of the three cells, multiples of eight.
    pub channels: [usize; 3],
}

impl Settings {
    /// What so many candidates cost, each of which costs this to train.
    pub(super) fn cost(&self, single: Event, candidates: u64) -> Event {
        let reward = Event::laplace(1.0 / self.reward_epsilon);
        match candidates {
            0 => Event::compose([]),
            _ => Event::compose([single, reward].map(|event| event.repeated(candidates))),
        }
    }

    /// Refuses what cannot be searched.
    pub(super) fn check(&self, recipe: &Recipe) -> Result<()> {
        let refuse = |reason: &str| Err(Error::Plan(reason.to_string()));
        if self.candidates == 0 {
            return refuse("a search needs at least one candidate");
        }
        if !(self.share > 0.0 && self.share < 1.0) {
            return refuse("the share of records that is held out has to lie between 0 and 1");
        }
        if !(1e-6..=1e6).contains(&self.reward_epsilon) {
            return refuse("the epsilon of a reward has to lie between 1e-6 and 1e6");
        }
        if self.channels.iter().any(|channels| *channels == 0 || channels % 8 != 0) {
            return refuse("the channels of the cells have to be multiples of eight");
        }
        let sampled = matches!(recipe.training.sampler, SamplerChoice::Poisson | SamplerChoice::BallsAndBins);
        if !recipe.run.private || recipe.training.mode != Mode::Sound || !sampled {
            return refuse(
                "a search needs private = true, mode = \"sound\" and sampler = \"poisson\" or \"balls-and-bins\"",
            );
        }
        let training = &recipe.training;
        let staged = training.features.is_some() || training.principal_components.is_some();
        if training.validation.is_some() || staged {
            return refuse("a search takes recipes without validation, features and principal_components");
        }
        Ok(())
    }
}
