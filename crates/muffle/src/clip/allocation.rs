//! How noise is shared among groups.

use serde::{Deserialize, Serialize};

/// Three ways to share noise among groups at the same price.
///
/// # Source
/// Rule R5; the second is McMahan et al. 2018 ("A general approach to adding differential privacy to iterative training
/// procedures"), the third minimises Σ d·τ² under the constraint by Lagrange's method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// The same noise everywhere: τ = σ·√Σ C².
    #[default]
    Flat,
    /// Each group spends the same share of the budget: τ = σ·√G·C.
    EqualShare,
    /// The least expected squared length of the noise: τ² = σ²·(C/√d)·Σ C√d.
    LeastEnergy,
}

impl Allocation {
    /// Standard deviation in each group for a noise multiplier of one, from thresholds and numbers of values.
    pub(super) fn deviations(self, thresholds: &[f64], dimensions: &[usize]) -> Vec<f64> {
        match self {
            Allocation::Flat => {
                let sensitivity = thresholds.iter().map(|threshold| threshold.powi(2)).sum::<f64>().sqrt();
                vec![sensitivity; thresholds.len()]
            }
            Allocation::EqualShare => {
                let root = (thresholds.len() as f64).sqrt();
                thresholds.iter().map(|threshold| root * threshold).collect()
            }
            Allocation::LeastEnergy => {
                let roots: Vec<f64> = dimensions.iter().map(|&dimension| (dimension as f64).sqrt()).collect();
                let sum: f64 = thresholds.iter().zip(&roots).map(|(threshold, root)| threshold * root).sum();
                thresholds
                    .iter()
                    .zip(&roots)
                    .map(|(threshold, root)| (threshold / root * sum).sqrt())
                    .collect()
            }
        }
    }
}
