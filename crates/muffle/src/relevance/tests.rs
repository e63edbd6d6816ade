use super::*;
use crate::clip::MARGIN;
use crate::ledger::{Access, Ledger};
use crate::mechanism::Mechanism;
use crate::noise::{IntegerNoise, Key, Purpose, Stream};
use crate::train::METHOD;
use muffle_accounting::{Event, accountant};
use muffle_nn::{Batch, ModelDescription, Target};
use std::sync::Arc;

/// Two inputs, two classes.
const PARAMETERS: [f32; 4] = [1.0, -1.0, 0.5, 2.0];

fn propagation() -> Propagation {
    let model = "input = [2]\nlayers = [{ type = \"dense\", features = 2, bias = false }]";
    let network = Arc::new(ModelDescription::from_toml(model).unwrap().network().unwrap());
    Propagation::new(network, 0.0).unwrap()
}

fn sums(records: &dyn Examples) -> [Vec<f64>; 2] {
    [Of::Inputs, Of::Neurons].map(|of| sum(&propagation(), &PARAMETERS, records, of).unwrap())
}

fn near(left: &[f64], right: &[f64]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-6)
}

/// Two records with relevance, one that is not finite, and one whose logit is zero.
fn records() -> Batch {
    Batch::new(vec![3.0, 4.0, 2.0, 1.0, f32::NAN, 1.0, 0.0, 0.0], vec![1, 0, 0, 1])
}

/// The logit 9.5 of (3, 4) comes from 1.5 and 8, the logit 1 of (2, 1) from 2 and −1.
#[test]
fn sums_by_hand() {
    let [inputs, neurons] = sums(&records());
    let expected = [1.5 / 9.5 + 2.0 / 3.0, 8.0 / 9.5 + 1.0 / 3.0].map(|value| MARGIN * value);
    assert!(near(&inputs, &expected), "{inputs:?}");
    assert!(near(&neurons, &[MARGIN, MARGIN]), "{neurons:?}");
    let nobody = Batch::new(Vec::new(), Vec::new());
    assert_eq!(sums(&nobody), [vec![0.0, 0.0], vec![0.0, 0.0]]);
}

#[test]
fn records_add_up_over_blocks() {
    let count = 2 * BLOCK + 3;
    let [_, neurons] = sums(&Batch::new([3.0, 4.0].repeat(count), vec![1; count]));
    assert!(near(&neurons, &[0.0, MARGIN * count as f64]), "{neurons:?}");
}

/// Two views of one record: the first two records of above as one.
struct Views(Batch);

impl Examples for Views {
    fn len(&self) -> usize {
        2
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.0.read(index, input);
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.0.target(index)
    }

    fn views(&self) -> usize {
        2
    }
}

#[test]
fn a_record_of_several_views_counts_once() {
    let [_, neurons] = sums(&Views(records()));
    assert!(near(&neurons, &[0.5 * MARGIN, 0.5 * MARGIN]), "{neurons:?}");
}

/// Frozen randomness: the noise is that of its stream, and a record more or less moves the release by 1 at most, of which the
/// rounding to a grain takes part.
/// Integers to a unit, for noise that is as good as real.
const UNIT: f64 = 1_048_576.0;

#[test]
fn a_release_is_the_sum_with_laplace_noise() {
    let key = Key::from_seed(4);
    for scale in [0.0, 1.0, 20.0] {
        let promised = if scale > 0.0 { Event::laplace(scale) } else { Event::NonPrivate };
        let release = |records: &Batch| {
            let receipt = Ledger::in_memory().pay_one(Access::all(METHOD, 0, promised.clone())).unwrap();
            let sum = bounded(&propagation(), &PARAMETERS, records, Of::Inputs).unwrap();
            Mechanism::new(key.clone(), 1.0).answer(sum, scale, receipt)
        };
        let (noisy, event) = release(&records());
        assert_eq!(event, promised);
        let mut noise = vec![0.0; 2];
        let stream = Stream::new(Purpose::RelevanceNoise, 0);
        IntegerNoise::laplace(&key, stream, scale * UNIT).add(0, &mut noise);
        for ((noisy, sum), noise) in noisy.iter().zip(&sums(&records())[0]).zip(noise) {
            // The noise of the release is wider by a part that the grid has.
            let noise = noise / UNIT;
            assert!((noisy - sum - noise).abs() <= 1e-5 + 0.004 * noise.abs(), "{noisy}");
        }
        let fewer = Batch::new(vec![3.0, 4.0, f32::NAN, 1.0, 0.0, 0.0], vec![1, 0, 1]);
        let (without, _) = release(&fewer);
        let moved: f64 = noisy.iter().zip(&without).map(|(left, right)| (left - right).abs()).sum();
        assert!(moved <= 1.0 + 1e-5 && moved > 0.9, "{moved}");
    }
}

/// Whatever the neighbours, every accountant that gives a proof of pure noise agrees with what was asked for.
#[test]
fn a_release_costs_what_was_asked_for() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        let event = Event::laplace(noise_multiplier(0.25, adjacency));
        let pld = accountant::all().into_iter().find(|accountant| accountant.name() == "pld").unwrap();
        let price = pld.epsilon(&event, adjacency, 1e-12).unwrap().epsilon;
        assert!((price - 0.25).abs() < 1e-3, "{adjacency}: {price}");
    }
}
