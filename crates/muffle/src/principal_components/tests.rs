use super::*;
use crate::data::{Dataset, Records, Scaling, Split, Visibility};
use crate::ledger::{Access, Ledger};
use crate::noise::Key;
use muffle_accounting::Event;
use muffle_nn::Shape;
use nalgebra::DMatrix;

/// Records of both splits.
fn dataset(inputs: usize, scaling: Scaling, records: Vec<f32>) -> Dataset {
    let labels = vec![1; records.len() / inputs];
    let split = Split::classified(Records::Floats(records), labels);
    let classes = vec!["no".to_string(), "yes".to_string()];
    let (name, shape, visibility) = ("points", Shape::Vector(inputs), Visibility::Private);
    Dataset::new(name, shape, classes, scaling, visibility, split.clone(), split).unwrap()
}

fn as_is() -> Scaling {
    Scaling::identity("as is")
}

/// Some records of any lengths.
fn several(inputs: usize, count: usize) -> Vec<f32> {
    (0..inputs * count).map(|index| (index * index % 37) as f32 - 15.5 + (index % 11) as f32 / 7.0).collect()
}

/// A receipt for noise of this multiplier.
fn receipt(noise_multiplier: f64) -> Receipt {
    let event = if noise_multiplier == 0.0 { Event::NonPrivate } else { Event::gaussian(noise_multiplier) };
    Ledger::in_memory().pay_one(Access::all(PURPOSE, 0, event)).unwrap()
}

fn components(view: &View, dimensions: usize, noise_multiplier: f64, seed: u64) -> Result<Projection> {
    let mechanism = Mechanism::new(Key::from_seed(seed), 1.0);
    release(view, dimensions, noise_multiplier, &mechanism, receipt(noise_multiplier))
}

/// A symmetric matrix with noise.
fn noisy(matrix: &DMatrix<f64>, standard_deviation: f64, seed: u64) -> DMatrix<f64> {
    let vector = BoundedVector::l2(triangle::of(matrix), 1.0);
    let mechanism = Mechanism::new(Key::from_seed(seed), 1.0);
    let (noisy, _) = mechanism.answer(vector, standard_deviation, receipt(standard_deviation));
    triangle::mirrored(&noisy, matrix.nrows())
}

/// The matrix that is released, with its noise.
fn matrix(view: &View, standard_deviation: f64) -> DMatrix<f64> {
    let inputs = view.dataset().input().len();
    noisy(second_moments::of(view, inputs).upper(), standard_deviation, 5)
}

/// (3, 4) and (-8, 6) at right angles, the first twice, in any lengths: XᵀX = 2aaᵀ + bbᵀ with a = (0.6, 0.8) and
/// b = (-0.8, 0.6), which are its eigenvectors.
#[test]
fn without_noise_the_components_are_those_worked_out_by_hand() {
    let dataset = dataset(2, as_is(), vec![3.0, 4.0, -8.0, 6.0, 0.3, 0.4, 0.0, 0.0]);
    let exact = [[1.36, 0.48], [0.48, 1.64]];
    let found = matrix(&dataset.train(), 0.0);
    for (row, values) in exact.iter().enumerate() {
        for (column, value) in values.iter().enumerate() {
            assert!((found[(row, column)] - value).abs() < 1e-4, "{found}");
        }
    }
    let projection = components(&dataset.train(), 2, 0.0, 5).unwrap();
    let expected = [0.6, 0.8, 0.8, -0.6];
    for (value, expected) in projection.components().iter().zip(expected) {
        assert!((value - expected).abs() < 1e-6, "{:?}", projection.components());
    }

    let projection = components(&dataset.train(), 1, 0.0, 5).unwrap();
    assert_eq!((projection.inputs(), projection.dimensions()), (2, 1));
    let smaller = projection.apply(&dataset).unwrap();
    assert_eq!(
        (smaller.name(), smaller.input(), smaller.visibility()),
        ("points", Shape::Vector(1), Visibility::Private)
    );
    assert!(smaller.scaling().about().contains("as is") && smaller.scaling().about().contains("unit length"));
    for view in [smaller.train(), smaller.test()] {
        assert_eq!(view.split().labels(), [1; 4]);
        let Records::Floats(values) = &view.split().records else { panic!("floats") };
        for (value, expected) in values.iter().zip([1.0, 0.0, 1.0, 0.0]) {
            assert!((value - expected).abs() < 2e-5, "{values:?}");
        }
    }
}

/// Against the definition, across the borders of blocks and strips.
#[test]
fn blocks_add_up_to_the_whole() {
    let (inputs, count) = (70, 1100);
    let records = several(inputs, count);
    let dataset = dataset(inputs, as_is(), records.clone());
    let found = matrix(&dataset.train(), 0.0);
    let mut expected = DMatrix::<f64>::zeros(inputs, inputs);
    for record in records.chunks_exact(inputs) {
        let record = nalgebra::DVector::from_iterator(inputs, record.iter().map(|value| f64::from(*value)));
        let unit = record.normalize();
        expected += &unit * unit.transpose();
    }
    assert!((&found - &expected).norm() < 3e-5 * expected.norm());
    assert_eq!(found, found.transpose());
}

/// Sums of squares estimate a variance to a relative standard error of √(2/n); five are accepted (false alarm 6·10⁻⁷),
/// and ten per cent of scale lie further away than that.
#[test]
fn noise_has_the_same_scale_on_and_off_the_diagonal() {
    let (inputs, deviation) = (60, 3.0);
    let (mut diagonal, mut beside, mut draws) = (0.0, 0.0, 0.0);
    for seed in 0..100 {
        let noise = noisy(&DMatrix::zeros(inputs, inputs), deviation, seed);
        assert_eq!(noise, noise.transpose());
        for column in 0..inputs {
            diagonal += noise[(column, column)].powi(2);
            beside += (0..column).map(|row| noise[(row, column)].powi(2)).sum::<f64>();
        }
        draws += inputs as f64;
    }
    for (squares, count) in [(diagonal, draws), (beside, draws * (inputs as f64 - 1.0) / 2.0)] {
        let accepts = |deviation: f64| {
            (squares / count / deviation.powi(2) - 1.0f64).abs() < 5.0 * (2.0 / count).sqrt()
        };
        assert!(accepts(deviation) && !accepts(0.9 * deviation) && !accepts(1.1 * deviation));
    }
}

/// The key is frozen: what moves is what the record moves.
#[test]
fn a_neighbour_moves_the_matrix_by_at_most_one() {
    for (inputs, count) in [(3, 5), (40, 1025), (70, 300)] {
        let mut records = several(inputs, count);
        // Of all lengths: the smallest and the largest there are among them.
        for (record, values) in records.chunks_exact_mut(inputs).enumerate() {
            let scale = [1.0, 1e-30, 1e30, 1e-3][record % 4];
            values.iter_mut().for_each(|value| *value *= scale);
        }
        let dataset = dataset(inputs, as_is(), records);
        let view = dataset.train();
        for deviation in [0.0, 4.0] {
            let whole = matrix(&view, deviation);
            for removed in [0, 1, 2, count - 1] {
                let others: Vec<usize> = (0..count).filter(|&record| record != removed).collect();
                let change = whole.clone() - matrix(&view.select(others), deviation);
                let triangle: f64 = (0..inputs)
                    .map(|column| change.view((0, column), (column + 1, 1)).norm_squared())
                    .sum::<f64>();
                // Each of the entries is rounded to the grain of the noise.
                let entries = (inputs * (inputs + 1) / 2) as f64;
                let rounding = deviation / 65_536.0 * entries.sqrt();
                assert!(triangle.sqrt() <= 1.0 + rounding, "{} for record {removed}", triangle.sqrt());
                if deviation == 0.0 {
                    // The whole matrix, both triangles: the record takes part in full.
                    assert!(change.norm() <= 1.0 && change.norm() > 0.9999, "{}", change.norm());
                }
            }
        }
    }
}

#[test]
fn a_record_that_is_not_finite_contributes_nothing() {
    // Beyond the declared range by so much that scaling overflows.
    let scaling = || Scaling::range(-0.25, 0.25);
    let whole = dataset(3, scaling(), vec![0.1, 0.2, 0.0, 1.0, f32::MAX, 0.0, 0.2, 0.1, 0.0]);
    let clean = dataset(3, scaling(), vec![0.1, 0.2, 0.0, 0.2, 0.1, 0.0]);
    let found = matrix(&whole.train(), 2.0);
    assert_eq!(found, matrix(&clean.train(), 2.0));
    assert!(found.iter().all(|value| value.is_finite()));
    let projection = components(&whole.train(), 2, 2.0, 5).unwrap();
    let projected = projection.apply(&whole).unwrap();
    let Records::Floats(values) = &projected.train().split().records else { panic!("floats") };
    assert_eq!(values[2..4], [0.0, 0.0]);
}

#[test]
fn a_receipt_for_one_gaussian_is_enough_and_the_key_decides_the_noise() {
    let dataset = dataset(6, as_is(), several(6, 50));
    let components = |seed: u64| components(&dataset.train(), 3, 1.5, seed).unwrap();
    assert_eq!(components(1), components(1));
    assert_ne!(components(1), components(2));
    let rows: Vec<_> = components(1).components().chunks(6).map(<[f32]>::to_vec).collect();
    for (left, right) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)] {
        let dot: f32 = rows[left].iter().zip(&rows[right]).map(|(left, right)| left * right).sum();
        let expected = if left == right { 1.0 } else { 0.0 };
        assert!((dot - expected).abs() < 1e-6, "{left} and {right}: {dot}");
    }
}

#[test]
fn saved_components_project_as_before() {
    let dataset = dataset(6, as_is(), several(6, 50));
    let projection = components(&dataset.train(), 2, 1.0, 3).unwrap();
    let restored = Projection::from_components(2, projection.components().to_vec()).unwrap();
    assert_eq!(restored, projection);
    let features = |projection: &Projection| projection.apply(&dataset).unwrap().test().split().clone();
    assert_eq!(features(&restored), features(&projection));
}

#[test]
fn what_cannot_be_done_is_refused_with_the_remedy() {
    let points = dataset(3, as_is(), several(3, 4));
    let refusal = |dimensions: usize, noise_multiplier: f64| {
        let found = components(&points.train(), dimensions, noise_multiplier, 0);
        found.expect_err("a refusal").to_string()
    };
    assert!(refusal(0, 1.0).contains("ask for 1 to 3"));
    assert!(refusal(4, 1.0).contains("ask for 1 to 3"));
    for noise_multiplier in [-1.0, f64::NAN, f64::INFINITY, 1e-60, 1e60] {
        assert!(refusal(2, noise_multiplier).contains("positive number"), "{noise_multiplier}");
    }
    let wide = dataset(4097, as_is(), vec![1.0; 4097]);
    let found = components(&wide.train(), 2, 1.0, 0);
    assert!(found.unwrap_err().to_string().contains("4097"));
    for (dimensions, components) in [(0, vec![1.0]), (2, vec![1.0; 3]), (1, vec![]), (1, vec![f32::NAN])] {
        assert!(Projection::from_components(dimensions, components).is_err());
    }
    let other = Projection::from_components(1, vec![1.0; 5]).unwrap();
    assert!(other.apply(&points).unwrap_err().to_string().contains("found for 5"));
}
