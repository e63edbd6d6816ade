use super::*;
use crate::data::{Quantity, Task};
use crate::ledger::{Access, Ledger};
use crate::mechanism::{BoundedVector, Mechanism, NoiseKind};
use crate::noise::Key;
use muffle_accounting::Event;
use muffle_nn::{Batch, Engine, Examples, Options, Purpose, Shape, Target};
use nalgebra::DMatrix;

const KINDS: [NoiseKind; 2] = [NoiseKind::Gaussian, NoiseKind::Laplace];

/// What a release without noise shows, but for its grid.
fn seen(vector: BoundedVector) -> Vec<f64> {
    let receipt = Ledger::in_memory().pay_one(Access::all(COEFFICIENTS, 0, Event::NonPrivate)).unwrap();
    Mechanism::new(Key::from_seed(1), 1.0).answer(vector, 0.0, receipt).0
}

fn coefficients(form: &Form, map: &FeatureMap, records: &Batch) -> Vec<f64> {
    seen(Sums { form, map, inputs: map, records, threads: Some(1) }.coefficients().unwrap())
}

fn form(rows: Rows, noise: NoiseKind) -> Form {
    Form { rows, noise, quadratic: 0.125, intercept: 0.5 }
}

fn raw(width: usize, noise: NoiseKind) -> FeatureMap {
    Features::Raw {}.map(Shape::Vector(width), noise).unwrap()
}

fn near(left: &[f64], right: &[f64]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-3)
}

/// With an L1 norm of one, of which the constant has a half: (3, 1) becomes (3/8, 1/8, 1/2), and (0, −2) becomes (0, −1/2, 1/2).
/// The published coefficients are Σ(y − ½)h and Σhhᵀ/8, those beside the diagonal twice.
#[test]
fn published_coefficients_by_hand() {
    let records = Batch::new(vec![3.0, 1.0, 0.0, -2.0], vec![1, 0]);
    let form = form(Rows::TwoClasses, NoiseKind::Laplace);
    let values = coefficients(&form, &raw(2, NoiseKind::Laplace), &records);
    let linear = [0.5 * 0.375, 0.5 * 0.125 + 0.5 * 0.5, 0.0];
    let eighth = 0.125;
    let quadratic = [
        eighth * 0.375 * 0.375,
        2.0 * eighth * 0.375 * 0.125,
        eighth * (0.125 * 0.125 + 0.25),
        2.0 * eighth * 0.375 * 0.5,
        2.0 * eighth * (0.125 * 0.5 - 0.25),
        eighth * (0.25 + 0.25),
    ];
    assert!(near(&values, &[&linear[..], &quadratic].concat()), "{values:?}");
    // Δ = 2·(½ + ⅛): half of it for a record that comes or goes.
    assert_eq!(form.bound(), 0.625);
    let restored = form.restored(&values, 3);
    assert!(
        (restored.quadratic[(0, 2)] - 0.1875).abs() < 1e-2
            && restored.quadratic[(2, 0)] == restored.quadratic[(0, 2)]
    );
}

/// Of unit length, with the constant of one half: (3, 4) becomes (0.6, 0.8)·√¾ and ½.
#[test]
fn gaussian_coefficients_by_hand() {
    let records = Batch::new(vec![3.0, 4.0], vec![2]);
    let form = form(Rows::Classes(3), NoiseKind::Gaussian);
    let values = coefficients(&form, &raw(2, NoiseKind::Gaussian), &records);
    let features = [0.6 * 0.75f64.sqrt(), 0.8 * 0.75f64.sqrt(), 0.5];
    let restored = form.restored(&values, 3);
    for (column, feature) in features.iter().enumerate() {
        assert!((restored.linear[(2, column)] - feature).abs() < 1e-4);
        assert!(restored.linear[(0, column)].abs() < 1e-4);
        for (row, other) in features.iter().enumerate() {
            assert!((restored.quadratic[(row, column)] - feature * other).abs() < 1e-2);
        }
    }
    assert!((form.bound() - (1.0f64 + 1.0 / 64.0).sqrt()).abs() < 1e-12);
}

/// Any record: large, small, empty, and not finite.
fn any_records(width: usize) -> Vec<Vec<f32>> {
    let wave = |record: usize| (0..width).map(move |place| ((record * 7 + place * 5) % 11) as f32 - 5.0);
    let mut records: Vec<Vec<f32>> = (0..20).map(|record| wave(record).collect()).collect();
    records.push(vec![1e30; width]);
    records.push(vec![1e-30; width]);
    records.push(vec![0.0; width]);
    records.push(vec![f32::INFINITY; width]);
    records.push((0..width).map(|place| if place == 0 { -4.0 } else { 0.0 }).collect());
    records
}

/// One record alone has coefficients within the bound, and some come close to it: neighbours differ by that much and no more.
#[test]
fn one_record_stays_within_the_bound() {
    for noise in KINDS {
        for (rows, class) in [(Rows::TwoClasses, 1), (Rows::Classes(4), 3), (Rows::Inputs(5), 0)] {
            let (form, map) = (form(rows, noise), raw(5, noise));
            let norms = any_records(5).into_iter().map(|record| {
                let alone = Batch::new(record, vec![class]);
                let values = coefficients(&form, &map, &alone);
                let sums = Sums { form: &form, map: &map, inputs: &map, records: &alone, threads: Some(1) };
                let sum = seen(sums.features().unwrap());
                assert!(norm(&sum, noise) <= 1.0 + 1e-4);
                norm(&values, noise)
            });
            let largest = norms.fold(0.0, f64::max);
            assert!(largest <= form.bound() * (1.0 + 1e-4), "{rows:?} {noise:?}: {largest}");
            assert!(largest > form.bound() * 0.999, "{rows:?} {noise:?}: {largest}");
        }
    }
}

fn norm(values: &[f64], noise: NoiseKind) -> f64 {
    match noise {
        NoiseKind::Gaussian => values.iter().map(|value| value * value).sum::<f64>().sqrt(),
        NoiseKind::Laplace => values.iter().map(|value| value.abs()).sum(),
    }
}

#[test]
fn targets_by_hand() {
    let numbers = |rows: Rows, target: Target| {
        let mut numbers = vec![7.0; rows.count()];
        rows.write(target, &mut numbers);
        numbers
    };
    assert_eq!(numbers(Rows::TwoClasses, Target::Class(1)), [0.5]);
    assert_eq!(numbers(Rows::TwoClasses, Target::Class(0)), [-0.5]);
    assert_eq!(numbers(Rows::Classes(3), Target::Class(1)), [0.0, 1.0, 0.0]);
    assert_eq!(numbers(Rows::Labels(2), Target::Values(&[1.0, 0.0])), [0.5, -0.5]);
    assert_eq!(numbers(Rows::Values(3), Target::Values(&[0.25, 9.0, f32::NAN])), [-0.25, 0.5, 0.0]);
    assert_eq!(Rows::Labels(4).bound(NoiseKind::Gaussian), 1.0);
    assert_eq!(Rows::Labels(4).bound(NoiseKind::Laplace), 2.0);
    assert!(Rows::of(&Task::None).unwrap_err().to_string().contains("nothing to learn"));
    let price = Task::Values(vec![Quantity { name: "price".into(), range: [0.0, 9.0] }]);
    assert_eq!(Rows::of(&price).unwrap(), Rows::Values(1));
}

/// 2x² − 4x per row and the like: the least value is where the gradient vanishes.
#[test]
fn a_quadratic_is_solved_by_hand() {
    let quadratic = DMatrix::from_row_slice(2, 2, &[2.0, 1.0, 1.0, 3.0]);
    let linear = DMatrix::from_row_slice(1, 2, &[5.0, 10.0]);
    let solution = solve(&Coefficients { linear: linear.clone(), quadratic: quadratic.clone() }, 0.0);
    assert!((solution[(0, 0)] - 1.0).abs() < 1e-12 && (solution[(0, 1)] - 3.0).abs() < 1e-12);
    let ridge = solve(&Coefficients { linear, quadratic }, 1.0);
    // (3, 1; 1, 4)·w = (5, 10).
    assert!((ridge[(0, 0)] - 10.0 / 11.0).abs() < 1e-12 && (ridge[(0, 1)] - 25.0 / 11.0).abs() < 1e-12);
}

/// Noise made the second direction one without a least value: it counts as flat, and the ridge alone holds it.
#[test]
fn what_is_not_convex_is_repaired() {
    let quadratic = DMatrix::from_row_slice(2, 2, &[4.0, 0.0, 0.0, -9.0]);
    let linear = DMatrix::from_row_slice(1, 2, &[8.0, 2.0]);
    let solution = solve(&Coefficients { linear, quadratic }, 4.0);
    assert!((solution[(0, 0)] - 1.0).abs() < 1e-12 && (solution[(0, 1)] - 0.5).abs() < 1e-12);
    // Without noise there is no ridge, and what no record has says nothing.
    let quadratic = DMatrix::from_row_slice(2, 2, &[4.0, 0.0, 0.0, 0.0]);
    let solution =
        solve(&Coefficients { linear: DMatrix::from_row_slice(1, 2, &[8.0, 0.0]), quadratic }, 0.0);
    assert_eq!((solution[(0, 0)], solution[(0, 1)]), (2.0, 0.0));
}

/// The derivative of ln 2 − (y − ½)z + z²/8 is zero at what two classes get for outputs: the logit is the difference of the two.
#[test]
fn two_classes_get_the_logistic_solution() {
    let (outputs, moved) = Rows::TwoClasses.outputs(DMatrix::from_row_slice(1, 1, &[0.25]));
    // One feature of 1 and records of which three in four are of class 1: Σ(y − ½) = ¼ a record, so that z/4 = ¼.
    assert_eq!((outputs[(1, 0)] - outputs[(0, 0)], moved), (1.0, 0.0));
    let (outputs, moved) = Rows::Values(1).outputs(DMatrix::from_row_slice(1, 1, &[0.25]));
    assert_eq!((outputs[(0, 0)], moved), (0.25, 0.5));
}

fn outputs(network: &std::sync::Arc<muffle_nn::Network>, parameters: &[f32], inputs: &[f32]) -> Vec<f32> {
    let mut engine = Engine::new(network.clone(), Options::new(Purpose::Evaluate)).unwrap();
    let batch = Batch::new(inputs.to_vec(), vec![0; inputs.len() / network.input().len()]);
    let mut outputs = vec![0.0; batch.len() * network.output().len()];
    engine.outputs(parameters, &batch, &mut outputs).unwrap();
    outputs
}

/// (3, 4) is (0.6, 0.8); less (0.6, 0) and scaled again it is (0, 1).
#[test]
fn the_published_network_is_the_features_and_the_head() {
    let map = raw(2, NoiseKind::Gaussian).centred(&[0.6, 0.0]).unwrap();
    let features = outputs(map.network(), map.parameters(), &[3.0, 4.0]);
    assert!(features[0].abs() < 1e-6 && (features[1] - 1.0).abs() < 1e-6);
    let published = map.published(&[vec![5.0, 2.0], vec![1.0, -1.0]], &[0.5, 0.25]).unwrap();
    let found = outputs(&published.network, &published.parameters, &[3.0, 4.0]);
    assert!((found[0] - 2.5).abs() < 1e-5 && (found[1] + 0.75).abs() < 1e-5, "{found:?}");
    assert_eq!(published.description.network().unwrap().parameter_len(), published.parameters.len());
}

#[test]
fn features_that_cannot_be_used_are_refused_with_the_remedy() {
    let refused = |features: &str, shape: Shape| {
        let features: Features = toml::from_str(features).unwrap();
        features.map(shape, NoiseKind::Gaussian).err().unwrap().to_string()
    };
    let wide = "kind = \"random\"\nlayers = [{ type = \"dense\", features = 5000 }]";
    assert!(refused(wide, Shape::Vector(3)).contains("project them"));
    let mixing = "kind = \"random\"\nlayers = [{ type = \"batch-norm\" }]";
    assert!(refused(mixing, Shape::Vector(3)).contains("mixes records"));
    let image = "kind = \"random\"\nlayers = [{ type = \"conv2d\", channels = 2, kernel = 3 }]";
    assert!(refused(image, Shape::Vector(3)).contains("image"));
    assert!(
        refused("kind = \"network\"\nweights = \"nowhere.safetensors\"", Shape::Vector(3))
            .contains("nowhere")
    );
}

/// Relevances of 6, −1, 3 and 3 have a mean of 3, what is below zero being noise.
#[test]
fn weights_follow_relevance_by_hand() {
    let weighing = Weigh::Weak { threshold: 1.0, weak: 0.5 };
    assert_eq!(weighing.weights(&[6.0, -1.0, 3.0, 3.0]), [1.0, 0.5, 1.0, 1.0]);
    let map = raw(2, NoiseKind::Laplace).weighed(&[1.0, 0.5]).unwrap();
    let features = outputs(map.network(), map.parameters(), &[2.0, 2.0]);
    // (½, ½) becomes (½, ¼), of L1 norm ¾.
    assert!((features[0] - 2.0 / 3.0).abs() < 1e-6 && (features[1] - 1.0 / 3.0).abs() < 1e-6, "{features:?}");
}

/// Two hidden units along the axes, of length 2: tanh(2·0.6) and tanh(2·0.8), scaled to unit length.
#[test]
fn a_code_by_hand() {
    let map = raw(2, NoiseKind::Gaussian).encoded(&[vec![3.0, 0.0], vec![0.0, 0.5]], 2.0).unwrap();
    let found = outputs(map.network(), map.parameters(), &[3.0, 4.0]);
    let (first, second) = (1.2f32.tanh(), 1.6f32.tanh());
    let length = first.hypot(second);
    assert!(
        (found[0] - first / length).abs() < 1e-4 && (found[1] - second / length).abs() < 1e-4,
        "{found:?}"
    );
}
