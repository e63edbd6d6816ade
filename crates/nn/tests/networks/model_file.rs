//! Model files: what they say, what they refuse and how they say so.

use muffle_nn::config::{Edge, Entry, Graph, LayerConfig, Piece};
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::models::MODELS;
use muffle_nn::{Error, ModelDescription, Shape};
use proptest::prelude::*;

fn conv(channels: usize) -> LayerConfig {
    LayerConfig::Conv2d {
        channels,
        kernel: Extent::Rectangle([3, 1]),
        stride: Extent::Square(1),
        padding: Extent::Rectangle([1, 0]),
        groups: 1,
        bias: false,
    }
}

/// One of every arrangement.
fn example() -> ModelDescription {
    let branch = |name: &str, layers: Vec<Entry>| Entry::named(name, Piece::Sequential(layers));
    let leaky = Activation::LeakyRelu { slope: 0.2 };
    ModelDescription {
        input: Shape::image(3, 8, 8),
        layers: vec![
            Entry::named("stem \"quoted\"", conv(4)),
            Activation::Relu.into(),
            Piece::Sum(vec![branch("", vec![conv(4).into(), leaky.into()]), branch("shortcut", vec![])])
                .into(),
            Piece::Sum(vec![branch("", vec![conv(4).into()]), branch("sc", vec![])]).into(),
            Piece::Concat(vec![conv(2).into(), branch("b", vec![])]).into(),
            Piece::Graph(Graph {
                edges: vec![
                    Edge { from: 0, to: 1, layers: vec![conv(6).into(), Activation::Tanh.into()] },
                    Edge { from: 0, to: 2, layers: vec![] },
                    Edge { from: 1, to: 2, layers: vec![] },
                ],
                outputs: vec![1, 2],
            })
            .into(),
            LayerConfig::Flatten.into(),
            LayerConfig::Dense { features: 10, bias: true }.into(),
        ],
    }
}

#[test]
fn what_is_written_is_read_again() {
    let model = example();
    let text = model.to_toml();
    assert_eq!(ModelDescription::from_toml(&text).expect(&text), model, "{text}");
    model.network().expect("a valid network");
}

#[test]
fn defaults_are_not_written() {
    let text = example().to_toml();
    assert!(
        text.contains(
            r#"{ type = "conv2d", channels = 2, kernel = [3, 1], padding = [1, 0], bias = false }"#
        ),
        "{text}"
    );
    assert!(text.contains(r#"{ type = "dense", features = 10 }"#), "{text}");
    assert!(text.contains(r#"type = "residual", layers = ["#), "{text}");
}

#[test]
fn tables_and_lists_mean_the_same() {
    let tables = r#"
        input = [4]
        [[layers]]
        type = "dense"
        features = 3
        [[layers]]
        type = "residual"
        [[layers.layers]]
        type = "dense"
        features = 3
    "#;
    let list = r#"
        input = [4]
        layers = [
            { type = "dense", features = 3 },
            { type = "residual", layers = [{ type = "dense", features = 3 }] },
        ]
    "#;
    let model = ModelDescription::from_toml(tables).expect("a model");
    assert_eq!(model, ModelDescription::from_toml(list).expect("a model"));
    let network = model.network().expect("a network");
    let names: Vec<&str> = network.parameters().iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["0.weight", "0.bias", "1.0.weight", "1.0.bias"]);
}

/// The message for a model file of these layers, or for the network it describes.
fn message(layers: &str) -> String {
    let text = format!("input = [1, 28, 28]\nlayers = [\n{layers}\n]\n");
    ModelDescription::from_toml(&text)
        .and_then(|model| model.network())
        .err()
        .unwrap_or_else(|| panic!("no error for {layers}"))
        .to_string()
}

#[test]
fn errors_say_where_and_what_would_be_right() {
    let cases = [
        (
            "{ type = \"relu\" },\n{ type = \"conv\" },",
            &["line 4: layers[1]: unknown type `conv` (did you mean `conv2d`?)", "dense", "tanh", "graph"][..],
        ),
        (
            r#"{ type = "conv2d", chanels = 3, kernel = 3 }"#,
            &["line 3: layers[0] (conv2d): unknown key `chanels` (did you mean `channels`?)", "padding"],
        ),
        (r#"{ type = "conv2d", channels = 3 }"#, &["layers[0] (conv2d): `kernel` is missing"]),
        (
            r#"{ type = "conv2d", channels = -3, kernel = 3 }"#,
            &["layers[0] (conv2d): `channels`: found integer `-3`, expected a whole number, 0 or more"],
        ),
        (
            r#"{ type = "conv2d", channels = 3, kernel = "big" }"#,
            &["layers[0] (conv2d): `kernel`: expected a number of pixels, or [vertical, horizontal]"],
        ),
        (r#"{ type = "flatten", start = 1 }"#, &["unknown key `start`", "it has no options"]),
        (r#"{ type = "relu", inplace = true }"#, &["unknown key `inplace`", "it has no options"]),
        (r#"{ kernel = 3 }"#, &["layers[0]: `type` is missing; the known types are"]),
        (r#"{ type = 3 }"#, &["layers[0]: `type` must be a string"]),
        (r#"{ type = "relu", name = 3 }"#, &["layers[0]: `name` must be a string"]),
        (r#""relu""#, &["layers[0]: this must be a table"]),
        (r#"{ type = "sum", layers = [] }"#, &["layers[0] (sum): unknown key `layers`", "branches"]),
        (
            r#"{ type = "concat", branches = [{ type = "sequential", layers = [{ type = "relo" }] }] }"#,
            &["layers[0].branches[0].layers[0]: unknown type `relo` (did you mean `relu`?)"],
        ),
        (
            r#"{ type = "graph", outputs = [1], edges = [{ from = 0, too = 1 }] }"#,
            &["layers[0].edges[0]: unknown key `too` (did you mean `to`?)"],
        ),
        (
            r#"{ type = "graph", outputs = [1], edges = [{ from = 1, to = 1 }] }"#,
            &["edge 0 leads from node 1 to node 1"],
        ),
        (
            r#"{ type = "graph", outputs = [7], edges = [{ from = 0, to = 1 }] }"#,
            &["outputs must name nodes"],
        ),
        (r#"{ type = "sum", branches = [] }"#, &["`0` has no branches"]),
        // What only the shapes show.
        (
            r#"{ type = "conv2d", channels = 8, kernel = 30 }"#,
            &["layer `0` (conv2d) cannot take an input of shape [1, 28, 28]", "30 x 30", "28 x 28"],
        ),
        (
            r#"{ type = "relu" }, { type = "dense", name = "head", features = 10 }"#,
            &["layer `head` (dense) cannot take an input of shape [1, 28, 28]", "`flatten`"],
        ),
        (
            r#"{ type = "residual", layers = [{ type = "conv2d", channels = 8, kernel = 3 }] }"#,
            &["[8, 26, 26]", "[1, 28, 28]", "equal shapes"],
        ),
        (
            r#"{ type = "flatten" }, { type = "dense", name = "a", features = 3 }, { type = "dense", name = "a", features = 3 }"#,
            &["two tensors are called `a.weight`"],
        ),
    ];
    for (layers, parts) in cases {
        let message = message(layers);
        for part in parts {
            assert!(message.contains(part), "{layers}\ngives: {message}\nwithout: {part}");
        }
    }
}

#[test]
fn broken_toml_is_reported_with_its_line() {
    let message = ModelDescription::from_toml("input = [1, 28, 28]\nlayers = [\n{ type = \"relu\" \n")
        .expect_err("broken")
        .to_string();
    assert!(message.contains("line 3") || message.contains("line 4"), "{message}");
    for (text, part) in [
        ("layers = []", "`input` is missing"),
        ("input = [1]", "`layers` is missing"),
        ("input = [1]\nlayers = []\nlayer = []", "unknown key `layer` (did you mean `layers`?)"),
        ("input = [1, 2, 3, 4]\nlayers = []", "`input` has 4 sizes"),
        ("input = [0]\nlayers = []", "holds no values"),
        ("input = 3\nlayers = []", "must be a list"),
        ("input = [-1]\nlayers = []", "whole number"),
        ("input = [1.5]\nlayers = []", "whole number"),
        ("input = [1]\nlayers = 3", "must be a list"),
    ] {
        let message = ModelDescription::from_toml(text)
            .and_then(|model| model.network())
            .err()
            .unwrap_or_else(|| panic!("no error for {text}"))
            .to_string();
        assert!(message.contains(part), "{text}\ngives: {message}");
    }
    let missing = ModelDescription::read("no/such/file.toml".as_ref()).expect_err("no file");
    assert!(missing.to_string().contains("no/such/file.toml"), "{missing}");
}

#[test]
fn absurd_sizes_are_errors_not_allocations() {
    for layers in [
        r#"{ type = "conv2d", channels = 1000000000000, kernel = 3 }"#,
        r#"{ type = "conv2d", channels = 9223372036854775807, kernel = 3 }"#,
        r#"{ type = "conv2d", channels = 2000000000, kernel = 3 }"#,
        r#"{ type = "conv2d", channels = 3, kernel = 3, padding = 2000000000 }"#,
        r#"{ type = "conv2d", channels = 3, kernel = 2000000000, padding = 2000000000 }"#,
        r#"{ type = "max-pool", kernel = 3, padding = 2000000000 }"#,
        r#"{ type = "flatten" }, { type = "dense", features = 1000000000000 }"#,
        r#"{ type = "flatten" }, { type = "dense", features = 60000000 }"#,
        r#"{ type = "flatten" }, { type = "dense", features = 1000000 }, { type = "dense", features = 1000000 }"#,
        r#"{ type = "graph", outputs = [1], edges = [{ from = 0, to = 1000000000000 }] }"#,
        r#"{ type = "average-pool", kernel = 3, padding = 2000000000 }"#,
        r#"{ type = "conv-transpose2d", channels = 2000000000, kernel = 3 }"#,
        r#"{ type = "conv-transpose2d", channels = 3, kernel = 2000000000, stride = 2000000000 }"#,
        r#"{ type = "conv-transpose2d", channels = 3, kernel = 3, stride = 0 }"#,
        r#"{ type = "reshape", shape = [2000000000, 2000000000, 2000000000] }"#,
        r#"{ type = "reshape", shape = [784, 2] }"#,
        r#"{ type = "reshape", shape = [28, 28] }, { type = "lstm", features = 2000000000 }"#,
        r#"{ type = "reshape", shape = [28, 28] }, { type = "lstm", features = 0 }"#,
        r#"{ type = "reshape", shape = [28, 28] }, { type = "gru", features = 2000000000 }"#,
        r#"{ type = "reshape", shape = [28, 28] }, { type = "gru", features = 0 }"#,
        r#"{ type = "reshape", shape = [28, 28] }, { type = "multi-head-attention", heads = 0 }"#,
        r#"{ type = "reshape", shape = [28, 28] }, { type = "multi-head-attention", heads = 2000000000 }"#,
        r#"{ type = "reshape", shape = [28, 28] }, { type = "conv1d", channels = 4, kernel = 2000000000 }"#,
        r#"{ type = "reshape", shape = [28, 28] }, { type = "conv1d", channels = 0, kernel = 3 }"#,
        r#"{ type = "flatten" }, { type = "embedding-bag", tokens = 9, features = 2, padding = 9 }"#,
        r#"{ type = "flatten" }, { type = "embedding", tokens = 2000000000, features = 2000000000 }"#,
        r#"{ type = "flatten" }, { type = "embedding", tokens = 9, features = 2000000000 }"#,
        r#"{ type = "group-norm", groups = 0 }"#,
        r#"{ type = "group-norm", groups = 2000000000 }"#,
        r#"{ type = "dropout", rate = 1e12 }"#,
    ] {
        let message = message(layers);
        assert!(message.len() < 300, "{message}");
    }
    let huge = Shape::image(1 << 40, 1 << 40, 1 << 40);
    let network = ModelDescription { input: huge, layers: vec![] }.network();
    assert!(matches!(network, Err(Error::Description(_))));
    // A long stride is odd, but not wrong.
    let text = r#"{ type = "conv2d", channels = 3, kernel = 3, stride = 2000000000 }"#;
    let model =
        ModelDescription::from_toml(&format!("input = [1, 28, 28]\nlayers = [{text}]")).expect("a model");
    assert_eq!(model.network().expect("a network").output(), Shape::image(3, 1, 1));
}

#[test]
fn many_layers_do_not_add_up_to_more_than_memory() {
    let layer = r#"{ type = "conv2d", channels = 64, kernel = 1 },"#;
    let text = format!("input = [64, 1000, 1000]\nlayers = [{}]", layer.repeat(10));
    let message = ModelDescription::from_toml(&text)
        .and_then(|model| model.network())
        .err()
        .expect("too large")
        .to_string();
    assert!(message.contains("too large"), "{message}");
}

/// A text with one of its numbers replaced.
fn with_number(text: &str, place: usize, number: &str) -> String {
    let is_digit = |index: &usize| text.as_bytes()[*index].is_ascii_digit();
    let starts: Vec<usize> =
        (0..text.len()).filter(|index| is_digit(index) && (*index == 0 || !is_digit(&(index - 1)))).collect();
    let start = starts[place % starts.len()];
    let end = (start..text.len()).find(|index| !is_digit(index)).unwrap_or(text.len());
    format!("{}{number}{}", &text[..start], &text[end..])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_never_panic(
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0..3u8), 1..6)
    ) {
        let mut bytes = example().to_toml().into_bytes();
        for (place, byte, action) in edits {
            let place = place.index(bytes.len());
            match action {
                0 => bytes[place] = byte & 0x7f,
                1 => { bytes.remove(place); }
                _ => bytes.insert(place, b"0123456789-[]{}=,\"\n"[usize::from(byte) % 19]),
            }
        }
        if let Ok(text) = String::from_utf8(bytes) {
            let _ = ModelDescription::from_toml(&text).and_then(|model| model.network());
        }
    }

    #[test]
    fn absurd_numbers_anywhere_never_panic(
        model in 0..MODELS.len(),
        changes in proptest::collection::vec((any::<usize>(), 0..8usize), 1..4),
    ) {
        const NUMBERS: [&str; 8] =
            ["0", "1", "7", "300", "1048576", "2147483648", "4611686018427387904", "99999999999999999999"];
        let mut text = MODELS[model].description().to_toml();
        for (place, number) in changes {
            text = with_number(&text, place, NUMBERS[number]);
        }
        let _ = ModelDescription::from_toml(&text).and_then(|model| model.network());
    }
}
