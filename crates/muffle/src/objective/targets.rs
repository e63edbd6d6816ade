//! What a record says of its target, in numbers of a known size.

use crate::data::Task;
use crate::error::{Error, Result};
use crate::mechanism::NoiseKind;
use muffle_nn::Target;
use nalgebra::DMatrix;

/// How targets become the first-order coefficients of an objective.
///
/// # Source
/// Zhang, Zhang, Xiao, Yang, Winslett 2012, "Functional mechanism: regression analysis under differential privacy", sections 4.2 and
/// 5; for more than two classes one regression a class, of which only the largest output counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Two classes: one row, minus or plus one half.
    TwoClasses,
    /// One row for each class, with a one for the record's own.
    Classes(usize),
    /// One row for each label, minus or plus one half.
    Labels(usize),
    /// One row for each number, its place in its range less one half.
    Values(usize),
    /// One row for each feature that a record comes with: it is to be found again in what a code makes of it.
    Inputs(usize),
}

impl Rows {
    /// Of a task.
    pub fn of(task: &Task) -> Result<Rows> {
        match task {
            Task::Classes(names) if names.len() == 2 => Ok(Rows::TwoClasses),
            Task::Classes(names) => Ok(Rows::Classes(names.len())),
            Task::Labels(names) => Ok(Rows::Labels(names.len())),
            Task::Values(quantities) => Ok(Rows::Values(quantities.len())),
            Task::None => {
                Err(Error::Plan("the records have no target: there is nothing to learn".to_string()))
            }
        }
    }

    /// How many rows.
    pub fn count(self) -> usize {
        match self {
            Rows::TwoClasses => 1,
            Rows::Classes(count) | Rows::Labels(count) | Rows::Values(count) | Rows::Inputs(count) => count,
        }
    }

    /// The largest norm of a record's numbers, in the norm that the noise asks for.
    pub fn bound(self, noise: NoiseKind) -> f64 {
        let halves = |count: usize| match noise {
            NoiseKind::Gaussian => 0.5 * (count as f64).sqrt(),
            NoiseKind::Laplace => 0.5 * count as f64,
        };
        match self {
            Rows::Classes(_) | Rows::Inputs(_) => 1.0,
            other => halves(other.count()),
        }
    }

    /// Writes the numbers of one record; features are written by whoever has them.
    ///
    /// # Guarantee
    /// Their norm is at most the [bound](Rows::bound), whatever the target.
    pub fn write(self, target: Target, numbers: &mut [f64]) {
        numbers.fill(0.0);
        match (self, target) {
            (Rows::TwoClasses, Target::Class(class)) => numbers[0] = if class == 1 { 0.5 } else { -0.5 },
            (Rows::Classes(count), Target::Class(class)) if (class as usize) < count => {
                numbers[class as usize] = 1.0;
            }
            (Rows::Labels(_) | Rows::Values(_), Target::Values(values)) => {
                for (number, value) in numbers.iter_mut().zip(values) {
                    let value = f64::from(*value);
                    *number = if value.is_finite() { value.clamp(0.0, 1.0) - 0.5 } else { 0.0 };
                }
            }
            _ => {}
        }
    }

    /// The rows of a linear model, one for each output of a network, from the solution of the least squares that the objective amounts
    /// to; and what its outputs are moved by.
    ///
    /// With z = w·h the logistic loss is ln 2 − (y − ½)z + z²/8 up to terms of higher order, least where (Σhhᵀ/4)·w = Σ(y − ½)h: four
    /// times the least squares. One regression a class takes ±2 as its targets where logistic regression has ±½; what is the same in
    /// all rows does not count.
    pub fn outputs(self, solution: DMatrix<f64>) -> (DMatrix<f64>, f64) {
        match self {
            Rows::TwoClasses => {
                let two = DMatrix::from_fn(2, solution.ncols(), |row, column| {
                    if row == 0 { -2.0 * solution[(0, column)] } else { 2.0 * solution[(0, column)] }
                });
                (two, 0.0)
            }
            Rows::Classes(_) | Rows::Labels(_) => (solution * 4.0, 0.0),
            Rows::Values(_) => (solution, 0.5),
            Rows::Inputs(_) => (solution, 0.0),
        }
    }
}
