//! The gradient penalty of a record, as ordinary gradients at two more inputs.

use muffle_nn::{Engine, Loss, Result};

use super::rows::Rows;

/// How far from a point its two neighbours lie: the difference of their gradients over twice this is the directional derivative, up to
/// its square, and what single precision leaves of the difference.
const STEP: f32 = 0.005;

/// A critic in training, by which penalties are found.
pub struct Judge<'a> {
    /// For gradients at inputs.
    pub engine: &'a mut Engine,
    /// Where the critic is.
    pub parameters: &'a [f32],
}

/// A point with the neighbours whose gradients make the gradient of its penalty.
#[derive(Clone, Debug, PartialEq)]
pub struct Penalty {
    /// x̂ + h·u, then x̂ − h·u, for the unit vector u along the critic's gradient at x̂.
    pub neighbours: [Vec<f32>; 2],
    /// What the gradient at the first counts; that at the second counts its opposite.
    pub weight: f32,
}

impl Judge<'_> {
    /// The penalties λ(‖∇f(x̂)‖ − 1)² of points, of each of which one output f is asked.
    ///
    /// The gradient of ‖∇f(x̂)‖ by the weights is d/dt ∇_w f(x̂ + t·u) at t = 0. It is exact but for the step's square where the
    /// critic is smooth, and exact for critics of leaky units as long as none changes its sign between the neighbours.
    ///
    /// # Source
    /// Gulrajani et al. 2017; the derivative of a gradient along a vector by two gradients is Pearlmutter 1994, "Fast exact
    /// multiplication by the Hessian", section 2.
    pub fn penalties(&mut self, points: &Rows, strength: f32) -> Result<Vec<Penalty>> {
        let mut slopes = vec![0.0; points.inputs.len()];
        self.engine.input_gradients(self.parameters, points, Loss::Linear, 0, &mut slopes)?;
        let pairs = points.inputs.chunks_exact(points.width).zip(slopes.chunks_exact(points.width));
        Ok(pairs.map(|(point, slope)| penalty(point, slope, strength)).collect())
    }
}

fn penalty(point: &[f32], slope: &[f32], strength: f32) -> Penalty {
    let length = slope.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    // Where the critic is flat there is no direction to follow.
    let inverse = if length > 0.0 { 1.0 / length } else { 0.0 };
    let weight = if length > 0.0 { f64::from(strength) * (length - 1.0) / f64::from(STEP) } else { 0.0 };
    let moved = |step: f32| {
        let value = |(point, slope): (&f32, &f32)| point + step * (f64::from(*slope) * inverse) as f32;
        point.iter().zip(slope).map(value).collect()
    };
    Penalty { neighbours: [moved(STEP), moved(-STEP)], weight: weight as f32 }
}
