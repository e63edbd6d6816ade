//! Weight files: PyTorch's names and layouts, and what happens to damaged ones.

use muffle_nn::initialise::initial_parameters;
use muffle_nn::weights::Mapping;
use muffle_nn::{Batch, Engine, ModelDescription, Network, Options, Purpose, weights};
use proptest::prelude::*;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SMALL: &str = r#"
    input = [2, 6, 5]
    layers = [
        { type = "conv2d", channels = 3, kernel = [3, 2], padding = 1 },
        { type = "relu" },
        { type = "max-pool", kernel = 2 },
        { type = "flatten" },
        { type = "dense", name = "head", features = 4 },
    ]
"#;

fn small() -> (ModelDescription, Network) {
    let description = ModelDescription::from_toml(SMALL).expect("a model");
    let network = description.network().expect("a network");
    (description, network)
}

/// A file that is gone when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let directory = std::env::temp_dir().join(format!("muffle-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        Scratch(directory.join("weights.safetensors"))
    }

    fn with(name: &str, bytes: &[u8]) -> Scratch {
        let scratch = Scratch::new(name);
        std::fs::write(&scratch.0, bytes).expect("a file");
        scratch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().expect("a directory"));
    }
}

#[test]
fn what_is_saved_is_loaded_to_the_last_bit() {
    let (description, network) = small();
    let parameters = initial_parameters(&network, 5);
    let file = Scratch::new("round-trip");
    weights::save(&file.0, &network, Some(&description), &parameters).expect("saved");
    let first = std::fs::read(&file.0).expect("a file");
    let loaded = weights::load(&file.0, &network).expect("loaded");
    assert!(loaded.iter().zip(&parameters).all(|(a, b)| a.to_bits() == b.to_bits()));
    // Opened without the model, and saved over itself: the same bytes, and nothing else left behind.
    let (found, network, loaded) = weights::open(&file.0).expect("opened");
    assert_eq!(found, description);
    weights::save(&file.0, &network, Some(&found), &loaded).expect("saved again");
    assert_eq!(std::fs::read(&file.0).expect("a file"), first);
    let files = std::fs::read_dir(file.0.parent().expect("a directory")).expect("a directory");
    assert_eq!(files.count(), 1);
}

#[test]
fn files_have_the_names_shapes_and_layout_of_pytorch() {
    let (_, network) = small();
    // Every value says where muffle keeps it.
    let parameters: Vec<f32> = (0..network.parameter_len()).map(|index| index as f32).collect();
    let file = Scratch::new("layout");
    weights::save(&file.0, &network, None, &parameters).expect("saved");
    let bytes = std::fs::read(&file.0).expect("a file");
    let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
    let mut names = tensors.names();
    names.sort_unstable();
    assert_eq!(names, ["0.bias", "0.weight", "head.bias", "head.weight"]);
    let view = tensors.tensor("0.weight").expect("a tensor");
    assert_eq!(view.shape(), [3, 2, 3, 2]);
    let values: Vec<f32> = view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    for (index, value) in values.iter().enumerate() {
        let (output, input, row, column) = (index / 12, index / 6 % 2, index / 2 % 3, index % 2);
        let place = ((row * 2 + column) * 2 + input) * 3 + output;
        assert_eq!(*value, place as f32);
    }
    let (_, metadata) = SafeTensors::read_metadata(&bytes).expect("a header");
    assert_eq!(metadata.metadata().as_ref().expect("metadata")["format"], "pt");
}

#[test]
fn a_file_made_by_pytorch_gives_its_logits() {
    let description = ModelDescription::from_toml(
        r#"
        input = [1, 12, 8]
        layers = [
            { type = "conv2d", channels = 4, kernel = 3, padding = 1 },
            { type = "relu" },
            { type = "max-pool", kernel = 2 },
            { type = "conv2d", channels = 6, kernel = 3, padding = 1 },
            { type = "group-norm", groups = 2 },
            { type = "relu" },
            { type = "max-pool", kernel = 2 },
            { type = "flatten" },
            { type = "dense", features = 10 },
        ]
        "#,
    )
    .expect("a model");
    let network = Arc::new(description.network().expect("a network"));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let parameters = weights::load(&fixtures.join("model.safetensors"), &network).expect("weights");

    let bytes = std::fs::read(fixtures.join("model_answers.safetensors")).expect("a fixture");
    let answers = SafeTensors::deserialize(&bytes).expect("safetensors");
    let numbers = |name: &str| -> Vec<f32> {
        let view = answers.tensor(name).expect("a tensor");
        view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    // One channel: PyTorch's order of the pixels is muffle's.
    let (inputs, expected) = (numbers("input"), numbers("logits"));
    let examples = expected.len() / 10;
    let mut engine = Engine::new(network, Options::new(Purpose::Evaluate)).expect("an engine");
    let mut logits = vec![0.0; expected.len()];
    engine.outputs(&parameters, &Batch::new(inputs, vec![0; examples]), &mut logits).expect("outputs");
    for (logit, expected) in logits.iter().zip(&expected) {
        assert!((logit - expected).abs() <= 1e-4, "{logit} is not {expected}");
    }
}

/// A file with the tensors of the small network, after a change.
fn changed(
    change: impl Fn(&str, Dtype, Vec<usize>, Vec<u8>) -> Option<(String, Dtype, Vec<usize>, Vec<u8>)>,
) -> Vec<u8> {
    let (_, network) = small();
    let tensors: Vec<_> = network
        .parameters()
        .iter()
        .filter_map(|parameter| {
            let bytes = (0..parameter.range.len()).flat_map(|value| (value as f32).to_le_bytes());
            change(&parameter.name, Dtype::F32, parameter.tensor.sizes.clone(), bytes.collect())
        })
        .collect();
    let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
        (name, TensorView::new(*dtype, shape.clone(), bytes).expect("a view"))
    });
    safetensors::serialize(views, None).expect("bytes")
}

fn refusal(name: &str, bytes: &[u8]) -> String {
    let file = Scratch::with(name, bytes);
    weights::load(&file.0, &small().1).expect_err("a refusal").to_string()
}

#[test]
fn files_that_do_not_fit_are_refused_with_both_sides_named() {
    let same = |name: &str, dtype, shape, bytes| Some((name.to_string(), dtype, shape, bytes));
    let whole = changed(same);
    assert!(weights::load(&Scratch::with("whole", &whole).0, &small().1).is_ok());

    let renamed = changed(|name, dtype, shape, bytes| same(&name.replace("head", "fc"), dtype, shape, bytes));
    let message = refusal("renamed", &renamed);
    assert!(message.contains("lacks tensor `head.weight`, `head.bias`"), "{message}");
    assert!(message.contains("no tensor `fc.bias`, `fc.weight`"), "{message}");

    let turned = changed(|name, dtype, mut shape, bytes| {
        shape.reverse();
        same(name, dtype, shape, bytes)
    });
    let message = refusal("turned", &turned);
    assert!(
        message.contains("`0.weight` has shape [2, 3, 2, 3], the network needs [3, 2, 3, 2]"),
        "{message}"
    );

    let infinite = changed(|name, dtype, shape, mut bytes| {
        bytes[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        same(name, dtype, shape, bytes)
    });
    assert!(refusal("infinite", &infinite).contains("not finite"));

    let integers = changed(|name, _, shape, bytes| same(name, Dtype::I32, shape, bytes));
    let message = refusal("integers", &integers);
    assert!(message.contains("has type I32; use F32"), "{message}");

    let file = Scratch::with("anonymous", &whole);
    let message = weights::open(&file.0).err().expect("a refusal").to_string();
    assert!(message.contains("which model"), "{message}");
}

#[test]
fn pytorch_counters_are_ignored() {
    let (_, network) = small();
    let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = network
        .parameters()
        .iter()
        .map(|parameter| {
            let bytes = vec![0; 4 * parameter.range.len()];
            (parameter.name.clone(), Dtype::F32, parameter.tensor.sizes.clone(), bytes)
        })
        .collect();
    tensors.push(("1.num_batches_tracked".to_string(), Dtype::I64, vec![], vec![0; 8]));
    let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
        (name, TensorView::new(*dtype, shape.clone(), bytes).expect("a view"))
    });
    let bytes = safetensors::serialize(views, None).expect("bytes");
    assert!(weights::load(&Scratch::with("counters", &bytes).0, &network).is_ok());
}

#[test]
fn other_precisions_are_converted() {
    let (_, network) = small();
    let expected = weights::load(
        &Scratch::with("single", &changed(|n, d, s, b| Some((n.to_string(), d, s, b)))).0,
        &network,
    )
    .expect("weights");
    // All values are small whole numbers, which every precision holds exactly.
    for (dtype, name) in [(Dtype::F64, "double"), (Dtype::F16, "half"), (Dtype::BF16, "brain")] {
        let bytes = changed(|name, _, shape, bytes| {
            let values = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            let bytes = match dtype {
                Dtype::F64 => values.flat_map(|value| f64::from(value).to_le_bytes()).collect(),
                Dtype::F16 => values.flat_map(|value| half::f16::from_f32(value).to_le_bytes()).collect(),
                _ => values.flat_map(|value| half::bf16::from_f32(value).to_le_bytes()).collect(),
            };
            Some((name.to_string(), dtype, shape, bytes))
        });
        let file = Scratch::with(name, &bytes);
        assert_eq!(weights::load(&file.0, &network).expect("weights"), expected, "{name}");
    }
}

#[test]
fn foreign_and_broken_files_are_refused() {
    let whole = changed(|name, dtype, shape, bytes| Some((name.to_string(), dtype, shape, bytes)));
    let cases: [(&str, Vec<u8>, &str); 7] = [
        ("empty", vec![], "only 0 bytes"),
        ("text", b"PK\x03\x04 this is a zip archive of old weights".to_vec(), "not a safetensors file"),
        ("zeros", vec![0; 4096], "not a safetensors file"),
        ("short", whole[..whole.len() - 10].to_vec(), "truncated"),
        ("shorter", whole[..40].to_vec(), "truncated"),
        ("long", [&whole[..], &[0; 12]].concat(), "longer than its header says"),
        ("header", [&u64::MAX.to_le_bytes()[..], b"{}"].concat(), "not a safetensors file"),
    ];
    for (name, bytes, part) in cases {
        let message = refusal(name, &bytes);
        assert!(message.contains(part), "{name}: {message}");
    }
    let missing = weights::load("no/such/file".as_ref(), &small().1).expect_err("no file");
    assert!(missing.to_string().contains("no/such/file"), "{missing}");
    assert!(weights::load(&std::env::temp_dir(), &small().1).is_err());
}

#[test]
fn a_failed_save_leaves_the_old_file() {
    let (description, network) = small();
    let mut parameters = initial_parameters(&network, 5);
    let file = Scratch::with("failed", b"old");
    parameters[40] = f32::NAN;
    let error = weights::save(&file.0, &network, Some(&description), &parameters).expect_err("not finite");
    assert!(error.to_string().contains("not finite"), "{error}");
    assert_eq!(std::fs::read(&file.0).expect("a file"), b"old");
    parameters[40] = 0.0;
    let nowhere = weights::save("no/such/directory/file".as_ref(), &network, None, &parameters);
    assert!(nowhere.expect_err("no directory").to_string().contains("no/such/directory"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_never_panic(
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0..4u8), 1..8),
        header_only in any::<bool>(),
    ) {
        let (description, network) = small();
        let parameters = initial_parameters(&network, 5);
        let file = Scratch::new("damaged");
        weights::save(&file.0, &network, Some(&description), &parameters).expect("saved");
        let mut bytes = std::fs::read(&file.0).expect("a file");
        for (place, byte, action) in edits {
            let end = if header_only { bytes.len().min(600) } else { bytes.len() };
            if end == 0 { continue; }
            let place = place.index(end);
            match action {
                0 => bytes[place] = byte,
                1 => { bytes.remove(place); }
                2 => bytes.insert(place, b"0123456789,:[]{}\""[usize::from(byte) % 17]),
                _ => bytes.truncate(place),
            }
        }
        std::fs::write(&file.0, &bytes).expect("a file");
        let _ = weights::load(&file.0, &network);
        let _ = weights::open(&file.0);
    }
}

#[test]
fn weights_come_under_other_names_and_in_part() {
    let scratch = Scratch::new("mapped");
    let text = SMALL.replace("features = 4", "features = 9");
    let text = text.replace("\"conv2d\", ", "\"conv2d\", name = \"stem.conv\", ");
    let file = ModelDescription::from_toml(&text).unwrap().network().unwrap();
    let original = initial_parameters(&file, 1);
    weights::save(&scratch.0, &file, None, &original).unwrap();
    let (_, network) = small();
    let load = |mapping: &Mapping| {
        let mut values = vec![7.0; network.parameter_len()];
        weights::load_over(&scratch.0, &network, mapping, &mut values).map(|()| values)
    };
    let names = |from: &str, to: &str| BTreeMap::from([(from.to_string(), to.to_string())]);
    let mapping =
        Mapping { names: names("stem.conv", "0"), fresh: vec!["head.*".to_string()], ignore: Vec::new() };
    let values = load(&mapping).unwrap();
    let head = network.parameters().iter().find(|tensor| tensor.name == "head.weight").unwrap().range.start;
    assert_eq!(values[..head], original[..head]);
    assert!(values[head..].iter().all(|value| *value == 7.0));
    let refused = |mapping: Mapping| load(&mapping).unwrap_err().to_string();
    let message = refused(Mapping { fresh: Vec::new(), ..mapping.clone() });
    assert!(message.contains("`head.weight` has shape [9, "), "{message}");
    let message = refused(Mapping { names: BTreeMap::new(), ..mapping.clone() });
    assert!(message.contains("lacks tensor `0.weight`, `0.bias`"), "{message}");
    assert!(message.contains("the network has no tensor `stem.conv.bias`"), "{message}");
    let ignore = vec!["stem.*".to_string()];
    let nothing = Mapping { names: BTreeMap::new(), fresh: vec!["*".to_string()], ignore };
    assert!(load(&nothing).unwrap().iter().all(|value| *value == 7.0));
    let message = refused(Mapping { names: names("", "head."), fresh: vec!["*".to_string()], ..mapping });
    assert!(message.contains("the network has no tensor `head.head.bias`"), "{message}");
}
