//! The named data sets: one table that feeds the loaders, the command line and the docs.

use super::entry::Entry;
use super::error::{DataError, Result};
use super::sets;
use muffle_nn::model_file::nearest;

/// Every named set.
pub static ENTRIES: [&Entry; 12] = [
    &sets::mnist::ENTRY,
    &sets::fashion_mnist::ENTRY,
    &sets::cifar10::ENTRY,
    &sets::grey::CIFAR10,
    &sets::cifar100::ENTRY,
    &sets::svhn::ENTRY,
    &sets::grey::SVHN,
    &sets::optdigits::ENTRY,
    &sets::adult::ENTRY,
    &sets::breast_cancer::ENTRY,
    &sets::leaves::COLOUR,
    &sets::leaves::GREY,
];

/// The set of this name.
pub fn entry(name: &str) -> Result<&'static Entry> {
    let names = || ENTRIES.iter().map(|entry| entry.name);
    ENTRIES.iter().copied().find(|entry| entry.name == name).ok_or_else(|| DataError::Unknown {
        name: name.to_string(),
        nearest: nearest::nearest(name, names()).map(str::to_string),
        known: names().collect::<Vec<_>>().join(", "),
    })
}
