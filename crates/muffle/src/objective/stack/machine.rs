//! A Boltzmann machine whose units are a polynomial with noise on its five numbers.

use super::super::choices::Filters;
use super::super::frozen::Frozen;
use super::super::in_parts::in_parts;
use super::Scale;
use crate::error::Result;
use crate::mechanism::Mechanism;
use muffle_nn::Shape;
use muffle_nn::boltzmann::{Boltzmann, Units};
use muffle_nn::layers::chebyshev_sigmoid::SigmoidPolynomial;

/// Deviation of the first weights: that of the released code.
const DEVIATION: f32 = 0.1;

/// Filters in training.
///
/// # Source
/// Phan, Wu, Dou 2017, and its released code for the sensitivity and the place of the noise.
pub struct Machine {
    machine: Boltzmann,
    filters: Filters,
    channels: usize,
    number: usize,
    pub parameters: Vec<f32>,
}

impl Machine {
    pub fn new(input: Shape, filters: Filters, number: usize) -> Result<Machine> {
        let machine = Boltzmann::new(input, filters.count, filters.window, filters.stride)?;
        let channels = match input {
            Shape::Image { channels, .. } => channels,
            other => other.len(),
        };
        let parameters = machine.initial(1 + number as u64, DEVIATION);
        Ok(Machine { machine, filters, channels, number, parameters })
    }

    /// The largest size of what flows into a unit, over all records.
    pub fn largest(&self, visible: &[f32]) -> f64 {
        self.largest_at(&self.parameters, visible)
    }

    fn largest_at(&self, parameters: &[f32], visible: &[f32]) -> f64 {
        let records = visible.chunks_exact(self.machine.visible_len());
        let largest = records.map(|record| {
            let inputs = self.machine.inputs(parameters, record);
            inputs.into_iter().fold(0.0, |most, input| f64::max(most, input.abs().into()))
        });
        largest.fold(f64::MIN_POSITIVE.sqrt(), f64::max)
    }

    /// Δ: twice the largest sum of a filter's units at weights and biases of one, and twice the largest sum of a visible channel, over the
    /// records at hand.
    fn sensitivity(&self, visible: &[f32]) -> f64 {
        let ones = vec![1.0; self.parameters.len()];
        let scale = self.largest_at(&ones, visible) as f32;
        let units = Units::Polynomial(SigmoidPolynomial::chebyshev(scale));
        let (mut hidden, mut seen) = (0.0, 0.0);
        for record in visible.chunks_exact(self.machine.visible_len()) {
            hidden = f64::max(
                hidden,
                largest_sum(&self.machine.hidden(&ones, record, &units), self.filters.count),
            );
            seen = f64::max(seen, largest_sum(record, self.channels));
        }
        2.0 * (hidden + seen)
    }

    /// The polynomial for these records: inputs over the largest of them, and on each of the five numbers one draw for all steps of the
    /// layer, times Δ/(ε|L|).
    fn units(&self, visible: &[f32], mechanism: &Mechanism, scale: Scale) -> Units {
        let mut draws = [0.0; 5];
        let size = self.sensitivity(visible) / (scale.epsilon * scale.batch);
        mechanism.published_once().fill(5 * self.number as u64, size, &mut draws);
        let mut polynomial = SigmoidPolynomial::chebyshev(self.largest(visible) as f32);
        polynomial.coefficients.iter_mut().zip(draws).for_each(|(number, noise)| *number += noise as f32);
        Units::Polynomial(polynomial)
    }

    /// Contrastive divergence with these units, as a mean: everything but the five numbers is without noise.
    pub fn direction(&self, visible: &[f32], mechanism: &Mechanism, scale: Scale) -> Vec<f64> {
        let units = self.units(visible, mechanism, scale);
        let mut sum = in_parts(visible, self.machine.visible_len(), self.parameters.len(), |record, sum| {
            let contrast = self.machine.contrast(&self.parameters, record, &units);
            sum.iter_mut().zip(contrast).for_each(|(sum, value)| *sum += f64::from(value));
        });
        sum.iter_mut().for_each(|value| *value /= scale.batch);
        sum
    }

    /// Without noise, over the largest input of all records.
    pub fn freeze(&self, largest: f32, below: &mut Frozen) -> Result<()> {
        let units = Units::Polynomial(SigmoidPolynomial::chebyshev(largest));
        below.push_filters(&self.machine, self.filters, units, &self.parameters)
    }
}

/// The largest sum of values of which every `period`th belong together.
fn largest_sum(values: &[f32], period: usize) -> f64 {
    let sum =
        |place: usize| values.iter().skip(place).step_by(period).map(|value| f64::from(*value)).sum::<f64>();
    (0..period).map(|place| sum(place).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Key;

    /// Two visible units and one hidden: records (1, ½) and (0, ¼). At ones the inputs are 2.5 and 1.25, so 1 and ½ over the largest, and
    /// p(1) = 1; the largest visible value is 1: Δ = 2·1 + 2·1.
    #[test]
    fn sensitivity_and_units_by_hand() {
        let filters = Filters { count: 1, window: 1, stride: 1, pool: 1 };
        let mut machine = Machine::new(Shape::Vector(2), filters, 1).unwrap();
        machine.parameters = vec![2.0, -1.0, 0.5, 0.0, 0.0];
        let visible = [1.0, 0.5, 0.0, 0.25];
        assert!((machine.sensitivity(&visible) - 4.0).abs() < 1e-6);
        // 2 − ½ + ½ is the largest input, 0.25 the other.
        assert!((machine.largest(&visible) - 2.0).abs() < 1e-6);
        let mechanism = Mechanism::new(Key::from_seed(1), 1.0);
        let scale = Scale { epsilon: 0.5, batch: 4.0, records: 2.0 };
        let Units::Polynomial(found) = machine.units(&visible, &mechanism, scale) else { unreachable!() };
        let mut draws = [0.0; 10];
        mechanism.published_once().fill(0, 2.0, &mut draws);
        for (place, number) in SigmoidPolynomial::CHEBYSHEV.into_iter().enumerate() {
            assert!((f64::from(found.coefficients[place] - number) - draws[5 + place]).abs() < 1e-5);
        }
        assert_eq!(found.scale, 2.0);
        // Records of zeros have no visible part in Δ, and that is read from the batch: 2·p(1).
        assert!((machine.sensitivity(&[0.0; 4]) - 2.0).abs() < 1e-6);
    }
}
