//! Networks for short texts: 64 tokens out of 4,096, of which token 0 fills up.

use super::parts::{dense, max_pool, sequential};
use crate::config::{Entry, LayerConfig, Piece};
use crate::layers::activation::Activation;
use crate::model_file::ModelDescription;
use crate::shape::Shape;

const LENGTH: usize = 64;
const TOKENS: usize = 4096;
const FEATURES: usize = 128;

fn text(layers: Vec<Entry>) -> ModelDescription {
    ModelDescription { input: Shape::Vector(LENGTH), layers }
}

fn embedding() -> Entry {
    Entry::named("embedding", LayerConfig::Embedding { tokens: TOKENS, features: FEATURES, padding: Some(0) })
}

/// The mean of the tokens' features, and a dense layer: the order of words does not count.
///
/// # Source
/// Joulin et al. 2017, "Bag of tricks for efficient text classification", without pairs of words.
pub fn text_mean() -> ModelDescription {
    let mean = LayerConfig::EmbeddingBag { tokens: TOKENS, features: FEATURES, padding: Some(0) };
    text(vec![Entry::named("embedding", mean), Entry::named("fc", dense(10))])
}

/// Filters over three, four and five words, each answering with its largest value.
///
/// # Source
/// Kim 2014, "Convolutional neural networks for sentence classification", with one trained table of words and without dropout.
pub fn text_cnn() -> ModelDescription {
    let branch = |(index, kernel): (usize, usize)| {
        let conv = LayerConfig::Conv1d { channels: 100, kernel, stride: 1, padding: 0, bias: true };
        let places = LENGTH - kernel + 1;
        let layers = vec![
            Entry::named(&index.to_string(), conv),
            Activation::Relu.into(),
            max_pool(places, places, 0).into(),
            LayerConfig::Flatten.into(),
        ];
        sequential("", layers)
    };
    let branches = [3, 4, 5].into_iter().enumerate().map(branch).collect();
    text(vec![embedding(), Entry::named("convs", Piece::Concat(branches)), Entry::named("fc", dense(10))])
}

/// Reads a text word by word and decides at the end.
///
/// # Source
/// Cho et al. 2014, "Learning phrase representations using RNN encoder-decoder for statistical machine translation": its encoder.
pub fn text_gru() -> ModelDescription {
    let memory = LayerConfig::Gru { features: FEATURES, sequence: false };
    text(vec![embedding(), Entry::named("rnn", memory), Entry::named("fc", dense(10))])
}

/// One block of a transformer: attention and two dense layers, each normalised before and added to what came in.
///
/// # Source
/// Vaswani et al. 2017, "Attention is all you need", with the normalisation of Xiong et al. 2020, "On layer normalization in the
/// transformer architecture"; names as in PyTorch's `TransformerEncoderLayer`.
fn block(name: &str, heads: usize, hidden: usize) -> Entry {
    let norm = LayerConfig::LayerNorm { affine: true };
    let attention = vec![
        Entry::named("norm1", norm.clone()),
        Entry::named("self_attn", LayerConfig::MultiHeadAttention { heads, causal: false }),
    ];
    let forward = vec![
        Entry::named("norm2", norm),
        Entry::named("linear1", dense(hidden)),
        LayerConfig::Gelu.into(),
        Entry::named("linear2", dense(FEATURES)),
    ];
    let residual = |layers: Vec<Entry>| {
        let branches = vec![sequential("", layers), sequential("", Vec::new())];
        Entry::named("", Piece::Sum(branches))
    };
    sequential(name, vec![residual(attention), residual(forward)])
}

/// Two blocks of a transformer over words and places, and the mean over all places.
///
/// # Source
/// Vaswani et al. 2017, "Attention is all you need": an encoder with learned places.
pub fn text_transformer() -> ModelDescription {
    let blocks = ["0", "1"].map(|name| block(name, 4, 4 * FEATURES));
    let norm = Entry::named("norm", LayerConfig::LayerNorm { affine: true });
    text(vec![
        embedding(),
        Entry::named("position", LayerConfig::PositionEmbedding),
        sequential("encoder", vec![sequential("layers", blocks.into()), norm]),
        LayerConfig::GlobalAveragePool.into(),
        Entry::named("fc", dense(10)),
    ])
}
