//! What the headers of Parquet pages promise, before the decoder takes them at their word.
//!
//! # Source
//! Apache Parquet, "File Format" (`PageHeader` in parquet.thrift).

use super::thrift::Shape::{self, Noted, Number, Structure, Text, Truth};
use super::thrift::Walk;
use std::io::{Error, Read, Result};

/// What the header of one page says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Page {
    /// As the header says it will be.
    pub uncompressed: i64,
    /// As it lies in the file.
    pub compressed: i64,
    /// Values of a dictionary; zero for other pages.
    pub dictionary: i64,
}

/// Of a page, or of a column.
pub static STATISTICS: [Shape; 9] = [Text, Text, Number, Number, Text, Text, Truth, Truth, Number];

static HEADER: [Shape; 8] = [
    Number,
    Noted("uncompressed"),
    Noted("compressed"),
    Number,
    Structure(&[Number, Number, Number, Number, Structure(&STATISTICS)]),
    Structure(&[]),
    Structure(&[Noted("dictionary"), Number, Truth]),
    Structure(&[Number, Number, Number, Number, Number, Number, Truth, Structure(&STATISTICS)]),
];

/// The pages of a column chunk.
///
/// # Errors
/// If a header cannot be read, or its page is not there.
pub fn pages(chunk: impl Read) -> Result<Vec<Page>> {
    let (mut walk, mut pages) = (Walk::over(chunk), Vec::new());
    while let Some(first) = walk.next()? {
        let mut page = Page::default();
        walk.structure(first, &HEADER, &mut |name, number| match name {
            "uncompressed" => page.uncompressed = number,
            "compressed" => page.compressed = number,
            _ => page.dictionary = number,
        })?;
        pages.push(page);
        let length =
            u64::try_from(page.compressed).map_err(|_| Error::other("a page of less than no bytes"))?;
        walk.skip(length)?;
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives;

    /// A data page of five bytes that promises `promise`, with statistics inside its header, as the format has it.
    fn page(promise: &[u8]) -> Vec<u8> {
        let header = [&[0x15, 0x00, 0x15], promise, &[0x15, 10, 0x2c, 0x15, 6, 0x4c, 0x18, 2, 7, 7, 0, 0, 0]];
        [&header.concat()[..], &[1; 5]].concat()
    }

    #[test]
    fn sizes_of_all_pages_are_found() {
        let file = [page(&[14]), page(&[0xfe, 0xff, 0xff, 0xff, 0x0f])].concat();
        let expected =
            [7, i64::from(i32::MAX)].map(|uncompressed| Page { uncompressed, compressed: 5, dictionary: 0 });
        assert_eq!(pages(&file[..]).unwrap(), expected);
        survives(&file, |bytes| drop(pages(bytes)));
        let dictionary = [0x15, 4, 0x15, 6, 0x15, 2, 0x4c, 0x15, 18, 0x15, 0, 0x12, 0, 0, 1];
        assert_eq!(pages(&dictionary[..]).unwrap(), [Page { uncompressed: 3, compressed: 1, dictionary: 9 }]);
    }
}
