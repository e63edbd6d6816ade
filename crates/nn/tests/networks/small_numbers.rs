//! Where functions are close to a plateau or to zero, what is small keeps its digits.

use crate::common::layer_run::run;
use muffle_nn::config::LayerConfig;
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Loss, Network, Purpose, Shape, Target};

fn image(activation: Activation, x: f32) -> f64 {
    let mut value = [x];
    activation.apply(&mut value);
    f64::from(value[0])
}

#[test]
fn activations_of_small_inputs() {
    let tempered = Activation::TemperedSigmoid { scale: 2.0, temperature: 2.0, offset: 1.0 };
    for x in [1e-30f32, 1e-10, -1e-10, 3e-5, -2e-3, 0.04, -0.3, 0.7] {
        for activation in [Activation::Tanh, tempered] {
            let error = (image(activation, x) / f64::from(x).tanh() - 1.0).abs();
            assert!(error < 5e-7, "{activation:?} of {x}: {error}");
        }
        if x < 0.0 {
            let expected = 1.050_700_987 * 1.673_263_242 * f64::from(x).exp_m1();
            let error = (image(Activation::Selu, x) / expected - 1.0).abs();
            assert!(error < 5e-7, "SELU of {x}: {error}");
        }
    }
}

/// A leaky rectifier with a negative slope is no function whose slope follows from its output.
#[test]
fn activations_without_a_slope_are_refused() {
    for (activation, part) in [
        (Activation::LeakyRelu { slope: -0.1 }, "slope of -0.1"),
        (Activation::LeakyRelu { slope: f32::NAN }, "slope of NaN"),
        (Activation::TemperedSigmoid { scale: 0.0, temperature: 1.0, offset: 0.0 }, "scale = 0"),
        (Activation::TemperedSigmoid { scale: 1.0, temperature: f32::INFINITY, offset: 0.0 }, "inf"),
    ] {
        let refusal = Network::new(Shape::Vector(3), &[activation.into()]).err().expect("a refusal");
        assert!(refusal.to_string().contains(part), "{refusal}");
        assert!(refusal.to_string().contains(activation.kind()), "{refusal}");
    }
    assert!(Network::new(Shape::Vector(3), &[Activation::LeakyRelu { slope: 0.0 }.into()]).is_ok());
}

/// However certain the answer, the gradients of all classes sum to zero and point away from the others.
#[test]
fn gradients_of_answers_that_are_all_but_certain() {
    for margin in [0.5f32, 10.0, 20.0, 40.0, 60.0] {
        let mut gradient = [0.0; 3];
        let loss = Loss::SoftmaxCrossEntropy.evaluate(&[0.0, margin, 1.0], Target::Class(1), &mut gradient);
        let exps = [0.0, f64::from(margin), 1.0].map(f64::exp);
        let sum: f64 = exps.iter().sum();
        let expected = [exps[0] / sum, -(exps[0] + exps[2]) / sum, exps[2] / sum];
        for (found, expected) in gradient.iter().zip(expected) {
            assert!((f64::from(*found) / expected - 1.0).abs() < 1e-6, "{margin}: {found}, not {expected}");
        }
        let expected = ((exps[0] + exps[2]) / exps[1]).ln_1p();
        assert!(
            (f64::from(loss) / expected - 1.0).abs() < 1e-5,
            "{margin}: a loss of {loss}, not {expected}"
        );
        for (logit, target) in [(margin, 1.0), (-margin, 0.0)] {
            let mut gradient = [0.0];
            Loss::BinaryCrossEntropy.evaluate(&[logit], Target::Values(&[target]), &mut gradient);
            let expected = (if target > 0.0 { -1.0 } else { 1.0 }) / (1.0 + f64::from(margin).exp());
            assert!((f64::from(gradient[0]) / expected - 1.0).abs() < 1e-6, "{margin}: {gradient:?}");
        }
    }
}

/// The bias of a transposed convolution has a part of its gradient from every pixel of a large image.
#[test]
fn long_sums_keep_their_digits() {
    let config = LayerConfig::ConvTranspose2d {
        channels: 1,
        kernel: Extent::Square(2),
        stride: Extent::Square(2),
        padding: Extent::Square(0),
        output_padding: Extent::Square(0),
        bias: true,
    };
    let layer = config.build("layer", Shape::image(1, 128, 128)).unwrap();
    let (inputs, upstream) = (vec![0.5; 128 * 128], vec![0.1f32; 256 * 256]);
    for purpose in [Purpose::Plain, Purpose::PerExample] {
        let found = run(&*layer, purpose, &[0.1; 5], &inputs, &upstream);
        let expected = f64::from(0.1f32) * 65_536.0;
        let error = (f64::from(found.gradient[4]) / expected - 1.0).abs();
        assert!(error < 1e-6, "{error}");
    }
}
