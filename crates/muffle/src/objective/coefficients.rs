//! The coefficients of an objective of degree two: sums over all records, released once.

use super::features::FeatureMap;
use super::targets::Rows;
use crate::clip::MARGIN;
use crate::error::Result;
use crate::mechanism::{BoundedVector, NoiseKind, Reported};
use crate::moments::{BLOCK, SecondMoments, add_products, triangle};
use muffle_nn::{Engine, Examples, Options, Purpose, Target};
use nalgebra::{DMatrix, DVector};
use std::f64::consts::SQRT_2;

/// What is summed: for each record with features h and target numbers t the products t·hᵀ, and those of the features with each other
/// times `quadratic`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// The target numbers.
    pub rows: Rows,
    /// The noise, which decides the norm that features are bounded in.
    pub noise: NoiseKind,
    /// Weight of the products of features beside those with the target.
    pub quadratic: f64,
    /// The share of a record's norm that is the constant feature behind its own.
    pub intercept: f64,
}

impl Form {
    /// How far one record can move the coefficients, in the norm of the noise.
    ///
    /// # Guarantee
    /// In L2 norm √(τ² + κ²), in L1 norm τ + κ, for target numbers of norm τ and the weight κ: the features have a norm of at most 1,
    /// so that t·hᵀ has one of at most τ, and hhᵀ one of 1.
    pub fn bound(&self) -> f64 {
        let target = self.rows.bound(self.noise);
        match self.noise {
            NoiseKind::Gaussian => target.hypot(self.quadratic),
            NoiseKind::Laplace => target + self.quadratic,
        }
    }

    /// How much entries beside the diagonal count: both of a pair are told by one number, and one factor keeps the norm of all
    /// numbers at that of the matrix.
    fn beside(&self) -> f64 {
        match self.noise {
            NoiseKind::Gaussian => SQRT_2,
            NoiseKind::Laplace => 2.0,
        }
    }

    /// What features and the constant are multiplied by.
    pub fn scales(&self) -> (f64, f64) {
        let own = match self.noise {
            NoiseKind::Gaussian => (1.0 - self.intercept.powi(2)).sqrt(),
            NoiseKind::Laplace => 1.0 - self.intercept,
        };
        (own, self.intercept)
    }

    /// Standard deviation of the noise on the products of features with each other.
    pub fn deviation(&self, noise_multiplier: f64) -> f64 {
        let scale = noise_multiplier * self.bound() / self.quadratic;
        match self.noise {
            NoiseKind::Gaussian => scale,
            NoiseKind::Laplace => scale * SQRT_2,
        }
    }

    /// Number of coefficients for so many features, the constant included.
    pub fn count(&self, width: usize) -> usize {
        self.rows.count() * width + width * (width + 1) / 2
    }

    /// One record's features and the constant, of a norm of at most one; nothing if they are not finite.
    fn write_features(&self, own: &[f32], column: &mut [f64]) {
        let (scale, constant) = self.scales();
        let (last, column) = column.split_last_mut().expect("there is room for the constant");
        *last = if self.write_scaled(own, scale, column) { MARGIN * constant } else { 0.0 };
    }

    /// Values of a norm of at most `scale`; nothing, and false, if they are not finite.
    fn write_scaled(&self, own: &[f32], scale: f64, column: &mut [f64]) -> bool {
        let norm = match self.noise {
            NoiseKind::Gaussian => own.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt(),
            NoiseKind::Laplace => own.iter().map(|value| f64::from(value.abs())).sum(),
        };
        if !norm.is_finite() {
            column.fill(0.0);
            return false;
        }
        let factor = MARGIN * scale / norm.max(1.0);
        column.iter_mut().zip(own).for_each(|(value, own)| *value = factor * f64::from(*own));
        true
    }

    /// The numbers that are released.
    fn flattened(&self, linear: &DMatrix<f64>, upper: &DMatrix<f64>) -> Vec<f64> {
        let mut values: Vec<f64> = linear.iter().copied().collect();
        let weighted = DMatrix::from_fn(upper.nrows(), upper.ncols(), |row, column| {
            upper[(row, column)] * if row == column { self.quadratic } else { self.quadratic * self.beside() }
        });
        values.extend(triangle::of(&weighted));
        values
    }

    /// The coefficients that were released as these numbers, for so many features with the constant.
    pub fn restored(&self, values: &[f64], width: usize) -> Coefficients {
        let rows = self.rows.count();
        let linear = DMatrix::from_column_slice(rows, width, &values[..rows * width]);
        let mut quadratic = triangle::mirrored(&values[rows * width..], width);
        for row in 0..width {
            for column in 0..width {
                quadratic[(row, column)] /=
                    if row == column { self.quadratic } else { self.quadratic * self.beside() };
            }
        }
        Coefficients { linear, quadratic }
    }
}

/// The sums that the objective is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// Σ t·hᵀ: a row for each target number, a column for each feature, the constant behind them.
    pub linear: DMatrix<f64>,
    /// Σ h·hᵀ.
    pub quadratic: DMatrix<f64>,
}

/// The sums of some records, which are not private yet.
pub struct Sums<'a> {
    /// What is summed.
    pub form: &'a Form,
    /// The features of a record.
    pub map: &'a FeatureMap,
    /// Those that [`Rows::Inputs`] is about.
    pub inputs: &'a FeatureMap,
    /// The records.
    pub records: &'a dyn Examples,
    /// Threads; the machine's cores if absent.
    pub threads: Option<usize>,
}

impl Sums<'_> {
    /// The coefficients, for a release.
    ///
    /// # Guarantee
    /// One record changes the numbers by at most the form's [bound](Form::bound), rounding included: features are scaled again here,
    /// whatever the network makes of them, with a margin of 10⁻⁵; a record whose features are not finite contributes nothing.
    pub fn coefficients(&self) -> Result<BoundedVector> {
        let values = self.values()?;
        Ok(match self.form.noise {
            NoiseKind::Gaussian => BoundedVector::l2(values, self.form.bound()),
            NoiseKind::Laplace => BoundedVector::l1(values, self.form.bound()),
        })
    }

    /// The numbers of the coefficients. **Not private.**
    fn values(&self) -> Result<Vec<f64>> {
        let width = self.map.width() + 1;
        let mut linear = DMatrix::zeros(self.form.rows.count(), width);
        let mut quadratic = SecondMoments::new(width);
        self.for_each_block(|features, targets| {
            add_products(&mut linear, targets, features);
            quadratic.add(features);
        })?;
        Ok(self.form.flattened(&linear, quadratic.upper()))
    }

    /// The coefficients of what records reported of themselves, which is free to use (R9).
    pub fn of_reports(
        form: &Form,
        map: &FeatureMap,
        reports: &Reported,
        threads: Option<usize>,
    ) -> Result<Vec<f64>> {
        Sums { form, map, inputs: map, records: reports, threads }.values()
    }

    /// The sum of the features, the constant behind them, for a release.
    ///
    /// # Guarantee
    /// One record changes the numbers by at most 1 in the norm of the noise.
    pub fn features(&self) -> Result<BoundedVector> {
        let mut sum = DVector::zeros(self.map.width() + 1);
        self.for_each_block(|features, _| sum += features.column_sum())?;
        let values = sum.iter().copied().collect();
        Ok(match self.form.noise {
            NoiseKind::Gaussian => BoundedVector::l2(values, 1.0),
            NoiseKind::Laplace => BoundedVector::l1(values, 1.0),
        })
    }

    /// Hands out features and target numbers, with a column for each of a block of records.
    fn for_each_block(&self, mut visit: impl FnMut(&DMatrix<f64>, &DMatrix<f64>)) -> Result<()> {
        let Sums { form, map, inputs, records, threads } = *self;
        let options = Options { threads, ..Options::new(Purpose::Evaluate) };
        let mut engine = Engine::new(map.network().clone(), options)?;
        let mut given = match form.rows {
            Rows::Inputs(_) => Some(Engine::new(inputs.network().clone(), options)?),
            _ => None,
        };
        for first in (0..records.len()).step_by(BLOCK) {
            let block = Part { records, first, count: BLOCK.min(records.len() - first) };
            let mut features = DMatrix::zeros(map.width() + 1, block.count);
            let own = outputs(&mut engine, map, &block)?;
            for (own, mut column) in own.chunks_exact(map.width()).zip(features.column_iter_mut()) {
                form.write_features(own, column.as_mut_slice());
            }
            let mut targets = DMatrix::zeros(form.rows.count(), block.count);
            match &mut given {
                Some(engine) => {
                    let inputs = outputs(engine, inputs, &block)?;
                    let columns = inputs.chunks_exact(form.rows.count()).zip(targets.column_iter_mut());
                    for (own, mut column) in columns {
                        form.write_scaled(own, 1.0, column.as_mut_slice());
                    }
                }
                None => {
                    for (index, mut column) in targets.column_iter_mut().enumerate() {
                        form.rows.write(block.target(index), column.as_mut_slice());
                    }
                }
            }
            visit(&features, &targets);
        }
        Ok(())
    }
}

/// What a network of features makes of some records.
fn outputs(engine: &mut Engine, map: &FeatureMap, records: &dyn Examples) -> Result<Vec<f32>> {
    let mut outputs = vec![0.0; records.len() * map.width()];
    engine.outputs(map.parameters(), records, &mut outputs)?;
    Ok(outputs)
}

/// Some of the records, one after the other.
struct Part<'a> {
    records: &'a dyn Examples,
    first: usize,
    count: usize,
}

impl Examples for Part<'_> {
    fn len(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        self.records.read(self.first + index, input);
    }

    fn target(&self, index: usize) -> Target<'_> {
        self.records.target(self.first + index)
    }
}
