//! What a plan has to say about floating point.

use super::Plan;
use crate::mechanism::{NoiseKind, largest_scale, most_widening};
use muffle_nn::Purpose;
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

    /// Layers whose sums are rounded in a way that is not bounded, in words.
    pub(super) fn unbounded_rounding(&self) -> Option<String> {
        let layers = self.network.layers_that_sum_positions();
        // Gradients that are written out are summed record by record.
        let written_out = self.recipe.training.augmentation.views > 1
            || self.build_method().is_ok_and(|method| method.purpose() == Purpose::Plain);
        if layers.is_empty() || written_out || !self.recipe.run.private {
            return None;
        }
        Some(format!(
            "floating point within {}: a record's terms are summed together with those of others, and how far rounding moves such a \
             sum is not bounded (docs/floating-point.md)",
            layers.join(", ")
        ))
    }
}
