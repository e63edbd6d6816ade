//! Waves in random directions: features whose means tell distributions apart.

use crate::error::Result;
use crate::kernel::matrix::{Matrix, product};
use crate::layer::{Backward, Forward, Layer, Pass};
use crate::layers::Context;
use crate::limits;
use crate::shape::Shape;
use crate::split_mix::SplitMix;

/// Cosine and sine of a vector's products with `features` random directions, over the root of their number. The directions are normal with
/// a deviation of 1/`width`, and follow from a seed: they are a part of the description, and nothing is trained.
///
/// The inner product of two outputs is close to the Gaussian kernel exp(−|x − y|²/(2·width²)) of the inputs, and every output has a norm
/// of one.
///
/// # Source
/// Rahimi and Recht 2007, "Random features for large-scale kernel machines", section 3, with both functions of every direction.
pub struct RandomFourier {
    /// One direction after the other.
    directions: Vec<f32>,
    features: usize,
    inputs: usize,
}

impl RandomFourier {
    /// Directions, how far apart inputs are that count as different, and the seed of the directions.
    pub fn new(context: &Context, features: usize, width: f32, seed: u64) -> Result<RandomFourier> {
        let Shape::Vector(inputs) = context.input else {
            return context.refuse("it takes a vector [features]; put a layer `flatten` in front of it");
        };
        if features == 0 {
            return context.refuse("features must be at least 1");
        }
        if !(width > 0.0 && width.is_normal()) {
            return context.refuse(&format!("width = {width} is outside (0, infinity)"));
        }
        if limits::product(&[features, inputs], limits::EDGE).is_none() {
            return context.refuse(&format!("its directions would have more than {} values", limits::EDGE));
        }
        let mut random = SplitMix::new(seed);
        let directions = (0..features * inputs).map(|_| random.normal() / width).collect();
        Ok(RandomFourier { directions, features, inputs })
    }

    fn directions(&self) -> Matrix<'_> {
        Matrix::rows(&self.directions, self.features, self.inputs)
    }
}

impl Layer for RandomFourier {
    fn kind(&self) -> &'static str {
        "random-fourier"
    }

    /// All cosines, then all sines.
    fn output(&self) -> Shape {
        Shape::Vector(2 * self.features)
    }

    fn multiply_adds(&self) -> u64 {
        (self.features * self.inputs) as u64
    }

    fn reads_output(&self) -> bool {
        true
    }

    fn scratch_len(&self, pass: &Pass) -> usize {
        pass.batch * self.features
    }

    fn forward(&self, Forward { pass, input, output, memory, .. }: Forward) {
        let phases = &mut memory.scratch[..pass.batch * self.features];
        let input = Matrix::rows(input, pass.batch, self.inputs);
        product(input, self.directions().transposed(), false, phases, self.features);
        let unit = (self.features as f32).sqrt().recip();
        let examples = phases.chunks_exact(self.features).zip(output.chunks_exact_mut(2 * self.features));
        for (phases, output) in examples {
            let (cosines, sines) = output.split_at_mut(self.features);
            for ((phase, cosine), sine) in phases.iter().zip(cosines).zip(sines) {
                let (own_sine, own_cosine) = phase.sin_cos();
                (*cosine, *sine) = (unit * own_cosine, unit * own_sine);
            }
        }
    }

    /// The slope of a cosine is less the sine, that of a sine the cosine.
    fn backward(&self, Backward { pass, values, upstream, downstream, memory, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        let slopes = &mut memory.scratch[..pass.batch * self.features];
        let both = 2 * self.features;
        let examples = values.output.chunks_exact(both).zip(upstream.chunks_exact(both));
        for ((output, upstream), slopes) in examples.zip(slopes.chunks_exact_mut(self.features)) {
            let (cosines, sines) = output.split_at(self.features);
            let (at_cosine, at_sine) = upstream.split_at(self.features);
            for (place, slope) in slopes.iter_mut().enumerate() {
                *slope = cosines[place] * at_sine[place] - sines[place] * at_cosine[place];
            }
        }
        let slopes = Matrix::rows(slopes, pass.batch, self.features);
        product(slopes, self.directions(), false, downstream, self.inputs);
    }
}

#[cfg(test)]
mod tests {
    use crate::layer::Purpose;
    use crate::{Batch, Engine, ModelDescription, Options};
    use std::sync::Arc;

    fn outputs(options: &str, inputs: &[f32]) -> Vec<Vec<f32>> {
        let text = format!("input = [3]\nlayers = [{{ type = \"random-fourier\", {options} }}]");
        let network = Arc::new(ModelDescription::from_toml(&text).unwrap().network().unwrap());
        let (examples, width) = (inputs.len() / 3, network.output().len());
        let mut outputs = vec![0.0; examples * width];
        let mut engine = Engine::new(network, Options::new(Purpose::Evaluate)).unwrap();
        engine.outputs(&[], &Batch::new(inputs.to_vec(), vec![0; examples]), &mut outputs).unwrap();
        outputs.chunks_exact(width).map(<[f32]>::to_vec).collect()
    }

    fn inner(one: &[f32], other: &[f32]) -> f32 {
        one.iter().zip(other).map(|(one, other)| one * other).sum()
    }

    /// 4,000 directions know a kernel to a deviation of at most 0.016; five of those are 0.08.
    #[test]
    fn products_are_those_of_the_gaussian_kernel_and_norms_are_one() {
        let inputs = [0.0, 0.0, 0.0, 1.0, -1.0, 0.5, 2.0, 2.0, 2.0];
        for width in [0.7f32, 2.0] {
            let found = outputs(&format!("features = 4000, width = {width}"), &inputs);
            for (one, first) in inputs.chunks_exact(3).zip(&found) {
                assert!((inner(first, first) - 1.0).abs() < 1e-4);
                for (other, second) in inputs.chunks_exact(3).zip(&found) {
                    let square: f32 = one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum();
                    let kernel = (-square / (2.0 * width * width)).exp();
                    assert!((inner(first, second) - kernel).abs() < 0.08, "{kernel}");
                }
            }
        }
    }

    #[test]
    fn a_seed_decides_the_directions() {
        let inputs = [0.3, -0.2, 0.9];
        let of = |seed: u64| outputs(&format!("features = 5, width = 1, seed = {seed}"), &inputs);
        assert_eq!(of(0), outputs("features = 5, width = 1", &inputs));
        assert_ne!(of(0), of(1));
    }

    #[test]
    fn options_without_a_meaning_are_refused() {
        for (options, part) in [
            ("features = 0, width = 1", "at least 1"),
            ("features = 2, width = 0", "width = 0"),
            ("features = 2, width = -1", "width = -1"),
            ("features = 1000000000, width = 1", "more than"),
        ] {
            let text = format!("input = [3]\nlayers = [{{ type = \"random-fourier\", {options} }}]");
            let message = ModelDescription::from_toml(&text).unwrap().network().err().unwrap().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
