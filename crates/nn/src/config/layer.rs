//! Layers as written in model files.

use crate::ends::Ends;
use crate::error::Result;
use crate::layer::Layer;
use crate::layers::Context;
use crate::layers::average_pool::AveragePool;
use crate::layers::batch_norm::BatchNorm;
use crate::layers::blocks::Blocks;
use crate::layers::chebyshev_sigmoid::ChebyshevSigmoid;
use crate::layers::conv_transpose2d::{ConvTranspose2d, Stretch};
use crate::layers::conv2d::Conv2d;
use crate::layers::dense::Dense;
use crate::layers::depthwise_conv2d::DepthwiseConv2d;
use crate::layers::dropout::Dropout;
use crate::layers::embedding::Embedding;
use crate::layers::embedding_bag::EmbeddingBag;
use crate::layers::flatten::Flatten;
use crate::layers::fusion::Fusion;
use crate::layers::gelu::Gelu;
use crate::layers::global_average_pool::GlobalAveragePool;
use crate::layers::group_norm::GroupNorm;
use crate::layers::gru::Gru;
use crate::layers::layer_norm::LayerNorm;
use crate::layers::lstm::Lstm;
use crate::layers::marginals::Marginals;
use crate::layers::max_pool::MaxPool;
use crate::layers::mirror::Mirror;
use crate::layers::multi_head_attention::MultiHeadAttention;
use crate::layers::position_embedding::PositionEmbedding;
use crate::layers::random_fourier::RandomFourier;
use crate::layers::reshape::Reshape;
use crate::layers::scale::Scale;
use crate::layers::scattering::Scattering;
use crate::layers::unit_norm::UnitNorm;
use crate::layers::upsample::Upsample;
use crate::layers::window::{Extent, Window};
use crate::layers::winograd_conv2d::WinogradConv2d;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};

/// A layer with its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayerConfig {
    /// Fully connected.
    Dense {
        /// Outputs.
        features: usize,
        /// Whether to add a bias.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// Convolution.
    #[serde(rename = "conv2d")]
    Conv2d {
        /// Outputs.
        channels: usize,
        /// Window.
        kernel: Extent,
        /// Step of the window.
        #[serde(default = "one")]
        stride: Extent,
        /// Border of zeros.
        #[serde(default = "zero")]
        padding: Extent,
        /// Groups of channels that do not see each other.
        #[serde(default = "one_group")]
        groups: usize,
        /// Whether to add a bias.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// Convolution over the steps of a sequence.
    #[serde(rename = "conv1d")]
    Conv1d {
        /// Outputs.
        channels: usize,
        /// Steps under the window.
        kernel: usize,
        /// Step of the window.
        #[serde(default = "one_step")]
        stride: usize,
        /// Steps of zeros before and after.
        #[serde(default)]
        padding: usize,
        /// Whether to add a bias.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// Largest value under a window.
    MaxPool {
        /// Window.
        kernel: Extent,
        /// Step of the window; the window itself if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stride: Option<Extent>,
        /// Border that never wins.
        #[serde(default = "zero")]
        padding: Extent,
    },
    /// Transposed convolution.
    #[serde(rename = "conv-transpose2d")]
    ConvTranspose2d {
        /// Outputs.
        channels: usize,
        /// Window.
        kernel: Extent,
        /// Distance between the windows of neighbouring inputs.
        #[serde(default = "one")]
        stride: Extent,
        /// Border cut off from the output.
        #[serde(default = "zero")]
        padding: Extent,
        /// Rows and columns added below and to the right.
        #[serde(default = "zero")]
        output_padding: Extent,
        /// Whether to add a bias.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// Mean under a window; padding counts as zeros.
    AveragePool {
        /// Window.
        kernel: Extent,
        /// Step of the window; the window itself if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stride: Option<Extent>,
        /// Border of zeros.
        #[serde(default = "zero")]
        padding: Extent,
    },
    /// Mean over all pixels of an image, or all steps of a sequence.
    GlobalAveragePool,
    /// Values set to zero at random in training.
    Dropout {
        /// Probability to drop a value.
        rate: f32,
    },
    /// Normalisation over groups of channels of one example.
    GroupNorm {
        /// Groups; they must divide the channels.
        groups: usize,
        /// Whether to add a trainable scale and shift.
        #[serde(default = "yes")]
        affine: bool,
    },
    /// Normalisation over the features of one vector.
    LayerNorm {
        /// Whether to add a trainable scale and shift.
        #[serde(default = "yes")]
        affine: bool,
    },
    /// Every example divided by its norm.
    UnitNorm {
        /// Which norm: that of order 1 or 2.
        #[serde(default = "two")]
        order: usize,
        /// The smallest number to divide by.
        #[serde(default = "floor")]
        floor: f32,
    },
    /// Normalisation over the batch: for training without privacy only.
    BatchNorm,
    /// Token numbers to feature vectors.
    Embedding {
        /// Number of tokens.
        tokens: usize,
        /// Features of each.
        features: usize,
        /// The token that fills up short texts: no layer behind looks at it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        padding: Option<usize>,
    },
    /// Token numbers to the mean of their feature vectors.
    EmbeddingBag {
        /// Number of tokens.
        tokens: usize,
        /// Features of each.
        features: usize,
        /// The token that fills up short texts and does not count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        padding: Option<usize>,
    },
    /// A trainable vector for every place of a sequence, added to what is there.
    PositionEmbedding,
    /// `x` times the normal distribution function of `x`.
    Gelu,
    /// A polynomial of degree seven that stands for a sigmoid.
    ChebyshevSigmoid {
        /// What inputs are divided by; beyond it they are cut.
        scale: f32,
    },
    /// Wavelet scattering: features without parameters.
    Scattering,
    /// Every step of a sequence looks at all steps.
    MultiHeadAttention {
        /// Heads; they must divide the features.
        heads: usize,
        /// Whether a step sees only those up to itself.
        #[serde(default)]
        causal: bool,
    },
    /// Image or sequence to vector.
    Flatten,
    /// The logits of two networks, side by side, to one.
    Fusion {
        /// Whether each network is trained by a loss of its own.
        #[serde(default)]
        separate: bool,
    },
    /// Another shape for the same values, in PyTorch's order.
    Reshape {
        /// Sizes: `[features]`, `[steps, features]` or `[channels, height, width]`.
        shape: Vec<usize>,
    },
    /// Every pixel as a square of itself.
    Upsample {
        /// Pixels on a side of the square.
        #[serde(default = "two")]
        factor: usize,
    },
    /// Softmax over each of several blocks of values, the hyperbolic tangent of a block of one.
    Blocks {
        /// Values in each block.
        widths: Vec<usize>,
    },
    /// Products of the values of every two columns of a table.
    Marginals {
        /// Values of each column, in order; one for a number between -1 and 1.
        widths: Vec<usize>,
        /// Places that a number is told by.
        #[serde(default = "parts")]
        parts: usize,
    },
    /// Cosine and sine of products with random directions: features without parameters.
    RandomFourier {
        /// Directions; there are two outputs for each.
        features: usize,
        /// How far apart inputs are that count as different.
        width: f32,
        /// Of the directions.
        #[serde(default)]
        seed: u64,
    },
    /// Left and right of an image exchanged.
    Mirror,
    /// Every value times a number of its own, which training does not move: ones, unless a method sets them.
    Scale,
    /// Long short-term memory.
    Lstm {
        /// Size of the hidden state.
        features: usize,
        /// Whether to pass on the hidden state after every step, or only after the last.
        #[serde(default)]
        sequence: bool,
    },
    /// Gated recurrent unit.
    Gru {
        /// Size of the hidden state.
        features: usize,
        /// Whether to pass on the hidden state after every step, or only after the last.
        #[serde(default)]
        sequence: bool,
    },
}

fn yes() -> bool {
    true
}

fn one() -> Extent {
    Extent::Square(1)
}

fn zero() -> Extent {
    Extent::Square(0)
}

fn one_group() -> usize {
    1
}

fn one_step() -> usize {
    1
}

fn two() -> usize {
    2
}

fn parts() -> usize {
    16
}

fn floor() -> f32 {
    1e-12
}

/// The largest integer inside a value.
fn largest(value: &toml::Value) -> usize {
    match value {
        toml::Value::Integer(number) => usize::try_from(*number).unwrap_or(0),
        toml::Value::Array(values) => values.iter().map(largest).max().unwrap_or(0),
        toml::Value::Table(table) => table.values().map(largest).max().unwrap_or(0),
        _ => 0,
    }
}

impl LayerConfig {
    /// Kind, as written in model files.
    pub fn kind(&self) -> &'static str {
        match self {
            LayerConfig::Dense { .. } => "dense",
            LayerConfig::Conv2d { .. } => "conv2d",
            LayerConfig::Conv1d { .. } => "conv1d",
            LayerConfig::MaxPool { .. } => "max-pool",
            LayerConfig::ConvTranspose2d { .. } => "conv-transpose2d",
            LayerConfig::AveragePool { .. } => "average-pool",
            LayerConfig::GlobalAveragePool => "global-average-pool",
            LayerConfig::Dropout { .. } => "dropout",
            LayerConfig::GroupNorm { .. } => "group-norm",
            LayerConfig::LayerNorm { .. } => "layer-norm",
            LayerConfig::UnitNorm { .. } => "unit-norm",
            LayerConfig::BatchNorm => "batch-norm",
            LayerConfig::Embedding { .. } => "embedding",
            LayerConfig::EmbeddingBag { .. } => "embedding-bag",
            LayerConfig::PositionEmbedding => "position-embedding",
            LayerConfig::Gelu => "gelu",
            LayerConfig::ChebyshevSigmoid { .. } => "chebyshev-sigmoid",
            LayerConfig::Scattering => "scattering",
            LayerConfig::MultiHeadAttention { .. } => "multi-head-attention",
            LayerConfig::Flatten => "flatten",
            LayerConfig::Fusion { .. } => "fusion",
            LayerConfig::Reshape { .. } => "reshape",
            LayerConfig::Upsample { .. } => "upsample",
            LayerConfig::Blocks { .. } => "blocks",
            LayerConfig::Marginals { .. } => "marginals",
            LayerConfig::RandomFourier { .. } => "random-fourier",
            LayerConfig::Mirror => "mirror",
            LayerConfig::Scale => "scale",
            LayerConfig::Lstm { .. } => "lstm",
            LayerConfig::Gru { .. } => "gru",
        }
    }

    /// The largest number among the options.
    pub fn largest_number(&self) -> usize {
        // What TOML cannot write is beyond any limit.
        toml::Value::try_from(self).map_or(usize::MAX, |value| largest(&value))
    }

    /// Builds the layer for the shape that flows into it, of which all steps are real.
    pub fn build(&self, name: &str, input: Shape) -> Result<Box<dyn Layer>> {
        self.build_in(&Context { name: name.to_string(), kind: self.kind(), input, ends: Ends::default() })
    }

    /// Builds the layer for a place in a network.
    pub fn build_in(&self, context: &Context) -> Result<Box<dyn Layer>> {
        let input = context.input;
        Ok(match *self {
            LayerConfig::Dense { features, bias } => Box::new(Dense::new(context, features, bias)?),
            LayerConfig::Conv2d { channels, kernel, stride, padding, groups, bias } => {
                if !matches!(input, Shape::Image { .. }) {
                    return context
                        .refuse("it takes an image [channels, height, width]; for a sequence use `conv1d`");
                }
                let window = Window::new(context, kernel, stride, padding)?;
                if groups > 1 && groups == window.channels && groups == channels {
                    return Ok(Box::new(DepthwiseConv2d::new(window, bias)));
                }
                if WinogradConv2d::suits(&window, channels, groups) {
                    return Ok(Box::new(WinogradConv2d::new(window, channels, bias)));
                }
                Box::new(Conv2d::new(context, channels, window, groups, bias)?)
            }
            LayerConfig::Conv1d { channels, kernel, stride, padding, bias } => {
                if !matches!(input, Shape::Sequence { .. }) {
                    return context.refuse("it takes a sequence [steps, features]");
                }
                let [kernel, stride, padding] = [kernel, stride, padding].map(Extent::Square);
                let window = Window::new(context, kernel, stride, padding)?;
                Box::new(Conv2d::new(context, channels, window, 1, bias)?)
            }
            LayerConfig::MaxPool { kernel, stride, padding } => {
                Box::new(MaxPool::new(context, kernel, stride.unwrap_or(kernel), padding)?)
            }
            LayerConfig::ConvTranspose2d { channels, kernel, stride, padding, output_padding, bias } => {
                let stretch = Stretch { kernel, stride, padding, output_padding };
                Box::new(ConvTranspose2d::new(context, channels, stretch, bias)?)
            }
            LayerConfig::AveragePool { kernel, stride, padding } => {
                Box::new(AveragePool::new(context, kernel, stride.unwrap_or(kernel), padding)?)
            }
            LayerConfig::GlobalAveragePool => Box::new(GlobalAveragePool::new(context)?),
            LayerConfig::Dropout { rate } => Box::new(Dropout::new(context, rate)?),
            LayerConfig::GroupNorm { groups, affine } => Box::new(GroupNorm::new(context, groups, affine)?),
            LayerConfig::LayerNorm { affine } => Box::new(LayerNorm::new(context, affine)?),
            LayerConfig::UnitNorm { order, floor } => Box::new(UnitNorm::new(context, order, floor)?),
            LayerConfig::BatchNorm => Box::new(BatchNorm::new(context)?),
            LayerConfig::Embedding { tokens, features, padding } => {
                Box::new(Embedding::new(context, tokens, features, padding)?)
            }
            LayerConfig::EmbeddingBag { tokens, features, padding } => {
                Box::new(EmbeddingBag::new(context, tokens, features, padding)?)
            }
            LayerConfig::PositionEmbedding => Box::new(PositionEmbedding::new(context)?),
            LayerConfig::Gelu => Box::new(Gelu::new(context)),
            LayerConfig::ChebyshevSigmoid { scale } => Box::new(ChebyshevSigmoid::new(context, scale)?),
            LayerConfig::Scattering => Box::new(Scattering::new(context)?),
            LayerConfig::MultiHeadAttention { heads, causal } => {
                Box::new(MultiHeadAttention::new(context, heads, causal)?)
            }
            LayerConfig::Flatten => Box::new(Flatten::new(context)?),
            LayerConfig::Fusion { separate } => Box::new(Fusion::new(context, separate)?),
            LayerConfig::Reshape { ref shape } => Box::new(Reshape::new(context, shape)?),
            LayerConfig::Upsample { factor } => Box::new(Upsample::new(context, factor)?),
            LayerConfig::Blocks { ref widths } => Box::new(Blocks::new(context, widths)?),
            LayerConfig::Marginals { ref widths, parts } => Box::new(Marginals::new(context, widths, parts)?),
            LayerConfig::RandomFourier { features, width, seed } => {
                Box::new(RandomFourier::new(context, features, width, seed)?)
            }
            LayerConfig::Mirror => Box::new(Mirror::new(context)?),
            LayerConfig::Scale => Box::new(Scale::new(context)),
            LayerConfig::Lstm { features, sequence } => Box::new(Lstm::new(context, features, sequence)?),
            LayerConfig::Gru { features, sequence } => Box::new(Gru::new(context, features, sequence)?),
        })
    }
}
