//! CIFAR-10: small colour photographs of ten kinds.

use super::{finish, names};
use crate::dataset::{Dataset, Records, Split};
use crate::entry::{Archive, Content, Entry, Official};
use crate::error::Result;
use crate::format::cifar::{Labels, records};
use crate::scaling::Scaling;

/// The registry's line.
pub static ENTRY: Entry = Entry {
    name: "cifar10",
    title: "small photographs, colour",
    input: &[3, 32, 32],
    records: (50_000, 10_000),
    classes: 10,
    licence: "none stated; the authors ask to be cited",
    citation: "Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images",
    folders: &["cifar10", "cifar-10", "cifar-10-batches-bin", "."],
    system: &[],
    files: &[
        batch("data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25"),
        batch("data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692"),
        batch("data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421"),
        batch("data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb"),
        batch("data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d"),
        batch("test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d"),
    ],
    archive: Some(Archive {
        name: "cifar-10-binary.tar.gz",
        md5: "c32a1d4ab5d03f1284b67883e8d87530",
        bytes: 170_052_171,
    }),
    downloads: &["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
    package: None,
    built_in: None,
    load,
};

const CLASSES: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

const fn batch(name: &'static str, md5: &'static str) -> Official {
    Official { name, bytes: 30_730_000, md5: Some(md5) }
}

fn load(entry: &Entry, mut contents: Vec<Content>) -> Result<Dataset> {
    let test = contents.split_off(contents.len().saturating_sub(1));
    let labels = Labels { bytes: 1, classes: CLASSES.len() };
    let (train, test) = rayon::join(|| split(&contents, labels), || split(&test, labels));
    let channels = [(0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616)];
    let scaling = Scaling::standard(255.0, &channels, "published constants of a public benchmark");
    finish(entry, names(&CLASSES), scaling, train?, test?)
}

/// All records of some files in the layout of CIFAR.
pub(super) fn split(contents: &[Content], labels: Labels) -> Result<Split> {
    let (mut pixels, mut classes) = (Vec::new(), Vec::new());
    for content in contents {
        records(&content.file, &content.bytes, labels, &mut pixels, &mut classes)?;
    }
    Ok(Split::classified(Records::Bytes(pixels), classes))
}
