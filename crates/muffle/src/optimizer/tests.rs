use super::*;
use muffle_nn::{Engine, ModelDescription, Options, Purpose};
use std::sync::Arc;

const RATE: f32 = 0.1;
const START: [f32; 3] = [1.0, -2.0, 0.5];

/// An engine for three parameters, whose gradient is overwritten.
fn engine() -> Engine {
    let description = "input = [2]\nlayers = [{ type = \"dense\", features = 1 }]";
    let network = Arc::new(ModelDescription::from_toml(description).unwrap().network().unwrap());
    Engine::new(network, Options::new(Purpose::PerExample)).unwrap()
}

/// The gradient of step 0, 1 or 2.
fn gradient(step: usize) -> [f32; 3] {
    let (scale, odd) = ((step + 1) as f32, (step % 2) as f32);
    [0.5 * scale, -0.25 * scale + odd, 1e-4 * scale]
}

fn step(engine: &mut Engine, optimizer: &mut dyn Optimizer, parameters: &mut [f32], step: usize) {
    engine.for_each_chunk(&|_, chunk: &mut [f32]| chunk.copy_from_slice(&gradient(step)));
    optimizer.step(parameters, &Released::made_up(engine), RATE);
}

/// All optimizers with the parameters after three steps.
///
/// The numbers are those of PyTorch 2.15 on a CPU, printed by
///
/// ```python
/// import torch
/// O = torch.optim
/// for make in [lambda p: O.SGD(p, 0.1), lambda p: O.SGD(p, 0.1, momentum=0.9),
///              lambda p: O.SGD(p, 0.1, momentum=0.9, nesterov=True), lambda p: O.Adam(p, 0.1),
///              lambda p: O.AdamW(p, 0.1), lambda p: O.RMSprop(p, 0.1), lambda p: O.Adagrad(p, 0.1)]:
///     p = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
///     o = make([p])
///     for t in range(3):
///         p.grad = torch.tensor([0.5, -0.25, 1e-4]) * (t + 1) + torch.tensor([0.0, 1.0, 0.0]) * (t % 2)
///         o.step()
///     print([f"{v:.9}" for v in p.tolist()])
/// ```
fn optimizers() -> Vec<(Box<dyn Optimizer>, [f64; 3])> {
    vec![
        (Box::new(Sgd::new(3)), [0.699999988, -1.95000005, 0.499939978]),
        (Box::new(Sgd::new(3).momentum(0.9)), [0.524500012, -1.95225, 0.499904901]),
        (Box::new(Sgd::new(3).momentum(0.9).nesterov()), [0.272049993, -1.9070251, 0.499854386]),
        (Box::new(Adam::new(3)), [0.707681715, -1.90228629, 0.20770219]),
        (Box::new(Adam::new(3).weight_decay(0.01)), [0.704981148, -1.89645565, 0.206500143]),
        (Box::new(RmsProp::new(3)), [-1.69882715, -1.09181881, -2.1972127]),
        (Box::new(AdaGrad::new(3)), [0.730378866, -1.90926433, 0.230379075]),
    ]
}

#[test]
fn three_steps_agree_with_pytorch() {
    let mut engine = engine();
    for (index, (mut optimizer, expected)) in optimizers().into_iter().enumerate() {
        let mut parameters = START;
        for time in 0..3 {
            step(&mut engine, &mut *optimizer, &mut parameters, time);
        }
        for (parameter, expected) in parameters.iter().zip(expected) {
            assert!((f64::from(*parameter) - expected).abs() < 1e-6, "optimizer {index}: {parameters:?}");
        }
    }
}

/// Two steps from zero by hand, with gradients 1 and 1 in every coordinate.
#[test]
fn momentum_by_hand() {
    let mut engine = engine();
    engine.for_each_chunk(&|_, chunk: &mut [f32]| chunk.fill(1.0));
    // v = 1, then 1.5; plain: −0.1 · (1 + 1.5); with look-ahead: −0.1 · ((1 + 0.5) + (1 + 0.75)).
    for (mut optimizer, expected) in
        [(Sgd::new(3).momentum(0.5), -0.25), (Sgd::new(3).momentum(0.5).nesterov(), -0.325)]
    {
        let mut parameters = [0.0; 3];
        for _ in 0..2 {
            optimizer.step(&mut parameters, &Released::made_up(&mut engine), RATE);
        }
        assert!(parameters.iter().all(|value| (value - expected).abs() < 1e-7), "{parameters:?}");
    }
}

/// From zero, with gradients of length √3: the first step goes 1e-4 along the gradient; behind it that is still the farthest, and the
/// sum of squares has doubled.
#[test]
fn distance_over_gradients_by_hand() {
    let mut engine = engine();
    engine.for_each_chunk(&|_, chunk: &mut [f32]| chunk.fill(1.0));
    let (mut optimizer, mut parameters) = (DistanceOverGradients::new(3), [0.0; 3]);
    let first = 1e-4 / 3f32.sqrt();
    for expected in [-first, -first - 1e-4 / 6f32.sqrt()] {
        optimizer.step(&mut parameters, &Released::made_up(&mut engine), 1.0);
        assert!(parameters.iter().all(|value| (value - expected).abs() < 1e-9), "{parameters:?}");
    }
    // Now the weights have been farther: 1e-4·(1 + 1/√2).
    let farthest = 1e-4 * (1.0 + 0.5f32.sqrt());
    let before = parameters[0];
    optimizer.step(&mut parameters, &Released::made_up(&mut engine), 1.0);
    assert!((before - parameters[0] - farthest / 3.0).abs() < 1e-9, "{parameters:?}");
}

/// It finds the way down a slope of unknown scale without a rate.
#[test]
fn distance_over_gradients_needs_no_rate() {
    let mut engine = engine();
    for scale in [1e-3f32, 1.0, 1e3] {
        let (mut optimizer, mut parameters) = (DistanceOverGradients::new(3), [1.0f32, -2.0, 0.5]);
        for _ in 0..3000 {
            let slope = parameters;
            engine.for_each_chunk(&|first, chunk: &mut [f32]| {
                chunk.iter_mut().zip(&slope[first..]).for_each(|(value, slope)| *value = scale * slope);
            });
            optimizer.step(&mut parameters, &Released::made_up(&mut engine), 1.0);
        }
        assert!(parameters.iter().all(|value| value.abs() < 0.05), "{scale}: {parameters:?}");
    }
}

#[test]
fn a_restored_optimizer_takes_the_same_steps() {
    let mut engine = engine();
    let dog = || [(Box::new(DistanceOverGradients::new(3)) as Box<dyn Optimizer>, [0.0; 3])];
    let all = || optimizers().into_iter().chain(dog());
    for ((mut optimizer, _), (mut fresh, _)) in all().zip(all()) {
        let mut parameters = START;
        step(&mut engine, &mut *optimizer, &mut parameters, 0);
        fresh.restore(&optimizer.state()).unwrap();
        let mut resumed = parameters;
        for time in 1..3 {
            step(&mut engine, &mut *optimizer, &mut parameters, time);
            step(&mut engine, &mut *fresh, &mut resumed, time);
        }
        assert_eq!(parameters, resumed);
    }
}

#[test]
fn a_state_that_does_not_fit_is_refused() {
    let missing = Adam::new(3).restore(&AdaGrad::new(3).state()).unwrap_err();
    assert_eq!(missing, StateError::Missing("steps"));
    let length = AdaGrad::new(3).restore(&AdaGrad::new(4).state()).unwrap_err();
    assert_eq!(length, StateError::Length { name: "sum", expected: 3, found: 4 });
}
