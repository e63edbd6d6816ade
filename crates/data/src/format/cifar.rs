//! The binary version of CIFAR: records of one or two label bytes and three planes of 32 by 32 bytes, no header.
//!
//! # Source
//! Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images"; the data set's page, "Binary version".

use crate::error::{DataError, Result};

/// Height and width of an image.
pub const SIDE: usize = 32;
const PLANE: usize = SIDE * SIDE;
const PIXELS: usize = 3 * PLANE;

/// How the label bytes before an image are to be read.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    /// Number of label bytes; the last one is the class.
    pub bytes: usize,
    /// Number of classes.
    pub classes: usize,
}

/// Appends the records of one file, channels side by side.
pub fn records(
    file: &str,
    bytes: &[u8],
    labels: Labels,
    pixels: &mut Vec<u8>,
    classes: &mut Vec<u32>,
) -> Result<()> {
    let record = labels.bytes + PIXELS;
    if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
        let position = format!("byte {}", bytes.len() / record * record);
        let reason = format!("a file of {} bytes is no whole number of records of {record}", bytes.len());
        return Err(DataError::malformed(file, position, reason));
    }
    pixels.reserve(bytes.len() / record * PIXELS);
    for (index, record_bytes) in bytes.chunks_exact(record).enumerate() {
        let class = record_bytes[labels.bytes - 1];
        if usize::from(class) >= labels.classes {
            let position = format!("byte {} (record {index})", index * record + labels.bytes - 1);
            let reason = format!("label {class} where 0 to {} are known", labels.classes - 1);
            return Err(DataError::malformed(file, position, reason));
        }
        classes.push(u32::from(class));
        let planes = &record_bytes[labels.bytes..];
        pixels.extend((0..PLANE).flat_map(|pixel| [0, PLANE, 2 * PLANE].map(|plane| planes[plane + pixel])));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives_cases;

    const TEN: Labels = Labels { bytes: 1, classes: 10 };

    fn file(labels: &[&[u8]]) -> Vec<u8> {
        let planes = (0..PIXELS).map(|index| (index / PLANE * 100 + index % PLANE % 7) as u8);
        labels.iter().flat_map(|label| label.iter().copied().chain(planes.clone())).collect()
    }

    #[test]
    fn planes_become_channels() {
        let (mut pixels, mut classes) = (Vec::new(), Vec::new());
        records("c", &file(&[&[3], &[9]]), TEN, &mut pixels, &mut classes).unwrap();
        assert_eq!(classes, [3, 9]);
        assert_eq!(pixels.len(), 2 * PIXELS);
        assert_eq!(pixels[..9], [0, 100, 200, 1, 101, 201, 2, 102, 202]);
        let fine = Labels { bytes: 2, classes: 100 };
        records("c", &file(&[&[3, 77]]), fine, &mut pixels, &mut classes).unwrap();
        assert_eq!(classes, [3, 9, 77]);
    }

    #[test]
    fn truncated_and_mislabelled_files_are_refused() {
        let refused = |bytes: &[u8], expected: &[&str]| {
            let message = records("c", bytes, TEN, &mut vec![], &mut vec![]).unwrap_err().to_string();
            assert!(expected.iter().all(|part| message.contains(part)), "{message}");
        };
        let good = file(&[&[3], &[9]]);
        refused(&good[..good.len() - 1], &["c, byte 3073", "6145 bytes"]);
        refused(&[&good[..], &[0]].concat(), &["c, byte 6146", "records of 3073"]);
        refused(&[], &["0 bytes"]);
        refused(&file(&[&[3], &[10]]), &["byte 3073 (record 1)", "label 10"]);
    }

    #[test]
    fn mutated_files_never_panic() {
        let good = file(&[&[3], &[9]]);
        survives_cases(&good, 2000, |bytes| drop(records("c", bytes, TEN, &mut vec![], &mut vec![])));
    }
}
