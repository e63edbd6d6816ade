//! Layers, losses and networks compute what PyTorch computes; see `fixtures/README.md`.

use crate::common::layer_run::run;
use crate::common::regression::Regression;
use crate::common::torch::{Case, cases};
use muffle_nn::config::{Entry, LayerConfig, Piece};
use muffle_nn::initialise::initial_parameters;
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::running_statistics::update_statistics;
use muffle_nn::{Batch, Engine, Examples, Loss, ModelDescription, Network, Options, Purpose, Shape, Target};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// The layer of a case, as a model file would have it; `None` for what is not a single layer.
fn config(case: &Case) -> Option<LayerConfig> {
    let given = &case.hyperparameters;
    let description = match case.kind.as_str() {
        "linear" => json!({"type": "dense", "features": given["outputs"], "bias": given["bias"]}),
        "conv2d" => json!({"type": "conv2d", "channels": given["output_channels"], "kernel": given["kernel"],
            "stride": given["stride"], "padding": given["padding"], "groups": given["groups"], "bias": given["bias"]}),
        "conv_transpose2d" => json!({"type": "conv-transpose2d", "channels": given["output_channels"],
            "kernel": given["kernel"], "stride": given["stride"], "padding": given["padding"],
            "output_padding": given["output_padding"], "bias": given["bias"]}),
        "max_pool2d" | "avg_pool2d" => {
            let kind = if case.kind == "max_pool2d" { "max-pool" } else { "average-pool" };
            json!({"type": kind, "kernel": given["kernel"], "stride": given["stride"], "padding": given["padding"]})
        }
        "max_pool1d" | "avg_pool1d" => {
            let kind = if case.kind == "max_pool1d" { "max-pool" } else { "average-pool" };
            json!({"type": kind, "kernel": given["kernel"], "stride": given["stride"], "padding": given["padding"]})
        }
        "conv1d" => json!({"type": "conv1d", "channels": given["output_channels"], "kernel": given["kernel"],
            "stride": given["stride"], "padding": given["padding"], "bias": given["bias"]}),
        "global_avg_pool2d" => json!({"type": "global-average-pool"}),
        "group_norm" => json!({"type": "group-norm", "groups": given["groups"]}),
        "layer_norm" => json!({"type": "layer-norm"}),
        "batch_norm" => json!({"type": "batch-norm"}),
        "embedding" => {
            json!({"type": "embedding", "tokens": given["tokens"], "features": given["features"]})
        }
        "embedding_bag" => json!({"type": "embedding-bag", "tokens": given["tokens"],
            "features": given["features"], "padding": given["padding"]}),
        "position_embedding" => json!({"type": "position-embedding"}),
        "gelu" => json!({"type": "gelu"}),
        "upsample" => json!({"type": "upsample", "factor": given["factor"]}),
        "blocks" => json!({"type": "blocks", "widths": given["widths"]}),
        "multi_head_attention" => {
            json!({"type": "multi-head-attention", "heads": given["heads"], "causal": given["causal"]})
        }
        "lstm" | "gru" => {
            json!({"type": case.kind, "features": given["hidden"], "sequence": given["output"] == "sequence"})
        }
        _ => return None,
    };
    Some(serde_json::from_value(description).unwrap())
}

#[test]
fn single_layers() {
    let mut count = 0;
    for case in cases() {
        let Some(config) = config(&case) else { continue };
        count += 1;
        let layer = config.build(&case.name, case.shape("input")).unwrap();
        assert_eq!(layer.output(), case.shape("output"), "{}", case.name);
        let tensors = layer.tensors();
        let parameters: Vec<f32> =
            tensors.iter().flat_map(|tensor| case.tensor("parameter", tensor.name, tensor)).collect();
        let purposes: &[Purpose] = match case.hyperparameters["training"].as_bool() {
            // Batch normalisation has no gradient when evaluating, and none for single examples.
            Some(false) => &[Purpose::Evaluate],
            Some(true) => &[Purpose::Plain],
            None => &[Purpose::Evaluate, Purpose::Plain, Purpose::PerExample],
        };
        for &purpose in purposes {
            let (input, upstream) = (case.batch("input"), case.batch("upstream"));
            let run = run(&*layer, purpose, &parameters, &input, &upstream);
            case.check("output", &run.output, &case.batch("output"));
            if purpose == Purpose::Evaluate {
                continue;
            }
            if case.has("input_gradient") {
                case.check("input gradient", &run.downstream, &case.batch("input_gradient"));
            }
            let (mut rest, batch) = (&run.gradient[..], case.sizes("input")[0]);
            for (index, tensor) in tensors.iter().enumerate() {
                let (own, behind) = rest.split_at(tensor.len());
                rest = behind;
                if !case.has(&format!("gradient.{}", tensor.name)) {
                    continue;
                }
                case.check(tensor.name, own, &case.tensor("gradient", tensor.name, tensor));
                if purpose == Purpose::PerExample {
                    let norms = run.norms[index * batch..][..batch].iter();
                    let norms: Vec<f32> = norms.map(|norm| norm.sqrt() as f32).collect();
                    case.check_norms(&norms, &format!(".{}", tensor.name));
                }
            }
        }
    }
    assert!(count >= 48, "{count} layers");
}

#[test]
fn activations() {
    let mut count = 0;
    for case in cases() {
        let activation = match case.kind.as_str() {
            "relu" => Activation::Relu,
            "leaky_relu" => Activation::LeakyRelu { slope: case.number("slope") },
            "tanh" => Activation::Tanh,
            "sigmoid" => Activation::Sigmoid,
            "selu" => Activation::Selu,
            "hardtanh" => Activation::Hardtanh,
            "tempered_sigmoid" => Activation::TemperedSigmoid {
                scale: case.number("scale"),
                temperature: case.number("temperature"),
                offset: case.number("offset"),
            },
            _ => continue,
        };
        count += 1;
        let mut output = case.values("input");
        activation.apply(&mut output);
        case.check("output", &output, &case.values("output"));
        let mut gradient = case.values("upstream");
        activation.pull_back(&output, &mut gradient);
        case.check("input gradient", &gradient, &case.values("input_gradient"));
    }
    assert_eq!(count, 8);
}

#[test]
fn losses() {
    let mut count = 0;
    for case in cases() {
        let loss = match case.kind.as_str() {
            "cross_entropy" => Loss::SoftmaxCrossEntropy,
            "bce_with_logits" => Loss::BinaryCrossEntropy,
            "mse" => Loss::MeanSquaredError,
            _ => continue,
        };
        count += 1;
        let (input, target) = (case.values("input"), case.values("target"));
        let (batch, width) = (case.sizes("input")[0], case.sizes("input")[1]);
        let (mut losses, mut gradients) = (Vec::new(), Vec::new());
        for (example, input) in input.chunks_exact(width).enumerate() {
            let target = if loss == Loss::SoftmaxCrossEntropy {
                Target::Class(target[example] as u32)
            } else {
                Target::Values(&target[example * width..][..width])
            };
            let mut gradient = vec![0.0; width];
            loss.check(Shape::Vector(width), target).unwrap();
            losses.push(loss.evaluate(input, target, &mut gradient));
            gradients.extend(gradient.iter().map(|value| value / batch as f32));
        }
        let expected = case.values("output");
        let expected: Vec<f32> = expected
            .chunks_exact(expected.len() / batch)
            .map(|values| values.iter().sum::<f32>() / values.len() as f32)
            .collect();
        case.check("losses", &losses, &expected);
        let mean = losses.iter().sum::<f32>() / batch as f32;
        case.check("mean", &[mean], &case.values("mean"));
        case.check("gradient", &gradients, &case.values("mean_gradient"));
    }
    assert_eq!(count, 3);
}

#[test]
fn running_statistics() {
    for case in
        cases().iter().filter(|case| case.kind == "batch_norm" && case.has("buffer_after.running_mean"))
    {
        let network = Network::new(case.shape("input"), &[LayerConfig::BatchNorm.into()]).unwrap();
        let Some(node) = network.mixing_layer() else { panic!("batch normalisation mixes examples") };
        let muffle_nn::network::Operation::Layer(layer) = &node.operation else { panic!("a layer") };
        let tensors = layer.tensors();
        let mut parameters: Vec<f32> =
            tensors.iter().flat_map(|tensor| case.tensor("parameter", tensor.name, tensor)).collect();
        let (input, upstream) = (case.batch("input"), case.batch("upstream"));
        let run = run(&**layer, Purpose::Plain, &parameters, &input, &upstream);
        update_statistics(&network, &run.gradient, &mut parameters);
        for parameter in network.parameters().iter().skip(2) {
            let expected = case.values(&format!("buffer_after.{}", parameter.tensor.name));
            case.check(parameter.tensor.name, &parameters[parameter.range.clone()], &expected);
        }
    }
}

/// Compares gradients and norms of a network with those of a case; `name` maps our names to PyTorch's.
fn check_gradients(
    case: &Case,
    network: &Arc<Network>,
    examples: &dyn Examples,
    loss: Loss,
    share: f32,
    name: impl Fn(&str) -> String,
) -> f64 {
    let mut parameters = initial_parameters(network, 1);
    for parameter in network.parameters() {
        let values = case.tensor("parameter", &name(&parameter.name), &parameter.tensor);
        parameters[parameter.range.clone()].copy_from_slice(&values);
    }
    let options =
        |purpose: Purpose| Options { threads: Some(1), micro_batch: Some(2), ..Options::new(purpose) };
    let mut engine = Engine::new(network.clone(), options(Purpose::PerExample)).unwrap();
    let seen = Mutex::new(Vec::new());
    let weigh = |norms: &[f64], factors: &mut [f32]| {
        seen.lock().unwrap().push(norms.to_vec());
        factors.fill(share);
    };
    let outcome = engine.weighted_sum(&parameters, examples, loss, 0, &weigh).unwrap();
    let norms = seen.into_inner().unwrap();
    for (index, parameter) in network.parameters().iter().enumerate() {
        let name = name(&parameter.name);
        let expected = case.tensor("gradient", &name, &parameter.tensor);
        case.check(&name, &engine.gradient()[parameter.range.clone()], &expected);
        let norms: Vec<f32> = norms.iter().map(|norms| norms[index].sqrt() as f32).collect();
        case.check_norms(&norms, &format!(".{name}"));
    }
    if case.has("norm") {
        let norms: Vec<f32> = norms.iter().map(|norms| norms.iter().sum::<f64>().sqrt() as f32).collect();
        case.check_norms(&norms, "");
    }
    let answers = if case.has("logits") { "logits" } else { "output" };
    let mut outputs = vec![0.0; case.values(answers).len()];
    let mut engine = Engine::new(network.clone(), options(Purpose::Evaluate)).unwrap();
    engine.outputs(&parameters, examples, &mut outputs).unwrap();
    case.check("output", &outputs, &case.values(answers));
    outcome.loss
}

/// What reads the texts of a case between an embedding and a dense layer.
fn readers(kind: &str, features: usize) -> Option<Vec<Entry>> {
    let conv = |kernel: usize, stride: usize, padding: usize| LayerConfig::Conv1d {
        channels: features,
        kernel,
        stride,
        padding,
        bias: true,
    };
    let (window, stride) = (Extent::Square(2), Some(Extent::Square(1)));
    Some(match kind {
        "padded_attention" => vec![
            Entry::named("attention", LayerConfig::MultiHeadAttention { heads: 2, causal: false }),
            LayerConfig::GlobalAveragePool.into(),
        ],
        "padded_gru" => vec![Entry::named("rnn", LayerConfig::Gru { features, sequence: false })],
        "padded_lstm" => vec![Entry::named("rnn", LayerConfig::Lstm { features, sequence: false })],
        "padded_windows" => vec![
            Entry::named("first", conv(3, 1, 1)),
            Activation::Tanh.into(),
            LayerConfig::MaxPool { kernel: window, stride, padding: Extent::Square(0) }.into(),
            Entry::named("second", conv(2, 2, 0)),
            LayerConfig::GlobalAveragePool.into(),
        ],
        _ => return None,
    })
}

#[test]
fn texts_of_different_length() {
    let mut count = 0;
    for case in cases() {
        let number = |name: &str| case.hyperparameters[name].as_u64().unwrap() as usize;
        let Some(features) = case.kind.starts_with("padded").then(|| number("features")) else { continue };
        count += 1;
        let embedding = LayerConfig::Embedding { tokens: number("tokens"), features, padding: Some(0) };
        let outputs = number("outputs");
        let mut layers = vec![Entry::named("embedding", embedding)];
        layers.extend(readers(&case.kind, features).expect("a kind of reader"));
        layers.push(Entry::named("linear", LayerConfig::Dense { features: outputs, bias: true }));
        let network = Arc::new(Network::new(case.shape("input"), &layers).unwrap());
        let examples = as_regression(&case, outputs);
        check_gradients(&case, &network, &examples, Loss::MeanSquaredError, 1.0, |name| name.to_string());
    }
    assert_eq!(count, 4);
}

/// A squared error whose gradient at the output is the upstream gradient of a case.
fn as_regression(case: &Case, outputs: usize) -> Regression {
    let targets = case
        .values("output")
        .into_iter()
        .zip(case.values("upstream"))
        .map(|(output, upstream)| output - upstream * outputs as f32 / 2.0);
    Regression::new(case.values("input"), targets.collect(), case.sizes("input")[0])
}

#[test]
fn embeddings_with_a_layer_behind() {
    let mut count = 0;
    for case in cases() {
        let between = match case.kind.as_str() {
            "embedding_mean_linear" => LayerConfig::GlobalAveragePool,
            "embedding_flatten_linear" => LayerConfig::Flatten,
            _ => continue,
        };
        count += 1;
        let number = |name: &str| case.hyperparameters[name].as_u64().unwrap() as usize;
        let (tokens, features, outputs) = (number("tokens"), number("features"), number("outputs"));
        let dense = LayerConfig::Dense { features: outputs, bias: true };
        let layers = [
            Entry::named("embedding", LayerConfig::Embedding { tokens, features, padding: None }),
            between.into(),
            Entry::named("linear", dense),
        ];
        let network = Arc::new(Network::new(case.shape("input"), &layers).unwrap());
        let examples = as_regression(&case, outputs);
        let loss = Loss::MeanSquaredError;
        check_gradients(&case, &network, &examples, loss, 1.0, |name| name.to_string());
    }
    assert_eq!(count, 2);
}

fn layer(description: Value) -> Entry {
    serde_json::from_value::<LayerConfig>(description).unwrap().into()
}

fn conv(channels: u64, kernel: u64, stride: u64, padding: u64, bias: bool) -> Entry {
    layer(
        json!({"type": "conv2d", "channels": channels, "kernel": kernel, "stride": stride, "padding": padding,
        "bias": bias}),
    )
}

fn dense(features: u64) -> Entry {
    layer(json!({"type": "dense", "features": features}))
}

fn max_pool(kernel: u64, stride: u64) -> Entry {
    layer(json!({"type": "max-pool", "kernel": kernel, "stride": stride}))
}

fn relu() -> Entry {
    Activation::Relu.into()
}

fn flatten() -> Entry {
    LayerConfig::Flatten.into()
}

/// The networks that `make.py` defines.
fn network(case: &Case) -> Vec<Entry> {
    let numbers = |name: &str| -> Vec<u64> {
        let list = case.hyperparameters[name].as_array();
        list.map(|list| list.iter().map(|value| value.as_u64().unwrap()).collect()).unwrap_or_default()
    };
    let (channels, hidden) = (numbers("channels"), case.hyperparameters["hidden"].as_u64());
    match case.hyperparameters["network"].as_str().unwrap() {
        "w1" => vec![
            conv(channels[0], 8, 2, 3, true),
            relu(),
            max_pool(2, 1),
            conv(channels[1], 4, 2, 0, true),
            relu(),
            max_pool(2, 1),
            flatten(),
            dense(hidden.unwrap()),
            relu(),
            dense(10),
        ],
        "w2" => vec![
            conv(channels[0], 5, 1, 2, true),
            relu(),
            max_pool(2, 2),
            conv(channels[1], 5, 1, 2, true),
            relu(),
            max_pool(2, 2),
            flatten(),
            dense(hidden.unwrap()),
            relu(),
            dense(10),
        ],
        "w3" => {
            let lstm = json!({"type": "lstm", "features": hidden.unwrap()});
            let piece = |entry: Entry| entry.piece;
            vec![Entry::named("rnn", piece(layer(lstm))), Entry::named("fc", piece(dense(10)))]
        }
        "w4" => {
            let groups = case.hyperparameters["groups"].as_u64().unwrap();
            let norm = || layer(json!({"type": "group-norm", "groups": groups}));
            let mut layers = vec![conv(channels[0], 3, 1, 1, false), norm(), relu()];
            let mut inputs = channels[0];
            for (stage, &outputs) in channels.iter().enumerate() {
                for stride in [if stage == 0 { 1 } else { 2 }, 1] {
                    layers.push(block(inputs, outputs, stride, &norm));
                    inputs = outputs;
                }
            }
            layers.extend([LayerConfig::GlobalAveragePool.into(), flatten(), dense(10)]);
            layers
        }
        "w5" => ModelDescription::from_toml(include_str!("../fixtures/w5.toml")).unwrap().layers,
        other => panic!("no network {other}"),
    }
}

/// A residual block; the names `sum` and `main` are ours and stand in no PyTorch name.
fn block(inputs: u64, outputs: u64, stride: u64, norm: &impl Fn() -> Entry) -> Entry {
    let named = |name: &str, entry: Entry| Entry::named(name, entry.piece);
    let main = vec![
        named("c1", conv(outputs, 3, stride, 1, false)),
        named("n1", norm()),
        relu(),
        named("c2", conv(outputs, 3, 1, 1, false)),
        named("n2", norm()),
    ];
    let shortcut = if stride != 1 || inputs != outputs {
        vec![conv(outputs, 1, stride, 0, false), norm()]
    } else {
        Vec::new()
    };
    let branches =
        vec![Entry::named("main", Piece::Sequential(main)), Entry::named("sc", Piece::Sequential(shortcut))];
    Piece::Sequential(vec![Entry::named("sum", Piece::Sum(branches)), relu()]).into()
}

#[test]
fn whole_networks() {
    for case in cases().iter().filter(|case| case.kind == "network") {
        let network = Arc::new(Network::new(case.shape("input"), &network(case)).unwrap());
        let classes = case.values("target").iter().map(|&class| class as u32).collect();
        let examples = Batch::new(case.batch("input"), classes);
        let share = 1.0 / examples.len() as f32;
        let name = |name: &str| name.replace(".sum", "").replace(".main", "");
        let loss = check_gradients(case, &network, &examples, Loss::SoftmaxCrossEntropy, share, name);
        case.check("loss", &[loss as f32 * share], &case.values("loss"));
    }
}
