//! The published data sets, one file each.

pub mod adult;
pub mod breast_cancer;
pub mod cifar10;
pub mod cifar100;
pub mod fashion_mnist;
pub mod grey;
pub mod leaves;
pub mod mnist;
pub mod optdigits;
pub mod svhn;

use super::dataset::{Dataset, Records, Split, Visibility};
use super::entry::{Content, Entry};
use super::error::{DataError, Result};
use super::format::idx;
use super::scaling::Scaling;
use muffle_nn::shape::Shape;

/// Class names as the registry keeps them.
fn names(classes: &[&str]) -> Vec<String> {
    classes.iter().map(|class| class.to_string()).collect()
}

/// The four idx files of MNIST and of sets that follow it: training images and labels, test images and labels.
fn load_idx(entry: &Entry, contents: Vec<Content>, classes: &[&str], scaling: Scaling) -> Result<Dataset> {
    let [train_images, train_labels, test_images, test_labels] = exactly(entry, contents)?;
    let split = |images: Content, labels: Content| {
        let images_read = idx::images(&images.file, images.bytes)?;
        let labels_read = idx::labels(&labels.file, labels.bytes, classes.len())?;
        if [1, images_read.height, images_read.width] != entry.input {
            let reason = format!(
                "images of {} by {}, `{}` has {:?}",
                images_read.height, images_read.width, entry.name, entry.input
            );
            return Err(DataError::malformed(&images.file, "byte 8", reason));
        }
        if images_read.pixels.len() != labels_read.len() * images_read.height * images_read.width {
            let reason = format!("{} labels do not fit the number of images", labels_read.len());
            return Err(DataError::malformed(&labels.file, "byte 4", reason));
        }
        Ok(Split::classified(Records::Bytes(images_read.pixels), labels_read))
    };
    // Moving 47 MB past its header takes a while: both splits at once.
    let (train, test) = rayon::join(|| split(train_images, train_labels), || split(test_images, test_labels));
    finish(entry, names(classes), scaling, train?, test?)
}

/// The contents as an array; the registry promises their number.
fn exactly<const FILES: usize>(entry: &Entry, contents: Vec<Content>) -> Result<[Content; FILES]> {
    contents.try_into().map_err(|contents: Vec<Content>| DataError::Description {
        file: format!("data set `{}`", entry.name),
        reason: format!("{} files where {FILES} are expected", contents.len()),
    })
}

/// A public data set of the registry's shape.
fn finish(
    entry: &Entry,
    classes: Vec<String>,
    scaling: Scaling,
    train: Split,
    test: Split,
) -> Result<Dataset> {
    let shape = Shape::from_sizes(entry.input).unwrap_or(Shape::Vector(0));
    Dataset::new(entry.name, shape, classes, scaling, Visibility::Public, train, test)
}
