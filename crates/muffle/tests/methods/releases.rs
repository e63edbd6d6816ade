//! What single methods release, against their formulas.

use crate::common::{self, Records, distance};
use crate::trial::{BATCH, NOBODY, NOISE, Noise, THRESHOLD, Trial, length, normals, raw_sum};
use muffle::State;
use muffle::mechanism::widening;
use muffle::methods::Mode;
use muffle::noise::{GaussianNoise, Key, Purpose, Stream};

/// Two networks whose answers are one.
fn fused() -> String {
    format!(
        "[{{ type = \"concat\", branches = [{{ type = \"sequential\", layers = {0} }}, {{ type = \"sequential\", \
         layers = {0} }}] }}, {{ type = \"fusion\" }}]",
        common::LAYERS
    )
}

/// Both networks are in one release: with twice the tensors a record moves it by no more of its noise than before.
#[test]
fn two_fused_networks_are_clipped_together() {
    let fused = fused();
    let mut deviations = Vec::new();
    for layers in [common::LAYERS, &fused] {
        let mut trial = Trial::on("icgc", Mode::Sound, layers);
        let mut method = trial.plan.build_method().unwrap();
        let records = trial.setting.records(8, 30.0);
        let mut release = |records: &Records| {
            let mut mechanism = Noise::of(3);
            method.restore(&State::from([("threshold".to_string(), vec![0.1])])).unwrap();
            trial.advance(&mut *method, &mut mechanism, records).0
        };
        let noise = release(&NOBODY);
        let deviation = f64::from(noise[0]) / f64::from(normals(3, 0, 1)[0]);
        deviations.push(deviation);
        let moved = distance(&release(&records), &release(&records.removed())) / deviation;
        assert!(moved <= (1.0 + 1e-4) / NOISE && moved > 1e-3, "moved {moved} deviations");
    }
    // Whatever the threshold and the number of tensors, a release is brought to C.
    let expected = NOISE * THRESHOLD;
    assert!(deviations.iter().all(|deviation| (deviation / expected - 1.0).abs() < 0.01), "{deviations:?}");
}

/// The noise stays on the released mean, whose length is then bounded; the direction is that of plain DP-SGD.
#[test]
fn noisy_gradient_scales_the_noisy_mean_back_to_the_threshold() {
    let (mut bounded, mut plain) =
        (Trial::new("noisy-gradient", Mode::Sound), Trial::new("dp-sgd", Mode::Sound));
    let records = plain.setting.records(8, 1.0);
    let (bounded, _) = bounded.release(&records, 2);
    let (plain, _) = plain.release(&records, 2);
    let zeros = vec![0.0; plain.len()];
    assert!((distance(&bounded, &zeros) - THRESHOLD).abs() < 1e-4);
    let factor = (THRESHOLD / distance(&plain, &zeros)) as f32;
    let scaled: Vec<f32> = plain.iter().map(|value| factor * value).collect();
    assert!(distance(&bounded, &scaled) < 1e-4);
}

/// Every record's tensors are cut at the median of their norms; with C̄ that median and 1/5² the noise has deviation σ√ΣC̄² (a draw for
/// each record) or σ times the mean C̄ (one draw), of one network and of two that are fused.
#[test]
fn icgc_as_published_cuts_at_medians_and_makes_noise_of_them() {
    let fused = fused();
    for (layers, outside) in [(common::LAYERS, 0), (common::LAYERS, 1), (&fused, 0), (&fused, 1)] {
        let reading = format!("parameters.outside={outside}");
        let mut trial = Trial::with("icgc", Mode::AsPublished, layers, &[&reading]);
        let records = trial.setting.records(4, 1.0);
        let (released, _) = trial.release(&records, 2);
        let tensors: Vec<_> =
            trial.plan.network.parameters().iter().map(|tensor| tensor.range.clone()).collect();
        let mut expected = vec![0.0; released.len()];
        let (mut thresholds, mut cut) = (Vec::new(), 0);
        for gradient in trial.raw_gradients(&records) {
            let norms: Vec<f64> = tensors.iter().map(|range| length(&gradient[range.clone()])).collect();
            let mut sorted = norms.clone();
            sorted.sort_by(f64::total_cmp);
            let median = (sorted[tensors.len() / 2 - 1] + sorted[tensors.len() / 2]) / 2.0;
            for (range, norm) in tensors.iter().zip(norms) {
                let factor = (median / norm).min(1.0);
                cut += usize::from(factor < 1.0);
                range.clone().for_each(|place| expected[place] += factor * f64::from(gradient[place]));
            }
            thresholds.push(median + 1.0 / 25.0);
        }
        assert_eq!(cut, 4 * tensors.len() / 2);
        let squares: f64 = thresholds.iter().map(|value| value * value).sum();
        let mean = thresholds.iter().sum::<f64>() / 4.0;
        let deviation = NOISE * if outside == 1 { mean } else { squares.sqrt() };
        for (place, normal) in normals(2, 0, released.len()).into_iter().enumerate() {
            let error = f64::from(released[place]) - expected[place] - deviation * f64::from(normal);
            assert!(error.abs() < 1e-4 * deviation, "{reading}, {} tensors, {place}: {error}", tensors.len());
        }
    }
}

/// Without its noise, the release is the raw sum with each tensor's values within ±1.2·‖g‖/√n, and the noise has deviation
/// 0.7 · 1.2 · ‖g‖, or that over the batch size in the second reading: it vanishes with the gradient. By equation 7 the 0.7 is at least
/// √(2 ln 125,000)/ε_Lim.
#[test]
fn dp_adam_ilg_as_published_scales_the_noise_by_the_batch() {
    let floor = 4.844_805_262;
    for (reading, limit, noise) in [
        ("parameters.divided=0", 0.0, NOISE),
        ("parameters.divided=1", 0.0, NOISE / BATCH as f64),
        ("parameters.divided=0", 0.5, 2.0 * floor),
        ("parameters.divided=1", 0.9, floor / 0.9 / BATCH as f64),
    ] {
        let settings = [reading, &format!("parameters.epsilon_limit={limit}")];
        let mut trial = Trial::with("dp-adam-ilg", Mode::AsPublished, common::LAYERS, &settings);
        let records = trial.setting.records(8, 1.0);
        let (released, _) = trial.release(&records, 2);
        let (plain, raw) = raw_sum(&records);
        let normals = normals(2, 0, raw.len());
        let mut moved = 0;
        for tensor in plain.network.parameters() {
            let range = tensor.range.clone();
            let bound = 1.2 * length(&raw[range.clone()]);
            let limit = bound / (range.len() as f64).sqrt();
            for place in range {
                let clamped = f64::from(raw[place]).clamp(-limit, limit);
                moved += usize::from(clamped != f64::from(raw[place]));
                let noise = noise * bound * f64::from(normals[place]);
                let error = (f64::from(released[place]) - clamped - noise).abs();
                assert!(error <= 1e-4 * (limit + noise.abs()), "{settings:?}, {}: {error}", tensor.name);
            }
        }
        assert!(moved > 0, "no value is beyond its limit");
        assert!(trial.release(&NOBODY, 2).0.iter().all(|value| *value == 0.0), "no gradient, no noise");
    }
}

/// Learned norms start at C/(κ√J), so the first thresholds are C/√J, shared among eight tensors.
#[test]
fn dp_adam_ilg_learns_from_its_releases() {
    let mut trial = Trial::new("dp-adam-ilg", Mode::Sound);
    let records = trial.setting.records(8, 1.0);
    let mut method = trial.method();
    let tensors = trial.setting.network.parameters().len() as f64;
    let start = THRESHOLD / tensors.sqrt() / 4.0;
    assert!(method.state()["norms"].iter().all(|norm| (f64::from(*norm) - start).abs() < 1e-7));
    let (released, _) = trial.advance(&mut *method, &mut Noise::of(2), &records);
    // Without an allocation in the recipe every tensor has the same noise, but for what rounding adds.
    let share = THRESHOLD / tensors.sqrt();
    for (norm, tensor) in method.state()["norms"].iter().zip(trial.setting.network.parameters()) {
        let deviation = NOISE * THRESHOLD * widening(share, tensor.range.len());
        let square =
            length(&released[tensor.range.clone()]).powi(2) - tensor.range.len() as f64 * deviation.powi(2);
        let expected = 0.9 * start + 0.1 * square.max(0.0).sqrt();
        assert!((f64::from(*norm) - expected).abs() < 1e-4 * expected, "{}: {norm}", tensor.name);
    }
}

/// First a norm, then a box: limits are 1.1 times the root of a tenth of what the first release's squares have above the variance of
/// their noise, brought to norm C, and the noise is 0.7 · √m times as large.
#[test]
fn adadp_turns_a_release_into_limits_for_the_next() {
    let mut trial = Trial::new("adadp", Mode::Sound);
    let mut plain = Trial::new("dp-sgd", Mode::Sound);
    let records = trial.setting.records(8, 1.0);
    let mut method = trial.method();
    let mut mechanism = Noise::of(2);
    let (first, _) = trial.advance(&mut *method, &mut mechanism, &records);
    let (expected, _) = plain.release(&records, 2);
    assert!(distance(&first, &expected) < 1e-4 * length(&expected));

    let (noise, _) = trial.advance(&mut *method, &mut mechanism, &NOBODY);
    let above = |value: &f32| (f64::from(*value).powi(2) - (NOISE * THRESHOLD).powi(2)).max(0.0);
    let roots: Vec<f64> = first.iter().map(|value| 1.1 * (0.1 * above(value)).sqrt()).collect();
    let norm = roots.iter().map(|root| root * root).sum::<f64>().sqrt();
    assert!(norm > THRESHOLD, "noise of {} coordinates is longer than the threshold", roots.len());
    let diagonal = (roots.len() as f64).sqrt();
    let widening = widening(diagonal, roots.len());
    let scale = NOISE * widening * diagonal * THRESHOLD / norm;
    for ((value, root), normal) in noise.iter().zip(&roots).zip(normals(2, 1, roots.len())) {
        let floor = NOISE * widening * 1e-3 * THRESHOLD;
        let deviation = (scale * root).max(floor);
        let expected = deviation * f64::from(normal);
        let error = 1e-3 * expected.abs() + 1e-5 * deviation;
        assert!((f64::from(*value) - expected).abs() < error, "{value} for {expected}");
    }
}

/// Before the squares of a history come to (G·C)² = 2.5e-5 together, a step is that of DP-SGD.
#[test]
fn adadp_clips_by_norm_until_its_history_is_long_enough() {
    let mut trial = Trial::new("adadp", Mode::Sound);
    let records = trial.setting.records(8, 1.0);
    let (plain, _) = Trial::new("dp-sgd", Mode::Sound).release(&records, 2);
    for (squares, started) in [(2.4e-5, false), (2.6e-5, true)] {
        let mut method = trial.method();
        let history = vec![squares / plain.len() as f32; plain.len()];
        method.restore(&State::from([("squares".to_string(), history)])).unwrap();
        let (released, _) = trial.advance(&mut *method, &mut Noise::of(2), &records);
        assert_eq!(distance(&released, &plain) > 1e-4 * length(&plain), started, "{squares}");
    }
}

/// As published every noisy gradient is cut to length C, and what is released is the mean over the records at hand: of one record it has
/// length C, of eight, whose noise has eight directions, less.
#[test]
fn noisy_gradient_as_published_is_a_mean_of_cut_gradients() {
    let mut trial = Trial::new("noisy-gradient", Mode::AsPublished);
    let [one, eight] = [1, 8].map(|count| {
        let records = trial.setting.records(count, 1.0);
        length(&trial.release(&records, 2).0)
    });
    assert!((one / THRESHOLD - 1.0).abs() < 1e-5, "{one}");
    assert!(eight < 0.8 * THRESHOLD && eight > 0.2 * THRESHOLD, "{eight}");
    assert!(trial.release(&NOBODY, 2).0.iter().all(|value| *value == 0.0));
}

/// Noise of deviation σC on each record's raw gradient, and then the cut at C.
#[test]
fn noisy_gradient_as_published_adds_noise_before_it_cuts() {
    let mut trial = Trial::new("noisy-gradient", Mode::AsPublished);
    let records = trial.setting.records(3, 1.0);
    let (released, _) = trial.release(&records, 2);
    // The second stream of the first step: the first is for noise on sums.
    let noise = GaussianNoise::new(&Key::from_seed(2), Stream::new(Purpose::StatisticNoise, 1));
    let mut expected = vec![0.0; released.len()];
    for (record, mut gradient) in trial.raw_gradients(&records).into_iter().enumerate() {
        noise.add((record * gradient.len()) as u64, (NOISE * THRESHOLD) as f32, &mut gradient);
        let factor = (THRESHOLD / length(&gradient)) as f32;
        assert!(factor < 0.1, "noise of so many values is longer than the threshold");
        expected.iter_mut().zip(&gradient).for_each(|(sum, value)| *sum += factor * value / 3.0);
    }
    assert!(distance(&released, &expected) < 1e-5 * THRESHOLD);
}

/// One draw for all records of a step against a draw for each, on a network of 40,000 parameters where both are one distribution up to a
/// relative 0.004: means over draws lie in the same direction and have the same length, and so does what varies.
#[test]
fn noise_of_all_records_together_is_that_of_each() {
    const LARGE: &str = r#"[{ type = "flatten" }, { type = "dense", features = 256 }, { type = "tanh" }, { type = "dense", features = 10 }]"#;
    const DRAWS: u64 = 40;
    let releases = |settings: &[&str]| -> (Vec<f32>, f64) {
        let mut trial = Trial::with("noisy-gradient", Mode::AsPublished, LARGE, settings);
        let records = trial.setting.records(4, 1.0);
        let draws: Vec<Vec<f32>> = (0..DRAWS).map(|seed| trial.release(&records, seed).0).collect();
        let mean: Vec<f32> = (0..draws[0].len())
            .map(|at| draws.iter().map(|draw| draw[at]).sum::<f32>() / DRAWS as f32)
            .collect();
        let spread = draws.iter().map(|draw| distance(draw, &mean).powi(2)).sum::<f64>();
        (mean, (spread / (DRAWS - 1) as f64).sqrt())
    };
    let (each, spread_of_each) = releases(&["noise_multiplier=0.1"]);
    let (together, spread) = releases(&["noise_multiplier=0.1", "parameters.together=1"]);
    // Noise of the means, by two draws of it: a twentieth of their spread each.
    let error = (2.0 / DRAWS as f64).sqrt() * spread;
    assert!((spread / spread_of_each - 1.0).abs() < 0.01, "{spread} {spread_of_each}");
    assert!(length(&each) > 2.0 * error, "{} {error}", length(&each));
    assert!((distance(&each, &together) / error - 1.0).abs() < 0.1, "{} {error}", distance(&each, &together));
    let (quieter, other_spread) = releases(&["noise_multiplier=0.05", "parameters.together=1"]);
    assert!(other_spread < 0.95 * spread_of_each, "{other_spread} {spread_of_each}");
    assert!(distance(&each, &quieter) > 1.2 * error, "{} {error}", distance(&each, &quieter));
}

/// One record alone: its gradient at length C, noise, and the result at length C again.
#[test]
fn ng_local_noises_every_record_between_two_clips() {
    let mut trial = Trial::new("ng-local", Mode::Sound);
    let record = trial.setting.records(1, 30.0);
    let (_, raw) = raw_sum(&record);
    assert!(length(&raw) > THRESHOLD);
    let normals = normals(2, 0, raw.len());
    let report = |gradient: &[f32]| -> Vec<f32> {
        let factor = (THRESHOLD / length(gradient).max(THRESHOLD)) as f32;
        let deviation = (NOISE * THRESHOLD) as f32;
        let noisy: Vec<f32> = gradient
            .iter()
            .zip(&normals)
            .map(|(value, normal)| factor * value + deviation * normal)
            .collect();
        let factor = (THRESHOLD / length(&noisy).max(THRESHOLD)) as f32;
        noisy.iter().map(|value| factor * value).collect()
    };
    let (released, _) = trial.release(&record, 2);
    assert!(distance(&released, &report(&raw)) < 1e-4);
    // A record without a finite gradient reports as the zero gradient does.
    let (released, _) = trial.release(&record.zeroed_out(0), 2);
    assert!(distance(&released, &report(&vec![0.0; raw.len()])) < 1e-4);
    assert!(trial.release(&NOBODY, 2).0.iter().all(|value| *value == 0.0));
}
