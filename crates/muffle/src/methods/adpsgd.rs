//! DP-SGD with noise that grows as its step size shrinks.

use super::{
    About, Blueprint, BuildResult, Claim, Entry, Method, Mode, Parameter, Release, Step, Verdict, dp_sgd,
};
use crate::state::restore;
use crate::{State, StateError};
use muffle_accounting::Event;
use muffle_nn::Purpose;

pub static ENTRY: Entry = Entry {
    about: About {
        name: "adpsgd",
        paper: "Wu, Wang, Cristali, Gu, Willett, Adaptive differentially private empirical risk minimization (ADPSGD), arXiv",
        year: 2021,
        idea: "small steps bear more noise: raise the noise as the step size falls",
        verdict: Verdict::Sound,
        modes: &[Mode::Sound],
        composes: "dp-sgd, a noise schedule and a learning rate that belong together; or AdaGrad's norm and a filter",
        steps: "as dp-sgd with learning rate η/b_t and multiplier σ·α_t, where b_t = √(1 + c·t) and α_t² = b_t: noise_schedule \
            and learning_rate of kind power with the same rate c and powers 1/4 and −1/2, counted in epochs. With \
            parameters.gradients = 1 and neither schedule: b² grows by the squared norm of each released gradient, and a \
            step is taken with the b that it has made",
        guarantee: "step t is one Gaussian mechanism of multiplier σ·α_t. Where b_t depends on the count alone the whole schedule is \
                priced in advance; where it follows released gradients, a Rényi filter of the recipe's epsilon ends the run",
        breaks: "",
        parameters: &[
            Parameter {
                name: "gradients",
                default: 0.0,
                meaning: "1: b follows released gradients, 0: schedules",
            },
            Parameter {
                name: "initial",
                default: 1.0,
                meaning: "b at the first step, where gradients are followed",
            },
        ],
        settings: &[
            "noise_schedule={kind=\"power\",initial=1.0,rate=0.1,power=0.25}",
            "learning_rate={kind=\"power\",initial=2.0,rate=0.1,power=-0.5}",
        ],
        settings_as_published: &[],
    },
    without_privacy: false,
    additive: true,
    needs_classes: false,
    claim: Claim::Step,
    build,
};

fn build(blueprint: &Blueprint) -> BuildResult {
    let steps = dp_sgd::build(blueprint)?;
    if blueprint.parameters.get("gradients") == 0.0 {
        return Ok(steps);
    }
    if blueprint.scheduled_noise {
        return Err("method adpsgd: noise follows released gradients (parameters.gradients = 1) or a schedule, not both; \
                    remove the schedule (--set noise_schedule=) and set learning_rate to a number"
            .to_string());
    }
    let initial = blueprint.parameters.positive("initial")? as f32;
    Ok(Box::new(Adpsgd { steps, initial, square: initial * initial }))
}

/// Follows released gradients.
///
/// # Source
/// Wu et al. 2021 with the step size of Ward, Wu and Bottou 2019 (AdaGrad-norm): b²_{t+1} = b²_t + ‖g̃_t‖².
///
/// # Guarantee
/// The noise of a step depends on what earlier steps released only (R1); it is adaptive, so a filter is needed (R7).
struct Adpsgd {
    steps: Box<dyn Method>,
    initial: f32,
    /// b².
    square: f32,
}

impl Adpsgd {
    /// α, with α² in proportion to b and one at the first step.
    fn alpha(&self) -> f64 {
        (f64::from(self.square).sqrt() / f64::from(self.initial)).sqrt()
    }
}

impl Method for Adpsgd {
    fn event(&self, noise_multiplier: f64) -> Event {
        self.steps.event(noise_multiplier * self.alpha())
    }

    fn adaptive(&self) -> bool {
        true
    }

    fn release<'a>(&mut self, mut step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        step.noise_multiplier *= self.alpha();
        let mut release = self.steps.release(step)?;
        let values = release.gradient.gradient().iter();
        let squared_norm: f64 = values.map(|value| f64::from(*value).powi(2)).sum();
        // A number has to stay one, however large the noise.
        self.square = (f64::from(self.square) + squared_norm).min(1e30) as f32;
        release.gradient.scale(1.0 / self.square.sqrt());
        Ok(release)
    }

    fn purpose(&self) -> Purpose {
        self.steps.purpose()
    }

    fn state(&self) -> State {
        State::from([("square".to_string(), vec![self.square])])
    }

    fn restore(&mut self, state: &State) -> Result<(), StateError> {
        let mut square = [0.0];
        restore(state, "square", &mut square)?;
        self.square = square[0];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::ENTRY;
    use crate::data::Visibility;
    use crate::train::{DataShape, Plan, Recipe, TargetShape};
    use muffle_nn::Shape;

    fn plan(settings: &[&str]) -> crate::error::Result<Plan> {
        let text = r#"
            data = "none"
            model = { layers = [{ type = "dense", features = 2 }] }
            method = "adpsgd"
            batch_size = 50
            learning_rate = 1.0
            clip = { kind = "flat", threshold = 1.0 }
            noise_multiplier = 3
            epochs = 40
        "#;
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let data = DataShape {
            input: Shape::Vector(4),
            targets: TargetShape::Classes(2),
            records: 1000,
            visibility: Visibility::Public,
            split_by_hash: false,
            texts: None,
        };
        Plan::new(Recipe::parse("test", text, &settings).unwrap(), &data)
    }

    /// Twenty steps to the epoch. After thirty epochs b = √(1 + 0.1 · 30) = 2: half the learning rate, √2 times the noise.
    #[test]
    fn noise_and_step_size_follow_the_count_of_epochs() {
        let plan = plan(ENTRY.settings).unwrap();
        for (step, noise, rate) in [(0, 3.0, 2.0), (19, 3.0, 2.0), (600, 3.0 * 2f64.sqrt(), 1.0)] {
            assert!((plan.noise_multiplier_at(step) - noise).abs() < 1e-12, "step {step}");
            assert!(
                (plan.recipe.training.learning_rate.at(plan.time(step)) - rate).abs() < 1e-12,
                "step {step}"
            );
        }
    }

    #[test]
    fn following_gradients_needs_a_budget_and_no_schedule() {
        for (settings, part) in [
            (&["parameters.gradients=1"][..], "set epsilon"),
            (&["parameters.gradients=1", "epsilon=2", ENTRY.settings[0]], "not both"),
            (&["parameters.gradients=1", "epsilon=2", "parameters.initial=0"], "parameters.initial = 0"),
        ] {
            let message = plan(settings).err().unwrap().to_string();
            assert!(message.contains(part), "{message}");
        }
        assert!(plan(&["parameters.gradients=1", "epsilon=2"]).unwrap().filter_order.is_some());
    }
}
