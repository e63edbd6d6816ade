//! Every example scaled into the unit ball.

use crate::error::Result;
use crate::kernel::elementwise::{dot, scale_into, squared_norm};
use crate::layer::RelevanceRule;
use crate::layer::{Backward, Forward, Layer};
use crate::layers::Context;
use crate::shape::Shape;

/// `x / max(‖x‖, floor)` over all values of an example: those of a norm of at least `floor` get a norm of one, smaller ones
/// stay in proportion.
///
/// # Source
/// PyTorch's `torch.nn.functional.normalize` of flattened examples, with `p` and `eps`.
pub struct UnitNorm {
    shape: Shape,
    order: Order,
    floor: f32,
}

/// Which norm.
#[derive(Clone, Copy)]
enum Order {
    One,
    Two,
}

impl UnitNorm {
    /// The norm of order one or two, and the smallest number to divide by.
    pub fn new(context: &Context, order: usize, floor: f32) -> Result<UnitNorm> {
        let order = match order {
            1 => Order::One,
            2 => Order::Two,
            other => {
                return context.refuse(&format!("order = {other}; the norms are those of order 1 and 2"));
            }
        };
        if !(floor > 0.0 && floor.is_normal()) {
            return context.refuse(&format!("floor = {floor} is outside (0, infinity)"));
        }
        Ok(UnitNorm { shape: context.input, order, floor })
    }

    fn norm(&self, values: &[f32]) -> f32 {
        match self.order {
            Order::One => values.iter().map(|value| f64::from(value.abs())).sum::<f64>() as f32,
            Order::Two => squared_norm(values).sqrt() as f32,
        }
    }
}

impl Layer for UnitNorm {
    fn kind(&self) -> &'static str {
        "unit-norm"
    }

    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, Forward { input, output, .. }: Forward) {
        let len = self.shape.len();
        for (input, output) in input.chunks_exact(len).zip(output.chunks_exact_mut(len)) {
            scale_into(output, 1.0 / self.norm(input).max(self.floor), input);
        }
    }

    /// With `y = x / ‖x‖` and the gradient `g` of `y`: `(g − d ⟨y, g⟩) / ‖x‖`, where `d` is the gradient of the norm, `y` itself or
    /// the signs of `x`. Below the floor the layer is linear.
    fn backward(&self, Backward { values, upstream, downstream, .. }: Backward) {
        let Some(downstream) = downstream else { return };
        let len = self.shape.len();
        let examples = values.input.chunks_exact(len).zip(upstream.chunks_exact(len));
        for ((input, upstream), downstream) in examples.zip(downstream.chunks_exact_mut(len)) {
            let norm = self.norm(input);
            let inverse = 1.0 / norm.max(self.floor);
            scale_into(downstream, inverse, upstream);
            if norm <= self.floor {
                continue;
            }
            let along = dot(input, upstream) * inverse * inverse;
            for (downstream, &input) in downstream.iter_mut().zip(input) {
                *downstream -= match self.order {
                    Order::Two => along * input * inverse,
                    Order::One if input == 0.0 => 0.0,
                    Order::One => along * input.signum(),
                };
            }
        }
    }

    fn relevance(&self) -> Option<RelevanceRule> {
        Some(RelevanceRule::Through)
    }
}

#[cfg(test)]
mod tests {
    use crate::layer::Purpose;
    use crate::{Batch, Engine, ModelDescription, Options};
    use std::sync::Arc;

    fn outputs(layer: &str, inputs: &[f32]) -> Vec<f32> {
        let text = format!("input = [2]\nlayers = [{{ type = \"unit-norm\"{layer} }}]");
        let network = Arc::new(ModelDescription::from_toml(&text).unwrap().network().unwrap());
        let mut engine = Engine::new(network, Options::new(Purpose::Evaluate)).unwrap();
        let mut outputs = vec![0.0; inputs.len()];
        let batch = Batch::new(inputs.to_vec(), vec![0; inputs.len() / 2]);
        engine.outputs(&[], &batch, &mut outputs).unwrap();
        outputs
    }

    fn near(left: &[f32], right: &[f32]) -> bool {
        left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-6)
    }

    #[test]
    fn examples_by_hand() {
        let inputs = [3.0, -4.0, 0.3, 0.4, 0.0, 0.0];
        assert!(near(&outputs("", &inputs), &[0.6, -0.8, 0.6, 0.8, 0.0, 0.0]));
        assert!(near(
            &outputs(", order = 1", &inputs),
            &[3.0 / 7.0, -4.0 / 7.0, 3.0 / 7.0, 4.0 / 7.0, 0.0, 0.0]
        ));
        assert!(near(&outputs(", floor = 2", &inputs), &[0.6, -0.8, 0.15, 0.2, 0.0, 0.0]));
    }

    #[test]
    fn options_without_a_meaning_are_refused() {
        for (options, part) in
            [("order = 3", "order 1 and 2"), ("floor = 0", "floor = 0"), ("floor = -1", "floor = -1")]
        {
            let text = format!("input = [2]\nlayers = [{{ type = \"unit-norm\", {options} }}]");
            let message = ModelDescription::from_toml(&text).unwrap().network().err().unwrap().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
