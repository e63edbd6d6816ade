//! Networks: model files, and weights with their description inside.

use super::{path, said, seeds, text};
use crate::mutate::tensors::{self, file};
use crate::mutate::text as text_mutation;
use crate::target::{Memory, Target};
use muffle_nn::{ModelDescription, weights};
use serde_json::json;

pub static MODEL: Target = Target {
    name: "model",
    door: "ModelDescription::from_toml",
    seeds: || seeds(&MODELS),
    mutate: text_mutation::mutate,
    parse: |input| {
        let description = ModelDescription::from_toml(text(input)?).map_err(said)?;
        description.network().map_err(said)?;
        ModelDescription::from_toml(&description.to_toml()).map(drop).map_err(said)
    },
    memory: Memory { fixed: 1 << 20, each: 1 << 10 },
};

pub static WEIGHTS: Target = Target {
    name: "weights",
    door: "weights::parse",
    seeds: || vec![weights_of(&[("0.weight", &[2, 3]), ("0.bias", &[2])], "F32", 4), half_weights()],
    mutate: tensors::mutate,
    parse: |input| weights::parse(path(), input).map(drop).map_err(said),
    memory: MODEL.memory,
};

/// Every kind of layer and of arrangement.
const MODELS: [&str; 7] = [
    "input = [1, 9, 9]\nlayers = [{ type = \"conv2d\", channels = 4, kernel = 3, stride = [2, 1], padding = 1, groups = 1 }, \
     { type = \"relu\" }, { type = \"max-pool\", kernel = 2 }, { type = \"flatten\" }, { type = \"dense\", features = 10, bias = \
     false }]\n",
    "input = [4, 8, 8]\nlayers = [{ type = \"residual\", layers = [{ type = \"conv2d\", channels = 4, kernel = 3, padding = 1 }, \
     { type = \"group-norm\", groups = 2 }], shortcut = [] }, { type = \"average-pool\", kernel = [2, 2], stride = 1, padding = 0 }, \
     { type = \"global-average-pool\" }]\n",
    "input = [5, 3]\nlayers = [{ type = \"lstm\", features = 4, sequence = true }, { type = \"layer-norm\", affine = false }, \
     { type = \"reshape\", shape = [20] }, { type = \"dropout\", rate = 0.5 }]\n",
    "input = [7]\nlayers = [{ type = \"embedding\", tokens = 9, features = 2 }, { type = \"flatten\" }, { type = \"tanh\", name = \
     \"t\" }, { type = \"leaky-relu\", slope = 0.1 }]\n",
    "input = [2, 4, 4]\nlayers = [{ type = \"graph\", edges = [{ from = 0, to = 1, layers = [{ type = \"relu\" }] }, { from = 0, to \
     = 2 }, { from = 1, to = 2 }], outputs = [1, 2] }, { type = \"conv-transpose2d\", channels = 3, kernel = 2, stride = 2, \
     output_padding = 1 }]\n",
    "input = [6]\n[[layers]]\ntype = \"concat\"\nbranches = [{ type = \"dense\", features = 2 }, { type = \"sequential\", layers = \
     [{ type = \"dense\", features = 2 }] }]\n[[layers]]\ntype = \"fusion\"\nseparate = true\n",
    "input = [3, 8, 8]\nlayers = [{ type = \"sum\", branches = [{ type = \"sequential\", layers = [] }, { type = \"conv2d\", channels \
     = 3, kernel = 3, padding = 1, groups = 3 }] }, { type = \"batch-norm\" }]\n",
];

/// A dense layer with its description.
fn weights_of(tensors: &[(&str, &[usize])], kind: &str, width: usize) -> Vec<u8> {
    let model = "input = [3]\nlayers = [{ type = \"dense\", features = 2 }]\n";
    let mut header = json!({ "__metadata__": { "format": "pt", "muffle.model": model } });
    let mut end = 0;
    for (name, sizes) in tensors {
        let start = end;
        end += width * sizes.iter().product::<usize>();
        header[name] = json!({ "dtype": kind, "shape": sizes, "data_offsets": [start, end] });
    }
    file(header.to_string().as_bytes(), &vec![0x3c; end])
}

/// The same in half precision, with a counter that PyTorch keeps.
fn half_weights() -> Vec<u8> {
    weights_of(&[("0.weight", &[2, 3]), ("0.bias", &[2]), ("0.num_batches_tracked", &[1])], "F16", 2)
}
