//! Activations: functions of one value, whose slope follows from their output alone.
//!
//! That property lets the engine overwrite inputs with outputs, and upstream with downstream gradients.

use crate::kernel::instructions::vectorised;
use crate::kernel::math;
use serde::{Deserialize, Serialize};

/// A function applied to every value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x` above zero, `slope · x` below.
    LeakyRelu {
        /// Slope below zero, positive.
        #[serde(default = "leaky_slope")]
        slope: f32,
    },
    /// Hyperbolic tangent.
    Tanh,
    /// Logistic function.
    Sigmoid,
    /// Scaled exponential linear unit.
    ///
    /// # Source
    /// Klambauer et al. 2017, section 2.
    Selu,
    /// `x` cut to [-1, 1].
    Hardtanh,
    /// `scale / (1 + e^(-temperature · x)) - offset`; (2, 2, 1) is the hyperbolic tangent.
    ///
    /// # Source
    /// Papernot et al. 2021, "Tempered Sigmoid Activations for Deep Learning with Differential Privacy", section 3.
    TemperedSigmoid {
        /// Distance between the two plateaus.
        scale: f32,
        /// Inverse temperature.
        temperature: f32,
        /// Lower plateau, with the sign changed.
        offset: f32,
    },
}

fn leaky_slope() -> f32 {
    0.01
}

const SELU_SCALE: f32 = 1.050_701;
const SELU_ALPHA: f32 = 1.673_263_2;

impl Activation {
    /// Kind, as written in model files.
    pub fn kind(&self) -> &'static str {
        match self {
            Activation::Relu => "relu",
            Activation::LeakyRelu { .. } => "leaky-relu",
            Activation::Tanh => "tanh",
            Activation::Sigmoid => "sigmoid",
            Activation::Selu => "selu",
            Activation::Hardtanh => "hardtanh",
            Activation::TemperedSigmoid { .. } => "tempered-sigmoid",
        }
    }

    /// Refuses numbers with which there is no slope to be found from the output.
    pub fn check(&self) -> Result<(), String> {
        match *self {
            Activation::LeakyRelu { slope } if !(slope >= 0.0 && slope.is_finite()) => Err(format!(
                "a slope of {slope} is outside [0, infinity): the sign of its output would not be that of its input"
            )),
            Activation::TemperedSigmoid { scale, temperature, offset }
                if scale == 0.0 || ![scale, temperature, offset].iter().all(|value| value.is_finite()) =>
            {
                Err(format!(
                    "scale = {scale}, temperature = {temperature} and offset = {offset} have to be finite, and the scale not \
                     zero"
                ))
            }
            _ => Ok(()),
        }
    }

    /// Replaces every value by its image.
    pub fn apply(&self, values: &mut [f32]) {
        match *self {
            Activation::Relu => relu(values),
            Activation::LeakyRelu { slope } => leaky_relu(values, slope),
            Activation::Tanh => tanh(values, 1.0, 1.0),
            Activation::Sigmoid => tempered_sigmoid(values, 1.0, 1.0, 0.0),
            Activation::Selu => selu(values),
            Activation::Hardtanh => hardtanh(values),
            // A difference of two plateaus that is zero at zero: as a difference, it would lose small values.
            Activation::TemperedSigmoid { scale, temperature, offset } if scale == 2.0 * offset => {
                tanh(values, offset, 0.5 * temperature)
            }
            Activation::TemperedSigmoid { scale, temperature, offset } => {
                tempered_sigmoid(values, scale, temperature, offset)
            }
        }
    }

    /// Multiplies every gradient by the slope at its output.
    pub fn pull_back(&self, outputs: &[f32], gradients: &mut [f32]) {
        assert_eq!(outputs.len(), gradients.len());
        match *self {
            Activation::Relu => relu_slope(outputs, gradients),
            Activation::LeakyRelu { slope } => leaky_relu_slope(outputs, gradients, slope),
            Activation::Tanh => tempered_sigmoid_slope(outputs, gradients, 2.0, 2.0, 1.0),
            Activation::Sigmoid => tempered_sigmoid_slope(outputs, gradients, 1.0, 1.0, 0.0),
            Activation::Selu => selu_slope(outputs, gradients),
            Activation::Hardtanh => hardtanh_slope(outputs, gradients),
            Activation::TemperedSigmoid { scale, temperature, offset } => {
                tempered_sigmoid_slope(outputs, gradients, scale, temperature, offset)
            }
        }
    }
}

vectorised! {
    fn relu(values: &mut [f32]) {
        for value in values {
            // A comparison, not `max`, so that NaN stays visible.
            *value = if *value < 0.0 { 0.0 } else { *value };
        }
    }

    fn relu_slope(outputs: &[f32], gradients: &mut [f32]) {
        for (gradient, &output) in gradients.iter_mut().zip(outputs) {
            *gradient = if output > 0.0 { *gradient } else { 0.0 };
        }
    }

    fn leaky_relu(values: &mut [f32], slope: f32) {
        for value in values {
            // A factor for all, not a product for some: the latter becomes masked stores, which are slow.
            *value *= if *value < 0.0 { slope } else { 1.0 };
        }
    }

    fn leaky_relu_slope(outputs: &[f32], gradients: &mut [f32], slope: f32) {
        for (gradient, &output) in gradients.iter_mut().zip(outputs) {
            *gradient *= if output > 0.0 { 1.0 } else { slope };
        }
    }

    fn selu(values: &mut [f32]) {
        for value in values {
            let x = *value;
            let negative = SELU_SCALE * SELU_ALPHA * math::exp_m1(x);
            *value = if x > 0.0 { SELU_SCALE * x } else { negative };
        }
    }

    fn selu_slope(outputs: &[f32], gradients: &mut [f32]) {
        for (gradient, &output) in gradients.iter_mut().zip(outputs) {
            *gradient *= if output > 0.0 { SELU_SCALE } else { output + SELU_SCALE * SELU_ALPHA };
        }
    }

    fn hardtanh(values: &mut [f32]) {
        for value in values {
            let x = if *value < -1.0 { -1.0 } else { *value };
            *value = if x > 1.0 { 1.0 } else { x };
        }
    }

    fn hardtanh_slope(outputs: &[f32], gradients: &mut [f32]) {
        for (gradient, &output) in gradients.iter_mut().zip(outputs) {
            *gradient = if output > -1.0 && output < 1.0 { *gradient } else { 0.0 };
        }
    }

    fn tanh(values: &mut [f32], height: f32, temperature: f32) {
        for value in values {
            *value = height * math::tanh(temperature * *value);
        }
    }

    fn tempered_sigmoid(values: &mut [f32], scale: f32, temperature: f32, offset: f32) {
        for value in values {
            *value = scale * math::sigmoid(temperature * *value) - offset;
        }
    }

    fn tempered_sigmoid_slope(outputs: &[f32], gradients: &mut [f32], scale: f32, temperature: f32, offset: f32) {
        for (gradient, &output) in gradients.iter_mut().zip(outputs) {
            let height = output + offset;
            *gradient *= temperature * height * (1.0 - height / scale);
        }
    }
}
