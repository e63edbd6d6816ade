//! Noise on inputs and coefficients as published: what it releases, and what breaks.

use crate::common::Records;
use crate::trial::{DATA, NOBODY, NOISE, Trial};
use muffle::methods::Mode;
use muffle::train::{Plan, Recipe};

/// A dense layer of eight outputs that reads 144 pixels, and one of ten behind it.
const DENSE: &str = "[{ type = \"flatten\" }, { type = \"dense\", features = 8 }, { type = \"sigmoid\" }, \
                      { type = \"dense\", features = 10 }]";
const FIRST: usize = 8 * 144;

/// ε₁ + ε₂ + ε₃ is claimed for any number of steps and any sample.
#[test]
fn the_claim_does_not_know_how_long_training_takes() {
    for name in ["adlm", "afrrs"] {
        assert_eq!(Trial::new(name, Mode::AsPublished).plan.claimed(), Some(1.0 / NOISE));
        for steps in ["5", "500"] {
            let text = format!(
                "data = \"none\"\nmodel = {{ input = [1, 12, 12], layers = {DENSE} }}\nmethod = {name:?}\nmode = \"as-published\"\n\
                 epsilon = 0.6\nsteps = {steps}\nbatch_size = 400\nlearning_rate = 0.1\nclip = {{ kind = \"flat\", threshold = 1.0 }}"
            );
            let plan = Plan::new(Recipe::parse(name, &text, &[]).unwrap(), &DATA).unwrap();
            assert!((plan.noise_multiplier * 0.6 - 1.0).abs() < 1e-3, "{name}: {}", plan.noise_multiplier);
        }
    }
}

/// Without records there is noise on the coefficients alone: on the weights of the last layer, and not on its bias.
#[test]
fn coefficients_have_noise_and_nothing_else_has() {
    let mut trial = Trial::on("adlm", Mode::AsPublished, DENSE);
    let (noise, _) = trial.release(&NOBODY, 2);
    let weights = FIRST + 8..FIRST + 8 + 80;
    assert!(noise[..weights.start].iter().chain(&noise[weights.end..]).all(|value| *value == 0.0));
    assert!(noise[weights.clone()].iter().all(|value| *value != 0.0));
    // Δ_F/ε₃ = 10·(8 + 16)·2·0.7 = 336: the mean size of a Laplace variable is its scale, and weights of 1/√8 add to it.
    let size = noise[weights].iter().map(|value| value.abs()).sum::<f32>() / 80.0;
    assert!(size > 250.0 && size < 1300.0, "{size}");
}

/// What breaks. At weights of zero every record has the same slopes, and what two records of one class differ by has no noise at
/// all: with the same draw for both, all of it is gone.
#[test]
fn a_difference_of_two_records_has_no_noise() {
    let mut trial = Trial::on("adlm", Mode::AsPublished, DENSE);
    trial.setting.parameters[..FIRST].fill(0.0);
    let one = trial.setting.records(1, 1.0);
    let other = Records { inputs: vec![one.inputs[0].iter().map(|value| 0.5 - value / 2.0).collect()] };
    let ([(first, _), (second, _)], pixels) =
        ([trial.release(&one, 2), trial.release(&other, 2)], one.inputs[0].iter().zip(&other.inputs[0]));
    let differences: Vec<f32> = pixels.map(|(one, other)| one - other).collect();
    let largest = first[..FIRST].iter().map(|value| value.abs()).fold(0.0, f32::max);
    let mut steepest = 0.0f32;
    for row in 0..8 {
        let found = |place: usize| first[row * 144 + place] - second[row * 144 + place];
        // The slope of the row, from the pixel that differs most.
        let widest = (0..144).max_by(|a, b| differences[*a].abs().total_cmp(&differences[*b].abs())).unwrap();
        let slope = found(widest) / differences[widest];
        for (place, difference) in differences.iter().enumerate() {
            assert!((found(place) - slope * difference).abs() < 1e-5 * largest, "{row} {place}");
        }
        steepest = steepest.max(slope.abs());
    }
    assert!(steepest > 1e-3, "{steepest}");
}

/// What breaks. At last weights of zero no output depends on anything, and the gradient of the last bias is Σ(½ − y): the labels of
/// the batch, counted without any noise, whatever was drawn.
#[test]
fn labels_of_a_step_are_counted_without_noise() {
    for name in ["adlm", "afrrs"] {
        let mut trial = Trial::on(name, Mode::AsPublished, DENSE);
        let (bias, parameters) = (FIRST + 8 + 80, &mut trial.setting.parameters);
        parameters[FIRST + 8..].fill(0.0);
        // Record i has class i: three records of the first three classes, of whom the last goes.
        let records = trial.setting.records(3, 1.0);
        for seed in [2, 3] {
            let (three, _) = trial.release(&records, seed);
            assert_eq!(three[bias..bias + 4], [0.5, 0.5, 0.5, 1.5], "{name}");
            let (two, _) = trial.release(&records.removed(), seed);
            assert_eq!(two[bias..bias + 4], [0.0, 0.0, 1.0, 1.0], "{name}");
        }
    }
}
