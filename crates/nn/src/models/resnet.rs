//! Residual networks.

use super::parts::{dense, group_norm, residual_block, unbiased_conv};
use crate::config::{Entry, LayerConfig};
use crate::layers::activation::Activation;
use crate::model_file::ModelDescription;
use crate::shape::Shape;

/// ResNet-18 for photographs of 32 x 32 pixels: a 3 x 3 stem without a pool, and group normalisation.
///
/// # Source
/// He, Zhang, Ren, Sun 2016, "Deep residual learning for image recognition".
pub fn resnet18() -> ModelDescription {
    const NAMES: [&str; 5] = ["c1", "n1", "c2", "n2", "sc"];
    let mut layers: Vec<Entry> =
        vec![unbiased_conv(64, 3, 1, 1).into(), group_norm(64).into(), Activation::Relu.into()];
    let mut inputs = 64;
    for (outputs, stride) in [(64, 1), (128, 2), (256, 2), (512, 2)] {
        for stride in [stride, 1] {
            let name = layers.len().to_string();
            layers.push(residual_block(&name, NAMES, inputs, outputs, stride));
            inputs = outputs;
        }
    }
    layers.push(LayerConfig::GlobalAveragePool.into());
    // PyTorch code has a flattening layer in between; here the mean is a vector already.
    layers.push(Entry::named("13", dense(10)));
    ModelDescription { input: Shape::image(3, 32, 32), layers }
}
