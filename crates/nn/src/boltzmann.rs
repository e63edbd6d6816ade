//! Restricted Boltzmann machines whose hidden units look through windows, and their contrastive divergence.
//!
//! A machine is no layer: it is trained without a loss, by what its own reconstruction of a record lacks. What it has learned is the
//! weights of a convolution.

use crate::error::{Error, Result};
use crate::initialise::SplitMix;
use crate::layers::chebyshev_sigmoid::SigmoidPolynomial;
use crate::shape::Shape;

/// What hidden units make of their input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Units {
    /// The logistic function.
    Sigmoid,
    /// A polynomial that stands for it, cut to 0 to 1.
    Polynomial(SigmoidPolynomial),
}

impl Units {
    /// The probability that a unit with this input is on.
    pub fn probability(&self, input: f32) -> f32 {
        match self {
            Units::Sigmoid => sigmoid(input),
            Units::Polynomial(polynomial) => polynomial.value(input).clamp(0.0, 1.0),
        }
    }
}

fn sigmoid(input: f32) -> f32 {
    1.0 / (1.0 + (-input).exp())
}

/// Visible units of 0 to 1 in an image, and hidden units that share their weights over all places of a window. A vector is an image
/// of one pixel, and its machine has no window: every hidden unit sees all values.
///
/// Parameters are the weights as those of a convolution (height, width, channel, filter), a bias for each filter, and one for each visible
/// channel.
///
/// # Source
/// Lee, Grosse, Ranganath, Ng 2009, "Convolutional deep belief networks", without probabilistic pooling; Hinton 2002 for contrastive
/// divergence, here with probabilities in place of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boltzmann {
    height: usize,
    width: usize,
    channels: usize,
    filters: usize,
    kernel: usize,
    stride: usize,
}

impl Boltzmann {
    /// Of so many filters with a square window, moved by a stride.
    pub fn new(input: Shape, filters: usize, kernel: usize, stride: usize) -> Result<Boltzmann> {
        let (height, width, channels, kernel) = match input {
            Shape::Image { height, width, channels } => (height, width, channels, kernel),
            Shape::Vector(values) => (1, 1, values, 1),
            Shape::Sequence { .. } => {
                return Err(Error::Options(format!(
                    "a Boltzmann machine takes images or vectors, not a sequence {input}"
                )));
            }
        };
        if filters == 0 || stride == 0 || kernel == 0 || kernel > height.min(width) {
            return Err(Error::Options(format!(
                "a Boltzmann machine of {filters} filters, window {kernel} and stride {stride} does not fit on {input}"
            )));
        }
        Ok(Boltzmann { height, width, channels, filters, kernel, stride })
    }

    /// Hidden units: places of the window times filters.
    pub fn hidden_len(&self) -> usize {
        self.places(self.height) * self.places(self.width) * self.filters
    }

    /// Visible units.
    pub fn visible_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// Values under a window.
    pub fn taps(&self) -> usize {
        self.kernel * self.kernel * self.channels
    }

    /// Weights and both kinds of biases.
    pub fn parameter_len(&self) -> usize {
        self.taps() * self.filters + self.filters + self.channels
    }

    /// Small random weights, and no biases.
    pub fn initial(&self, seed: u64, deviation: f32) -> Vec<f32> {
        let mut generator = SplitMix::new(seed);
        let mut parameters = vec![0.0; self.parameter_len()];
        parameters[..self.taps() * self.filters]
            .iter_mut()
            .for_each(|value| *value = deviation * generator.normal());
        parameters
    }

    fn places(&self, size: usize) -> usize {
        (size - self.kernel) / self.stride + 1
    }

    /// Weights, biases of the filters, biases of the visible channels.
    fn split<'a>(&self, parameters: &'a [f32]) -> (&'a [f32], &'a [f32], &'a [f32]) {
        let (weights, biases) = parameters.split_at(self.taps() * self.filters);
        let (hidden, visible) = biases.split_at(self.filters);
        (weights, hidden, visible)
    }

    /// Hands out for every place of the window where it begins in the image, row by row: a stretch of neighbouring values, the first of
    /// its weights, and the hidden units of the place.
    fn stretches(&self, mut visit: impl FnMut(std::ops::Range<usize>, usize, std::ops::Range<usize>)) {
        let (columns, row_len) = (self.places(self.width), self.kernel * self.channels);
        for place in 0..self.hidden_len() / self.filters {
            let (top, left) = (place / columns * self.stride, place % columns * self.stride);
            let units = place * self.filters..(place + 1) * self.filters;
            for row in 0..self.kernel {
                let first = ((top + row) * self.width + left) * self.channels;
                visit(first..first + row_len, row * row_len, units.clone());
            }
        }
    }

    /// What flows into the hidden units.
    pub fn inputs(&self, parameters: &[f32], visible: &[f32]) -> Vec<f32> {
        let (weights, biases, _) = self.split(parameters);
        let mut inputs = biases.repeat(self.hidden_len() / self.filters);
        self.stretches(|values, tap, units| {
            let inputs = &mut inputs[units];
            for (value, weights) in
                visible[values].iter().zip(weights[tap * self.filters..].chunks(self.filters))
            {
                inputs.iter_mut().zip(weights).for_each(|(input, weight)| *input += value * weight);
            }
        });
        inputs
    }

    /// The probabilities of the hidden units.
    pub fn hidden(&self, parameters: &[f32], visible: &[f32], units: &Units) -> Vec<f32> {
        let mut hidden = self.inputs(parameters, visible);
        hidden.iter_mut().for_each(|value| *value = units.probability(*value));
        hidden
    }

    /// The visible units that hidden ones make likely.
    pub fn visible(&self, parameters: &[f32], hidden: &[f32]) -> Vec<f32> {
        let (weights, _, biases) = self.split(parameters);
        let mut visible = biases.repeat(self.height * self.width);
        self.stretches(|values, tap, units| {
            let hidden = &hidden[units];
            for (value, weights) in
                visible[values].iter_mut().zip(weights[tap * self.filters..].chunks(self.filters))
            {
                *value += hidden.iter().zip(weights).map(|(hidden, weight)| hidden * weight).sum::<f32>();
            }
        });
        visible.iter_mut().for_each(|value| *value = sigmoid(*value));
        visible
    }

    /// Contrastive divergence after one step, of one record: what the record has and its reconstruction has not, in the places of the
    /// parameters. Along it a record becomes more likely.
    pub fn contrast(&self, parameters: &[f32], visible: &[f32], units: &Units) -> Vec<f32> {
        let hidden = self.hidden(parameters, visible, units);
        let again = self.visible(parameters, &hidden);
        let hidden_again = self.hidden(parameters, &again, units);
        let mut contrast = vec![0.0; self.parameter_len()];
        let (weights, biases) = contrast.split_at_mut(self.taps() * self.filters);
        self.stretches(|values, tap, units| {
            let (on, off) = (&hidden[units.clone()], &hidden_again[units]);
            let pairs = visible[values.clone()].iter().zip(&again[values]);
            for ((first, second), weights) in
                pairs.zip(weights[tap * self.filters..].chunks_mut(self.filters))
            {
                for ((weight, on), off) in weights.iter_mut().zip(on).zip(off) {
                    *weight += first * on - second * off;
                }
            }
        });
        for (unit, (first, second)) in hidden.iter().zip(&hidden_again).enumerate() {
            biases[unit % self.filters] += first - second;
        }
        for (unit, (first, second)) in visible.iter().zip(&again).enumerate() {
            biases[self.filters + unit % self.channels] += first - second;
        }
        contrast
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f32], expected: &[f32]) -> bool {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5)
    }

    /// Two visible units and one hidden, weights 1 and −2, biases ½, 0.1 and −0.3.
    #[test]
    fn a_machine_without_a_window_by_hand() {
        let machine = Boltzmann::new(Shape::Vector(2), 1, 9, 1).unwrap();
        let parameters = [1.0, -2.0, 0.5, 0.1, -0.3];
        let record = [1.0, 0.25];
        let on = sigmoid(1.0 - 0.5 + 0.5);
        assert!(near(&machine.hidden(&parameters, &record, &Units::Sigmoid), &[on]));
        let again = [sigmoid(0.1 + on), sigmoid(-0.3 - 2.0 * on)];
        assert!(near(&machine.visible(&parameters, &[on]), &again));
        let off = sigmoid(0.5 + again[0] - 2.0 * again[1]);
        let expected =
            [on - again[0] * off, 0.25 * on - again[1] * off, on - off, 1.0 - again[0], 0.25 - again[1]];
        assert!(near(&machine.contrast(&parameters, &record, &Units::Sigmoid), &expected));
    }

    /// A window of 2 x 2 over 3 x 3 pixels has four places; a filter that copies the upper left pixel.
    #[test]
    fn windows_by_hand() {
        let machine = Boltzmann::new(Shape::image(1, 3, 3), 1, 2, 1).unwrap();
        assert_eq!((machine.hidden_len(), machine.taps(), machine.parameter_len()), (4, 4, 6));
        let parameters = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let record: Vec<f32> = (0..9).map(|pixel| pixel as f32 / 10.0).collect();
        assert!(near(&machine.inputs(&parameters, &record), &[0.0, 0.1, 0.3, 0.4]));
        let visible = machine.visible(&parameters, &[1.0, 0.0, 0.0, 1.0]);
        let (lit, dark) = (sigmoid(1.0), 0.5);
        assert!(near(&visible, &[lit, dark, dark, dark, lit, dark, dark, dark, dark]));
        // At weights of zero everything that is hidden is one half: the upper left weight sees ½(0 + 0.1 + 0.3 + 0.4) − ½·4·½.
        let contrast = machine.contrast(&[0.0; 6], &record, &Units::Sigmoid);
        assert!((contrast[0] - (0.4 - 1.0)).abs() < 1e-6 && contrast[4] == 0.0, "{contrast:?}");
        assert!((contrast[5] - (3.6 - 4.5)).abs() < 1e-6);
    }

    /// Channels lie side by side, filters too: with a stride of the window, two places of two filters.
    #[test]
    fn channels_filters_and_strides_by_hand() {
        let machine = Boltzmann::new(Shape::image(2, 1, 2), 2, 1, 1).unwrap();
        // Weights of channel 0 to both filters, then of channel 1; biases of the filters.
        let parameters = [1.0, 10.0, 2.0, 20.0, 0.5, 0.25, 0.0, 0.0];
        let inputs = machine.inputs(&parameters, &[0.1, 0.2, 0.3, 0.4]);
        assert!(near(&inputs, &[0.1 + 0.4 + 0.5, 1.0 + 4.0 + 0.25, 0.3 + 0.8 + 0.5, 3.0 + 8.0 + 0.25]));
        assert_eq!(Boltzmann::new(Shape::image(1, 28, 28), 32, 5, 2).unwrap().hidden_len(), 12 * 12 * 32);
    }

    #[test]
    fn polynomial_units_are_cut() {
        let steep = SigmoidPolynomial { coefficients: [0.0, 64.0, 0.0, 0.0, 0.0], scale: 1.0 };
        let units = Units::Polynomial(steep);
        assert_eq!([-1.0, 0.25, 1.0].map(|x| units.probability(x)), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused =
            |input, filters, kernel| Boltzmann::new(input, filters, kernel, 1).unwrap_err().to_string();
        assert!(refused(Shape::image(1, 4, 4), 3, 5).contains("window 5"));
        assert!(refused(Shape::image(1, 4, 4), 0, 2).contains("0 filters"));
        assert!(refused(Shape::Sequence { steps: 3, features: 2 }, 1, 1).contains("images or vectors"));
    }
}
