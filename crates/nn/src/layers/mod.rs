//! The layers, one file each.

pub mod activation;
mod affine;
pub mod average_pool;
pub mod batch_norm;
pub(crate) mod blank;
pub mod blocks;
mod cells;
pub mod chebyshev_sigmoid;
pub mod conv2d;
mod conv2d_tables;
pub mod conv_transpose2d;
pub mod dense;
mod dense_pair;
pub mod depthwise_conv2d;
pub mod dropout;
pub mod embedding;
pub mod embedding_bag;
mod filters;
pub mod flatten;
pub mod fusion;
pub mod gelu;
pub mod global_average_pool;
mod gram;
pub mod group_norm;
pub mod gru;
mod kept;
pub mod layer_norm;
pub mod lstm;
pub mod marginals;
pub mod max_pool;
pub mod mirror;
pub mod multi_head_attention;
mod patch_gram;
mod pixel_bias;
pub mod position_embedding;
pub mod random_fourier;
pub mod reshape;
pub mod scale;
pub mod scattering;
pub mod unit_norm;
pub mod upsample;
mod upstream_phases;
mod upstream_spread;
pub mod window;
pub mod winograd_conv2d;
pub(crate) mod written_out;

use crate::ends::Ends;
use crate::error::{Error, Result};
use crate::shape::Shape;

/// Where a layer is being built: its name and what flows into it.
pub struct Context {
    /// Name of the layer in the network.
    pub name: String,
    /// Kind, as written in model files.
    pub kind: &'static str,
    /// Shape of an input example.
    pub input: Shape,
    /// Where short texts end in it.
    pub ends: Ends,
}

impl Context {
    /// The error for an input this layer cannot take.
    pub fn refuse<T>(&self, reason: &str) -> Result<T> {
        Err(Error::Shape {
            layer: self.name.clone(),
            kind: self.kind,
            input: self.input,
            reason: reason.to_string(),
        })
    }
}
