use super::*;
use crate::mechanism::NoiseKind;
use muffle_nn::ModelDescription;
use std::collections::{BTreeMap, BTreeSet};

/// Switches that are off by default and have numbers of their own behind them.
fn switched_on(entry: &Entry) -> BTreeMap<String, f64> {
    let switches = entry.parameters.iter().filter(|parameter| parameter.meaning.starts_with("1: "));
    switches.map(|parameter| (parameter.name.to_string(), 1.0)).collect()
}

/// What a method is built from in these tests: a network without biases, which all of them take.
fn build(entry: &Entry, mode: Mode, sampler: SamplerChoice) -> (BuildResult, Parameters) {
    let model = "input = [4]\nlayers = [{ type = \"dense\", features = 3, bias = false }, { type = \"relu\" }, \
                 { type = \"dense\", features = 2, bias = false }]";
    let network = Arc::new(ModelDescription::from_toml(model).unwrap().network().unwrap());
    let parameters = Parameters::new(entry, &switched_on(entry)).unwrap();
    let blueprint = Blueprint {
        name: entry.name,
        network: &network,
        mode,
        parameters: &parameters,
        clip: &ClipRule::Flat { threshold: 1.0 },
        noise: Noise { kind: NoiseKind::Gaussian, ..Noise::default() },
        private: true,
        sampler,
        adjacency: sampler.usual_adjacency(),
        batch_size: 100,
        views: 1,
        delta: 1e-5,
        steps: Some(10),
        noise_multiplier: Some(1.0),
        scheduled_noise: false,
    };
    ((entry.build)(&blueprint), parameters)
}

/// Over all its forms a method asks for every number that its row declares.
#[test]
fn every_declared_parameter_is_read() {
    for entry in METHODS.iter().chain(CRITICS) {
        let mut read = BTreeSet::new();
        for mode in entry.modes {
            for sampler in [SamplerChoice::Poisson, SamplerChoice::FixedSize, SamplerChoice::Reshuffled] {
                if let (Ok(_), parameters) = build(entry, *mode, sampler) {
                    read.extend(parameters.read());
                }
            }
        }
        let declared: BTreeSet<&str> = entry.parameters.iter().map(|parameter| parameter.name).collect();
        assert_eq!(read, declared, "{}", entry.name);
    }
}
