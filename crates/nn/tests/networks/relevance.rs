//! What must be true of layer-wise relevance propagation.

use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::relevance::{Propagation, Relevance};
use muffle_nn::{Batch, Engine, ModelDescription, Network, Options, Purpose};
use proptest::prelude::*;
use std::sync::Arc;

fn network(model: &str) -> Arc<Network> {
    Arc::new(ModelDescription::from_toml(model).unwrap().network().unwrap())
}

fn relevance(
    network: &Arc<Network>,
    stabiliser: f32,
    parameters: &[f32],
    input: &[f32],
    class: u32,
) -> Relevance {
    let propagation = Propagation::new(network.clone(), stabiliser).unwrap();
    let batch = Batch::new(input.to_vec(), vec![class]);
    propagation.relevances(parameters, &batch, 0..1).unwrap().remove(0)
}

fn outputs(network: &Arc<Network>, parameters: &[f32], input: &[f32]) -> Vec<f32> {
    let mut engine = Engine::new(network.clone(), Options::new(Purpose::Evaluate)).unwrap();
    let mut outputs = vec![0.0; network.output().len()];
    engine.outputs(parameters, &Batch::new(input.to_vec(), vec![0]), &mut outputs).unwrap();
    outputs
}

fn random(seed: u64, count: usize) -> Vec<f32> {
    let mut generator = SplitMix::new(seed);
    (0..count).map(|_| generator.normal()).collect()
}

fn near(left: &[f32], right: &[f32], tolerance: f32) -> bool {
    let scale = right.iter().map(|value| value.abs()).fold(0.0, f32::max);
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| (left - right).abs() <= tolerance * scale)
}

/// Two inputs, two hidden neurons with biases and a ReLU, two classes.
#[test]
fn a_dense_network_by_hand() {
    let network = network(
        "input = [2]\nlayers = [{ type = \"dense\", features = 2 }, { type = \"relu\" }, { type = \"dense\", features = 2 }]",
    );
    // Hidden: 1·1 + 2·1 + 1 = 4 and 3·1 − 1·1 − 2 = 0; with the second bias −1 it is 1.
    let mut parameters = vec![1.0, 2.0, 3.0, -1.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1.0, 0.0, 4.0];
    let found = relevance(&network, 0.0, &parameters, &[1.0, 1.0], 0);
    // Logit 0 is 0.5·4 + 2·1 + 0 = 4: hidden relevances 2 and 2. Of the first, 1/4 and 2/4 go down, and 1/4 to the bias; of
    // the second, 3/1 and −1/1, and −1/1.
    assert_eq!(found.inputs, [0.5 + 6.0, 1.0 - 2.0]);
    assert_eq!(found.neurons, [2.0, 2.0, 4.0, 0.0]);
    // Logit 1 is −12 + 1 + 4 = −7: hidden relevances 12 and −1 in −7/−7.
    let found = relevance(&network, 0.0, &parameters, &[1.0, 1.0], 1);
    assert_eq!(found.neurons, [-12.0, 1.0, 0.0, -7.0]);
    assert_eq!(found.inputs, [-3.0 + 3.0, -6.0 - 1.0]);
    // With β = 1 the logit 4 is divided by 5, and the negative logit −7 by −8.
    let found = relevance(&network, 1.0, &parameters, &[1.0, 1.0], 0);
    assert!(near(&found.neurons, &[1.6, 1.6, 4.0, 0.0], 1e-6));
    assert!(near(&found.inputs, &[1.6 / 5.0 + 1.6 * 3.0 / 2.0, 3.2 / 5.0 - 1.6 / 2.0], 1e-6));
    let found = relevance(&network, 1.0, &parameters, &[1.0, 1.0], 1);
    assert!(near(&found.neurons, &[-12.0 * 7.0 / 8.0, 7.0 / 8.0, 0.0, -7.0], 1e-6));
    // A neuron that the ReLU holds back has no relevance, and passes none on.
    parameters[5] = -3.0;
    let found = relevance(&network, 0.0, &parameters, &[1.0, 1.0], 0);
    assert_eq!((found.neurons, found.inputs), (vec![2.0, 0.0, 2.0, 0.0], vec![0.5, 1.0]));
}

/// A sigmoid of zero is a half, so that a neuron with the input 1 − 1 = 0 has relevance 3·½.
#[test]
fn zero_counts_as_positive_and_divides_nothing() {
    let network = network(
        "input = [2]\nlayers = [{ type = \"dense\", features = 1, bias = false }, { type = \"sigmoid\" }, \
         { type = \"dense\", features = 1, bias = false }]",
    );
    let (parameters, input) = ([1.0, 1.0, 3.0], [1.0, -1.0]);
    let found = relevance(&network, 0.0, &parameters, &input, 0);
    assert_eq!((found.inputs, found.neurons), (vec![0.0, 0.0], vec![1.5, 1.5]));
    // 1.5 · 1.5/2 = 1.125 reaches the neuron, and ±1/0.5 of that its inputs.
    let found = relevance(&network, 0.5, &parameters, &input, 0);
    assert!(near(&found.neurons, &[1.125, 1.5], 1e-6));
    assert!(near(&found.inputs, &[2.25, -2.25], 1e-6));
}

#[test]
fn a_maximum_gives_all_to_the_winner_and_a_mean_in_proportion() {
    let through = |layer: &str| {
        let network = network(&format!(
            "input = [1, 2, 2]\nlayers = [{layer}, {{ type = \"flatten\" }}, {{ type = \"dense\", features = 1, bias = false }}]"
        ));
        relevance(&network, 0.0, &[2.0], &[1.0, -2.0, 5.0, 4.0], 0).inputs
    };
    assert_eq!(through("{ type = \"max-pool\", kernel = 2 }"), [0.0, 0.0, 10.0, 0.0]);
    assert_eq!(through("{ type = \"average-pool\", kernel = 2 }"), [0.5, -1.0, 2.5, 2.0]);
}

/// Every linear layer is the dense layer whose columns are its answers to unit inputs, its answer to zeros being the bias.
#[test]
fn a_linear_layer_equals_the_dense_layer_that_it_unrolls_to() {
    for (seed, layer) in [
        "{ type = \"conv2d\", channels = 3, kernel = 3, stride = 2, padding = 1 }",
        "{ type = \"conv2d\", channels = 16, kernel = 3, padding = 1 }",
        "{ type = \"conv2d\", channels = 6, kernel = 2, groups = 2 }",
        "{ type = \"conv2d\", channels = 16, kernel = 3, padding = 1, groups = 16 }",
        "{ type = \"conv-transpose2d\", channels = 3, kernel = 3, stride = 2, padding = 1 }",
        "{ type = \"average-pool\", kernel = 3, stride = 2, padding = 1 }",
        "{ type = \"reshape\", shape = [9, 16] }, { type = \"conv1d\", channels = 3, kernel = 3, stride = 2, padding = 1 }",
        "{ type = \"reshape\", shape = [9, 16] }, { type = \"position-embedding\" }",
        "{ type = \"global-average-pool\" }",
        "{ type = \"batch-norm\" }",
        "{ type = \"scale\" }",
    ]
    .iter()
    .enumerate()
    {
        let layers =
            |last: &str| format!("input = [16, 3, 3]\nlayers = [{layer}, {{ type = \"flatten\" }}{last}]");
        let alone = network(&layers(""));
        let seed = seed as u64;
        let mut parameters = initial_parameters(&alone, seed);
        // Also what starts at zero or one, variances among it.
        let changes = random(300 + seed, parameters.len());
        parameters.iter_mut().zip(&changes).for_each(|(value, change)| *value += 0.2 * change.abs());
        let zeros = outputs(&alone, &parameters, &[0.0; 144]);
        let width = zeros.len();
        let mut matrix = vec![0.0; 144 * width];
        for place in 0..144 {
            let mut unit = [0.0; 144];
            unit[place] = 1.0;
            for (row, value) in outputs(&alone, &parameters, &unit).iter().enumerate() {
                matrix[row * 144 + place] = value - zeros[row];
            }
        }
        let behind = random(100 + seed, 3 * width);
        let last = ", { type = \"tanh\" }, { type = \"dense\", features = 3, bias = false }";
        let unrolled =
            network(&format!("input = [144]\nlayers = [{{ type = \"dense\", features = {width} }}{last}]"));
        let input = random(200 + seed, 144);
        let own = relevance(&network(&layers(last)), 0.1, &[parameters, behind.clone()].concat(), &input, 2);
        let expected = relevance(&unrolled, 0.1, &[matrix, zeros, behind].concat(), &input, 2);
        assert!(near(&own.inputs, &expected.inputs, 1e-4), "{layer}");
        assert!(own.inputs.iter().any(|value| value.abs() > 1e-3), "{layer}");
    }
}

const SHAPES: [&str; 9] = [
    "[{ type = \"conv2d\", channels = 5, kernel = 3, padding = 1, bias = false }, { type = \"relu\" }, \
      { type = \"max-pool\", kernel = 2 }, { type = \"flatten\" }, { type = \"dense\", features = 3, bias = false }]",
    "[{ type = \"conv2d\", channels = 4, kernel = 2, stride = 2, bias = false }, { type = \"dropout\", rate = 0.5 }, \
      { type = \"conv-transpose2d\", channels = 2, kernel = 2, stride = 2, bias = false }, { type = \"leaky-relu\" }, \
      { type = \"global-average-pool\" }, { type = \"dense\", features = 3, bias = false }]",
    "[{ type = \"average-pool\", kernel = 2 }, { type = \"reshape\", shape = [3, 6] }, \
      { type = \"dense\", features = 4, bias = false }, { type = \"tanh\" }, { type = \"flatten\" }, \
      { type = \"dense\", features = 3, bias = false }]",
    "[{ type = \"sum\", branches = [{ type = \"conv2d\", channels = 2, kernel = 3, padding = 1, bias = false }, \
      { type = \"sequential\", layers = [] }] }, { type = \"flatten\" }, { type = \"dense\", features = 3, bias = false }]",
    "[{ type = \"concat\", branches = [{ type = \"conv2d\", channels = 3, kernel = 1, bias = false }, \
      { type = \"max-pool\", kernel = 3, stride = 1, padding = 1 }] }, { type = \"flatten\" }, \
      { type = \"dense\", features = 3, bias = false }]",
    "[{ type = \"conv2d\", channels = 6, kernel = 3, padding = 1, bias = false }, { type = \"group-norm\", groups = 3 }, \
      { type = \"tanh\" }, { type = \"flatten\" }, { type = \"dense\", features = 3, bias = false }]",
    "[{ type = \"reshape\", shape = [9, 8] }, { type = \"layer-norm\" }, { type = \"multi-head-attention\", heads = 2 }, \
      { type = \"flatten\" }, { type = \"dense\", features = 3, bias = false }]",
    "[{ type = \"reshape\", shape = [9, 8] }, { type = \"lstm\", features = 18, sequence = true }, \
      { type = \"lstm\", features = 5 }, { type = \"dense\", features = 3, bias = false }]",
    "[{ type = \"reshape\", shape = [9, 8] }, { type = \"gru\", features = 18, sequence = true }, \
      { type = \"gru\", features = 5 }, { type = \"dense\", features = 3, bias = false }]",
];

/// First parameters with all biases and shifts at zero.
fn without_biases(network: &Network, seed: u64) -> Vec<f32> {
    let mut parameters = initial_parameters(network, seed);
    for parameter in network.parameters().iter().filter(|parameter| parameter.name.contains("bias")) {
        parameters[parameter.range.clone()].fill(0.0);
    }
    parameters
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Without stabiliser and biases nothing is lost: at the input, and in every layer of a chain, relevance adds up to the
    /// logit. Single precision, at the size of the relevances.
    #[test]
    fn relevance_is_conserved(seed in any::<u64>(), shape in 0..SHAPES.len(), class in 0..3u32) {
        let network = network(&format!("input = [2, 6, 6]\nlayers = {}", SHAPES[shape]));
        let parameters = without_biases(&network, seed);
        let input = random(seed ^ 1, 72);
        let logit = outputs(&network, &parameters, &input)[class as usize];
        let found = relevance(&network, 0.0, &parameters, &input, class);
        let check = |values: &[f32]| {
            let size = values.iter().map(|value| f64::from(value.abs())).sum::<f64>();
            let sum = values.iter().map(|value| f64::from(*value)).sum::<f64>();
            (sum - f64::from(logit)).abs() <= 1e-4 * size.max(f64::from(logit.abs()))
        };
        prop_assert!(check(&found.inputs), "{} at the input, {logit} at the output", found.inputs.iter().sum::<f32>());
        // The last three neurons are the logits.
        let (hidden, last) = found.neurons.split_at(found.neurons.len() - 3);
        prop_assert!(check(last));
        prop_assert!(shape != 0 || check(hidden));
    }
}

/// A parameter moves the outputs of its owner, and no others.
#[test]
fn every_parameter_belongs_to_the_neuron_that_it_moves() {
    for layer in [
        "{ type = \"dense\", features = 3 }",
        "{ type = \"conv2d\", channels = 3, kernel = 3 }",
        "{ type = \"conv2d\", channels = 16, kernel = 3, padding = 1 }",
        "{ type = \"conv2d\", channels = 4, kernel = 2, groups = 2, bias = false }",
        "{ type = \"conv2d\", channels = 16, kernel = 3, padding = 1, groups = 16 }",
        "{ type = \"conv-transpose2d\", channels = 3, kernel = 3 }",
        "{ type = \"conv1d\", channels = 3, kernel = 2 }",
        "{ type = \"position-embedding\" }",
        "{ type = \"layer-norm\" }",
        "{ type = \"group-norm\", groups = 4 }",
        "{ type = \"batch-norm\" }",
    ] {
        let sequence = ["dense", "conv1d", "position", "layer-norm"].iter().any(|kind| layer.contains(kind));
        let shape = if sequence { "[5, 4]" } else { "[16, 3, 3]" };
        let network = network(&format!("input = {shape}\nlayers = [{layer}]"));
        let propagation = Propagation::new(network.clone(), 0.0).unwrap();
        let neurons = propagation.neurons();
        let (parameters, input) = (initial_parameters(&network, 1), random(2, network.input().len()));
        let before = outputs(&network, &parameters, &input);
        for (place, owner) in neurons.owners().iter().enumerate() {
            let mut changed = parameters.clone();
            changed[place] += 1.0;
            let after = outputs(&network, &changed, &input);
            let moved = |index: usize| (after[index] - before[index]).abs() > 1e-4;
            let owned = |index: usize| index % neurons.count() == *owner as usize;
            assert!((0..after.len()).all(|index| owned(index) || !moved(index)), "{layer}: {place}");
            assert!((0..after.len()).any(moved), "{layer}: {place}");
        }
    }
}

#[test]
fn an_example_has_its_relevance_whatever_its_company() {
    let network = network(&format!("input = [2, 6, 6]\nlayers = {}", SHAPES[0]));
    let parameters = initial_parameters(&network, 3);
    let propagation = Propagation::new(network, 0.01).unwrap();
    let mut inputs = random(4, 5 * 72);
    inputs[2 * 72] = f32::NAN;
    let batch = Batch::new(inputs.clone(), vec![0, 1, 2, 0, 1]);
    let together = propagation.relevances(&parameters, &batch, 1..5).unwrap();
    assert_eq!(together.len(), 4);
    for (example, found) in (1..5).zip(&together) {
        let alone = Batch::new(inputs[example * 72..][..72].to_vec(), vec![[0, 1, 2, 0, 1][example]]);
        let alone = propagation.relevances(&parameters, &alone, 0..1).unwrap().remove(0);
        // Only the second has a value that is no number.
        assert_eq!(*found == alone, example != 2, "{example}");
    }
}

/// Moduli grow as their input does, so that relevance adds up to the logit through a scattering transform too.
#[test]
fn relevance_goes_through_scattering() {
    let model = "input = [2, 7, 9]\nlayers = [{ type = \"scattering\" }, { type = \"flatten\" }, \
                 { type = \"dense\", features = 3, bias = false }]";
    let network = network(model);
    let (parameters, input) = (random(3, network.parameter_len()), random(4, network.input().len()));
    let logits = outputs(&network, &parameters, &input);
    for (class, logit) in (0..).zip(logits) {
        let found = relevance(&network, 0.0, &parameters, &input, class);
        assert!(
            near(&[found.inputs.iter().sum()], &[logit], 1e-3),
            "{} {logit}",
            found.inputs.iter().sum::<f32>()
        );
    }
}

#[test]
fn what_has_no_relevance_is_refused_by_name() {
    let fused = network("input = [4]\nlayers = [{ type = \"fusion\" }]");
    let message = Propagation::new(fused, 0.0).err().unwrap().to_string();
    assert!(
        message.contains("layer `0` (fusion)") && message.contains("logarithms of probabilities"),
        "{message}"
    );
    let dense = network("input = [2]\nlayers = [{ type = \"dense\", features = 2 }]");
    for stabiliser in [-1.0, f32::NAN, f32::INFINITY] {
        let message = Propagation::new(dense.clone(), stabiliser).err().unwrap().to_string();
        assert!(message.contains("stabiliser"), "{message}");
    }
    let propagation = Propagation::new(dense, 0.0).unwrap();
    let batch = Batch::new(vec![1.0, 1.0], vec![2]);
    let message = propagation.relevances(&[0.0; 6], &batch, 0..1).unwrap_err().to_string();
    assert!(message.contains("class 2 does not exist"), "{message}");
}
