//! MNIST, built into the binary so that a first run needs no download.

use super::load_idx;
use crate::entry::{Entry, Official};
use crate::scaling::Scaling;

/// The registry's line.
pub static ENTRY: Entry = Entry {
    name: "mnist",
    title: "handwritten digits, grey",
    input: &[1, 28, 28],
    records: (60_000, 10_000),
    classes: 10,
    licence: "CC BY-SA 3.0 (Yann LeCun, Corinna Cortes)",
    citation: "LeCun, Bottou, Bengio, Haffner 1998, Gradient-based learning applied to document recognition",
    folders: &[],
    system: &[],
    files: &FILES,
    archive: None,
    downloads: &[],
    package: None,
    built_in: Some(&BUILT_IN),
    load: |entry, contents| load_idx(entry, contents, &CLASSES, scaling()),
};

const CLASSES: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// The constants every tutorial prints; they were once computed from these published training images.
fn scaling() -> Scaling {
    Scaling::standard(255.0, &[(0.1307, 0.3081)], "published constants of a public benchmark")
}

static FILES: [Official; 4] = [
    Official {
        name: "train-images-idx3-ubyte",
        bytes: 47_040_016,
        md5: Some("6bbc9ace898e44ae57da46a324031adb"),
    },
    Official {
        name: "train-labels-idx1-ubyte",
        bytes: 60_008,
        md5: Some("a25bea736e30d166cdddb491f175f624"),
    },
    Official {
        name: "t10k-images-idx3-ubyte",
        bytes: 7_840_016,
        md5: Some("2646ac647ad5339dbf082846283269ea"),
    },
    Official { name: "t10k-labels-idx1-ubyte", bytes: 10_008, md5: Some("27ae3e4e09519cfbb04c329615203637") },
];

static BUILT_IN: [&[u8]; 4] = [
    include_bytes!("../../mnist/train-images-idx3-ubyte.gz"),
    include_bytes!("../../mnist/train-labels-idx1-ubyte.gz"),
    include_bytes!("../../mnist/t10k-images-idx3-ubyte.gz"),
    include_bytes!("../../mnist/t10k-labels-idx1-ubyte.gz"),
];
