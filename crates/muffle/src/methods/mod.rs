//! The published methods: each turns per-example gradients into a released gradient in its own way.
//!
//! A method is one file here: a few parts put together, and one row of the table below, which feeds the command line, the
//! docs and the tests that run over all methods.

mod adadp;
mod adaptive_threshold;
mod adlm;
mod adpsgd;
mod afrrs;
mod auto;
mod backprop_clip;
mod dp_adam_ilg;
mod dp_psac;
mod dp_sgd;
mod dp_sgd_decay;
mod dpgan;
mod dpl_ggc;
mod dpnas;
mod entry;
mod ganobfuscator;
mod icgc;
mod improved_dp_sgd;
mod ng_local;
mod noisy_gradient;
mod noisy_inputs;
mod one_rule;
mod parameters;
mod quantile_clip;
mod relevance_noise;
mod relevant_inputs;
mod tempered_sigmoid;

pub use dp_sgd::ENTRY as REFERENCE;
pub use entry::{About, Claim, Entry, Parameter, Verdict};
pub use noisy_gradient::ENTRY as NOISY_GRADIENT;
pub use parameters::Parameters;
pub use quantile_clip::ENTRY as QUANTILE_CLIP;

use crate::clip::ClipRule;
use crate::ledger::Receipt;
use crate::mechanism::Noise;
use crate::mechanism::{Gradients, Mechanism, Released, Unprotected};
use crate::sampler::SamplerChoice;
use crate::{State, StateError};
use muffle_accounting::moments::Moments;
use muffle_accounting::reshuffling::Reshuffling;
use muffle_accounting::{Accountant, Adjacency, Event};
use muffle_nn::model_file::nearest::nearest;
use muffle_nn::{Examples, Network, Purpose};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which form of a method runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The smallest repair that can be proved; the method itself where it needs none.
    #[default]
    Sound,
    /// The literal algorithm. Its epsilon is a claim.
    AsPublished,
}

impl Mode {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Sound => "sound",
            Mode::AsPublished => "as-published",
        }
    }
}

/// What a method has to work with in one step.
pub struct Step<'a, 's> {
    /// The gradients of the sampled records.
    pub gradients: Gradients<'a, 's>,
    /// Draws the noise.
    pub mechanism: &'s Mechanism,
    /// What was paid for: the method's [`event`](Method::event), or the claim of a form whose privacy is only claimed.
    pub receipt: Receipt,
    /// Standard deviation of the noise over the threshold.
    pub noise_multiplier: f64,
    /// Factor on all thresholds, fixed in advance.
    pub clip_factor: f64,
}

/// What a method learns from, once.
pub struct Preparation<'s> {
    /// The parameters that training has come to: the first ones, or released ones. Those that training does not move ([`Role::Fixed`](muffle_nn::layer::Role::Fixed)) are the method's to set
    /// from what it releases.
    pub parameters: &'s mut [f32],
    /// All records that are trained on.
    pub examples: &'s dyn Examples,
    /// Draws the noise.
    pub mechanism: &'s Mechanism,
    /// What was paid for.
    pub receipt: Receipt,
    /// That of the steps to come.
    pub noise_multiplier: f64,
}

/// What a step gave.
pub struct Release<'a> {
    /// Free to use.
    pub gradient: Released<'a>,
    /// For the holder of the records only.
    pub unprotected: Unprotected,
}

/// One way from per-example gradients to a released gradient, with what it remembers between steps.
pub trait Method {
    /// What a step releases, before sampling: known before any record is touched. In a published form this is what the
    /// paper takes it for.
    fn event(&self, noise_multiplier: f64) -> Event;

    /// Whether the event of a step depends on what earlier steps released. It is then known for the next step only, and the
    /// run is stopped by a filter (R7).
    fn adaptive(&self) -> bool {
        false
    }

    /// Takes one step up to the released gradient, and learns from it what the next step needs.
    ///
    /// # Guarantee
    /// The release is what the step's receipt was paid for; a published form that is not proved publishes its claim.
    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>>;

    /// What a form that is not proved is priced by in its paper.
    fn accountant(&self, sampler: SamplerChoice) -> &'static dyn Accountant {
        match sampler {
            SamplerChoice::Poisson | SamplerChoice::FixedSize => &Moments,
            SamplerChoice::Reshuffled | SamplerChoice::BallsAndBins => &Reshuffling,
        }
    }

    /// Whether the noise of a form that is not proved is Gaussian of a scale that no record changes: only how far a record moves the
    /// sum is in doubt then.
    fn is_gaussian(&self) -> bool {
        false
    }

    /// Whether a step releases what one of DP-SGD does under the same clip rule: the two are one computation, and need one audit.
    fn is_dp_sgd(&self) -> bool {
        false
    }

    /// What the method releases of all records, once; `None` if nothing.
    fn preparation(&self) -> Option<Event> {
        None
    }

    /// Behind how many of a run's steps it does so: a number below `steps` that no record changes. What is released costs the same
    /// wherever it stands, and can be learned of weights that were themselves privately trained.
    fn prepared_after(&self, _steps: u64) -> u64 {
        0
    }

    /// Learns it. A method that has not been prepared works without what it would have learned.
    ///
    /// # Guarantee
    /// The release is what the receipt was paid for: the event of [`preparation`](Method::preparation).
    fn prepare(&mut self, _preparation: Preparation) -> muffle_nn::Result<()> {
        Ok(())
    }

    /// Whether the thresholds of a step follow gradients of public records, which cost nothing.
    fn follows_public(&self) -> bool {
        false
    }

    /// Takes over the mean norm of each tensor's gradient on public records.
    fn follow_public(&mut self, _norms: &[f64]) {}

    /// At what the next step clips each tensor, where that is not what the recipe says.
    fn thresholds(&self) -> Option<Vec<f64>> {
        None
    }

    /// What the engine has to do.
    fn purpose(&self) -> Purpose {
        Purpose::PerExample
    }

    /// Whether the engine has to call hooks.
    fn hooked(&self) -> bool {
        false
    }

    /// What the next step depends on.
    fn state(&self) -> State {
        State::new()
    }

    /// Takes over a saved state.
    fn restore(&mut self, _state: &State) -> std::result::Result<(), StateError> {
        Ok(())
    }
}

/// What a method is built from.
pub struct Blueprint<'a> {
    /// The method.
    pub name: &'static str,
    /// The network.
    pub network: &'a Arc<Network>,
    /// Which form.
    pub mode: Mode,
    /// The method's own parameters.
    pub parameters: &'a Parameters,
    /// How far one record may move the sum.
    pub clip: &'a ClipRule,
    /// The kind of noise.
    pub noise: Noise,
    /// Whether gradients are clipped and noised at all.
    pub private: bool,
    /// How records are drawn.
    pub sampler: SamplerChoice,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// The public divisor of every sum.
    pub batch_size: u64,
    /// Views of each record.
    pub views: usize,
    /// δ of the guarantee.
    pub delta: f64,
    /// Number of steps, if it is known by now.
    pub steps: Option<u64>,
    /// The noise multiplier, if it is known by now.
    pub noise_multiplier: Option<f64>,
    /// Whether the noise follows a schedule.
    pub scheduled_noise: bool,
}

impl Blueprint<'_> {
    /// The threshold C of a recipe that has one for the whole gradient.
    fn threshold(&self) -> Result<f64, String> {
        match self.clip {
            ClipRule::Flat { threshold } => Ok(*threshold),
            _ => Err(format!(
                "method `{}` needs clip.kind = \"flat\": its threshold is the method's C",
                self.name
            )),
        }
    }
}

/// Why a method cannot be built.
pub type BuildResult = std::result::Result<Box<dyn Method>, String>;

/// Every method.
pub static METHODS: &[&Entry] = &[
    &dp_sgd::ENTRY,
    &improved_dp_sgd::ENTRY,
    &dp_sgd_decay::ENTRY,
    &dpl_ggc::ENTRY,
    &icgc::ENTRY,
    &noisy_gradient::ENTRY,
    &ng_local::ENTRY,
    &quantile_clip::ENTRY,
    &tempered_sigmoid::ENTRY,
    &dp_psac::ENTRY,
    &auto::AUTO_S,
    &auto::AUTO_V,
    &adadp::ENTRY,
    &adpsgd::ENTRY,
    &backprop_clip::ENTRY,
    &dpnas::ENTRY,
    &dp_adam_ilg::ENTRY,
    &relevance_noise::ENTRY,
    &adlm::ENTRY,
    &afrrs::ENTRY,
];

/// Methods for the critic of a generator: steps like those of all others, on an objective that is not about targets.
pub static CRITICS: &[&Entry] = &[&dpgan::ENTRY, &ganobfuscator::ENTRY];

/// The method of this name.
pub fn find(name: &str) -> std::result::Result<&'static Entry, String> {
    let all = || METHODS.iter().chain(CRITICS).copied();
    all().find(|entry| entry.name == name).ok_or_else(|| {
        let names = || all().map(|entry| entry.name);
        let meant = nearest(name, names()).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
        let known: Vec<&str> = names().collect();
        format!("unknown method `{name}`{meant}; the known ones are {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests;
