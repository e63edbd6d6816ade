//! idx, the format of MNIST: a big-endian header of 32-bit words, then bytes.
//!
//! # Source
//! LeCun, Cortes, Burges, "The MNIST database of handwritten digits", section "File formats".

use crate::error::{DataError, Result};

/// Images of one size, grey.
#[derive(Debug)]
pub struct Images {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Pixels, image after image.
    pub pixels: Vec<u8>,
}

/// Reads a file of images (magic 0x00000803).
pub fn images(file: &str, bytes: Vec<u8>) -> Result<Images> {
    let [count, height, width] = header(file, &bytes, 0x0803, "images")?;
    let pixels = body(file, bytes, 16, &[count, height, width])?;
    Ok(Images { height, width, pixels })
}

/// Reads a file of labels (magic 0x00000801), each below `classes`.
pub fn labels(file: &str, bytes: Vec<u8>, classes: usize) -> Result<Vec<u32>> {
    let [count] = header(file, &bytes, 0x0801, "labels")?;
    let labels = body(file, bytes, 8, &[count])?;
    if let Some(position) = labels.iter().position(|&label| usize::from(label) >= classes) {
        let reason = format!("label {} where 0 to {} are known", labels[position], classes - 1);
        return Err(DataError::malformed(file, format!("byte {}", position + 8), reason));
    }
    Ok(labels.into_iter().map(u32::from).collect())
}

/// The sizes after the magic number.
fn header<const SIZES: usize>(file: &str, bytes: &[u8], magic: u32, what: &str) -> Result<[usize; SIZES]> {
    let word = |index: usize| {
        bytes
            .get(4 * index..4 * index + 4)
            .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
    };
    let found = word(0).ok_or_else(|| ends(file, bytes.len()))?;
    if found != magic {
        let reason = format!("magic number {found:#010x}, an idx file of {what} has {magic:#010x}");
        return Err(DataError::malformed(file, "byte 0", reason));
    }
    let mut sizes = [0; SIZES];
    for (index, size) in sizes.iter_mut().enumerate() {
        *size = word(index + 1).ok_or_else(|| ends(file, bytes.len()))? as usize;
    }
    Ok(sizes)
}

fn ends(file: &str, length: usize) -> DataError {
    DataError::malformed(file, format!("byte {length}"), "the file ends inside its header")
}

/// The bytes after the header, exactly as many as the sizes say.
fn body(file: &str, mut bytes: Vec<u8>, start: usize, sizes: &[usize]) -> Result<Vec<u8>> {
    let expected = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
    let found = bytes.len() - start;
    if expected != Some(found) || found == 0 {
        let reason = format!("the header promises {sizes:?} bytes, {found} follow");
        return Err(DataError::malformed(file, format!("byte {start}"), reason));
    }
    bytes.drain(..start);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives;

    fn file(magic: u32, sizes: &[u32], body: &[u8]) -> Vec<u8> {
        let words = [&[magic], sizes].concat();
        words.iter().flat_map(|word| word.to_be_bytes()).chain(body.iter().copied()).collect()
    }

    #[test]
    fn images_and_labels_are_read() {
        let images = images("i", file(0x0803, &[2, 1, 3], &[1, 2, 3, 4, 5, 6])).unwrap();
        assert_eq!((images.height, images.width), (1, 3));
        assert_eq!(images.pixels, [1, 2, 3, 4, 5, 6]);
        assert_eq!(labels("l", file(0x0801, &[3], &[9, 0, 4]), 10).unwrap(), [9, 0, 4]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let refused = |result: Result<Images>, expected: &[&str]| {
            let message = result.unwrap_err().to_string();
            assert!(expected.iter().all(|part| message.contains(part)), "{message}");
        };
        refused(images("i", vec![0, 0, 8]), &["i, byte 3", "ends inside its header", "get it again"]);
        refused(images("i", file(0x0801, &[3], &[0; 3])), &["byte 0", "0x00000801", "0x00000803"]);
        refused(images("i", file(0x0803, &[2, 2, 2], &[0; 7])), &["byte 16", "[2, 2, 2]", "7 follow"]);
        refused(images("i", file(0x0803, &[2, 2, 2], &[0; 9])), &["9 follow"]);
        refused(images("i", file(0x0803, &[u32::MAX; 3], &[0; 9])), &["9 follow"]);
        let message = labels("l", file(0x0801, &[2], &[3, 10]), 10).unwrap_err().to_string();
        assert!(message.contains("l, byte 9: label 10"), "{message}");
    }

    #[test]
    fn mutated_files_never_panic() {
        survives(&file(0x0803, &[2, 3, 3], &[7; 18]), |bytes| drop(images("i", bytes.to_vec())));
        survives(&file(0x0801, &[5], &[1; 5]), |bytes| drop(labels("l", bytes.to_vec(), 10)));
    }
}
