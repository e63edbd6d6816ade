//! MATLAB level 5 files, as far as SVHN needs them: named numeric arrays, plain or zlib-compressed.
//!
//! # Source
//! MathWorks, "MAT-File Format", section "Level 5 MAT-File Format".

use crate::error::{DataError, Result};
use crate::limits;
use flate2::read::ZlibDecoder;
use std::io::Read;

/// Most bytes one array may have: above the largest file of SVHN (`extra`, 1.6 GB).
const MAXIMUM_ARRAY: u64 = 2 << 30;
const HEADER: usize = 128;

/// A numeric array in MATLAB's order, first index fastest.
#[derive(Debug)]
pub struct Array {
    /// Name of the variable.
    pub name: String,
    /// Sizes of its dimensions.
    pub sizes: Vec<usize>,
    /// Its values, if all are whole numbers from 0 to 255.
    pub values: Vec<u8>,
}

/// Reads every array of a file.
pub fn arrays(file: &str, bytes: &[u8]) -> Result<Vec<Array>> {
    let header = bytes.get(..HEADER).ok_or_else(|| {
        DataError::malformed(file, format!("byte {}", bytes.len()), "the file ends inside its header")
    })?;
    if &header[124..128] != b"\x00\x01IM" {
        let reason = "no little-endian MATLAB level 5 file (version 0x0100)";
        return Err(DataError::malformed(file, "byte 124", reason)
            .remedy("get the official file, or save with `save -v6` or `-v7`"));
    }
    let mut input = Input { file, bytes, position: HEADER, within: "" };
    let mut arrays = Vec::new();
    while !input.at_end() {
        let start = input.position;
        let (kind, body) = input.element(false)?;
        match kind {
            MATRIX => arrays.push(Input { file, bytes: body, position: 0, within: "array " }.array()?),
            COMPRESSED => {
                let inflated = inflate(file, start, body)?;
                let mut inner = Input { file, bytes: &inflated, position: 0, within: "inflated " };
                let (kind, body) = inner.element(true)?;
                if kind != MATRIX {
                    return Err(
                        input.wrong(start, format!("a compressed element of type {kind}, not an array"))
                    );
                }
                arrays.push(Input { file, bytes: body, position: 0, within: "array " }.array()?);
            }
            kind => return Err(input.wrong(start, format!("an element of type {kind}, not an array"))),
        }
    }
    Ok(arrays)
}

const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;

/// Inflates one element, after its own tag has been checked against what deflate could make of so few bytes.
fn inflate(file: &str, start: usize, body: &[u8]) -> Result<Vec<u8>> {
    let wrong = |reason: String| DataError::malformed(file, format!("byte {start}"), reason);
    let mut decoder = ZlibDecoder::new(body);
    let mut tag = [0; 8];
    decoder.read_exact(&mut tag).map_err(|error| wrong(format!("zlib: {error}")))?;
    let size = u64::from(u32::from_le_bytes([tag[4], tag[5], tag[6], tag[7]]));
    if size > MAXIMUM_ARRAY || size > body.len() as u64 * limits::DEFLATE_RATIO + 64 {
        return Err(wrong(format!("{} compressed bytes that promise {size}", body.len())));
    }
    let mut inflated = tag.to_vec();
    decoder.take(size + 1).read_to_end(&mut inflated).map_err(|error| wrong(format!("zlib: {error}")))?;
    if inflated.len() as u64 != size + 8 {
        return Err(wrong(format!("{} inflated bytes where {} were promised", inflated.len(), size + 8)));
    }
    Ok(inflated)
}

/// A cursor that cannot leave its bytes.
struct Input<'a> {
    file: &'a str,
    bytes: &'a [u8],
    position: usize,
    within: &'static str,
}

impl<'a> Input<'a> {
    fn at_end(&self) -> bool {
        self.position == self.bytes.len()
    }

    fn wrong(&self, position: usize, reason: impl ToString) -> DataError {
        DataError::malformed(self.file, format!("{}byte {position}", self.within), reason)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let taken = self.position.checked_add(length).and_then(|end| self.bytes.get(self.position..end));
        let taken = taken.ok_or_else(|| {
            let left = self.bytes.len() - self.position;
            self.wrong(self.position, format!("{length} bytes are promised, {left} are left"))
        })?;
        self.position += length;
        Ok(taken)
    }

    /// One element: its type and its body. Bodies are padded to 8 bytes, except compressed ones and the last.
    fn element(&mut self, last: bool) -> Result<(u32, &'a [u8])> {
        let tag = self.take(4)?;
        let word = u32::from_le_bytes([tag[0], tag[1], tag[2], tag[3]]);
        if word >> 16 != 0 {
            let length = (word >> 16) as usize;
            if length > 4 {
                return Err(self.wrong(self.position - 4, format!("a small element of {length} bytes")));
            }
            return Ok((word & 0xffff, &self.take(4)?[..length]));
        }
        let size = self.take(4)?;
        let length = u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize;
        let body = self.take(length)?;
        if word != COMPRESSED && !last {
            let padding = length.next_multiple_of(8) - length;
            self.take(padding.min(self.bytes.len() - self.position))?;
        }
        Ok((word, body))
    }

    /// The inside of an array element: flags, sizes, name, values.
    fn array(mut self) -> Result<Array> {
        let (kind, flags) = self.element(false)?;
        if kind != 6 || flags.len() != 8 {
            return Err(self.wrong(0, "an array without its flags"));
        }
        // Complex, global and logical bits are in the second byte; classes 6 to 15 are full numeric arrays.
        if flags[1] & 0b1000 != 0 || !(6..=15).contains(&flags[0]) {
            return Err(self.wrong(8, format!("an array of class {}, not of real numbers", flags[0])));
        }
        let start = self.position;
        let (kind, sizes) = self.element(false)?;
        if kind != 5 || sizes.len() % 4 != 0 || !(8..=32).contains(&sizes.len()) {
            return Err(self.wrong(start, "an array without two to eight sizes"));
        }
        let sizes: Vec<usize> = sizes
            .chunks_exact(4)
            .map(|size| u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize)
            .collect();
        let start = self.position;
        let (kind, name) = self.element(false)?;
        if kind != 1 || name.len() > 63 || !name.is_ascii() {
            return Err(self.wrong(start, "an array without a name"));
        }
        let name = String::from_utf8_lossy(name).into_owned();
        let start = self.position;
        let (kind, body) = self.element(false)?;
        let values = self.values(start, kind, body)?;
        let expected = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        if expected != Some(values.len()) {
            return Err(self.wrong(start, format!("{} values in an array of sizes {sizes:?}", values.len())));
        }
        Ok(Array { name, sizes, values })
    }

    /// Values of any numeric type, as bytes.
    fn values(&self, start: usize, kind: u32, body: &[u8]) -> Result<Vec<u8>> {
        let wide = |width: usize, value: fn(&[u8]) -> f64| -> Result<Vec<u8>> {
            if !body.len().is_multiple_of(width) {
                return Err(self.wrong(start, format!("{} bytes of values of {width}", body.len())));
            }
            let narrow = |(index, bytes): (usize, &[u8])| {
                let value = value(bytes);
                if value.fract() == 0.0 && (0.0..=255.0).contains(&value) {
                    return Ok(value as u8);
                }
                Err(self.wrong(start, format!("value {index} is {value}, not a whole number from 0 to 255")))
            };
            body.chunks_exact(width).enumerate().map(narrow).collect()
        };
        match kind {
            2 => Ok(body.to_vec()),
            1 => wide(1, |bytes| f64::from(bytes[0] as i8)),
            3 => wide(2, |bytes| f64::from(i16::from_le_bytes([bytes[0], bytes[1]]))),
            4 => wide(2, |bytes| f64::from(u16::from_le_bytes([bytes[0], bytes[1]]))),
            5 => wide(4, |bytes| f64::from(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))),
            6 => wide(4, |bytes| f64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))),
            9 => wide(8, |bytes| f64::from_le_bytes(std::array::from_fn(|index| bytes[index]))),
            kind => Err(self.wrong(start, format!("values of type {kind}, which no array here has"))),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::mutation::survives;
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write;

    fn element(kind: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = [kind.to_le_bytes(), (body.len() as u32).to_le_bytes()].concat();
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// An array of bytes as MATLAB writes it, the name as a small element.
    pub(crate) fn array(name: &str, class: u8, sizes: &[u32], kind: u32, body: &[u8]) -> Vec<u8> {
        let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
        let mut small = (1u32 | (name.len() as u32) << 16).to_le_bytes().to_vec();
        small.extend(name.bytes());
        small.resize(8, 0);
        let flags = element(6, &[class, 0, 0, 0, 0, 0, 0, 0]);
        element(14, &[flags, element(5, &sizes), small, element(kind, body)].concat())
    }

    /// A whole file, its arrays compressed or not.
    pub(crate) fn file(arrays: &[Vec<u8>], compressed: bool) -> Vec<u8> {
        let mut bytes = b"MATLAB 5.0 MAT-file".to_vec();
        bytes.resize(124, b' ');
        bytes.extend(b"\x00\x01IM");
        for array in arrays {
            if !compressed {
                bytes.extend(array);
                continue;
            }
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(array).unwrap();
            let body = encoder.finish().unwrap();
            bytes.extend(COMPRESSED.to_le_bytes());
            bytes.extend((body.len() as u32).to_le_bytes());
            bytes.extend(body);
        }
        bytes
    }

    fn sample() -> Vec<Vec<u8>> {
        let doubles: Vec<u8> = [10.0f64, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        vec![array("X", 9, &[2, 2, 1, 2], 2, &[1, 2, 3, 4, 5, 6, 7, 8]), array("y", 6, &[2, 1], 9, &doubles)]
    }

    #[test]
    fn plain_and_compressed_arrays_are_read() {
        for compressed in [false, true] {
            let read = arrays("m", &file(&sample(), compressed)).unwrap();
            assert_eq!((read[0].name.as_str(), &read[0].sizes[..]), ("X", &[2, 2, 1, 2][..]));
            assert_eq!(read[0].values, [1, 2, 3, 4, 5, 6, 7, 8]);
            assert_eq!((read[1].name.as_str(), &read[1].values[..]), ("y", &[10, 3][..]));
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let refused = |bytes: &[u8], expected: &[&str]| {
            let message = arrays("m", bytes).unwrap_err().to_string();
            assert!(expected.iter().all(|part| message.contains(part)), "{message}");
        };
        let good = file(&sample(), false);
        refused(&good[..100], &["m, byte 100", "header"]);
        refused(&[0; 200], &["byte 124", "level 5", "save -v6"]);
        refused(&good[..good.len() - 20], &["promised", "left"]);
        let huge = file(&[array("X", 9, &[u32::MAX, u32::MAX, 4, 2], 2, &[0; 8])], false);
        refused(&huge, &["8 values in an array of sizes"]);
        let text = file(&[array("X", 4, &[1, 2], 2, b"ab")], false);
        refused(&text, &["class 4"]);
        let half: Vec<u8> = 0.5f64.to_le_bytes().to_vec();
        refused(&file(&[array("y", 6, &[1, 1], 9, &half)], false), &["0.5", "whole number"]);
    }

    #[test]
    fn a_compressed_element_cannot_promise_more_than_deflate_makes() {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&[14, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3]).unwrap();
        let body = encoder.finish().unwrap();
        let mut bytes = file(&[], false);
        bytes.extend(COMPRESSED.to_le_bytes());
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(body);
        let message = arrays("m", &bytes).unwrap_err().to_string();
        assert!(message.contains("promise 2147483647"), "{message}");
    }

    #[test]
    fn mutated_files_never_panic() {
        for compressed in [false, true] {
            survives(&file(&sample(), compressed), |bytes| drop(arrays("m", bytes)));
        }
    }
}
