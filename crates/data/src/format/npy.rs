//! NumPy's array format.
//!
//! # Source
//! NumPy documentation, `numpy.lib.format`, versions 1.0 to 3.0.

use crate::error::{DataError, Result};
use crate::limits;

/// Values of an array.
#[derive(Debug, PartialEq)]
pub enum Values {
    /// `uint8` (and `bool`).
    Bytes(Vec<u8>),
    /// Floats, narrowed to `f32`.
    Floats(Vec<f32>),
    /// Other integers.
    Integers(Vec<i64>),
    /// Texts.
    Texts(Vec<String>),
}

/// An array in C order.
#[derive(Debug, PartialEq)]
pub struct Array {
    /// Sizes of its dimensions.
    pub sizes: Vec<usize>,
    /// Its values.
    pub values: Values,
}

/// Reads one `.npy` file.
pub fn array(file: &str, bytes: &[u8]) -> Result<Array> {
    let wrong =
        |position: usize, reason: String| DataError::malformed(file, format!("byte {position}"), reason);
    if bytes.len() < 10 || &bytes[..6] != b"\x93NUMPY" {
        return Err(wrong(0, "no NumPy array".to_string()));
    }
    let (length, start): (usize, usize) = match bytes[6] {
        1 => (u16::from_le_bytes([bytes[8], bytes[9]]) as usize, 10),
        2 | 3 if bytes.len() >= 12 => {
            (u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize, 12)
        }
        version => return Err(wrong(6, format!("format version {version}, 1 to 3 are known"))),
    };
    let header = start.checked_add(length).and_then(|end| bytes.get(start..end));
    let header =
        header.ok_or_else(|| wrong(8, format!("a header of {length} bytes that the file does not have")))?;
    let header =
        std::str::from_utf8(header).map_err(|_| wrong(start, "a header that is no text".to_string()))?;
    let (kind, sizes) =
        parse(header).map_err(|reason| wrong(start, format!("{reason} in header {header:?}")))?;
    let body = &bytes[start + length..];
    let count = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
    let count = count.filter(|count| *count as u64 <= limits::MAXIMUM_VALUES);
    let count = count.ok_or_else(|| wrong(start, format!("an array of sizes {sizes:?} is too large")))?;
    if count.checked_mul(kind.width()) != Some(body.len()) {
        let reason =
            format!("sizes {sizes:?} of {} bytes each, but {} bytes follow", kind.width(), body.len());
        return Err(wrong(start + length, reason));
    }
    Ok(Array { sizes, values: kind.read(body) })
}

#[derive(Clone, Copy)]
enum Kind {
    Unsigned(usize),
    Signed(usize),
    Float(usize),
    /// So many characters of four bytes.
    Characters(usize),
    /// So many bytes.
    Letters(usize),
}

impl Kind {
    fn width(self) -> usize {
        match self {
            Kind::Unsigned(width) | Kind::Signed(width) | Kind::Float(width) | Kind::Letters(width) => width,
            Kind::Characters(count) => 4 * count,
        }
    }

    fn read(self, body: &[u8]) -> Values {
        match self {
            Kind::Unsigned(1) => Values::Bytes(body.to_vec()),
            Kind::Float(4) => Values::Floats(
                body.chunks_exact(4)
                    .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                    .collect(),
            ),
            Kind::Float(_) => Values::Floats(
                body.chunks_exact(8)
                    .map(|word| f64::from_le_bytes(std::array::from_fn(|index| word[index])) as f32)
                    .collect(),
            ),
            Kind::Characters(count) => Values::Texts(body.chunks_exact(4 * count).map(characters).collect()),
            Kind::Letters(width) => {
                let text = |word: &[u8]| String::from_utf8_lossy(word).trim_end_matches('\0').to_string();
                Values::Texts(body.chunks_exact(width).map(text).collect())
            }
            Kind::Unsigned(width) => {
                Values::Integers(body.chunks_exact(width).map(|word| integer(word, 0)).collect())
            }
            Kind::Signed(width) => {
                let filler = |word: &[u8]| if word[width - 1] >= 0x80 { 0xff } else { 0 };
                Values::Integers(body.chunks_exact(width).map(|word| integer(word, filler(word))).collect())
            }
        }
    }
}

/// A text of characters of four bytes each, filled up with zeros.
fn characters(words: &[u8]) -> String {
    let numbers = words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
    let text: String =
        numbers.map(|number| char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.trim_end_matches('\0').to_string()
}

/// A little-endian integer, its upper bytes filled. A `uint64` above the range of `i64` becomes negative, which no label
/// may be.
fn integer(word: &[u8], filler: u8) -> i64 {
    i64::from_le_bytes(std::array::from_fn(|index| word.get(index).copied().unwrap_or(filler)))
}

/// Texts of a fixed length, as in `<U5` and `|S5`.
fn texts(description: &str) -> Option<Kind> {
    let (kind, length) = description.split_at_checked(2)?;
    let length = length.parse().ok().filter(|length| (1..=1 << 20).contains(length))?;
    match kind {
        "<U" => Some(Kind::Characters(length)),
        "|S" => Some(Kind::Letters(length)),
        _ => None,
    }
}

/// The dictionary of the header: three keys, and nothing else is looked at.
fn parse(header: &str) -> std::result::Result<(Kind, Vec<usize>), String> {
    let after = |key: &str| {
        let start = header.find(&format!("'{key}':")).ok_or(format!("no '{key}'"))?;
        Ok::<_, String>(header[start + key.len() + 3..].trim_start())
    };
    let description = after("descr")?;
    let description = description.strip_prefix('\'').and_then(|text| text.split('\'').next()).unwrap_or("");
    let kind = match description {
        "|u1" | "|b1" | "<u1" => Kind::Unsigned(1),
        "<u2" => Kind::Unsigned(2),
        "<u4" => Kind::Unsigned(4),
        "<u8" => Kind::Unsigned(8),
        "|i1" | "<i1" => Kind::Signed(1),
        "<i2" => Kind::Signed(2),
        "<i4" => Kind::Signed(4),
        "<i8" => Kind::Signed(8),
        "<f4" => Kind::Float(4),
        "<f8" => Kind::Float(8),
        other => texts(other).ok_or_else(|| {
            format!("type `{other}` (known: uint8, integers, float32, float64, texts, little-endian)")
        })?,
    };
    if !after("fortran_order")?.starts_with("False") {
        return Err("Fortran order (save numpy.ascontiguousarray(x))".to_string());
    }
    let shape = after("shape")?;
    let shape = shape.strip_prefix('(').and_then(|text| text.split_once(')')).ok_or("no shape")?.0;
    let sizes: Vec<&str> = shape.split(',').map(str::trim).filter(|size| !size.is_empty()).collect();
    if sizes.len() > 8 {
        return Err("more than 8 dimensions".to_string());
    }
    let sizes = sizes.iter().map(|size| size.parse::<usize>().map_err(|_| format!("size `{size}`")));
    Ok((kind, sizes.collect::<std::result::Result<_, _>>()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::mutation::survives;

    /// A file of version 1.0, padded as NumPy pads it.
    pub(crate) fn file(kind: &str, shape: &str, body: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        while !(10 + header.len() + 1).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn the_usual_types_are_read() {
        let read = |kind: &str, shape: &str, body: &[u8]| array("a", &file(kind, shape, body)).unwrap();
        let bytes = read("|u1", "(2, 3)", &[1, 2, 3, 4, 5, 6]);
        assert_eq!(bytes, Array { sizes: vec![2, 3], values: Values::Bytes(vec![1, 2, 3, 4, 5, 6]) });
        assert_eq!(read("<i2", "(2,)", &[0xff, 0xff, 1, 2]).values, Values::Integers(vec![-1, 513]));
        assert_eq!(read("<u2", "(1,)", &[0xff, 0xff]).values, Values::Integers(vec![65_535]));
        assert_eq!(read("<f8", "()", &1.5f64.to_le_bytes()).values, Values::Floats(vec![1.5]));
        assert_eq!(read("<f4", "(1,)", &0.25f32.to_le_bytes()).values, Values::Floats(vec![0.25]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |bytes: &[u8], expected: &str| {
            let message = array("a", bytes).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
        refused(b"PK", "no NumPy array");
        refused(&file("|u1", "(2, 3)", &[0; 5]), "5 bytes follow");
        refused(&file("|u1", "(2, 3)", &[0; 7]), "7 bytes follow");
        refused(&file("|u1", "(99999999999, 99999999999)", &[0; 7]), "too large");
        refused(&file(">f4", "(1,)", &[0; 4]), "`>f4`");
        refused(&file("|O", "(1,)", &[0; 4]), "`|O`");
        refused(&file("|u1", "(-1,)", &[0; 4]), "size `-1`");
    }

    #[test]
    fn mutated_files_never_panic() {
        survives(&file("<i4", "(2, 2)", &[3; 16]), |bytes| drop(array("a", bytes)));
    }
}
