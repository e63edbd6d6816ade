//! Features of made-up images.

use super::Features;
use super::cache::Cache;
use super::dead_leaves;
use super::stage::BLOCK;
use crate::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle_nn::initialise::SplitMix;
use muffle_nn::{Batch, Engine, Options, Purpose, Shape};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SMALL: Shape = Shape::Image { height: 8, width: 8, channels: 1 };

fn images(train: usize, test: usize) -> Dataset {
    let mut random = SplitMix::new(1);
    let mut split = |records: usize| {
        let values = (0..records * SMALL.len()).map(|_| (255.0 * random.uniform()) as u8).collect();
        Split::classified(Records::Bytes(values), (0..records as u32).map(|record| record % 2).collect())
    };
    let (train, test) = (split(train), split(test));
    let classes = vec!["even".to_string(), "odd".to_string()];
    let scaling = Scaling::range(0.0, 255.0);
    Dataset::new("images", SMALL, classes, scaling, Visibility::Public, train, test).unwrap()
}

fn features(settings: &str) -> Features {
    toml::from_str(&format!("kind = \"scattering\"\n{settings}")).unwrap()
}

fn made(
    dataset: &Dataset,
    folder: &Path,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(u64, u64),
) -> Option<Dataset> {
    let features = features("");
    let cache = Cache::new(folder.to_path_buf(), dataset, &features);
    features.apply_with(Some(cache), dataset, Some(1), stop, tell).unwrap()
}

/// Stopped anywhere, the work is taken up from the last block that was whole, and comes to the same end.
#[test]
fn work_that_was_stopped_goes_on_from_its_last_block() {
    let dataset = images(BLOCK + 300, 10);
    let never = AtomicBool::new(false);
    let [whole, interrupted] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let expected = made(&dataset, whole.path(), &never, &mut |_, _| {}).unwrap();
    let stop = AtomicBool::new(false);
    let mut last = 0;
    let stopped = made(&dataset, interrupted.path(), &stop, &mut |done, of| {
        assert_eq!(of, BLOCK as u64 + 310);
        last = done;
        stop.store(done > BLOCK as u64, Ordering::Relaxed);
    });
    assert!(stopped.is_none() && last > BLOCK as u64 && last < BLOCK as u64 + 300, "{last}");
    let mut told = Vec::new();
    let found = made(&dataset, interrupted.path(), &never, &mut |done, _| told.push(done)).unwrap();
    assert_eq!(
        (told[0], told[told.len() - 1]),
        (BLOCK as u64, BLOCK as u64 + 310),
        "the first block was kept"
    );
    for (found, expected) in [(found.train(), expected.train()), (found.test(), expected.test())] {
        assert!(found.split() == expected.split());
    }
}

/// On synthetic images that the constants were not found on, whitened channels have little mean and correlation; those of the transform have
/// correlations above 0.9.
#[test]
fn whitened_channels_are_uncorrelated_on_synthetic_images() {
    const KEPT: usize = 12;
    let shape = Shape::Image { height: 12, width: 12, channels: 1 };
    let features = features(&format!("groups = 1\nwhitened = {KEPT}"));
    let parameters = features.parameters(shape).unwrap();
    let network = Arc::new(features.network(shape).unwrap());
    assert_eq!(parameters.len(), network.parameter_len());
    let inputs = dead_leaves::scaled(shape, 200, &mut SplitMix::new(99));
    let mut outputs = vec![0.0; 200 * network.output().len()];
    let mut engine = Engine::new(network, Options::new(Purpose::Evaluate)).unwrap();
    engine.outputs(&parameters, &Batch::new(inputs, vec![0; 200]), &mut outputs).unwrap();
    let rows = outputs.chunks_exact(KEPT);
    let mean = |of: &dyn Fn(&[f32]) -> f64| rows.clone().map(of).sum::<f64>() / rows.len() as f64;
    let second = |one: usize, other: usize| mean(&|row| f64::from(row[one]) * f64::from(row[other]));
    for one in 0..KEPT {
        let scale = second(one, one).sqrt();
        assert!(mean(&|row| f64::from(row[one])).abs() < 0.35 * scale, "mean of {one}");
        for other in 0..one {
            let correlation = second(one, other) / (scale * second(other, other).sqrt());
            assert!(correlation.abs() < 0.5, "{one} and {other}: {correlation}");
        }
    }
    assert!(second(0, 0) > second(KEPT - 1, KEPT - 1), "the strongest comes first");
}

/// A grey image has brightness and nothing else, and one that is red where it is not blue has no brightness: both colours of a pixel go
/// into the channels that are named after them.
#[test]
fn opponent_colours_tell_brightness_from_colour() {
    let shape = Shape::Image { height: 8, width: 8, channels: 3 };
    let features = features("groups = 3\nopponent = true");
    let (transform, parameters) = (features.transform(shape).unwrap(), features.parameters(shape).unwrap());
    let mut engine = Engine::new(Arc::new(transform), Options::new(Purpose::Evaluate)).unwrap();
    let mut energies = |colours: fn(f32) -> [f32; 3]| {
        let mut random = SplitMix::new(3);
        let image = (0..64).flat_map(|_| colours(random.uniform() as f32)).collect();
        let mut outputs = vec![0.0; engine.network().output().len()];
        engine.outputs(&parameters, &Batch::new(image, vec![0]), &mut outputs).unwrap();
        let third = engine.network().output().channels() / 3;
        [0, 1, 2].map(|kind| {
            let of_kind =
                |place: &[f32]| place[kind * third..][..third].iter().map(|value| value * value).sum::<f32>();
            outputs.chunks_exact(3 * third).map(of_kind).sum::<f32>()
        })
    };
    let [brightness, across, green] = energies(|value| [value; 3]);
    assert!(brightness > 100.0 && across < 0.01 && green < 0.01, "grey: {brightness} {across} {green}");
    let [brightness, across, green] = energies(|value| [value, 0.0, -value]);
    assert!(
        brightness < 0.01 && across > 100.0 && green < 0.01,
        "red against blue: {brightness} {across} {green}"
    );
    let grey = Shape::Image { height: 8, width: 8, channels: 1 };
    let refused = features.network(grey).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|error| error.contains("red, green and blue")));
}
