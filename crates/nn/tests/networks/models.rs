//! The named networks: sizes, names, gradients, and their place in the documentation.

use crate::common::{LOSS, TOLERANCE, relative_error};
use muffle_nn::examples::from_channels_first;
use muffle_nn::initialise::{SplitMix, initial_parameters};
use muffle_nn::models::{MODELS, model};
use muffle_nn::{Batch, Engine, Error, ModelDescription, Options, Purpose, Shape, weights};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Number of parameters of every network, as PyTorch counts them: `sum(p.numel() for p in model.parameters())` over the
/// modules in `fixtures/models.py`, which were written apart from the ones here.
const PARAMETERS: &[(&str, usize)] = &[
    ("cnn-small", 26_010),
    ("cnn-5x5", 3_274_634),
    ("cnn-5x5-dropout", 3_274_634),
    ("lstm-rows", 82_186),
    ("pca-mlp", 71_010),
    ("icgc-1", 129_258),
    ("icgc-2", 725_962),
    ("icgc-1-fused", 258_516),
    ("icgc-2-fused", 1_451_924),
    ("afrrs-mnist", 26_010),
    ("afrrs-cifar", 3_632_810),
    ("backprop-clip-mnist", 25_920),
    ("lenet5", 61_706),
    ("tempered-mnist", 26_010),
    ("tempered-cifar", 605_226),
    ("tempered-cifar-small", 115_274),
    ("resnet18", 11_173_962),
    ("vgg19", 20_040_522),
    ("googlenet", 6_166_250),
    ("simpledla", 15_142_970),
    ("dpnas-mnist", 213_418),
    ("dpnas-cifar", 529_434),
    ("text-mean", 525_578),
    ("text-cnn", 681_198),
    ("text-gru", 624_650),
    ("text-transformer", 930_570),
];

/// Random examples, one after the other, in PyTorch's order: tokens for texts, normal numbers for the others.
fn inputs(name: &str, len: usize, seed: u64) -> Vec<f32> {
    let mut generator = SplitMix::new(seed);
    let mut value = || match name.starts_with("text-") {
        true => (generator.bits() % 4096) as f32,
        false => generator.normal(),
    };
    (0..len).map(|_| value()).collect()
}

fn fixtures() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures"))
}

#[test]
fn every_network_has_its_number_of_parameters() {
    let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
    let expected: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected);
    for (name, parameters) in PARAMETERS {
        let network = model(name).and_then(|model| model.network()).expect(name);
        assert_eq!(network.trainable_len(), *parameters, "{name}");
        assert_eq!(network.parameter_len(), *parameters, "{name}");
        assert_eq!(network.output(), Shape::Vector(10), "{name}");
        assert!(network.mixing_layer().is_none(), "{name}");
    }
}

#[test]
fn tensors_have_the_names_and_shapes_of_pytorch() {
    let text = std::fs::read_to_string(fixtures().join("models.json")).expect("a fixture");
    let facts: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(facts.as_object().map(|models| models.len()), Some(MODELS.len()));
    for model in MODELS {
        let network = model.description().network().expect(model.name);
        let facts = &facts[model.name];
        assert_eq!(serde_json::json!(network.input().sizes()), facts["input"], "{}", model.name);
        let tensors = network
            .parameters()
            .iter()
            .map(|parameter| (parameter.name.clone(), serde_json::json!(parameter.tensor.sizes)))
            .collect();
        assert_eq!(Value::Object(tensors), facts["tensors"], "{}", model.name);
    }
}

#[test]
fn every_network_survives_a_model_file() {
    for model in MODELS {
        let description = model.description();
        let text = description.to_toml();
        let again = ModelDescription::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again, description, "{text}");
        assert_eq!(again.to_toml(), text);
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = model("alexnet").expect_err("no such model");
    assert!(matches!(error, Error::UnknownModel { .. }));
    let message = error.to_string();
    for (name, _) in PARAMETERS {
        assert!(message.contains(name), "{message}");
    }
}

/// One private step on two random examples: everything is finite, every tensor has a gradient, and norms and sum are
/// those of the gradients of single examples from plain backpropagation.
fn step(name: &str) {
    let network = Arc::new(model(name).and_then(|model| model.network()).expect(name));
    let parameters = initial_parameters(&network, 11);
    let batch = Batch::new(inputs(name, 2 * network.input().len(), 12), vec![3, 8]);
    let engine = |purpose: Purpose, micro_batch: usize| {
        let options = Options { threads: Some(1), micro_batch: Some(micro_batch), ..Options::new(purpose) };
        Engine::new(network.clone(), options).expect(name)
    };

    let single = Mutex::new(Vec::new());
    let visit =
        |_: usize, gradient: &mut [f32], _: &mut [f32]| single.lock().unwrap().push(gradient.to_vec());
    engine(Purpose::Plain, 1).visit(&parameters, &batch, LOSS, 13, &visit).expect(name);
    let single = single.into_inner().unwrap();

    let seen = Mutex::new(Vec::new());
    let weigh = |norms: &[f64], factors: &mut [f32]| {
        factors.fill(1.0 / norms.iter().sum::<f64>().sqrt() as f32);
        seen.lock().unwrap().push(norms.to_vec());
    };
    let mut engine = engine(Purpose::PerExample, 2);
    let outcome = engine.weighted_sum(&parameters, &batch, LOSS, 13, &weigh).expect(name);
    assert!(outcome.excluded.is_empty(), "{name}: {:?}", outcome.excluded);
    assert!(outcome.loss.is_finite(), "{name}");
    let seen = seen.into_inner().unwrap();
    assert_eq!((seen.len(), single.len()), (2, 2), "{name}");

    let mut expected = vec![0.0; parameters.len()];
    for (gradient, norms) in single.iter().zip(&seen) {
        let norm = norms.iter().sum::<f64>().sqrt() as f32;
        assert!(norm.is_finite(), "{name}: norm {norm}");
        for (expected, value) in expected.iter_mut().zip(gradient) {
            *expected += value / norm;
        }
    }
    for (index, parameter) in network.parameters().iter().enumerate() {
        let range = parameter.range.clone();
        for (gradient, norms) in single.iter().zip(&seen) {
            // In double precision: a long sum of small squares is where single precision fails first.
            let squares = gradient[range.clone()].iter().map(|value| f64::from(*value).powi(2));
            let norm = squares.sum::<f64>();
            assert!(norm > 0.0, "{name}: `{}` has no gradient", parameter.name);
            // Never too small; where it comes without the gradient, what may cancel in it is added.
            let error = norms[index] / norm - 1.0;
            assert!(
                (-1e-5..0.005).contains(&error),
                "{name}: norm of `{}` differs by {error}",
                parameter.name
            );
        }
        let error = relative_error(&engine.gradient()[range.clone()], &expected[range]);
        assert!(error <= TOLERANCE, "{name}: sum of `{}` differs by {error}", parameter.name);
    }
}

macro_rules! steps {
    ($($test:ident: $($name:literal),+;)+) => {
        $(#[test]
        fn $test() {
            $(step($name);)+
        })+

        #[test]
        fn no_network_goes_without_a_step() {
            let tested = [$($($name),+),+];
            assert!(MODELS.iter().all(|model| tested.contains(&model.name)));
        }
    };
}

steps! {
    small_networks_take_a_step: "cnn-small", "cnn-5x5", "pca-mlp", "icgc-1", "icgc-2", "afrrs-mnist",
        "backprop-clip-mnist", "lenet5", "tempered-mnist", "tempered-cifar-small";
    fused_networks_take_a_step: "icgc-1-fused", "icgc-2-fused";
    networks_with_mean_pools_take_a_step: "afrrs-cifar", "tempered-cifar";
    networks_with_dropout_take_a_step: "cnn-5x5-dropout";
    recurrent_networks_take_a_step: "lstm-rows";
    deep_networks_take_a_step: "resnet18", "vgg19", "googlenet", "simpledla";
    networks_for_texts_take_a_step: "text-mean", "text-cnn", "text-gru", "text-transformer";
    searched_networks_take_a_step: "dpnas-mnist", "dpnas-cifar";
}

#[test]
fn the_documentation_lists_every_network() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let text = std::fs::read_to_string(path).expect("the documentation");
    let expected: Vec<String> = MODELS
        .iter()
        .map(|model| {
            let network = model.description().network().expect(model.name);
            format!(
                "| `{}` | {:?} | {} | {} | {} |",
                model.name,
                network.input().sizes(),
                grouped(network.trainable_len()),
                model.summary,
                model.source
            )
        })
        .collect();
    let section = text.split("\n## ").find(|section| section.starts_with("By name")).expect("a section");
    let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(found, expected, "docs/models.md should say:\n{}", expected.join("\n"));
}

/// A number with a space between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(" ")
}

#[test]
fn the_example_of_the_documentation_is_a_network() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    let text = std::fs::read_to_string(path).expect("the documentation");
    let examples: Vec<&str> =
        text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let network = ModelDescription::from_toml(example).and_then(|model| model.network());
        network.unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}

/// Saves every network with weights and what it answers, and asks PyTorch for the same.
///
/// Runs only if `MUFFLE_PYTHON` names a Python with PyTorch and safetensors.
#[test]
fn pytorch_opens_saved_weights_and_gives_the_same_logits() {
    let Some(python) = std::env::var_os("MUFFLE_PYTHON") else {
        eprintln!("skipped: MUFFLE_PYTHON does not name a Python with PyTorch");
        return;
    };
    let folder = std::env::temp_dir().join(format!("muffle-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for model in MODELS {
        let description = model.description();
        let network = Arc::new(description.network().expect(model.name));
        let parameters = initial_parameters(&network, 21);
        let path = |kind: &str| folder.join(format!("{}.{kind}", model.name));
        weights::save(&path("safetensors"), &network, Some(&description), &parameters).expect(model.name);
        // In PyTorch's order; the engine wants the channels of a pixel side by side.
        let examples = 2;
        let width = network.input().len();
        let inputs = inputs(model.name, examples * width, 22);
        let mut stored = vec![0.0; inputs.len()];
        for (example, stored) in inputs.chunks_exact(width).zip(stored.chunks_exact_mut(width)) {
            from_channels_first(network.input(), example, stored);
        }
        let mut logits = vec![0.0; examples * network.output().len()];
        Engine::new(network, Options::new(Purpose::Evaluate))
            .expect(model.name)
            .outputs(&parameters, &Batch::new(stored, vec![0; examples]), &mut logits)
            .expect(model.name);
        let bytes =
            |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
        std::fs::write(path("input"), bytes(&inputs)).expect("a file");
        std::fs::write(path("logits"), bytes(&logits)).expect("a file");
    }
    let output = std::process::Command::new(python)
        .arg(fixtures().join("models.py"))
        .arg("--compare")
        .arg(&folder)
        .output()
        .expect("Python");
    std::fs::remove_dir_all(&folder).expect("the folder");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert_eq!(text.lines().count(), MODELS.len(), "{text}");
    eprintln!("relative distance of the logits:\n{text}");
}
