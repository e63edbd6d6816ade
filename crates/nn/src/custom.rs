//! Layers that a user of the library brings along.
//!
//! A layer that scales every feature by a weight of its own, with its gradients for single examples:
//!
//! ```
//! use muffle_nn::custom::CustomLayer;
//! use muffle_nn::layer::{Backward, Factors, Forward, Gradients, Initial, Layer, Tensor};
//! use muffle_nn::{Network, Shape};
//!
//! struct Scale {
//!     features: usize,
//! }
//!
//! impl Layer for Scale {
//!     fn kind(&self) -> &'static str {
//!         "scale"
//!     }
//!
//!     fn output(&self) -> Shape {
//!         Shape::Vector(self.features)
//!     }
//!
//!     fn tensors(&self) -> Vec<Tensor> {
//!         vec![Tensor::new("weight", vec![self.features], Initial::Constant(1.0))]
//!     }
//!
//!     fn forward(&self, Forward { weights, input, output, .. }: Forward) {
//!         for (index, output) in output.iter_mut().enumerate() {
//!             *output = weights.parameters[index % self.features] * input[index];
//!         }
//!     }
//!
//!     fn backward(&self, Backward { weights, upstream, downstream, .. }: Backward) {
//!         let Some(downstream) = downstream else { return };
//!         for (index, downstream) in downstream.iter_mut().enumerate() {
//!             *downstream = weights.parameters[index % self.features] * upstream[index];
//!         }
//!     }
//!
//!     fn squared_norms(&self, Gradients { input, upstream, .. }: Gradients, norms: &mut [f64]) {
//!         let examples = input.chunks_exact(self.features).zip(upstream.chunks_exact(self.features));
//!         for (norm, (input, upstream)) in norms.iter_mut().zip(examples) {
//!             *norm = input.iter().zip(upstream).map(|(x, g)| f64::from(x * g).powi(2)).sum();
//!         }
//!     }
//!
//!     fn accumulate(&self, Gradients { input, upstream, .. }: Gradients, factors: Factors, gradient: &mut [f32]) {
//!         for example in factors.examples() {
//!             for (feature, sum) in gradient.iter_mut().enumerate() {
//!                 let index = example * self.features + feature;
//!                 *sum += factors.at(0, example) * input[index] * upstream[index];
//!             }
//!         }
//!     }
//! }
//!
//! let scale = CustomLayer::new("scale", |context| match context.input {
//!     Shape::Vector(features) => Ok(Box::new(Scale { features })),
//!     _ => context.refuse("it takes a vector"),
//! });
//! let network = Network::new(Shape::Vector(4), &[scale.into()])?;
//! assert_eq!(network.parameters()[0].name, "0.weight");
//! # Ok::<(), muffle_nn::Error>(())
//! ```

use crate::error::Result;
use crate::layer::Layer;
use crate::layers::Context;
use std::fmt;
use std::sync::Arc;

/// Makes a layer for the shape that flows into it.
type Build = dyn Fn(&Context) -> Result<Box<dyn Layer>> + Send + Sync;

/// A layer of one's own, before its shape is known.
///
/// Where gradients of single examples are asked for, they are written out, and their norms taken from them, unless the layer says
/// [how it sums](Layer::summation) and so vouches for the norms it tells.
///
/// It goes wherever a [`LayerConfig`](crate::config::LayerConfig) goes. Model files know it by its kind only: what
/// [`ModelDescription::to_toml`](crate::ModelDescription::to_toml) writes of it cannot be read back.
#[derive(Clone)]
pub struct CustomLayer {
    kind: &'static str,
    build: Arc<Build>,
}

impl CustomLayer {
    /// `build` makes the layer or [refuses](Context::refuse) the shape; `kind` is its name in messages.
    pub fn new(
        kind: &'static str,
        build: impl Fn(&Context) -> Result<Box<dyn Layer>> + Send + Sync + 'static,
    ) -> CustomLayer {
        CustomLayer { kind, build: Arc::new(build) }
    }

    /// Name in messages.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Builds the layer for the shape of the context.
    pub fn build(&self, context: &Context) -> Result<Box<dyn Layer>> {
        (self.build)(context)
    }
}

impl fmt::Debug for CustomLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_tuple("CustomLayer").field(&self.kind).finish()
    }
}

/// Equal if made by the same call.
impl PartialEq for CustomLayer {
    fn eq(&self, other: &CustomLayer) -> bool {
        Arc::ptr_eq(&self.build, &other.build)
    }
}
