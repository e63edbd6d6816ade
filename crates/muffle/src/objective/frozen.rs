//! Layers that are done: what they make of a record is what the next one learns from.

use super::choices::Filters;
use super::features::FeatureMap;
use crate::error::Result;
use crate::mechanism::NoiseKind;
use muffle_nn::boltzmann::{Boltzmann, Units};
use muffle_nn::config::{Entry, LayerConfig};
use muffle_nn::layers::activation::Activation;
use muffle_nn::layers::window::Extent;
use muffle_nn::{Engine, Examples, ModelDescription, Options, Purpose, Shape};
use std::sync::Arc;

/// Layers with their parameters, on records within a range.
#[derive(Clone)]
pub(super) struct Frozen {
    input: Shape,
    range: [f64; 2],
    layers: Vec<Entry>,
    parameters: Vec<f32>,
    output: Shape,
}

impl Frozen {
    /// No layers yet.
    pub fn new(input: Shape, range: [f64; 2]) -> Frozen {
        Frozen { input, range, layers: Vec::new(), parameters: Vec::new(), output: input }
    }

    /// The shape of what the last layer makes.
    pub fn output(&self) -> Shape {
        self.output
    }

    /// The layers.
    pub fn layers(&self) -> &[Entry] {
        &self.layers
    }

    /// Their parameters.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// What the layers make of every record, record after record: numbers of 0 to 1. Records themselves are moved from their range, and
    /// cut where they leave it.
    pub fn visible(&self, records: &dyn Examples, threads: Option<usize>) -> Result<Vec<f32>> {
        let width = self.output.len();
        let mut values = vec![0.0; records.len() * width];
        if self.layers.is_empty() {
            let [low, high] = self.range.map(|end| end as f32);
            for (record, values) in values.chunks_exact_mut(width).enumerate() {
                records.read(record, values);
                values.iter_mut().for_each(|value| *value = ((*value - low) / (high - low)).clamp(0.0, 1.0));
            }
            return Ok(values);
        }
        let network = Arc::new(self.description().network()?);
        let mut engine = Engine::new(network, Options { threads, ..Options::new(Purpose::Evaluate) })?;
        engine.outputs(&self.parameters, records, &mut values)?;
        values.iter_mut().for_each(|value| *value = value.clamp(0.0, 1.0));
        Ok(values)
    }

    fn description(&self) -> ModelDescription {
        ModelDescription { input: self.input, layers: self.layers.clone() }
    }

    /// Puts layers with these parameters on top.
    pub fn push(&mut self, layers: impl IntoIterator<Item = Entry>, parameters: &[f32]) -> Result<()> {
        self.layers.extend(layers);
        self.parameters.extend(parameters);
        self.output = self.description().network()?.output();
        Ok(())
    }

    /// Puts the filters of a machine on top, with a mean behind them where there is an image.
    pub fn push_filters(
        &mut self,
        machine: &Boltzmann,
        filters: Filters,
        units: Units,
        parameters: &[f32],
    ) -> Result<()> {
        let Filters { count, window, stride, pool } = filters;
        let mut numbers = self.moved(parameters, machine.taps(), count);
        let activation: Entry = match units {
            Units::Sigmoid => Activation::Sigmoid.into(),
            Units::Polynomial(polynomial) => LayerConfig::ChebyshevSigmoid { scale: polynomial.scale }.into(),
        };
        if matches!(self.output, Shape::Vector(_)) {
            numbers = by_output(&numbers, machine.taps(), count);
            let dense = LayerConfig::Dense { features: count, bias: true }.into();
            return self.push([dense, activation], &numbers);
        }
        let square = Extent::Square;
        let convolution = LayerConfig::Conv2d {
            channels: count,
            kernel: square(window),
            stride: square(stride),
            padding: square(0),
            groups: 1,
            bias: true,
        };
        let mean = LayerConfig::AveragePool { kernel: square(pool), stride: None, padding: square(0) };
        self.push([convolution.into(), activation, mean.into()], &numbers)
    }

    /// Weights and biases of units that read records as they are, where they were learned on values of 0 to 1.
    pub fn moved(&self, parameters: &[f32], taps: usize, units: usize) -> Vec<f32> {
        let mut moved = parameters[..(taps + 1) * units].to_vec();
        if self.layers.is_empty() {
            let [low, high] = self.range.map(|end| end as f32);
            let (weights, biases) = moved.split_at_mut(taps * units);
            for weights in weights.chunks_exact_mut(units) {
                for (weight, bias) in weights.iter_mut().zip(&mut *biases) {
                    *weight /= high - low;
                    *bias -= low * *weight;
                }
            }
        }
        moved
    }

    /// The features of a head: flattened, of a norm of at most one.
    pub fn map(&self, noise: NoiseKind) -> Result<FeatureMap> {
        FeatureMap::new(self.input, self.layers.clone(), noise, |_| self.parameters.clone())
    }
}

/// Weights with a row for each output, from those with a row for each input; biases stay behind them.
pub(super) fn by_output(parameters: &[f32], inputs: usize, outputs: usize) -> Vec<f32> {
    let weight = |place: usize| parameters[place % inputs * outputs + place / inputs];
    (0..inputs * outputs).map(weight).chain(parameters[inputs * outputs..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle_nn::Batch;

    /// What frozen layers make of a record is what the machine made of it: with a range of −1 to 3, windows, a stride and a pool.
    #[test]
    fn frozen_filters_see_what_the_machine_saw() {
        let shape = Shape::image(2, 5, 5);
        let units =
            Units::Polynomial(muffle_nn::layers::chebyshev_sigmoid::SigmoidPolynomial::chebyshev(3.0));
        let filters = Filters { count: 3, window: 2, stride: 1, pool: 2 };
        let machine = Boltzmann::new(shape, 3, 2, 1).unwrap();
        let mut parameters = machine.initial(4, 1.0);
        let biases = machine.taps() * 3;
        parameters[biases..].iter_mut().enumerate().for_each(|(place, bias)| *bias = place as f32 / 7.0);
        let record: Vec<f32> = (0..50).map(|place| (place * 7 % 17) as f32 / 17.0 * 4.0 - 1.0).collect();
        let records = Batch::new(record, vec![0]);
        let mut frozen = Frozen::new(shape, [-1.0, 3.0]);
        let visible = frozen.visible(&records, Some(1)).unwrap();
        assert!(visible.iter().all(|value| (0.0..=1.0).contains(value)));
        let hidden = machine.hidden(&parameters, &visible, &units);
        frozen.push_filters(&machine, filters, units, &parameters).unwrap();
        let found = frozen.visible(&records, Some(1)).unwrap();
        assert_eq!(frozen.output(), Shape::image(3, 2, 2));
        for (place, found) in found.iter().enumerate() {
            let (row, column, filter) = (place / 6 * 2, place / 3 % 2 * 2, place % 3);
            let unit = |row: usize, column: usize| hidden[(row * 4 + column) * 3 + filter];
            let mean = (unit(row, column)
                + unit(row, column + 1)
                + unit(row + 1, column)
                + unit(row + 1, column + 1))
                / 4.0;
            assert!((found - mean).abs() < 1e-5, "{place}: {found} {mean}");
        }
    }

    /// The same for vectors, whose machine has no window.
    #[test]
    fn frozen_units_see_what_the_machine_saw() {
        let machine = Boltzmann::new(Shape::Vector(3), 2, 1, 1).unwrap();
        let parameters: Vec<f32> = (0..11).map(|place| place as f32 / 5.0 - 1.0).collect();
        let records = Batch::new(vec![0.5, -1.0, 0.75], vec![0]);
        let mut frozen = Frozen::new(Shape::Vector(3), [-1.0, 1.0]);
        let hidden = machine.hidden(&parameters, &[0.75, 0.0, 0.875], &Units::Sigmoid);
        let filters = Filters { count: 2, window: 1, stride: 1, pool: 1 };
        frozen.push_filters(&machine, filters, Units::Sigmoid, &parameters).unwrap();
        let found = frozen.visible(&records, Some(1)).unwrap();
        assert!(
            found.iter().zip(&hidden).all(|(left, right)| (left - right).abs() < 1e-6),
            "{found:?} {hidden:?}"
        );
    }
}
