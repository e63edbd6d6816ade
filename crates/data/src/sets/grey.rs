//! CIFAR-10 and SVHN in the form of MNIST: the same files, read in grey and resized to 28 by 28.
//!
//! # Source
//! Lin et al. 2020, "Differential privacy protection over deep learning: an investigation of its impacted factors", section
//! 4.2, which names neither the weights of the colours nor the filter: here the luma of Rec. 709 and a triangle filter, as
//! for folders of images. The paper takes 100,000 and 10,000 images of SVHN, which it does not name; here the split is the
//! official one.

use super::{cifar10, finish, svhn};
use crate::dataset::{Dataset, Records, Split};
use crate::entry::Entry;
use crate::error::Result;
use crate::picture::{Picture, Samples};
use crate::scaling::Scaling;
use muffle_nn::shape::Shape;
use rayon::prelude::*;

/// The registry's line of CIFAR-10.
pub static CIFAR10: Entry = Entry {
    name: "cifar10-grey",
    title: "small photographs, grey, resized",
    input: &[1, SIDE, SIDE],
    load: |entry, contents| convert(entry, &(cifar10::ENTRY.load)(&cifar10::ENTRY, contents)?),
    ..cifar10::ENTRY
};

/// The registry's line of SVHN.
pub static SVHN: Entry = Entry {
    name: "svhn-grey",
    title: "house numbers, grey, cropped, resized",
    input: &[1, SIDE, SIDE],
    load: |entry, contents| convert(entry, &(svhn::ENTRY.load)(&svhn::ENTRY, contents)?),
    ..svhn::ENTRY
};

const SIDE: usize = 28;

/// The same records in grey; both sets are scaled by the range of a byte, so that no statistic is needed.
fn convert(entry: &Entry, colour: &Dataset) -> Result<Dataset> {
    let convert = |split: &Split| Split {
        records: Records::Bytes(match &split.records {
            Records::Bytes(pixels) => images(pixels, colour.input()),
            Records::Floats(_) | Records::Halves(_) => unreachable!("images are stored as bytes"),
        }),
        targets: split.targets.clone(),
    };
    let [train, test] = [colour.train(), colour.test()].map(|view| convert(view.split()));
    finish(entry, colour.classes().to_vec(), Scaling::range(0.0, 255.0), train, test)
}

fn images(pixels: &[u8], shape: Shape) -> Vec<u8> {
    let Shape::Image { height, width, channels } = shape else {
        unreachable!("images have the shape of images")
    };
    let each = |image: &[u8]| {
        let picture = Picture { height, width, channels, samples: Samples::Bytes(image.to_vec()) };
        picture.resized([SIDE, SIDE]).into_grey()
    };
    pixels.par_chunks_exact(shape.len()).flat_map_iter(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Content;
    use crate::format::mat::tests::{array, file};

    /// Six files of one record, of one colour each.
    fn cifar(colour: [u8; 3]) -> Vec<Content> {
        let record = |label: usize| {
            let planes = colour.iter().flat_map(|value| [*value; 1024]);
            [label as u8].into_iter().chain(planes).collect()
        };
        (0..6).map(|label| Content { file: format!("{label}.bin"), bytes: record(label) }).collect()
    }

    fn pixels(split: &Split) -> &[u8] {
        let Records::Bytes(pixels) = &split.records else { panic!("bytes") };
        pixels
    }

    #[test]
    fn colours_become_their_luma() {
        for (colour, luma) in
            [([255, 0, 0], 54), ([0, 255, 0], 182), ([0, 0, 255], 18), ([90; 3], 90), ([255; 3], 255)]
        {
            let dataset = (CIFAR10.load)(&CIFAR10, cifar(colour)).unwrap();
            assert_eq!(dataset.input(), Shape::image(1, 28, 28));
            assert_eq!(dataset.train().split().labels(), [0, 1, 2, 3, 4]);
            assert_eq!(dataset.test().split().labels(), [5]);
            // 0.2126, 0.7152 and 0.0722 of the colours, rounded down; one colour stays one when it is resized.
            assert_eq!(pixels(dataset.train().split()), [luma; 5 * 784]);
            assert_eq!(dataset.scaling().value(0, 0.0), -1.0);
        }
    }

    #[test]
    fn house_numbers_keep_their_orientation() {
        // White where the row is in the upper half: MATLAB's fastest index.
        let value = |place: usize| if place % 32 < 16 { 255 } else { 0 };
        let image: Vec<u8> = (0..3 * 1024).map(value).collect();
        let content = || Content {
            file: "s.mat".into(),
            bytes: file(&[array("X", 9, &[32, 32, 3, 1], 2, &image), array("y", 9, &[1, 1], 2, &[10])], true),
        };
        let dataset = (SVHN.load)(&SVHN, vec![content(), content()]).unwrap();
        let rows: Vec<&[u8]> = pixels(dataset.test().split()).chunks(28).collect();
        assert_eq!((rows.len(), dataset.test().split().labels()), (28, &[0][..]));
        assert!(rows[..13].iter().all(|row| *row == [255; 28]), "{rows:?}");
        assert!(rows[15..].iter().all(|row| *row == [0; 28]), "{rows:?}");
    }

    #[test]
    fn files_are_those_of_the_colour_sets() {
        for (grey, colour) in [(&CIFAR10, &cifar10::ENTRY), (&SVHN, &svhn::ENTRY)] {
            assert_eq!((grey.folder(), grey.downloads), (colour.name, colour.downloads));
            assert_eq!(grey.records, colour.records);
        }
        let mut short = cifar([0; 3]);
        short[0].bytes.pop();
        assert!((CIFAR10.load)(&CIFAR10, short).unwrap_err().to_string().contains("0.bin"));
    }
}
