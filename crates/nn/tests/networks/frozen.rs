//! Frozen layers, and adapters beside them.

use crate::common::{LOSS, Setting, TOLERANCE, relative_error};
use muffle_nn::adapters::Adapters;
use muffle_nn::config::LayerConfig;
use muffle_nn::initialise::initial_parameters;
use muffle_nn::layers::activation::Activation;
use muffle_nn::{Engine, ModelDescription, Network, Options, Purpose};
use std::sync::Arc;

const MODEL: &str = r#"
    input = [2, 8, 8]
    layers = [
        { type = "conv2d", name = "first", channels = 4, kernel = 3, padding = 1 },
        { type = "group-norm", name = "norm", groups = 2 },
        { type = "relu" },
        { type = "sum", name = "block", branches = [
            { type = "conv2d", name = "conv", channels = 4, kernel = 3, padding = 1 },
            { type = "conv2d", name = "shortcut", channels = 4, kernel = 1 },
        ] },
        { type = "tanh" },
        { type = "flatten" },
        { type = "dense", name = "head", features = 3 },
    ]
"#;

fn model() -> ModelDescription {
    ModelDescription::from_toml(MODEL).unwrap()
}

fn names(layers: &[&str]) -> Vec<String> {
    layers.iter().map(ToString::to_string).collect()
}

/// The values of a network's tensors among those of another that has them all.
fn part(of: &Network, whole: &Network, values: &[f32]) -> Vec<f32> {
    let named =
        |name: &str| whole.parameters().iter().find(|tensor| tensor.name == name).unwrap().range.clone();
    of.parameters().iter().flat_map(|tensor| values[named(&tensor.name)].to_vec()).collect()
}

/// Sums, norms and outputs of a frozen network are those of the whole one, without the tensors that stand still.
fn check(frozen: &[&str]) {
    let setting = Setting::new(model().network().unwrap(), 7, 3);
    let network = model().network().unwrap().freeze(&names(frozen), &setting.parameters);
    let moved = part(&network, &setting.network, &setting.parameters);
    assert!(network.parameter_len() < setting.network.parameter_len());
    let batch = setting.batch(0..7);
    let sum = |network: &Arc<Network>, parameters: &[f32]| {
        let options = Options { threads: Some(1), ..Options::new(Purpose::PerExample) };
        let mut engine = Engine::new(network.clone(), options).unwrap();
        let halve = |norms: &[f64], factors: &mut [f32]| {
            assert!(norms.iter().all(|norm| *norm > 0.0));
            factors.fill(0.5);
        };
        let outcome = engine.weighted_sum(parameters, &batch, LOSS, 3, &halve).unwrap();
        (outcome.loss, engine.gradient().to_vec())
    };
    let network = Arc::new(network);
    let (loss, gradient) = sum(&network, &moved);
    let (whole_loss, whole_gradient) = sum(&setting.network, &setting.parameters);
    assert_eq!(loss, whole_loss);
    assert_eq!(gradient, part(&network, &setting.network, &whole_gradient), "{frozen:?}");
}

#[test]
fn what_is_not_frozen_has_the_gradient_it_had() {
    for frozen in [
        &["first"][..],
        &["first", "norm"],
        &["head"],
        &["block.conv"],
        &["first", "norm", "block.conv", "block.shortcut"],
        &["norm", "block.shortcut", "head"],
    ] {
        check(frozen);
    }
}

#[test]
fn patterns_name_layers_by_themselves_or_by_their_tensors() {
    let network = model().network().unwrap();
    let found = |patterns: &[&str]| network.layers_named(&names(patterns));
    assert_eq!(found(&["block.*"]).unwrap(), ["block.conv", "block.shortcut"]);
    assert_eq!(found(&["first.*", "first", "head"]).unwrap(), ["first", "head"]);
    assert_eq!(found(&["*"]).unwrap().len(), 5);
    let refused = |pattern: &str| found(&[pattern]).unwrap_err().to_string();
    assert!(refused("haed").contains("did you mean `head`"), "{}", refused("haed"));
    assert!(refused("*.bias").contains("as a whole"), "{}", refused("*.bias"));
}

/// Frozen, batch normalisation is the fixed map that it is in use, and no longer mixes examples.
#[test]
fn frozen_statistics_do_not_follow_the_batch() {
    let layers = vec![
        LayerConfig::Dense { features: 5, bias: true }.into(),
        LayerConfig::BatchNorm.into(),
        Activation::Tanh.into(),
        LayerConfig::Dense { features: 3, bias: true }.into(),
    ];
    let mut setting = Setting::layers(muffle_nn::Shape::Vector(6), layers.clone(), 7);
    let statistics =
        setting.network.parameters().iter().find(|tensor| tensor.name == "1.running_var").unwrap();
    setting.parameters[statistics.range.clone()].copy_from_slice(&[0.3, 2.0, 1.5, 0.7, 4.0]);
    let whole = Network::new(muffle_nn::Shape::Vector(6), &layers).unwrap();
    let network = Arc::new(whole.freeze(&names(&["1"]), &setting.parameters));
    assert!(network.mixing_layer().is_none());
    let parameters = part(&network, &setting.network, &setting.parameters);
    let batch = setting.batch(0..5);
    let outputs = |network: &Arc<Network>, parameters: &[f32]| {
        let mut outputs = vec![0.0; 15];
        let mut engine = Engine::new(network.clone(), Options::new(Purpose::Evaluate)).unwrap();
        engine.outputs(parameters, &batch, &mut outputs).unwrap();
        outputs
    };
    assert_eq!(outputs(&network, &parameters), outputs(&setting.network, &setting.parameters));
    let mut engine = Engine::new(network.clone(), Options::new(Purpose::Plain)).unwrap();
    let loss = |parameters: &[f32]| {
        let mut engine = Engine::new(network.clone(), Options::new(Purpose::Plain)).unwrap();
        engine.sum(parameters, &batch, LOSS, 1).unwrap().loss
    };
    engine.sum(&parameters, &batch, LOSS, 1).unwrap();
    let numeric: Vec<f64> = (0..6)
        .map(|index| {
            let moved = |by: f32| {
                let mut parameters = parameters.clone();
                parameters[index] += by;
                loss(&parameters)
            };
            (moved(1e-2) - moved(-1e-2)) / 2e-2
        })
        .collect();
    assert!(relative_error(&engine.gradient()[..6], &numeric) < 1e-2);
}

#[test]
fn adapters_begin_with_what_the_network_did() {
    let adapters = Adapters { layers: names(&["first", "block.*", "head"]), rank: 2 };
    let adapted = adapters.attach(&model()).unwrap();
    assert_eq!(adapted.layers, ["block.conv", "block.shortcut", "first", "head"]);
    // What a model file says of it reads back.
    assert_eq!(ModelDescription::from_toml(&adapted.description.to_toml()).unwrap(), adapted.description);
    let network = Arc::new(adapted.description.network().unwrap());
    let setting = Setting::new(model().network().unwrap(), 9, 3);
    let mut values = initial_parameters(&network, 4);
    for tensor in setting.network.parameters() {
        let place = network.parameters().iter().find(|other| other.name == tensor.name).unwrap();
        values[place.range.clone()].copy_from_slice(&setting.parameters[tensor.range.clone()]);
    }
    let outputs = |network: &Arc<Network>, values: &[f32]| {
        let mut outputs = vec![0.0; 12];
        let mut engine = Engine::new(network.clone(), Options::new(Purpose::Evaluate)).unwrap();
        engine.outputs(values, &setting.batch(0..4), &mut outputs).unwrap();
        outputs
    };
    let before = outputs(&setting.network, &setting.parameters);
    assert!(relative_error(&outputs(&network, &values), &before) > 0.01);
    adapted.silence(&mut values).unwrap();
    assert!(relative_error(&outputs(&network, &values), &before) < TOLERANCE);
    // All that is trained are the adapters and the norm.
    let trained = adapted.description.network().unwrap().freeze(&adapted.layers, &values);
    let of = |name: &str| adapted.is_adapter(name) || name.starts_with("norm");
    assert!(trained.parameters().iter().all(|tensor| of(&tensor.name)));
    assert_eq!(trained.parameter_len(), 8 + 2 * (18 + 4) + 2 * (36 + 4) + 2 * (4 + 4) + 2 * (256 + 3));
}

#[test]
fn an_adapter_over_steps_has_the_shapes_of_its_layer() {
    let text = r#"
        input = [9, 4]
        layers = [{ type = "conv1d", name = "conv", channels = 5, kernel = 3, stride = 2, padding = 1 }]
    "#;
    let model = ModelDescription::from_toml(text).unwrap();
    let adapted = Adapters { layers: names(&["conv"]), rank: 2 }.attach(&model).unwrap();
    let network = adapted.description.network().unwrap();
    assert_eq!(network.output(), model.network().unwrap().output());
    let sizes = |name: &str| {
        let tensor = network.parameters().iter().find(|tensor| tensor.name == name).unwrap();
        tensor.tensor.sizes.clone()
    };
    assert_eq!(sizes("conv.adapter.down.weight"), [2, 4, 3]);
    assert_eq!(sizes("conv.adapter.up.weight"), [5, 2, 1]);
}

#[test]
fn layers_without_an_adapter_are_refused() {
    let refused = |layer: &str, rank| {
        Adapters { layers: names(&[layer]), rank }.attach(&model()).unwrap_err().to_string()
    };
    assert!(refused("norm", 2).contains("has no adapter"), "{}", refused("norm", 2));
    assert!(refused("head", 0).contains("rank = 0"), "{}", refused("head", 0));
    assert!(refused("tail", 1).contains("names no layer"), "{}", refused("tail", 1));
}
