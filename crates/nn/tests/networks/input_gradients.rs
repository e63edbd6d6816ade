//! Gradients at the inputs are those of finite differences.

use crate::common::{LOSS, Setting, relative_error};
use muffle_nn::{Batch, Engine, Examples, ModelDescription, Options, Purpose, Target};

fn setting(toml: &str) -> Setting {
    Setting::new(ModelDescription::from_toml(toml).unwrap().network().unwrap(), 5, 3)
}

fn engine(setting: &Setting, threads: usize) -> Engine {
    let options = Options {
        threads: Some(threads),
        micro_batch: Some(2),
        input_gradients: true,
        ..Options::new(Purpose::Plain)
    };
    Engine::new(setting.network.clone(), options).unwrap()
}

fn loss(setting: &Setting, evaluator: &mut Engine, input: Vec<f32>, class: u32) -> f64 {
    let mut outputs = vec![0.0; setting.network.output().len()];
    let mut gradient = outputs.clone();
    evaluator.outputs(&setting.parameters, &Batch::new(input, vec![class]), &mut outputs).unwrap();
    f64::from(LOSS.evaluate(&outputs, Target::Class(class), &mut gradient))
}

#[test]
fn they_agree_with_finite_differences() {
    // Smooth networks: a chain, windows of several kinds, an input that is read twice, and a sequence.
    for toml in [
        "input = [6]\nlayers = [{ type = \"dense\", features = 5 }, { type = \"tanh\" }, { type = \"dense\", features = 3 }]",
        "input = [2, 6, 6]\nlayers = [{ type = \"conv2d\", channels = 8, kernel = 3, padding = 1 }, { type = \"tanh\" }, \
         { type = \"conv2d\", channels = 4, kernel = 5, stride = 2, padding = 2 }, { type = \"tanh\" }, \
         { type = \"flatten\" }, { type = \"dense\", features = 3 }]",
        "input = [4]\nlayers = [{ type = \"residual\", layers = [{ type = \"dense\", features = 4 }, { type = \"tanh\" }] }, \
         { type = \"dense\", features = 3 }]",
        "input = [5, 4]\nlayers = [{ type = \"multi-head-attention\", heads = 2 }, { type = \"gelu\" }, \
         { type = \"gru\", features = 6, sequence = true }, { type = \"conv1d\", channels = 3, kernel = 2 }, \
         { type = \"global-average-pool\" }, { type = \"dense\", features = 3 }]",
        "input = [2, 7, 9]\nlayers = [{ type = \"scattering\" }, { type = \"flatten\" }, { type = \"dense\", features = 3 }]",
        "input = [6]\nlayers = [{ type = \"dense\", features = 5 }, { type = \"unit-norm\" }, { type = \"dense\", features = 4 }, \
         { type = \"unit-norm\", order = 1 }, { type = \"unit-norm\", floor = 4.0 }, { type = \"dense\", features = 3 }]",
        "input = [6]\nlayers = [{ type = \"blocks\", widths = [2, 1, 3] }, { type = \"dense\", features = 3 }]",
        "input = [6]\nlayers = [{ type = \"blocks\", widths = [2, 1, 1, 2] }, { type = \"marginals\", widths = [2, 1, 1, 2], parts = 2 }, \
         { type = \"dense\", features = 3 }]",
        "input = [4]\nlayers = [{ type = \"random-fourier\", features = 5, width = 2.0 }, { type = \"dense\", features = 3 }]",
        "input = [2, 3, 4]\nlayers = [{ type = \"upsample\" }, { type = \"conv2d\", channels = 3, kernel = 3 }, { type = \"tanh\" }, \
         { type = \"flatten\" }, { type = \"dense\", features = 3 }]",
    ] {
        let setting = setting(toml);
        let width = setting.network.input().len();
        let batch = setting.batch(0..5);
        let mut gradients = vec![0.0; 5 * width];
        engine(&setting, 1).input_gradients(&setting.parameters, &batch, LOSS, 0, &mut gradients).unwrap();
        let mut evaluator = setting.engine(Purpose::Evaluate, 1, 1);
        let mut expected = Vec::new();
        for example in 0..5 {
            let mut input = vec![0.0; width];
            batch.read(example, &mut input);
            let Target::Class(class) = batch.target(example) else { panic!("a class") };
            for place in 0..width {
                let mut moved = |by: f32| {
                    let mut input = input.clone();
                    input[place] += by;
                    loss(&setting, &mut evaluator, input, class)
                };
                expected.push(((moved(0.02) - moved(-0.02)) / 0.04) as f32);
            }
        }
        // Losses near one are known to 1e-7, their differences over 0.04 to 5e-6.
        let error = relative_error(&gradients, &expected);
        assert!(error < 0.01, "{error}: {toml}");
    }
}

#[test]
fn threads_change_nothing_and_what_is_not_finite_has_none() {
    let setting = setting("input = [3]\nlayers = [{ type = \"dense\", features = 3 }]");
    let inputs = vec![0.5, 1.0, -1.0, f32::NAN, 0.0, 0.0, 2.0, 0.0, 1.0];
    let batch = Batch::new(inputs, vec![0, 1, 2]);
    let gradients = |threads: usize| {
        let mut gradients = vec![7.0; 9];
        engine(&setting, threads)
            .input_gradients(&setting.parameters, &batch, LOSS, 0, &mut gradients)
            .unwrap();
        gradients
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let found = gradients(1);
    assert_eq!(found, gradients(2.min(cores)));
    assert_eq!(found[3..6], [0.0; 3]);
    assert!(found.iter().all(|value| value.is_finite()) && found[0] != 0.0 && found[8] != 0.0);
}

#[test]
fn an_engine_without_them_and_layers_that_mix_are_refused() {
    let plain = setting("input = [3]\nlayers = [{ type = \"dense\", features = 3 }]");
    let mut gradients = vec![0.0; 15];
    let refused = plain.engine(Purpose::Plain, 1, 2).input_gradients(
        &plain.parameters,
        &plain.batch(0..5),
        LOSS,
        0,
        &mut gradients,
    );
    assert!(refused.unwrap_err().to_string().contains("built without them"));
    let mixing = setting(
        "input = [1, 1, 3]\nlayers = [{ type = \"batch-norm\" }, { type = \"flatten\" }, { type = \"dense\", features = 3 }]",
    );
    let refused =
        engine(&mixing, 1).input_gradients(&mixing.parameters, &mixing.batch(0..5), LOSS, 0, &mut gradients);
    assert!(refused.unwrap_err().to_string().contains("batch-norm"));
}
