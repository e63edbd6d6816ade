//! What a plan has to say about floating point.

use super::Plan;
use crate::mechanism::{NoiseKind, largest_scale, most_widening};
use serde_json::{Value, json};

impl Plan {
    /// What rounding adds to the noise, and how far the noise is from real numbers: delta grows by (1 + e^epsilon) times that.
    pub(super) fn floating_point(&self) -> Value {
        let parameters = self.network.parameter_len();
        let laplace = self.recipe.training.noise.kind == NoiseKind::Laplace;
        let scale = largest_scale(self.noise_multiplier, parameters, laplace);
        let numbers = self.steps as f64 * parameters as f64;
        json!({
            "noise_is_wider_by_at_most": most_widening(),
            "total_variation_of_the_noise": numbers * scale * 2f64.powi(-90),
        })
    }
}
