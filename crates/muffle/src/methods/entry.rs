//! One row of the table of methods.

use super::{Blueprint, BuildResult, Mode};
use std::ops::Deref;

/// What became of a published claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The claim holds as it stands.
    Sound,
    /// The claim holds under a condition that the published form does not always meet.
    Conditional,
    /// The claim does not hold.
    Unsound,
}

impl Verdict {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Sound => "sound",
            Verdict::Conditional => "conditional",
            Verdict::Unsound => "unsound",
        }
    }
}

/// What the price in a paper is stated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A step.
    Step,
    /// An epoch of batches that every record is in once, under `zero_out`.
    ReshuffledEpoch,
    /// Nothing: the paper has no price. What a step of `dp-sgd` with the same noise costs stands in for one where noise and length are
    /// chosen, and there is nothing for an audit to refute.
    Nothing,
}

/// A number of a method that a recipe may set.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key in the recipe's `parameters`.
    pub name: &'static str,
    /// What it is if nobody says otherwise.
    pub default: f64,
    /// What it means, with the paper's value.
    pub meaning: &'static str,
}

/// A published method, whatever kind of training it belongs to.
#[derive(Clone, Copy)]
pub struct About {
    /// How to ask for it.
    pub name: &'static str,
    /// Who published it, where.
    pub paper: &'static str,
    /// When.
    pub year: u16,
    /// Its idea in one line.
    pub idea: &'static str,
    /// What became of its claim.
    pub verdict: Verdict,
    /// Which forms there are.
    pub modes: &'static [Mode],
    /// The parts it is made of.
    pub composes: &'static str,
    /// What a step does.
    pub steps: &'static str,
    /// What is proved of the sound form.
    pub guarantee: &'static str,
    /// What breaks in the published form, and why; empty if nothing does.
    pub breaks: &'static str,
    /// Its numbers.
    pub parameters: &'static [Parameter],
    /// Settings of a recipe that belong to it, applied when it is asked for by `--method` and the recipe has another.
    pub settings: &'static [&'static str],
    /// More of them for the published form, whose algorithm says how steps are taken.
    pub settings_as_published: &'static [&'static str],
}

impl About {
    /// Refuses a form that there is not, and says why.
    pub fn check_form(&self, mode: Mode) -> Result<(), String> {
        if self.modes.contains(&mode) {
            return Ok(());
        }
        let why = match self.verdict {
            Verdict::Sound => "what was published is sound as it stands".to_string(),
            Verdict::Conditional => {
                format!("only its sound form is built. What is printed holds on a condition: {}", self.breaks)
            }
            Verdict::Unsound => "only its sound form is built".to_string(),
        };
        Err(format!("method `{}` has no form `{}`: {why}", self.name, mode.name()))
    }

    /// Settings that make a recipe one of this method in this form, its usual settings included.
    pub fn form(&self, mode: Mode) -> impl Iterator<Item = String> {
        let own = self.settings.iter().chain(self.own_to(mode)).map(ToString::to_string);
        own.chain([format!("method={}", self.name), format!("mode={}", mode.name())])
    }

    /// Settings that belong to this form alone.
    pub fn own_to(&self, mode: Mode) -> impl Iterator<Item = &'static &'static str> {
        self.settings_as_published.iter().filter(move |_| mode == Mode::AsPublished)
    }
}

/// A published way from gradients of records to a released gradient.
pub struct Entry {
    /// What it is.
    pub about: About,
    /// Whether it also runs without privacy.
    pub without_privacy: bool,
    /// Whether Gaussian noise is the last thing that happens to a sum: a replay can then compare releases.
    pub additive: bool,
    /// Whether it is about classes, and runs on no other targets.
    pub needs_classes: bool,
    /// What the paper's price of a step is stated for.
    pub claim: Claim,
    /// Puts it together.
    pub build: fn(&Blueprint) -> BuildResult,
}

impl Deref for Entry {
    type Target = About;

    fn deref(&self) -> &About {
        &self.about
    }
}
