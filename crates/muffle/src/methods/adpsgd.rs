//! DP-SGD with noise that grows as its step size shrinks.

use super::{Entry, Mode, Verdict, dp_sgd};

pub static ENTRY: Entry = Entry {
    name: "adpsgd",
    paper: "Wu, Wang, Cristali, Gu, Willett, Adaptive differentially private empirical risk minimization (ADPSGD), arXiv",
    year: 2021,
    idea: "small steps bear more noise: raise the noise as the step size falls",
    verdict: Verdict::Sound,
    modes: &[Mode::Sound],
    composes: "dp-sgd, a noise schedule and a learning rate that belong together",
    steps: "as dp-sgd with learning rate η/b_t and multiplier σ·α_t, where b_t = √(1 + c·t) and α_t² = b_t: noise_schedule \
            and learning_rate of kind power with the same rate c and powers 1/4 and −1/2, counted in epochs",
    guarantee: "b_t depends on the count alone, so step t is one Gaussian mechanism of multiplier σ·α_t, and the whole \
                schedule is priced in advance; step sizes that follow gradients are not offered",
    breaks: "",
    parameters: &[],
    settings: &[
        "noise_schedule={kind=\"power\",initial=1.0,rate=0.1,power=0.25}",
        "learning_rate={kind=\"power\",initial=2.0,rate=0.1,power=-0.5}",
    ],
    build: dp_sgd::build,
};

#[cfg(test)]
mod tests {
    use super::ENTRY;
    use crate::data::Visibility;
    use crate::train::{DataShape, Plan, Recipe};
    use muffle_nn::Shape;

    /// Twenty steps to the epoch. After thirty epochs b = √(1 + 0.1 · 30) = 2: half the learning rate, √2 times the noise.
    #[test]
    fn noise_and_step_size_follow_the_count_of_epochs() {
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
        let settings: Vec<String> = ENTRY.settings.iter().map(ToString::to_string).collect();
        let data =
            DataShape { input: Shape::Vector(4), classes: 2, records: 1000, visibility: Visibility::Public };
        let plan = Plan::new(Recipe::parse("test", text, &settings).unwrap(), &data).unwrap();
        for (step, noise, rate) in [(0, 3.0, 2.0), (19, 3.0, 2.0), (600, 3.0 * 2f64.sqrt(), 1.0)] {
            assert!((plan.noise_multiplier_at(step) - noise).abs() < 1e-12, "step {step}");
            assert!((plan.recipe.learning_rate.at(plan.time(step)) - rate).abs() < 1e-12, "step {step}");
        }
    }
}
