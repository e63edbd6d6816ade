//! The LSTM layer: against a loop over single examples, and against PyTorch.

use crate::common::{LOSS, Setting, TOLERANCE, check, relative_error};
use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::initialise::SplitMix;
use muffle_nn::layer::{Backward, Factors, Forward, Gradients, Layer, Memory, Pass, Values, Weights};
use muffle_nn::layers::activation::Activation;
use muffle_nn::{Batch, Engine, Network, Options, Purpose, Shape};
use safetensors::SafeTensors;
use std::sync::{Arc, Mutex};

/// Largest accepted relative distance to PyTorch's float64 results.
const CLOSE: f64 = 1e-5;

fn lstm(features: usize, sequence: bool) -> Entry {
    LayerConfig::Lstm { features, sequence }.into()
}

fn dense(features: usize) -> Entry {
    LayerConfig::Dense { features, bias: true }.into()
}

fn sequence(steps: usize, features: usize) -> Shape {
    Shape::Sequence { steps, features }
}

#[test]
fn the_last_hidden_state() {
    for (steps, inputs, units) in [(6, 5, 7), (1, 3, 16), (9, 17, 33), (2, 16, 1), (3, 1, 20)] {
        let layers = vec![lstm(units, false), dense(4)];
        check(&Setting::layers(sequence(steps, inputs), layers, 7));
    }
}

#[test]
fn the_whole_sequence() {
    for (steps, inputs, units) in [(6, 5, 7), (1, 3, 16), (5, 20, 18)] {
        let layers = vec![lstm(units, true), LayerConfig::Flatten.into(), dense(4)];
        check(&Setting::layers(sequence(steps, inputs), layers, 7));
    }
}

#[test]
fn one_on_top_of_another() {
    let layers = vec![dense(6), lstm(19, true), Activation::Tanh.into(), lstm(5, false), dense(3)];
    check(&Setting::layers(sequence(7, 4), layers, 7));
}

#[test]
fn the_rows_of_an_image() {
    let layers = vec![lstm(128, false), dense(10)];
    check(&Setting::layers(sequence(28, 28), layers, 7));
}

/// One engine sees large and small batches in turn, so that whatever a large one leaves on the tape is in the way of a
/// small one.
#[test]
fn what_the_last_batch_left_does_not_matter() {
    let layers = vec![lstm(21, true), lstm(7, false), dense(4)];
    let setting = Setting::layers(sequence(5, 6), layers, 40);
    let single = setting.one_at_a_time();
    let mut plain = setting.engine(Purpose::Plain, 1, 16);
    let mut private = setting.engine(Purpose::PerExample, 1, 16);
    for (first, count) in [(0, 16), (5, 3), (20, 1), (0, 40), (31, 2), (8, 15), (3, 1)] {
        let mut expected = vec![0.0; setting.parameters.len()];
        for gradient in &single[first..first + count] {
            expected.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value);
        }
        let batch = setting.batch(first..first + count);
        plain.sum(&setting.parameters, &batch, LOSS, 3).expect("a step");
        let error = relative_error(plain.gradient(), &expected);
        assert!(error <= TOLERANCE, "{count} examples from {first}: {error}");
        private
            .weighted_sum(&setting.parameters, &batch, LOSS, 3, &|_, factors| factors.fill(1.0))
            .expect("a step");
        let error = relative_error(private.gradient(), &expected);
        assert!(error <= TOLERANCE, "{count} examples from {first}, one by one: {error}");
    }
}

#[test]
fn outputs_do_not_depend_on_the_purpose() {
    let layer = build(sequence(9, 6), 21, true);
    let mut generator = SplitMix::new(5);
    let parameters: Vec<f32> = (0..parameter_len(&*layer)).map(|_| generator.normal()).collect();
    let input: Vec<f32> = (0..4 * 9 * 6).map(|_| generator.normal()).collect();
    let outputs = [Purpose::Plain, Purpose::Evaluate].map(|purpose| {
        let mut run = Run::new(&*layer, &parameters, 4, purpose);
        run.forward(&input)
    });
    assert_eq!(outputs[0], outputs[1]);
}

#[test]
fn refuses_what_is_no_sequence() {
    let config = LayerConfig::Lstm { features: 3, sequence: false };
    assert!(config.build("0", Shape::Vector(4)).is_err());
    assert!(config.build("0", Shape::image(1, 28, 28)).is_err());
    let config = LayerConfig::Lstm { features: 0, sequence: false };
    assert!(config.build("0", sequence(3, 4)).is_err());
}

fn build(input: Shape, features: usize, sequence: bool) -> Box<dyn Layer> {
    LayerConfig::Lstm { features, sequence }.build("0", input).expect("a layer")
}

fn parameter_len(layer: &dyn Layer) -> usize {
    layer.tensors().iter().map(|tensor| tensor.len()).sum()
}

/// A layer with memory full of rubbish, except where the contract promises zeros.
struct Run<'a> {
    layer: &'a dyn Layer,
    parameters: &'a [f32],
    prepared: Vec<f32>,
    tape: Vec<f32>,
    scratch: Vec<f32>,
    pass: Pass<'static>,
}

impl<'a> Run<'a> {
    fn new(layer: &'a dyn Layer, parameters: &'a [f32], batch: usize, purpose: Purpose) -> Run<'a> {
        let pass = Pass::new(batch, purpose);
        let mut prepared = vec![f32::NAN; layer.prepared_len()];
        layer.prepare(parameters, &mut prepared);
        Run {
            layer,
            parameters,
            prepared,
            // Stronger than promised: nothing may depend on what the tape holds.
            tape: vec![f32::NAN; layer.tape_len(&pass)],
            scratch: vec![f32::NAN; layer.scratch_len(&pass)],
            pass,
        }
    }

    fn forward(&mut self, input: &[f32]) -> Vec<f32> {
        let mut output = vec![f32::NAN; self.pass.batch * self.layer.output().len()];
        let weights = Weights { parameters: self.parameters, prepared: &self.prepared };
        let memory = Memory { tape: &mut self.tape, scratch: &mut self.scratch };
        self.layer.forward(Forward { weights, pass: &self.pass, input, output: &mut output, memory });
        output
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).expect("a fixture")
}

fn values(tensors: &SafeTensors, name: &str) -> Vec<f32> {
    let tensor = tensors.tensor(name).expect("a tensor of the fixture");
    let bytes = tensor.data().as_chunks::<4>().0;
    bytes.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

fn assert_close(what: &str, computed: &[f32], expected: &[f32]) {
    let error = relative_error(computed, expected);
    assert!(error <= CLOSE, "{what} differs by {error}");
}

#[test]
fn agrees_with_pytorch() {
    for (name, whole) in [("lstm_last_output", false), ("lstm_whole_sequence", true)] {
        let bytes = fixture(name);
        let tensors = SafeTensors::deserialize(&bytes).expect("a fixture");
        let layer = build(sequence(6, 5), 7, whole);
        let names: Vec<&str> = layer.tensors().iter().map(|tensor| tensor.name).collect();
        let of_all = |prefix: &str| -> Vec<Vec<f32>> {
            names.iter().map(|name| values(&tensors, &format!("{prefix}.{name}"))).collect()
        };
        let parameters = of_all("parameter").concat();
        let (input, upstream) = (values(&tensors, "input"), values(&tensors, "upstream"));
        let batch = input.len() / 30;
        let mut run = Run::new(&*layer, &parameters, batch, Purpose::PerExample);
        let output = run.forward(&input);
        assert_close("output", &output, &values(&tensors, "output"));

        let mut downstream = vec![f32::NAN; input.len()];
        let mut norms = vec![f64::NAN; names.len() * batch];
        let mut gradient = vec![0.0; parameters.len()];
        let weights = Weights { parameters: &parameters, prepared: &run.prepared };
        let (pass, input, upstream) = (&run.pass, &input[..], &upstream[..]);
        layer.backward(Backward {
            weights,
            pass,
            values: Values { input, output: &output },
            upstream,
            downstream: Some(&mut downstream),
            memory: Memory { tape: &mut run.tape, scratch: &mut run.scratch },
        });
        let memory = Memory { tape: &mut run.tape, scratch: &mut run.scratch };
        layer.squared_norms(Gradients { pass, input, upstream, memory }, &mut norms);
        let factors = Factors::ones(batch, 0..batch);
        let memory = Memory { tape: &mut run.tape, scratch: &mut run.scratch };
        layer.accumulate(Gradients { pass, input, upstream, memory }, factors, &mut gradient);

        assert_close("input gradient", &downstream, &values(&tensors, "input_gradient"));
        let norms: Vec<f32> = norms.iter().map(|norm| norm.sqrt() as f32).collect();
        let mut rest = &gradient[..];
        for (index, (name, (expected, expected_norms))) in
            names.iter().zip(of_all("gradient").iter().zip(of_all("norm"))).enumerate()
        {
            let (own, behind) = rest.split_at(expected.len());
            rest = behind;
            assert_close(name, own, expected);
            let own = &norms[index * batch..][..batch];
            assert_close(&format!("norm of {name}"), own, &expected_norms);
        }
    }
}

#[test]
fn agrees_with_a_network_of_pytorch() {
    let bytes = fixture("network_w3");
    let tensors = SafeTensors::deserialize(&bytes).expect("a fixture");
    let layers = [
        Entry::named("rnn", LayerConfig::Lstm { features: 16, sequence: false }),
        Entry::named("fc", LayerConfig::Dense { features: 10, bias: true }),
    ];
    let network = Arc::new(Network::new(sequence(28, 28), &layers).expect("a network"));
    let names: Vec<String> = network.parameters().iter().map(|parameter| parameter.name.clone()).collect();
    let of = |prefix: &str, name: &str| values(&tensors, &format!("{prefix}.{name}"));
    let parameters: Vec<f32> = names.iter().flat_map(|name| of("parameter", name)).collect();
    let classes: Vec<u32> = tensors
        .tensor("target")
        .expect("classes")
        .data()
        .as_chunks::<8>()
        .0
        .iter()
        .map(|&bytes| i64::from_le_bytes(bytes) as u32)
        .collect();
    let count = classes.len();
    let batch = Batch::new(values(&tensors, "input"), classes);

    let options = Options { threads: Some(1), micro_batch: Some(count), ..Options::new(Purpose::Evaluate) };
    let mut logits = vec![0.0; 10 * count];
    let mut engine = Engine::new(network.clone(), options).expect("an engine");
    engine.outputs(&parameters, &batch, &mut logits).expect("outputs");
    assert_close("logits", &logits, &values(&tensors, "logits"));

    let options = Options { purpose: Purpose::PerExample, ..options };
    let norms = Mutex::new(Vec::new());
    let mut engine = Engine::new(network.clone(), options).expect("an engine");
    let weigh = |squares: &[f64], factors: &mut [f32]| {
        norms.lock().unwrap().push(squares.to_vec());
        // The reference is the gradient of the mean.
        factors.fill(1.0 / count as f32);
    };
    engine.weighted_sum(&parameters, &batch, LOSS, 0, &weigh).expect("a step");
    let norms = norms.into_inner().unwrap();
    for (index, (name, parameter)) in names.iter().zip(network.parameters()).enumerate() {
        let own = &engine.gradient()[parameter.range.clone()];
        assert_close(name, own, &of("gradient", name));
        let own: Vec<f32> = norms.iter().map(|norms| norms[index].sqrt() as f32).collect();
        assert_close(&format!("norm of {name}"), &own, &of("norm", name));
    }
}
