//! CIFAR-100: the same kind of photographs, a hundred fine classes.
//!
//! The publisher gives a checksum of the archive only. Loose files are checked by their length and by what the page
//! says of every fine class: 500 training and 100 test images.

use super::cifar10::split;
use super::{exactly, finish, names};
use crate::dataset::{Dataset, Split};
use crate::entry::{Archive, Content, Entry, Official};
use crate::error::{DataError, Result};
use crate::format::cifar::Labels;
use crate::scaling::Scaling;

/// The registry's line.
pub static ENTRY: Entry = Entry {
    name: "cifar100",
    title: "small photographs, colour, fine labels",
    input: &[3, 32, 32],
    records: (50_000, 10_000),
    classes: 100,
    licence: "none stated; the authors ask to be cited",
    citation: "Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images",
    folders: &["cifar100", "cifar-100", "cifar-100-binary"],
    system: &[],
    files: &[
        Official { name: "train.bin", bytes: 153_700_000, md5: None },
        Official { name: "test.bin", bytes: 30_740_000, md5: None },
    ],
    archive: Some(Archive {
        name: "cifar-100-binary.tar.gz",
        md5: "03b5dce01913d631647c71ecec9e9cb8",
        bytes: 168_513_733,
    }),
    downloads: &["https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"],
    package: None,
    built_in: None,
    load,
};

fn load(entry: &Entry, contents: Vec<Content>) -> Result<Dataset> {
    let [train, test] = exactly(entry, contents)?;
    let read = |content: Content, each: usize| {
        let labels = Labels { bytes: 2, classes: CLASSES.len() };
        let read = split(std::slice::from_ref(&content), labels)?;
        balanced(&content.file, &read, each)?;
        Ok::<_, DataError>(read)
    };
    let (train, test) = rayon::join(|| read(train, 500), || read(test, 100));
    let channels = [(0.5071, 0.2673), (0.4865, 0.2564), (0.4409, 0.2762)];
    let scaling = Scaling::standard(255.0, &channels, "published constants of a public benchmark");
    finish(entry, names(&CLASSES), scaling, train?, test?)
}

/// The published number of images in every class.
fn balanced(file: &str, split: &Split, each: usize) -> Result<()> {
    let counts = split.class_counts(CLASSES.len());
    let uneven = counts.iter().position(|count| *count != each);
    uneven.map_or(Ok(()), |class| {
        let reason =
            format!("{} images of class `{}`, the published file has {each}", counts[class], CLASSES[class]);
        Err(DataError::malformed(file, "labels", reason))
    })
}

#[rustfmt::skip]
const CLASSES: [&str; 100] = [
    "apple", "aquarium_fish", "baby", "bear", "beaver", "bed", "bee", "beetle", "bicycle", "bottle",
    "bowl", "boy", "bridge", "bus", "butterfly", "camel", "can", "castle", "caterpillar", "cattle",
    "chair", "chimpanzee", "clock", "cloud", "cockroach", "couch", "crab", "crocodile", "cup", "dinosaur",
    "dolphin", "elephant", "flatfish", "forest", "fox", "girl", "hamster", "house", "kangaroo", "keyboard",
    "lamp", "lawn_mower", "leopard", "lion", "lizard", "lobster", "man", "maple_tree", "motorcycle", "mountain",
    "mouse", "mushroom", "oak_tree", "orange", "orchid", "otter", "palm_tree", "pear", "pickup_truck", "pine_tree",
    "plain", "plate", "poppy", "porcupine", "possum", "rabbit", "raccoon", "ray", "road", "rocket",
    "rose", "sea", "seal", "shark", "shrew", "skunk", "skyscraper", "snail", "snake", "spider",
    "squirrel", "streetcar", "sunflower", "sweet_pepper", "table", "tank", "telephone", "television", "tiger", "tractor",
    "train", "trout", "tulip", "turtle", "wardrobe", "whale", "willow_tree", "wolf", "woman", "worm",
];
