//! Losses: their values, their gradients, and the way of these through a network.

use crate::common::regression::Regression;
use crate::common::{Setting, TOLERANCE, relative_error};
use muffle_nn::initialise::SplitMix;
use muffle_nn::{Batch, Engine, Examples, Loss, ModelDescription, Options, Purpose, Shape, Target};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

const HUBER: Loss = Loss::Huber { delta: 0.7 };
const LOSSES: [Loss; 7] = [
    Loss::SoftmaxCrossEntropy,
    Loss::PolynomialCrossEntropy,
    Loss::BinaryCrossEntropy,
    Loss::MeanSquaredError,
    HUBER,
    Loss::Logistic,
    Loss::Linear,
];

/// Step of the central differences; losses near one are known to 1e-7, so their slopes to 1e-5.
const STEP: f32 = 0.01;

/// Whether the targets of a loss are classes.
fn takes_class(loss: Loss) -> bool {
    matches!(loss, Loss::SoftmaxCrossEntropy | Loss::PolynomialCrossEntropy)
}

fn slope(mut value: impl FnMut(f32) -> f32) -> f32 {
    (value(STEP) - value(-STEP)) / (2.0 * STEP)
}

fn assert_close(found: f32, expected: f32) {
    assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} for {expected}");
}

/// A smooth network of three outputs with five examples, as the losses want them.
struct Case {
    setting: Setting,
    examples: Box<dyn Examples>,
}

impl Case {
    fn new(loss: Loss) -> Case {
        let model = "input = [4]\nlayers = [{ type = \"dense\", features = 6 }, { type = \"tanh\" }, \
                     { type = \"dense\", features = 3 }]";
        let setting = Setting::new(ModelDescription::from_toml(model).unwrap().network().unwrap(), 5, 3);
        let mut generator = SplitMix::new(11);
        let inputs: Vec<f32> = (0..20).map(|_| generator.normal()).collect();
        let labels = |value: f32| if value > 0.0 { 1.0 } else { 0.0 };
        let values = (0..15).map(|_| generator.normal());
        let examples: Box<dyn Examples> = match loss {
            Loss::SoftmaxCrossEntropy | Loss::PolynomialCrossEntropy => {
                Box::new(Batch::new(inputs, vec![0, 2, 1, 1, 0]))
            }
            Loss::BinaryCrossEntropy => Box::new(Regression::new(inputs, values.map(labels).collect(), 5)),
            _ => Box::new(Regression::new(inputs, values.collect(), 5)),
        };
        Case { setting, examples }
    }

    /// Losses of all examples, at other parameters.
    fn losses(&self, evaluator: &mut Engine, loss: Loss, parameters: &[f32]) -> Vec<f32> {
        let mut outputs = vec![0.0; 15];
        evaluator.outputs(parameters, &*self.examples, &mut outputs).unwrap();
        let evaluate = |(index, output): (usize, &[f32])| {
            loss.evaluate(output, self.examples.target(index), &mut [0.0; 3])
        };
        outputs.chunks_exact(3).enumerate().map(evaluate).collect()
    }
}

#[test]
fn values_are_those_of_the_formulas() {
    let value = |loss: Loss, output: &[f32], target: Target| {
        let mut gradient = vec![0.0; output.len()];
        loss.check(Shape::Vector(output.len()), target).unwrap();
        (loss.evaluate(output, target, &mut gradient), gradient)
    };
    // Probabilities 1/2, 1/4 and 1/4.
    let (loss, gradient) = value(Loss::SoftmaxCrossEntropy, &[2f32.ln(), 0.0, 0.0], Target::Class(1));
    assert_close(loss, 4f32.ln());
    [0.5, -0.75, 0.25].iter().zip(gradient).for_each(|(&expected, found)| assert_close(found, expected));
    // Labels that hold with probability 3/4 and 1/2; the first does, the second does not.
    let (loss, gradient) = value(Loss::BinaryCrossEntropy, &[3f32.ln(), 0.0], Target::Values(&[1.0, 0.0]));
    assert_close(loss, 0.5 * ((4.0f32 / 3.0).ln() + 2f32.ln()));
    [-0.125, 0.25].iter().zip(gradient).for_each(|(&expected, found)| assert_close(found, expected));
    // Differences of 1 and -3.
    let (output, target) = ([2.0, -1.0], Target::Values(&[1.0, 2.0]));
    assert_eq!(value(Loss::MeanSquaredError, &output, target), (5.0, vec![1.0, -3.0]));
    assert_eq!(value(Loss::Huber { delta: 2.0 }, &output, target), (2.25, vec![0.5, -1.0]));
    assert_eq!(value(Loss::Linear, &output, target), (0.0, vec![1.0, 2.0]));
}

#[test]
fn gradients_agree_with_finite_differences() {
    let (output, values) = ([0.4, -1.3, 2.1, 0.2], [1.0, 0.0, 1.0, 0.0]);
    for loss in LOSSES {
        let target = if takes_class(loss) { Target::Class(2) } else { Target::Values(&values) };
        let mut gradient = [0.0; 4];
        loss.evaluate(&output, target, &mut gradient);
        let expected: Vec<f32> = (0..4)
            .map(|place| {
                slope(|by| {
                    let mut moved = output;
                    moved[place] += by;
                    loss.evaluate(&moved, target, &mut [0.0; 4])
                })
            })
            .collect();
        let error = relative_error(&gradient, &expected);
        assert!(error < 1e-4, "{loss:?}: {error}");
    }
}

#[test]
fn every_example_has_its_own_gradient() {
    for loss in LOSSES {
        let case = Case::new(loss);
        let Setting { parameters, .. } = &case.setting;
        let found = Mutex::new(vec![Vec::new(); 5]);
        let visit = |example: usize, gradient: &mut [f32], _: &mut [f32]| {
            found.lock().unwrap()[example] = gradient.to_vec();
        };
        let mut engine = case.setting.engine(Purpose::Plain, 1, 2);
        engine.visit(parameters, &*case.examples, loss, 0, &visit).unwrap();
        let found = found.into_inner().unwrap();

        let mut evaluator = case.setting.engine(Purpose::Evaluate, 1, 5);
        let mut expected = vec![vec![0.0; parameters.len()]; 5];
        for place in 0..parameters.len() {
            let mut moved = |by: f32| {
                let mut parameters = parameters.clone();
                parameters[place] += by;
                case.losses(&mut evaluator, loss, &parameters)
            };
            for (example, (above, below)) in moved(STEP).iter().zip(moved(-STEP)).enumerate() {
                expected[example][place] = (above - below) / (2.0 * STEP);
            }
        }
        for (found, expected) in found.iter().zip(&expected) {
            let error = relative_error(found, expected);
            assert!(error < 1e-3, "{loss:?}: {error}");
        }

        // The same through norms and factors.
        let mut engine = case.setting.engine(Purpose::PerExample, 1, 2);
        let scale = |norm: f64| (1.0 / (1.0 + norm.sqrt())) as f32;
        let weigh = |norms: &[f64], factors: &mut [f32]| factors.fill(scale(norms.iter().sum()));
        engine.weighted_sum(parameters, &*case.examples, loss, 0, &weigh).unwrap();
        let mut sum = vec![0.0; parameters.len()];
        for gradient in &found {
            let factor = scale(gradient.iter().map(|value| f64::from(*value).powi(2)).sum());
            sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += factor * value);
        }
        let error = relative_error(engine.gradient(), &sum);
        assert!(error <= TOLERANCE, "{loss:?}: {error}");
    }
}

/// With v as target the gradient at the input is vᵀJ, J the Jacobian of the network's outputs.
#[test]
fn the_linear_loss_carries_any_gradient_to_the_inputs() {
    let case = Case::new(Loss::Linear);
    let options = Options { threads: Some(1), input_gradients: true, ..Options::new(Purpose::Plain) };
    let mut engine = Engine::new(case.setting.network.clone(), options).unwrap();
    let mut found = vec![0.0; 20];
    let parameters = &case.setting.parameters;
    engine.input_gradients(parameters, &*case.examples, Loss::Linear, 0, &mut found).unwrap();
    let mut evaluator = case.setting.engine(Purpose::Evaluate, 1, 1);
    let mut expected = Vec::new();
    for example in 0..5 {
        let Target::Values(vector) = case.examples.target(example) else { panic!("values") };
        let mut input = vec![0.0; 4];
        case.examples.read(example, &mut input);
        for place in 0..4 {
            expected.push(slope(|by| {
                let mut moved = input.clone();
                moved[place] += by;
                let mut output = vec![0.0; 3];
                evaluator.outputs(parameters, &Batch::new(moved, vec![0]), &mut output).unwrap();
                output.iter().zip(vector).map(|(output, vector)| output * vector).sum()
            }));
        }
    }
    let error = relative_error(&found, &expected);
    assert!(error < 1e-3, "{error}");
}

#[test]
fn targets_that_do_not_suit_are_refused() {
    let refused = |loss: Loss, target: Target| loss.check(Shape::Vector(2), target).unwrap_err().to_string();
    for loss in LOSSES {
        assert!(refused(loss, Target::None).contains("without a target"));
        if !takes_class(loss) {
            assert!(refused(loss, Target::Class(0)).contains("one target value for each output"));
            assert!(refused(loss, Target::Values(&[0.0])).contains("2 outputs"));
        }
    }
    assert!(refused(Loss::SoftmaxCrossEntropy, Target::Class(2)).contains("class 2 does not exist"));
    for delta in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(refused(Loss::Huber { delta }, Target::Values(&[0.0; 2])).contains("delta"));
    }
}

#[test]
fn a_recipe_names_its_loss() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Recipe {
        loss: Loss,
    }
    for (text, loss) in [
        ("loss = \"softmax-cross-entropy\"", Loss::SoftmaxCrossEntropy),
        ("loss = \"binary-cross-entropy\"", Loss::BinaryCrossEntropy),
        ("loss = \"mean-squared-error\"", Loss::MeanSquaredError),
        ("loss = { huber = { delta = 0.5 } }", Loss::Huber { delta: 0.5 }),
        ("loss = \"logistic\"", Loss::Logistic),
        ("loss = \"linear\"", Loss::Linear),
    ] {
        let recipe: Recipe = toml::from_str(text).unwrap();
        assert_eq!(recipe, Recipe { loss });
        assert_eq!(toml::from_str::<Recipe>(&toml::to_string(&recipe).unwrap()).unwrap(), recipe);
    }
    assert!(toml::from_str::<Recipe>("loss = { huber = { delta = 0.5, beta = 1.0 } }").is_err());
}
