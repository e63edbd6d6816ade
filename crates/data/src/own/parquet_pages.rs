//! What the headers of Parquet pages promise, before the decoder takes them at their word.
//!
//! # Source
//! Apache Parquet, "File Format" (`PageHeader` in parquet.thrift); Apache Thrift, "Thrift Compact protocol encoding".

use std::io::{Error, Read, Result, copy, sink};

/// How deep structures may lie inside each other; page headers need three levels.
const DEEPEST: usize = 8;

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

/// The pages of a column chunk up to the first header that cannot be read, where the decoder will end too.
pub fn pages(chunk: impl Read) -> Vec<Page> {
    let (mut walk, mut pages) = (Walk { stream: chunk }, Vec::new());
    while let Ok(page) = walk.header() {
        pages.push(page);
        if u64::try_from(page.compressed).is_err() || walk.skip(page.compressed as u64).is_err() {
            break;
        }
    }
    pages
}

/// A reader of the compact protocol that keeps nothing but two numbers.
struct Walk<R> {
    stream: R,
}

impl<R: Read> Walk<R> {
    fn byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        self.stream.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        match copy(&mut self.stream.by_ref().take(bytes), &mut sink())? {
            skipped if skipped == bytes => Ok(()),
            _ => Err(Error::other("the file ends")),
        }
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::other("a number of more than ten bytes"))
    }

    fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// The header of a page: its second field is the size after decompression, its third the one before, its seventh the header of
    /// a dictionary, whose first field is the number of values.
    fn header(&mut self) -> Result<Page> {
        let mut page = Page::default();
        self.fields(0, 0, &mut |structure, field, number| match (structure, field) {
            (0, 2) => page.uncompressed = number,
            (0, 3) => page.compressed = number,
            (7, 1) => page.dictionary = number,
            _ => {}
        })?;
        Ok(page)
    }

    /// All fields of a structure, which is itself the field `within`; `visit` sees the whole numbers among them, and those of
    /// structures in the outermost one.
    fn fields(&mut self, depth: usize, within: i64, visit: &mut dyn FnMut(i64, i64, i64)) -> Result<()> {
        let mut field = 0i64;
        loop {
            let byte = self.byte()?;
            if byte == 0 {
                return Ok(());
            }
            field = match byte >> 4 {
                0 => self.signed()?,
                further => field.saturating_add(i64::from(further)),
            };
            match byte & 15 {
                4..=6 => visit(within, field, self.signed()?),
                12 if depth == 0 => self.fields(1, field, visit)?,
                // Truth is in the kind of a field.
                1 | 2 => {}
                kind => self.value(kind, depth)?,
            }
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth > DEEPEST {
            return Err(Error::other("structures too deep inside each other"));
        }
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.number().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.number()?;
                self.skip(length)
            }
            9 | 10 => {
                let byte = self.byte()?;
                let count = if byte >> 4 == 15 { self.number()? } else { u64::from(byte >> 4) };
                (0..count).try_for_each(|_| self.value(byte & 15, depth + 1))
            }
            12 => self.fields(depth + 1, 0, &mut |_, _, _| ()),
            kind => Err(Error::other(format!("a value of kind {kind}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives;

    /// A data page of five bytes that promises `promise`, with a structure inside its header, as the format has it.
    fn page(promise: &[u8]) -> Vec<u8> {
        let header = [&[0x15, 0x00, 0x15], promise, &[0x15, 10, 0x2c, 0x15, 6, 0x15, 0, 0x18, 2, 7, 7, 0, 0]];
        [&header.concat()[..], &[1; 5]].concat()
    }

    #[test]
    fn sizes_of_all_pages_are_found() {
        let file = [page(&[14]), page(&[0xfe, 0xff, 0xff, 0xff, 0x0f])].concat();
        let expected =
            [7, i64::from(i32::MAX)].map(|uncompressed| Page { uncompressed, compressed: 5, dictionary: 0 });
        assert_eq!(pages(&file[..]), expected);
        survives(&file, |bytes| drop(pages(bytes)));
        let dictionary = [0x15, 4, 0x15, 6, 0x15, 2, 0x4c, 0x15, 18, 0x15, 0, 0x12, 0, 0, 1];
        assert_eq!(pages(&dictionary[..]), [Page { uncompressed: 3, compressed: 1, dictionary: 9 }]);
    }
}
