//! Losses that are polynomials of degree two in the weights of a layer, with noise on their coefficients as papers print it. Nothing is
//! proved of it.

use crate::mechanism::LaplaceNoise;

/// The coefficients of the cross-entropy of some outputs, up to degree two: for each output the sums of (½ − y)h and of hhᵀ/8 over features h.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Polynomial {
    /// Rows of weights.
    pub outputs: usize,
    /// Weights of each.
    pub features: usize,
}

impl Polynomial {
    /// What the papers take for the most that one record changes all coefficients, for features of 0 to 1: m(b + b²/4).
    ///
    /// # Source
    /// Phan et al. 2016, lemma 2 (a decoder of m values from b hidden ones); Phan et al. 2017, lemma 4, and Wang et al. 2023, lemma 3 (m
    /// classes).
    pub fn sensitivity(&self) -> f64 {
        let features = self.features as f64;
        self.outputs as f64 * (features + features * features / 4.0)
    }

    /// What noise on the coefficients adds to the gradient of the weights: φ̄ = φ + n and Φ̄ = Φ + N give n + (N + Nᵀ)w for the
    /// weights w of each output.
    pub fn noise(&self, weights: &[f32], noise: &LaplaceNoise, first: u64, scale: f64) -> Vec<f32> {
        let (features, mut next) = (self.features, first);
        let mut draw = |count: usize| {
            let mut values = vec![0.0; count];
            noise.fill(next, scale, &mut values);
            next += count as u64;
            values
        };
        let mut gradient = Vec::with_capacity(weights.len());
        for weights in weights.chunks_exact(features) {
            let (linear, square) = (draw(features), draw(features * features));
            for row in 0..features {
                let both = |column: usize| square[row * features + column] + square[column * features + row];
                let product: f64 = weights
                    .iter()
                    .enumerate()
                    .map(|(column, weight)| both(column) * f64::from(*weight))
                    .sum();
                gradient.push((linear[row] + product) as f32);
            }
        }
        gradient
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Mechanism;
    use crate::noise::Key;

    /// Ten classes of 25 features: 10·(25 + 156.25); 784 pixels from 25 hidden units: 784·181.25.
    #[test]
    fn sensitivities_by_hand() {
        assert_eq!(Polynomial { outputs: 10, features: 25 }.sensitivity(), 1812.5);
        assert_eq!(Polynomial { outputs: 784, features: 25 }.sensitivity(), 142_100.0);
        assert_eq!(Polynomial { outputs: 1, features: 2 }.sensitivity(), 3.0);
    }

    /// Two classes of two features: the derivative of n·w + wᵀNw.
    #[test]
    fn noise_on_coefficients_by_hand() {
        let noise = Mechanism::new(Key::from_seed(3), 1.0).published_once();
        let mut draws = vec![0.0; 7 + 12];
        noise.fill(0, 2.0, &mut draws);
        let found = Polynomial { outputs: 2, features: 2 }.noise(&[1.0, -2.0, 3.0, 0.5], &noise, 7, 2.0);
        let class = |draws: &[f64], [v, w]: [f64; 2]| {
            let [a, b, p, q, r, s] = *draws else { unreachable!() };
            [a + 2.0 * p * v + (q + r) * w, b + (q + r) * v + 2.0 * s * w]
        };
        let expected = [class(&draws[7..13], [1.0, -2.0]), class(&draws[13..], [3.0, 0.5])].concat();
        let near = |(found, expected): (&f32, &f64)| {
            (f64::from(*found) - expected).abs() < 1e-5 * expected.abs().max(1.0)
        };
        assert!(found.len() == 4 && found.iter().zip(&expected).all(near), "{found:?} {expected:?}");
    }
}
