//! What the footer of a Parquet file promises, before the decoder takes it at its word.
//!
//! # Source
//! Apache Parquet, "File Format" (`FileMetaData` in parquet.thrift).

use super::parquet_pages::STATISTICS;
use super::thrift::Shape::{self, Byte, Double, List, Noted, Number, Other, Structure, Text, Truth};
use super::thrift::Walk;
use ::parquet::file::reader::ChunkReader;
use std::io::{Error, Read, Result};

static KEY_VALUE: Shape = Structure(&[Text, Text]);
static TIME: [Shape; 2] = [Truth, Structure(&[Structure(&[]), Structure(&[]), Structure(&[])])];

/// One of these is there.
static LOGICAL_TYPE: [Shape; 18] = [
    Structure(&[]),
    Structure(&[]),
    Structure(&[]),
    Structure(&[]),
    Structure(&[Number, Number]),
    Structure(&[]),
    Structure(&TIME),
    Structure(&TIME),
    Other,
    Structure(&[Byte, Truth]),
    Structure(&[]),
    Structure(&[]),
    Structure(&[]),
    Structure(&[]),
    Structure(&[]),
    Structure(&[Byte]),
    Structure(&[Text]),
    Structure(&[Text, Number]),
];

/// A column, or columns together, which then have so many parts.
static SCHEMA_ELEMENT: Shape = Structure(&[
    Number,
    Number,
    Number,
    Text,
    Noted("parts"),
    Number,
    Number,
    Number,
    Number,
    Structure(&LOGICAL_TYPE),
]);

static SIZES: [Shape; 3] = [Number, List(&Number), List(&Number)];
static PLACES: [Shape; 2] =
    [Structure(&[Double, Double, Double, Double, Double, Double, Double, Double]), List(&Number)];
static PAGES_OF_ENCODING: Shape = Structure(&[Number, Number, Number]);

static COLUMN: [Shape; 17] = [
    Number,
    List(&Number),
    List(&Text),
    Number,
    Number,
    Number,
    Number,
    List(&KEY_VALUE),
    Number,
    Number,
    Number,
    Structure(&STATISTICS),
    List(&PAGES_OF_ENCODING),
    Number,
    Number,
    Structure(&SIZES),
    Structure(&PLACES),
];
static CHUNK: Shape =
    Structure(&[Text, Number, Structure(&COLUMN), Number, Number, Number, Number, Other, Text]);
static SORTED_BY: Shape = Structure(&[Number, Truth, Truth]);
static ROW_GROUP: Shape =
    Structure(&[List(&CHUNK), Number, Number, List(&SORTED_BY), Number, Number, Number]);
static ORDER: Shape = Structure(&[Structure(&[])]);

static FILE: [Shape; 9] = [
    Number,
    List(&SCHEMA_ELEMENT),
    Number,
    List(&ROW_GROUP),
    List(&KEY_VALUE),
    Text,
    List(&ORDER),
    Other,
    Text,
];

/// The length of the footer and the word behind it.
const TAIL: u64 = 8;

/// Refuses a footer with fields of other kinds than they should be, with lists longer than what is there of them, or with columns of
/// more parts than it has bytes. One that is not where it should be is left to the decoder to refuse.
pub fn check(source: &impl ChunkReader) -> Result<()> {
    let Some(end) = source.len().checked_sub(TAIL) else { return Ok(()) };
    let mut tail = [0; TAIL as usize];
    source.get_read(end).map_err(Error::other)?.read_exact(&mut tail)?;
    let [a, b, c, d, ..] = tail;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(start) = end.checked_sub(length) else { return Ok(()) };
    let mut walk = Walk::over(source.get_read(start).map_err(Error::other)?.take(length));
    let Some(first) = walk.next()? else { return Ok(()) };
    let (mut parts, mut backwards) = (0i64, false);
    walk.structure(first, &FILE, &mut |_, number| {
        backwards |= number < 0;
        parts = parts.saturating_add(number);
    })?;
    match backwards || parts > length as i64 {
        true => {
            Err(Error::other(format!("a footer of {length} bytes that promises columns of {parts} parts")))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn checked(bytes: &[u8]) -> std::result::Result<(), String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        check(&file).map_err(|error| error.to_string())
    }

    /// A file of nothing but a footer.
    fn footer(footer: &[u8]) -> std::result::Result<(), String> {
        checked(&[footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat())
    }

    #[test]
    fn promises_are_compared_with_what_is_there() {
        // Field 2: a list of two structures; field 4 of the first is a name, field 5 says that it has one part.
        let columns = |parts: u8| footer(&[0x29, 0x2c, 0x48, 1, b'a', 0x15, parts, 0, 0x48, 1, b'b', 0, 0]);
        assert_eq!(columns(2), Ok(()));
        assert!(columns(80).unwrap_err().contains("columns of 40 parts"));
        assert!(columns(1).unwrap_err().contains("columns of -1 parts"));
        // 2^28 columns in a footer of eight bytes, and a list where there should be a number.
        assert!(
            footer(&[0x29, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x01, 0]).unwrap_err().contains("the file ends")
        );
        assert!(footer(&[0x19, 0x05, 0]).unwrap_err().contains("a value of kind 9"));
    }

    #[test]
    fn what_is_no_footer_is_left_to_the_decoder() {
        for bytes in [&b""[..], b"PAR1", b"\0\0\0\0PAR1", b"\xff\xff\xff\xffPAR1"] {
            assert_eq!(checked(bytes), Ok(()));
        }
    }
}
