//! SVHN: cropped house numbers from street views.

use super::{exactly, finish, names};
use crate::dataset::{Dataset, Records, Split};
use crate::entry::{Content, Entry, Official};
use crate::error::{DataError, Result};
use crate::format::mat::{Array, arrays};
use crate::scaling::Scaling;

/// The registry's line.
pub static ENTRY: Entry = Entry {
    name: "svhn",
    title: "house numbers, colour, cropped",
    input: &[3, 32, 32],
    records: (73_257, 26_032),
    classes: 10,
    licence: "for non-commercial use only",
    citation: "Netzer, Wang, Coates, Bissacco, Wu, Ng 2011, Reading Digits in Natural Images",
    folders: &["svhn", "SVHN"],
    system: &[],
    files: &[
        Official {
            name: "train_32x32.mat",
            bytes: 182_040_794,
            md5: Some("e26dedcc434d2e4c54c9b2d4a06d8373"),
        },
        Official { name: "test_32x32.mat", bytes: 64_275_384, md5: Some("eb5a983be6a315427106f1b164d9cef3") },
    ],
    archive: None,
    downloads: &[
        "https://ufldl.stanford.edu/housenumbers/train_32x32.mat",
        "https://ufldl.stanford.edu/housenumbers/test_32x32.mat",
    ],
    package: None,
    built_in: None,
    load,
};

const CLASSES: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const SIDE: usize = 32;
const PLANE: usize = SIDE * SIDE;

fn load(entry: &Entry, contents: Vec<Content>) -> Result<Dataset> {
    let [train, test] = exactly(entry, contents)?;
    let (train, test) = rayon::join(|| split(&train), || split(&test));
    let channels = [(0.4377, 0.1980), (0.4438, 0.2010), (0.4728, 0.1970)];
    let scaling = Scaling::standard(255.0, &channels, "published constants of a public benchmark");
    finish(entry, names(&CLASSES), scaling, train?, test?)
}

/// The arrays `X` (32 x 32 x 3 x N) and `y` (N x 1, digit 0 written as 10).
fn split(content: &Content) -> Result<Split> {
    let file = content.file.as_str();
    let read = arrays(file, &content.bytes)?;
    let find = |name: &str| -> Result<&Array> {
        read.iter()
            .find(|array| array.name == name)
            .ok_or_else(|| DataError::malformed(file, "end of the file", format!("no array `{name}` inside")))
    };
    let (images, digits) = (find("X")?, find("y")?);
    let [SIDE, SIDE, 3, count] = images.sizes[..] else {
        let reason = format!("array `X` has sizes {:?}, not 32, 32, 3, N", images.sizes);
        return Err(DataError::malformed(file, "array X", reason));
    };
    if digits.sizes != [count, 1] {
        let reason = format!("array `y` has sizes {:?} for {count} images", digits.sizes);
        return Err(DataError::malformed(file, "array y", reason));
    }
    let label = |(index, &digit): (usize, &u8)| match digit {
        1..=9 => Ok(u32::from(digit)),
        10 => Ok(0),
        other => Err(DataError::malformed(
            file,
            format!("array y, value {index}"),
            format!("label {other}, not 1 to 10"),
        )),
    };
    let labels = digits.values.iter().enumerate().map(label).collect::<Result<Vec<u32>>>()?;
    let mut pixels = Vec::with_capacity(images.values.len());
    for image in images.values.chunks_exact(3 * PLANE) {
        // MATLAB runs down columns: the row is the fastest index, then the column, then the channel.
        for (row, column) in (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (row, column))) {
            pixels.extend([0, PLANE, 2 * PLANE].map(|plane| image[plane + column * SIDE + row]));
        }
    }
    Ok(Split::classified(Records::Bytes(pixels), labels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::mat::tests::{array, file};
    use crate::mutation::survives_cases;

    fn content(images: u32, digits: &[u8], compressed: bool) -> Content {
        let count = images as usize;
        // Row 1, column 2, channel 2 of every image is 77.
        let mut values = vec![0; count * 3 * PLANE];
        values.iter_mut().skip(2 * PLANE + 2 * SIDE + 1).step_by(3 * PLANE).for_each(|value| *value = 77);
        let images = array("X", 9, &[32, 32, 3, images], 2, &values);
        let digits = array("y", 9, &[digits.len() as u32, 1], 2, digits);
        Content { file: "s.mat".to_string(), bytes: file(&[images, digits], compressed) }
    }

    #[test]
    fn columns_become_rows_and_ten_becomes_zero() {
        for compressed in [false, true] {
            let split = split(&content(2, &[10, 9], compressed)).unwrap();
            assert_eq!(split.labels(), [0, 9]);
            let Records::Bytes(pixels) = &split.records else { panic!("bytes") };
            assert_eq!(pixels.len(), 2 * 3 * PLANE);
            assert_eq!(pixels.iter().position(|value| *value == 77), Some((SIDE + 2) * 3 + 2));
        }
    }

    #[test]
    fn wrong_labels_and_sizes_are_refused() {
        let message = |content: &Content| split(content).unwrap_err().to_string();
        assert!(message(&content(2, &[10, 11], false)).contains("array y, value 1: label 11"));
        assert!(message(&content(2, &[0, 1], false)).contains("label 0, not 1 to 10"));
        assert!(message(&content(2, &[1], false)).contains("sizes [1, 1] for 2 images"));
        let other = Content { file: "s.mat".into(), bytes: file(&[array("Z", 9, &[1, 1], 2, &[1])], false) };
        assert!(message(&other).contains("no array `X`"));
        let sizes = Content {
            file: "s.mat".into(),
            bytes: file(&[array("X", 9, &[1, 1], 2, &[1]), array("y", 9, &[1, 1], 2, &[1])], false),
        };
        assert!(message(&sizes).contains("not 32, 32, 3, N"));
    }

    #[test]
    fn mutated_files_never_panic() {
        let good = content(1, &[10], true);
        survives_cases(&good.bytes, 2000, |bytes| {
            drop(split(&Content { file: String::new(), bytes: bytes.to_vec() }));
        });
    }
}
