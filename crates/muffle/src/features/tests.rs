//! Features of made-up images.

use super::cache::{Cache, digest};
use super::stage::BLOCK;
use super::{Features, patches};
use crate::data::leaves;
use crate::data::{Augmentation, Dataset, Records, Scaling, Split, Views, Visibility};
use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::{Batch, Engine, Examples, ModelDescription, Options, Purpose, Shape};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SMALL: Shape = Shape::Image { height: 8, width: 8, channels: 1 };

fn images(train: usize, test: usize) -> Dataset {
    seen_by(Visibility::Public, train, test)
}

fn seen_by(visibility: Visibility, train: usize, test: usize) -> Dataset {
    let mut random = SplitMix::new(1);
    let mut split = |records: usize| {
        let values = (0..records * SMALL.len()).map(|_| (255.0 * random.uniform()) as u8).collect();
        Split::classified(Records::Bytes(values), (0..records as u32).map(|record| record % 2).collect())
    };
    let (train, test) = (split(train), split(test));
    let classes = vec!["even".to_string(), "odd".to_string()];
    let scaling = Scaling::range(0.0, 255.0);
    Dataset::new("images", SMALL, classes, scaling, visibility, train, test).unwrap()
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
    let cache = Cache { folder: folder.to_path_buf(), digest: digest(dataset, &features) };
    features.apply_with(Some(cache), dataset, (Augmentation::default(), 1), Some(1), stop, tell).unwrap()
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
    let inputs = leaves::scaled(shape, 200, 99);
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

/// What these features make of one image.
fn of(features: &Features, shape: Shape, image: &[f32]) -> Vec<f32> {
    let network = Arc::new(features.network(shape).unwrap());
    let mut outputs = vec![0.0; network.output().len()];
    let mut engine = Engine::new(network, Options::new(Purpose::Evaluate)).unwrap();
    let batch = Batch::new(image.to_vec(), vec![0]);
    engine.outputs(&features.parameters(shape).unwrap(), &batch, &mut outputs).unwrap();
    outputs
}

fn near(found: &[f32], expected: &[f32]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-4)
}

/// On images that they were not found on, filters answer with a mean of nothing and a deviation near one, before the threshold.
#[test]
fn filters_answer_evenly_to_synthetic_images() {
    const FILTERS: usize = 24;
    let shape = Shape::Image { height: 16, width: 16, channels: 3 };
    let layers = patches::layers(FILTERS)[..1].to_vec();
    let network = Arc::new(ModelDescription { input: shape, layers }.network().unwrap());
    let mut outputs = vec![0.0; 100 * network.output().len()];
    let mut engine = Engine::new(network, Options::new(Purpose::Evaluate)).unwrap();
    let images = Batch::new(leaves::scaled(shape, 100, 99), vec![0; 100]);
    engine.outputs(&patches::parameters(shape, FILTERS), &images, &mut outputs).unwrap();
    let places = (outputs.len() / FILTERS) as f64;
    for filter in 0..FILTERS {
        let answers = || outputs.iter().skip(filter).step_by(FILTERS).map(|answer| f64::from(*answer));
        let mean = answers().sum::<f64>() / places;
        let deviation = (answers().map(|answer| (answer - mean).powi(2)).sum::<f64>() / places).sqrt();
        assert!((mean + 0.25).abs() < 0.2 && (0.4..1.6).contains(&deviation), "{filter}: {mean} {deviation}");
    }
}

/// Patches stand beside the wavelets, and both are the same for an image and its mirror image where that is asked for.
#[test]
fn parts_stand_side_by_side_and_do_not_know_left_from_right() {
    let shape = Shape::Image { height: 12, width: 12, channels: 1 };
    let image = leaves::scaled(shape, 1, 5);
    let wavelets = of(&features("groups = 9"), shape, &image);
    let both = of(&features("groups = 9\npatches = 4"), shape, &image);
    let first: Vec<f32> = both.chunks_exact(85).flat_map(|place| place[..81].to_vec()).collect();
    assert!(near(&first, &wavelets));
    let mirror: Vec<f32> = image.chunks_exact(12).flat_map(|row| row.iter().rev().copied()).collect();
    let mirrored = features("groups = 9\npatches = 4\nmirrored = true");
    assert!(near(&of(&mirrored, shape, &image), &of(&mirrored, shape, &mirror)));
    assert!(!near(&both, &of(&features("groups = 9\npatches = 4"), shape, &mirror)));
}

#[test]
fn images_smaller_than_a_filter_are_refused() {
    let filters: Features = toml::from_str("kind = \"filters\"\npatches = 4").unwrap();
    let refused = filters.network(Shape::Image { height: 4, width: 8, channels: 1 }).err();
    assert!(refused.is_some_and(|error| error.to_string().contains("5 by 5")));
}

/// A prior is the first layers of its file, whatever the size of the images; another file in its place is refused.
#[test]
fn a_prior_is_the_first_layers_of_a_model_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prior.safetensors");
    let conv = "{ type = \"conv2d\", channels = 6, kernel = 3, padding = 1 }";
    let model = format!(
        "input = [1, 8, 8]\nlayers = [{conv}, {{ type = \"relu\" }}, {{ type = \"flatten\" }}, {{ type = \"dense\", features = 2 }}]"
    );
    let save = |seed: u64| {
        let description = ModelDescription::from_toml(&model).unwrap();
        let network = description.network().unwrap();
        let parameters = initial_parameters(&network, seed);
        muffle_nn::weights::save(&path, &network, Some(&description), &parameters).unwrap();
        parameters
    };
    let parameters = save(1);
    let asked = |layers: usize| -> Features {
        let path = path.display();
        toml::from_str(&format!("kind = \"filters\"\nprior = {{ weights = \"{path}\", layers = {layers} }}"))
            .unwrap()
    };
    let mut prior = asked(2);
    prior.settle().unwrap();
    let shape = Shape::Image { height: 12, width: 12, channels: 1 };
    assert_eq!(prior.parameters(shape).unwrap()[..], parameters[..60]);
    assert_eq!(prior.network(shape).unwrap().output(), Shape::Image { height: 12, width: 12, channels: 6 });
    let refused = |features: &mut Features, shape: Shape, part: &str| {
        let error =
            features.settle().and_then(|()| features.parameters(shape).map(drop)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(&mut asked(4), shape, "outside 1 to 3");
    refused(&mut asked(2), Shape::Image { height: 12, width: 12, channels: 3 }, "images of 1 channels");
    save(2);
    refused(&mut prior, shape, "not the file that the recipe is about");
    std::fs::remove_file(&path).unwrap();
    refused(&mut asked(2), shape, "prior.safetensors");
}

/// Features of views are those of the moved images, and the first view is the record itself.
#[test]
fn views_are_made_before_features() {
    let dataset = images(5, 3);
    let augmentation = Augmentation { shift: 1, ..Augmentation::default() };
    let never = AtomicBool::new(false);
    let folder = tempfile::tempdir().unwrap();
    let features = features("groups = 9");
    let cache = || Some(Cache { folder: folder.path().to_path_buf(), digest: digest(&dataset, &features) });
    let make = || {
        features
            .apply_with(cache(), &dataset, (augmentation, 3), Some(1), &never, &mut |_, _| {})
            .unwrap()
            .unwrap()
    };
    let made = make();
    let views = Views::new(made.train(), augmentation, 0, 0, 3);
    let mut found = vec![0.0; made.input().len()];
    let moved = super::numbers(augmentation, 3).unwrap();
    for record in 0..5 {
        for view in 0..3 {
            let mut image = vec![0.0; SMALL.len()];
            match view {
                0 => dataset.train().read(record, &mut image),
                _ => Views::alike(dataset.train(), augmentation, 5, moved[view - 1]).read(record, &mut image),
            }
            views.read(3 * record + view, &mut found);
            let expected = of(&features, SMALL, &image);
            let off =
                |(found, expected): (&f32, &f32)| (found - expected).abs() > 1e-2 * (1.0 + expected.abs());
            assert!(!found.iter().zip(&expected).any(off), "view {view} of record {record}");
        }
    }
    assert_ne!(made.further_views()[0], made.further_views()[1]);
    assert_eq!(make().further_views(), made.further_views(), "kept ones are the same");
}

/// Runs side by side hold one copy of what they work with; when nobody does any more it is made anew.
#[test]
fn what_runs_work_with_is_made_and_held_once() {
    // Features of private records are kept on no disk.
    let (dataset, never) = (seen_by(Visibility::Private, 20, 5), AtomicBool::new(false));
    let mut times = 0;
    let mut make = |dataset: &Dataset| {
        let mut tell = |done, _| times += usize::from(done == 25);
        let views = (Augmentation::default(), 1);
        features("groups = 9").apply(dataset, views, Some(1), &never, &mut tell).unwrap().unwrap()
    };
    let (one, other) = (make(&dataset), make(&dataset));
    assert!(Arc::ptr_eq(&one, &other));
    let (train, test) = (dataset.train().split().clone(), dataset.test().split().clone());
    let turned =
        Split::classified(train.records.clone(), train.labels().iter().map(|label| 1 - label).collect());
    let turned = make(&dataset.with_splits(turned, test).unwrap());
    assert_ne!(turned.train().label(0), one.train().label(0), "other targets");
    drop((one, other, turned));
    make(&dataset);
    assert_eq!(times, 3);
}
