//! Fashion-MNIST: ten kinds of clothes in the format of MNIST.
//!
//! Renditions differ in their compression, so contents are compared, not gzip files.

use super::load_idx;
use crate::entry::{Entry, Official};
use crate::scaling::Scaling;

/// The registry's line.
pub static ENTRY: Entry = Entry {
    name: "fashion-mnist",
    title: "articles of clothing, grey",
    input: &[1, 28, 28],
    records: (60_000, 10_000),
    classes: 10,
    licence: "MIT (Zalando SE)",
    citation: "Xiao, Rasul, Vollgraf 2017, Fashion-MNIST, arXiv 1708.07747",
    folders: &["fashion-mnist", "fashion_mnist", "FashionMNIST/raw"],
    system: &["/usr/share/datasets/fashion-mnist"],
    files: &FILES,
    archive: None,
    downloads: &[
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/train-images-idx3-ubyte.gz",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/train-labels-idx1-ubyte.gz",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/t10k-images-idx3-ubyte.gz",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/t10k-labels-idx1-ubyte.gz",
    ],
    package: Some("apt install dataset-fashion-mnist"),
    built_in: None,
    load: |entry, contents| load_idx(entry, contents, &CLASSES, scaling()),
};

const CLASSES: [&str; 10] = [
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
];

fn scaling() -> Scaling {
    Scaling::standard(255.0, &[(0.2860, 0.3530)], "published constants of a public benchmark")
}

static FILES: [Official; 4] = [
    Official {
        name: "train-images-idx3-ubyte",
        bytes: 47_040_016,
        md5: Some("f4a8712d7a061bf5bd6d2ca38dc4d50a"),
    },
    Official {
        name: "train-labels-idx1-ubyte",
        bytes: 60_008,
        md5: Some("9018921c3c673c538a1fc5bad174d6f9"),
    },
    Official {
        name: "t10k-images-idx3-ubyte",
        bytes: 7_840_016,
        md5: Some("8181f5470baa50b63fa0f6fddb340f0a"),
    },
    Official { name: "t10k-labels-idx1-ubyte", bytes: 10_008, md5: Some("15d484375f8d13e6eb1aabb0c3f46965") },
];
