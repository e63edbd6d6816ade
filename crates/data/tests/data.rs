//! Data sets as a training run uses them: the built-in one always, the others where `MUFFLE_DATA` has them.

use muffle_data::registry::{ENTRIES, entry};
use muffle_data::{Augmentation, Dataset, Scaling, Search, Split, Views, Visibility, load};
use muffle_data::{Records, locate::Found};
use muffle_nn::{Examples, Shape, Target};
use std::sync::LazyLock;

static MNIST: LazyLock<Dataset> = LazyLock::new(|| load("mnist", &Search::only(&[])).unwrap());

#[test]
fn mnist_is_built_in_whole() {
    assert_eq!((MNIST.train().len(), MNIST.test().len()), (60_000, 10_000));
    assert_eq!(MNIST.input(), Shape::image(1, 28, 28));
    // The labels of the first training images, as every tutorial shows them.
    let labels: Vec<u32> = (0..10).map(|index| MNIST.train().label(index)).collect();
    assert_eq!(labels, [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]);
    // Published counts of the training labels.
    let counts = MNIST.train().split().class_counts(10);
    assert_eq!(counts, [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]);
}

#[test]
fn scaled_mnist_has_mean_zero_and_deviation_one() {
    let (view, mut input) = (MNIST.train(), vec![0.0; 784]);
    let (mut sum, mut squares) = (0.0f64, 0.0f64);
    for index in 0..view.len() {
        view.read(index, &mut input);
        sum += input.iter().map(|value| f64::from(*value)).sum::<f64>();
        squares += input.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
    }
    let count = (view.len() * 784) as f64;
    let (mean, deviation) = (sum / count, (squares / count).sqrt());
    // The constants have four digits.
    assert!(mean.abs() < 1e-3 && (deviation - 1.0).abs() < 1e-3, "{mean} {deviation}");
}

#[test]
fn a_view_reads_the_chosen_records() {
    let chosen = MNIST.train().select(vec![59_999, 3, 3]);
    assert_eq!(chosen.len(), 3);
    assert_eq!(chosen.record(0), 59_999);
    let (mut first, mut second, mut whole) = (vec![0.0; 784], vec![0.0; 784], vec![0.0; 784]);
    chosen.read(1, &mut first);
    chosen.read(2, &mut second);
    MNIST.train().read(3, &mut whole);
    assert_eq!(first, second);
    assert_eq!(first, whole);
    assert_eq!(chosen.target(1), Target::Class(1));
}

#[test]
#[should_panic(expected = "record 60000 of a split with 60000 records")]
fn a_view_outside_the_split_is_a_mistake() {
    MNIST.train().select(vec![60_000]);
}

#[test]
fn a_record_keeps_its_identity_wherever_it_stands() {
    let among = MNIST.train().select(vec![1, 42]);
    assert_eq!([among.identity(0), among.identity(1), MNIST.train().identity(42)], [1, 42, 42]);
    let views = Views::new(among, Augmentation::default(), 7, 100, 4);
    assert_eq!([views.identity(0), views.identity(1)], [1, 42], "all views of a record have one identity");
}

#[test]
fn views_of_a_record_do_not_depend_on_the_batch() {
    let augmentation = Augmentation { shift: 2, flip: true, crop: 1, ..Default::default() };
    let views = |indices: Vec<usize>| Views::new(MNIST.train().select(indices), augmentation, 7, 100, 4);
    let (alone, among) = (views(vec![42]), views(vec![1, 42]));
    assert_eq!((alone.len(), among.len()), (4, 8));
    let (mut first, mut second, mut source) = (vec![0.0; 784], vec![0.0; 784], vec![0.0; 784]);
    MNIST.train().read(42, &mut source);
    let mut distinct = 0;
    for view in 0..4 {
        alone.read(view, &mut first);
        among.read(4 + view, &mut second);
        assert_eq!(first, second);
        assert_eq!(alone.target(view), among.target(4 + view));
        // The same as the pure function on the scaled record.
        let background = [MNIST.scaling().value(0, 0.0)];
        let who = (7, 42, 100 + view as u64);
        augmentation.apply(MNIST.input(), &source, &background, who, &mut second);
        assert_eq!(first, second);
        distinct += usize::from(first != source);
    }
    assert!(distinct >= 3, "{distinct}");
    let none = Views::new(MNIST.train().select(vec![42]), Augmentation::default(), 7, 0, 1);
    none.read(0, &mut first);
    assert_eq!(first, source);
}

#[test]
fn parts_that_do_not_fit_make_no_data_set() {
    let make = |labels: Vec<u32>, values: Vec<f32>, classes: usize| {
        let split = Split::classified(Records::Floats(values), labels);
        let classes = (0..classes).map(|class| class.to_string()).collect();
        let shape = Shape::Vector(2);
        Dataset::new("d", shape, classes, Scaling::identity(""), Visibility::Private, split.clone(), split)
    };
    assert!(make(vec![0, 1], vec![0.0; 4], 2).is_ok());
    let refused = |labels: &[u32], values: &[f32], classes: usize, part: &str| {
        let message = make(labels.to_vec(), values.to_vec(), classes).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    refused(&[0, 1], &[0.0; 3], 2, "3 values");
    refused(&[0, 2], &[0.0; 4], 2, "label 2");
    refused(&[0], &[0.0; 2], 1, "1 classes");
    refused(&[], &[], 2, "empty");
    refused(&[0], &[0.0, f32::NAN], 2, "not finite");
}

/// The real CIFAR-10 if it is there; xz takes seconds, so it is read once.
static CIFAR: LazyLock<Option<Dataset>> = LazyLock::new(|| Some(real("cifar10")?.load().unwrap()));

/// The set, or a message that the test looks at nothing.
fn real(name: &str) -> Option<Found> {
    match Search::new(None).find(entry(name).unwrap()) {
        Ok(found) => Some(found),
        Err(_) => {
            eprintln!(
                "skipped: `{name}` is not on this machine; set MUFFLE_DATA or `muffle data fetch {name}`"
            );
            None
        }
    }
}

#[test]
fn published_sets_have_the_promised_size() {
    for entry in ENTRIES.into_iter().filter(|entry| entry.name != "cifar10") {
        let Some(found) = real(entry.name) else { continue };
        let dataset = found.load().unwrap();
        assert_eq!((dataset.train().len(), dataset.test().len()), entry.records, "{}", entry.name);
        assert_eq!(dataset.input().sizes(), entry.input, "{}", entry.name);
        assert_eq!(dataset.classes().len(), entry.classes, "{}", entry.name);
    }
}

#[test]
fn real_cifar_has_balanced_classes_and_standard_channels() {
    let Some(dataset) = &*CIFAR else { return };
    assert_eq!((dataset.train().len(), dataset.test().len()), (50_000, 10_000));
    assert_eq!(dataset.train().split().class_counts(10), [5_000; 10]);
    assert_eq!(dataset.test().split().class_counts(10), [1_000; 10]);
    let (view, mut input) = (dataset.train(), vec![0.0; 3072]);
    let (mut sums, mut squares) = ([0.0f64; 3], [0.0f64; 3]);
    for index in 0..view.len() {
        view.read(index, &mut input);
        for (place, value) in input.iter().enumerate() {
            sums[place % 3] += f64::from(*value);
            squares[place % 3] += f64::from(*value).powi(2);
        }
    }
    for channel in 0..3 {
        let count = (view.len() * 1024) as f64;
        let (mean, deviation) = (sums[channel] / count, (squares[channel] / count).sqrt());
        assert!(mean.abs() < 2e-3 && (deviation - 1.0).abs() < 2e-3, "{channel}: {mean} {deviation}");
    }
}

#[test]
fn real_tables_lie_within_their_public_ranges() {
    for name in ["adult", "breast-cancer"] {
        let Some(found) = real(name) else { continue };
        let dataset = found.load().unwrap();
        let Records::Floats(values) = &dataset.train().split().records else { panic!("floats") };
        let width = dataset.input().len();
        for column in 0..width {
            let cells = values.iter().skip(column).step_by(width);
            let (low, high) =
                cells.fold((f32::MAX, f32::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
            assert!(low >= -1.0 && high <= 1.0, "{name}, input {column}: {low} to {high}");
        }
    }
    let Some(found) = real("breast-cancer") else { return };
    let dataset = found.load().unwrap();
    let both = [dataset.train(), dataset.test()].map(|view| view.split().class_counts(2));
    assert_eq!([both[0][0] + both[1][0], both[0][1] + both[1][1]], [212, 357]);
}
