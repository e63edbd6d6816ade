//! An auto-encoder with tied weights, on a polynomial of its reconstruction error.

use super::super::frozen::{Frozen, by_output};
use super::super::in_parts::in_parts;
use super::Scale;
use crate::error::Result;
use crate::mechanism::Mechanism;
use crate::polynomial::Polynomial;
use muffle_nn::config::LayerConfig;
use muffle_nn::initialise::SplitMix;
use muffle_nn::layers::activation::Activation;

/// Deviation of the first weights: that of the released code.
const DEVIATION: f32 = 0.1;

/// Where the noise of a layer begins, far behind that of the one before.
const APART: u64 = 1 << 36;

/// h = σ(Wᵀx), and x again from z = Wh.
///
/// # Source
/// Phan, Wang, Wu, Dou 2016, equations 11 to 13.
pub struct Code {
    inputs: usize,
    hidden: usize,
    number: usize,
    /// W, a row of hidden units for each input; then biases of zero, which the paper has not.
    pub parameters: Vec<f32>,
}

impl Code {
    pub fn new(inputs: usize, hidden: usize, number: usize) -> Code {
        let mut generator = SplitMix::new(1 + number as u64);
        let weights = (0..inputs * hidden).map(|_| DEVIATION * generator.normal());
        Code { inputs, hidden, number, parameters: weights.chain(vec![0.0; hidden]).collect() }
    }

    fn weights(&self) -> &[f32] {
        &self.parameters[..self.inputs * self.hidden]
    }

    /// The code of a record.
    fn code(&self, record: &[f32]) -> Vec<f32> {
        let mut code = vec![0.0; self.hidden];
        for (value, weights) in record.iter().zip(self.weights().chunks_exact(self.hidden)) {
            code.iter_mut().zip(weights).for_each(|(code, weight)| *code += value * weight);
        }
        code.iter_mut().for_each(|value| *value = 1.0 / (1.0 + (-*value).exp()));
        code
    }

    /// Downhill on Σ_j (½ − x_j)z_j + z_j²/8, the code held still: its coefficients (½ − x_j)h and hhᵀ/8 have noise that is drawn once for
    /// all steps, Lap(d(b + b²/4)/ε) on their sum over all records.
    pub fn direction(&self, visible: &[f32], mechanism: &Mechanism, scale: Scale) -> Vec<f64> {
        let sum = in_parts(visible, self.inputs, self.inputs * self.hidden, |record, sum| {
            let code = self.code(record);
            let rows = self.weights().chunks_exact(self.hidden).zip(sum.chunks_exact_mut(self.hidden));
            for (value, (weights, sum)) in record.iter().zip(rows) {
                let z: f32 = weights.iter().zip(&code).map(|(weight, code)| weight * code).sum();
                let slope = f64::from(0.5 - value + 0.25 * z);
                sum.iter_mut().zip(&code).for_each(|(sum, code)| *sum += slope * f64::from(*code));
            }
        });
        let polynomial = Polynomial { outputs: self.inputs, features: self.hidden };
        let deviation = polynomial.sensitivity() / (scale.epsilon * scale.records);
        let first = APART * self.number as u64;
        let noise = polynomial.noise(self.weights(), &mechanism.published_once(), first, deviation);
        let mean = sum.iter().zip(noise).map(|(sum, noise)| -(sum / scale.batch + f64::from(noise)));
        mean.chain(vec![0.0; self.hidden]).collect()
    }

    /// The smallest value of each unit, then the largest.
    pub fn extremes(&self, visible: &[f32]) -> Vec<f64> {
        let (mut least, mut most) = (vec![1.0; self.hidden], vec![0.0; self.hidden]);
        for record in visible.chunks_exact(self.inputs) {
            for ((value, least), most) in self.code(record).into_iter().zip(&mut least).zip(&mut most) {
                (*least, *most) = (f64::min(*least, value.into()), f64::max(*most, value.into()));
            }
        }
        [least, most].concat()
    }

    /// (h − γ)/((φ − γ)√b) of the smallest γ and the largest φ.
    pub fn freeze(&self, extremes: &[f32], below: &mut Frozen) -> Result<()> {
        let (least, most) = extremes.split_at(self.hidden);
        let root = (self.hidden as f32).sqrt();
        let factor = |unit: usize| 1.0 / ((most[unit] - least[unit]).max(f32::MIN_POSITIVE.sqrt()) * root);
        let numbers =
            by_output(&below.moved(&self.parameters, self.inputs, self.hidden), self.inputs, self.hidden);
        let dense = || LayerConfig::Dense { features: self.hidden, bias: true }.into();
        let units = 0..self.hidden;
        let diagonal = units.clone().flat_map(|row| {
            (0..self.hidden).map(move |column| if row == column { factor(row) } else { 0.0 })
        });
        let biases = units.clone().map(|unit| -least[unit] * factor(unit));
        let numbers: Vec<f32> = numbers.into_iter().chain(diagonal).chain(biases).collect();
        below.push([LayerConfig::Flatten.into(), dense(), Activation::Sigmoid.into(), dense()], &numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Key;
    use muffle_nn::{Batch, Shape};

    /// Two inputs and one hidden unit of weights 1 and −2: x = (1, ¼) has h = σ(½), z = (h, −2h).
    fn small() -> Code {
        Code { inputs: 2, hidden: 1, number: 0, parameters: vec![1.0, -2.0, 0.0] }
    }

    #[test]
    fn descent_by_hand() {
        let h = 1.0 / (1.0 + (-0.5f64).exp());
        let scale = Scale { epsilon: f64::INFINITY, batch: 2.0, records: 10.0 };
        let mechanism = Mechanism::new(Key::from_seed(1), 1.0);
        let found = small().direction(&[1.0, 0.25], &mechanism, scale);
        let expected = [-(0.5 - 1.0 + 0.25 * h) * h / 2.0, -(0.5 - 0.25 - 0.5 * h) * h / 2.0, 0.0];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6),
            "{found:?}"
        );
        // Δ = 2·(1 + ¼), over ε = 1 and ten records: on each row n + 2Nw, the same in every step.
        let noisy = small().direction(&[1.0, 0.25], &mechanism, Scale { epsilon: 1.0, ..scale });
        let mut draws = [0.0; 4];
        mechanism.published_once().fill(0, 0.25, &mut draws);
        let noise = [draws[0] + 2.0 * draws[1], draws[2] - 4.0 * draws[3]];
        for (place, noise) in noise.into_iter().enumerate() {
            assert!((noisy[place] - (expected[place] - noise)).abs() < 1e-5, "{noisy:?}");
        }
        assert_eq!(noisy, small().direction(&[1.0, 0.25], &mechanism, Scale { epsilon: 1.0, ..scale }));
    }

    /// Codes of ½ and σ(½) go to 0 and 1.
    #[test]
    fn codes_are_stretched_by_their_extremes() {
        let code = small();
        let extremes = code.extremes(&[1.0, 0.25, 0.0, 0.0]);
        let h = 1.0 / (1.0 + (-0.5f64).exp());
        assert!((extremes[0] - 0.5).abs() < 1e-6 && (extremes[1] - h).abs() < 1e-6, "{extremes:?}");
        let mut below = Frozen::new(Shape::Vector(2), [-1.0, 1.0]);
        let extremes: Vec<f32> = extremes.iter().map(|value| *value as f32).collect();
        code.freeze(&extremes, &mut below).unwrap();
        // Inputs are moved from −1 to 1 to 0 to 1.
        let found = below.visible(&Batch::new(vec![1.0, -0.5, -1.0, -1.0], vec![0, 0]), Some(1)).unwrap();
        assert!((found[0] - 1.0).abs() < 1e-5 && found[1].abs() < 1e-5, "{found:?}");
    }
}
