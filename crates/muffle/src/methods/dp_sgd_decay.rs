//! DP-SGD with noise that decays from epoch to epoch.

use super::{Blueprint, BuildResult, Entry, Method, Mode, Release, Step, Verdict, dp_sgd};
use crate::train::choices::SamplerChoice;
use crate::{State, StateError};
use muffle_accounting::random_sampling::RandomSampling;
use muffle_accounting::{Accountant, Event};
use muffle_nn::Purpose;

pub static ENTRY: Entry = Entry {
    name: "dp-sgd-decay",
    paper: "Yu L., Liu, Pu, Gursoy, Truex, Differentially private model publishing for deep learning, IEEE S&P",
    year: 2019,
    idea: "spend less at first and more later: noise that decays by a schedule fixed in advance",
    verdict: Verdict::Conditional,
    modes: &[Mode::Sound, Mode::AsPublished],
    composes: "dp-sgd, a noise schedule in epochs, reshuffled or balls-and-bins batches",
    steps: "as dp-sgd with multiplier σ·f(epoch): time 1/(1 + 0.05t), exponential e^(−0.01t), step 0.6^⌊t/10⌋ or polynomial \
            of power 3 over 100 epochs (noise_schedule); MNIST: σ = 10, batch 600, C = 4, learning rate 0.05, 60 principal \
            components. As published: the same on random samples, priced by the paper's zCDP for them",
    guarantee: "every record is in one batch of an epoch, so E epochs are Gaussian mechanisms of multipliers σ_1 to σ_E: under \
                zero_out, and with balls-and-bins under add_remove; random samples are priced by their own bound",
    breaks: "the paper's price of random samples, ρ = Σ q²/σ², is exceeded by the exact divergence inside its stated range (σ \
             = 1, q = 0.03, order 4); under replace_one its price of reshuffled epochs has to be four times as high; its \
             principal components are not charged; a schedule that follows a validation set needs a public one",
    parameters: &[],
    settings: &["noise_schedule={kind=\"time\",initial=1.0,rate=0.05}", "sampler=reshuffled"],
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let sound = dp_sgd::build(blueprint)?;
    match (blueprint.mode, blueprint.recipe.sampler) {
        (Mode::Sound, _) => Ok(sound),
        (Mode::AsPublished, SamplerChoice::Poisson) => Ok(Box::new(Published(sound))),
        (Mode::AsPublished, _) => Err("method dp-sgd-decay as published is its price of random samples: set sampler = \
                                       \"poisson\"; other samplers are priced by a proof, with mode = \"sound\""
            .to_string()),
    }
}

/// The same steps under the paper's price.
struct Published(Box<dyn Method>);

impl Method for Published {
    fn event(&self, noise_multiplier: f64) -> Event {
        self.0.event(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let claim = step.claim.clone().expect("a published form runs on a claim");
        Ok(Release { event: claim, ..self.0.release(step)? })
    }

    fn accountant(&self, _sampler: SamplerChoice) -> &'static dyn Accountant {
        &RandomSampling
    }

    fn purpose(&self) -> Purpose {
        self.0.purpose()
    }

    fn state(&self) -> State {
        self.0.state()
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        self.0.restore(state)
    }
}
