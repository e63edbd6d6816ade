//! Noise by the relevance of inputs: what it releases, and what it pays.

use crate::common::{LOSS, distance, receipt};
use crate::trial::{DATA, NOBODY, NOISE, THRESHOLD, Trial, normals};
use muffle::ledger::{Access, Ledger};
use muffle::mechanism::{Gradients, Mechanism, widening};
use muffle::methods::{Mode, Preparation, Step};
use muffle::noise::Key;
use muffle::relevance::{self, Of, Regions, Until};
use muffle::train::{DataShape, METHOD, Plan, Recipe};
use muffle_accounting::Event;
use muffle_nn::relevance::Propagation;
use muffle_nn::{Batch, Engine, Options, Purpose, Shape};

/// A dense layer that reads the pixels of 144, eight outputs of it, and a dense layer behind it.
const DENSE: &str = "[{ type = \"flatten\" }, { type = \"dense\", features = 8 }, { type = \"tanh\" }, \
                      { type = \"dense\", features = 10 }]";

/// What the method releases before the first step of a trial: the sum over its twenty records with noise of scale 10.
fn released(trial: &Trial) -> Vec<f64> {
    let propagation = Propagation::new(trial.setting.network.clone(), 0.01).unwrap();
    let records = trial.setting.records(20, 1.0);
    let sum =
        relevance::bounded(&propagation, &trial.setting.parameters, &records.all(), Of::Inputs).unwrap();
    let receipt = Ledger::in_memory().pay_one(Access::all(METHOD, 0, Event::laplace(10.0))).unwrap();
    Mechanism::new(Key::from_seed(8), 1.0).answer(sum, 10.0, receipt).0
}

/// Over the mean, at least a tenth, over the mean again.
fn shares_of(relevance: &[f64]) -> Vec<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let positive: Vec<f64> = relevance.iter().map(|value| value.max(0.0)).collect();
    let raised: Vec<f64> = positive.iter().map(|value| (value / mean(&positive)).max(0.1)).collect();
    raised.iter().map(|value| value / mean(&raised)).collect()
}

/// The noise is σC/√β on the column of each pixel in the first dense layer, and σC elsewhere; a record alone is its gradient,
/// scaled to √(Σ β g²) = C.
#[test]
fn every_column_is_measured_by_the_private_relevance_of_its_pixel() {
    for name in ["adlm", "afrrs"] {
        let mut trial = Trial::on(name, Mode::Sound, DENSE);
        let released = released(&trial);
        let shares = match name {
            "adlm" => shares_of(&released),
            _ => {
                let positive: Vec<f64> = released.iter().map(|value| value.max(0.0)).collect();
                let mean = positive.iter().sum::<f64>() / 144.0;
                let even: Vec<f64> = positive.iter().map(|value| f64::from((value / mean) as f32)).collect();
                shares_of(&Regions::new(&even, Until::Count(2)).weight_of_features())
            }
        };
        let largest = shares.iter().copied().fold(0.0, f64::max);
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(largest > 2.0 * least, "{shares:?}");
        // Eight rows of 144 columns come first.
        let share = |place: usize| if place < 8 * 144 { shares[place % 144] } else { 1.0 };

        let (noise, event) = trial.release(&NOBODY, 2);
        assert_eq!(event, Event::gaussian(NOISE));
        for (place, (value, normal)) in noise.iter().zip(normals(2, 0, noise.len())).enumerate() {
            let deviation = NOISE * THRESHOLD * widening(THRESHOLD, noise.len()) / share(place).sqrt();
            let expected = deviation * f64::from(normal);
            assert!(
                (f64::from(*value) - expected).abs() <= 1e-4 * (expected.abs() + deviation),
                "{name}: {place}"
            );
        }
        let record = trial.setting.records(1, 30.0);
        let mut plain = Engine::new(trial.setting.network.clone(), Options::new(Purpose::Plain)).unwrap();
        plain.sum(&trial.setting.parameters, &record.all(), LOSS, 0).unwrap();
        let raw = plain.gradient();
        let square = |(place, value): (usize, &f32)| share(place) * f64::from(*value).powi(2);
        let norm = raw.iter().enumerate().map(square).sum::<f64>().sqrt();
        let factor = (THRESHOLD / norm).min(1.0) as f32;
        assert!(factor < 1.0, "{norm}");
        let expected: Vec<f32> =
            raw.iter().zip(&noise).map(|(value, noise)| factor * value + noise).collect();
        assert!(distance(&trial.release(&record, 2).0, &expected) < 2e-3, "{name}");
    }
}

/// The layer `scale` is set to √β: pixels of an image with the mean of their squares at one.
#[test]
fn a_scale_feeds_each_pixel_times_the_root_of_its_share() {
    let trial = Trial::new("adlm", Mode::Sound);
    let mut parameters = trial.setting.parameters.clone();
    let mut method = trial.plan.build_method().unwrap();
    let event = method.preparation().unwrap();
    assert_eq!(event, Event::laplace(10.0));
    let records = trial.setting.records(20, 1.0);
    method
        .prepare(Preparation {
            parameters: &mut parameters,
            examples: &records.all(),
            mechanism: &Mechanism::new(Key::from_seed(8), 1.0),
            receipt: Ledger::in_memory().pay_one(Access::all(METHOD, 0, event)).unwrap(),
            noise_multiplier: NOISE,
        })
        .unwrap();
    for (scale, share) in parameters.iter().zip(shares_of(&released(&trial))) {
        assert!((f64::from(*scale) - share.sqrt()).abs() < 1e-5);
    }
    assert_eq!(parameters[144..], trial.setting.parameters[144..], "nothing else is set");
}

/// Channels of a pixel stand side by side in an image, and one behind the other in the layer after `flatten`.
#[test]
fn columns_of_a_colour_image_find_their_pixels() {
    let text = "data = \"none\"\nmodel = { input = [2, 1, 2], layers = [{ type = \"flatten\" }, \
                { type = \"dense\", features = 10, bias = false }] }\nmethod = \"adlm\"\nnoise_multiplier = 1\nsteps = 1\n\
                batch_size = 4\nlearning_rate = 1\nclip = { kind = \"flat\", threshold = 1.0 }\nparameters.relevance_epsilon = 1e6";
    let data = DataShape { input: Shape::image(2, 1, 2), ..DATA };
    let plan = Plan::new(Recipe::parse("test", text, &[]).unwrap(), &data).unwrap();
    let mut method = plan.build_method().unwrap();
    // Only the second channel of the first pixel, value 1 of the record, has relevance.
    let batch = Batch::new([0.0, 3.0, 0.0, 0.0].repeat(20), vec![0; 20]);
    let event = method.preparation().unwrap();
    let preparation = Preparation {
        parameters: &mut [1.0; 40],
        examples: &batch,
        mechanism: &Mechanism::new(Key::from_seed(8), 1.0),
        receipt: Ledger::in_memory().pay_one(Access::all(METHOD, 0, event)).unwrap(),
        noise_multiplier: 1.0,
    };
    method.prepare(preparation).unwrap();
    assert_eq!(
        method.state()["shares"].iter().map(|share| *share > 1.0).collect::<Vec<_>>(),
        [false, true, false, false]
    );
    let mut engine = Engine::new(plan.network.clone(), Options::new(method.purpose())).unwrap();
    let receipt = receipt(0, Event::gaussian(1.0));
    let (mechanism, nobody) = (Mechanism::new(Key::from_seed(3), 1.0), Batch::new(Vec::new(), Vec::new()));
    let (parameters, loss) = ([1.0; 40], plan.loss);
    let gradients =
        Gradients { engine: &mut engine, parameters: &parameters, examples: &nobody, loss, seed: 0 };
    let step = Step { gradients, mechanism: &mechanism, receipt, noise_multiplier: 1.0, clip_factor: 1.0 };
    let release = method.release(step).unwrap();
    // Column 2 of a row, the second channel's first pixel, has the least noise.
    let normals = normals(3, 0, 40);
    for row in 0..10 {
        let scale =
            |column: usize| (release.gradient.gradient()[4 * row + column] / normals[4 * row + column]).abs();
        assert!(scale(2) < 0.8 && [0, 1, 3].iter().all(|column| scale(*column) > 1.2), "{row}");
    }
}
