//! Noise by relevance: what it releases, in both forms, and what it pays.

use crate::common::distance;
use crate::trial::{DATA, NOBODY, NOISE, THRESHOLD, Trial, length, normals, raw_sum};
use muffle::ledger::{Access, Ledger};
use muffle::mechanism::{Mechanism, widening};
use muffle::methods::Mode;
use muffle::noise::Key;
use muffle::relevance;
use muffle::train::METHOD;
use muffle::train::Plan;
use muffle_accounting::{Adjacency, Event};
use muffle_nn::relevance::Propagation;

/// R from a sum of relevances: over its mean, at least a tenth, over the mean again; and the neuron of each parameter.
fn shares_of(relevance: &[f64]) -> Vec<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let positive: Vec<f64> = relevance.iter().map(|value| value.max(0.0)).collect();
    let raised: Vec<f64> = positive.iter().map(|value| (value / mean(&positive)).max(0.1)).collect();
    raised.iter().map(|value| value / mean(&raised)).collect()
}

/// The noise is σC/√R on every parameter of a neuron, with R from a release of Laplace noise of scale 1/0.1; a record alone is
/// its gradient, scaled to √Σ R g² = C.
#[test]
fn relevance_noise_measures_every_neuron_by_its_private_relevance() {
    let mut trial = Trial::new("relevance-noise", Mode::Sound);
    let propagation = Propagation::new(trial.setting.network.clone(), 0.01).unwrap();
    let (parameters, all) = (trial.setting.parameters.clone(), trial.setting.records(20, 1.0));
    let (mechanism, of) = (Mechanism::new(Key::from_seed(8), 1.0), relevance::Of::Neurons);
    let sum = relevance::bounded(&propagation, &parameters, &all.all(), of).unwrap();
    let paid = Access::all(METHOD, 0, Event::laplace(10.0));
    let (released, _) = mechanism.answer(sum, 10.0, Ledger::in_memory().pay_one(paid).unwrap());
    // Channels and outputs.
    assert_eq!(released.len(), 8 + 16 + 12 + 10);
    let shares = shares_of(&released);
    assert!(shares.iter().any(|share| *share > 2.0) && shares.iter().any(|share| *share < 0.2), "{shares:?}");
    let owned = |place: usize| shares[propagation.neurons().owners()[place] as usize];

    let (noise, _) = trial.release(&NOBODY, 2);
    for (place, (value, normal)) in noise.iter().zip(normals(2, 0, noise.len())).enumerate() {
        let deviation = NOISE * THRESHOLD * widening(THRESHOLD, noise.len()) / owned(place).sqrt();
        let expected = deviation * f64::from(normal);
        // The grid is a part of 2⁻¹⁸ of the bound.
        assert!((f64::from(*value) - expected).abs() <= 1e-5 * (expected.abs() + deviation), "{place}");
    }
    for scale in [0.01, 30.0] {
        let record = trial.setting.records(1, scale);
        let (_, raw) = raw_sum(&record);
        let square = |(place, value): (usize, &f32)| owned(place) * f64::from(*value).powi(2);
        let norm = raw.iter().enumerate().map(square).sum::<f64>().sqrt();
        let factor = (THRESHOLD / norm).min(1.0) as f32;
        assert!(factor < 1.0, "{norm}");
        let expected: Vec<f32> =
            raw.iter().zip(&noise).map(|(value, noise)| factor * value + noise).collect();
        // To the grid.
        assert!(distance(&trial.release(&record, 2).0, &expected) < 2e-3);
    }
}

/// The paid release is part of the price of a run, and its scale follows the neighbours.
#[test]
fn relevance_noise_pays_for_relevance() {
    let trial = Trial::new("relevance-noise", Mode::Sound);
    let steps = Event::compose([Event::gaussian(NOISE).poisson_sampled(0.1).repeated(5)]);
    assert_eq!(trial.plan.total_cost().unwrap(), Event::compose([Event::laplace(10.0), steps]));
    let published = Trial::new("relevance-noise", Mode::AsPublished);
    assert_eq!(published.plan.build_method().unwrap().preparation(), None);

    let mut recipe = trial.plan.recipe.clone();
    recipe.run.adjacency = Some(Adjacency::ReplaceOne);
    let plan = Plan::new(recipe, &DATA).unwrap();
    assert_eq!(plan.build_method().unwrap().preparation(), Some(Event::laplace(20.0)));
}

/// The raw relevance of the batch sets the noise; the sum is clipped at C as a whole.
#[test]
fn relevance_noise_as_published_lets_the_batch_set_the_noise() {
    let mut trial = Trial::new("relevance-noise", Mode::AsPublished);
    let propagation = Propagation::new(trial.setting.network.clone(), 0.01).unwrap();
    let record = trial.setting.records(1, 30.0);
    let of = relevance::Of::Neurons;
    let raw = relevance::sum(&propagation, &trial.setting.parameters, &record.all(), of).unwrap();
    let shares = shares_of(&raw);
    let (released, _) = trial.release(&record, 2);
    let (_, gradient) = raw_sum(&record);
    let factor = THRESHOLD / length(&gradient);
    assert!(factor < 1.0);
    let normals = normals(2, 0, gradient.len());
    for (place, owner) in propagation.neurons().owners().iter().enumerate() {
        let deviation = NOISE * THRESHOLD / shares[*owner as usize].sqrt();
        let expected = factor * f64::from(gradient[place]) + deviation * f64::from(normals[place]);
        assert!((f64::from(released[place]) - expected).abs() <= 1e-4 * THRESHOLD, "{place}");
    }
    // What breaks: another record, another noise on every weight.
    let (other, _) = trial.release(&NOBODY, 2);
    let plain = NOISE * THRESHOLD * f64::from(normals[0]);
    assert!((f64::from(other[0]) - plain).abs() < 1e-6, "nobody, no relevance: the noise of DP-SGD");
}
