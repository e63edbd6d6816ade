//! Tables as text, cut at the ends of records and parsed on many threads.

use super::cut::cut;
use super::table::Table;
use super::{Chunk, Job, Options, Stream};
use crate::error::{DataError, Result};
use crate::own::csv::{Delimiter, explained, found};
use crate::own::encoding;
use crate::own::row::{Position, places};
use crate::schema::Schema;
use csv::{ReaderBuilder, StringRecord};
use memchr::memchr_iter;
use std::io::Read;
use std::sync::Arc;

/// Bytes of one job: enough to keep a thread busy for milliseconds, and little beside the memory of a program.
const BLOCK: usize = 1 << 20;

/// Most bytes of one record.
const MAXIMUM_RECORD: usize = 64 << 20;

/// The rows of a table that is read from a stream, in UTF-8 unless a mark before it says that it is UTF-16.
pub(super) fn stream(
    file: &str,
    stream: impl Read + Send + 'static,
    schema: &Schema,
    options: &Options,
) -> Result<Stream<'static>> {
    let stream = encoding::utf8(stream, None).map_err(|error| DataError::malformed(file, "line 1", error))?;
    let place = Place { line: 1, record: 0 };
    let (rest, delimiter) = (Vec::new(), Delimiter::default());
    let mut blocks = Blocks { file: file.to_string(), stream, delimiter, rest, ended: false, place };
    blocks.fill(BLOCK)?;
    blocks.delimiter = found(blocks.rest.split(|byte| b"\r\n".contains(byte)).next().unwrap_or_default());
    let mut header = StringRecord::new();
    if let Some(block) = blocks.take(1)? {
        reader(&block.text, blocks.delimiter).read_record(&mut header).map_err(|error| {
            let (reason, remedy) = explained(&error);
            DataError::malformed(file, "line 1", reason).remedy(remedy)
        })?;
    }
    blocks.place.record = 0;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_string()).collect();
    let table = Table::new(file, &header, schema, options)?;
    let places = places(file, &header, &table.wanted())?;
    let rows = Arc::new(Rows { table, places, cells: header.len(), delimiter: blocks.delimiter });
    let (reading, table) = (rows.clone(), &rows.table);
    let jobs = std::iter::from_fn(move || match blocks.take(u64::MAX) {
        Ok(block) => {
            let (block, rows) = (block?, reading.clone());
            Some(Ok(Box::new(move || rows.chunk(&block)) as Job<'static>))
        }
        Err(error) => Some(Err(error)),
    });
    Ok(table.stream(jobs))
}

fn reader(text: &[u8], delimiter: Delimiter) -> csv::Reader<&[u8]> {
    ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter.byte()).from_reader(text)
}

/// Where a block begins.
#[derive(Clone, Copy)]
struct Place {
    /// Its first line, from 1.
    line: u64,
    /// Its first record, from 0.
    record: u64,
}

/// Whole records.
struct Block {
    place: Place,
    text: Vec<u8>,
}

/// A text in blocks.
struct Blocks<R> {
    file: String,
    stream: R,
    delimiter: Delimiter,
    /// What was read and not given out.
    rest: Vec<u8>,
    ended: bool,
    /// Where the rest begins.
    place: Place,
}

impl<R: Read> Blocks<R> {
    /// The next records, at most so many; `None` at the end.
    fn take(&mut self, most: u64) -> Result<Option<Block>> {
        let mut wanted = BLOCK;
        loop {
            self.fill(wanted)?;
            let mut cut = cut(&self.rest, self.delimiter.byte(), most);
            if self.ended && cut.records < most && cut.end < self.rest.len() {
                // The last record lacks its line end.
                (cut.end, cut.records) = (self.rest.len(), cut.records + 1);
            }
            if cut.records > 0 {
                let rest = self.rest.split_off(cut.end);
                let block = Block { place: self.place, text: std::mem::replace(&mut self.rest, rest) };
                self.place.line += memchr_iter(b'\n', &block.text).count() as u64;
                self.place.record += cut.records;
                return Ok(Some(block));
            }
            if self.ended {
                return Ok(None);
            }
            wanted = 2 * self.rest.len();
            if wanted > MAXIMUM_RECORD {
                let reason = format!("a row of more than {} bytes", MAXIMUM_RECORD / 2);
                let position = format!("line {}", self.place.line);
                return Err(DataError::malformed(&self.file, position, reason)
                    .remedy("close the quote that opens and never ends"));
            }
        }
    }

    /// Reads until the rest has so many bytes, or to the end.
    fn fill(&mut self, bytes: usize) -> Result<()> {
        let missing = bytes.saturating_sub(self.rest.len());
        if missing > 0 && !self.ended {
            self.rest.reserve(missing);
            let read = self.stream.by_ref().take(missing as u64).read_to_end(&mut self.rest);
            let position = format!("after line {}", self.place.line);
            let read = read.map_err(|error| DataError::malformed(&self.file, position, error))?;
            self.ended = read < missing;
        }
        Ok(())
    }
}

/// What is read of each row.
struct Rows {
    table: Table,
    /// Where the wanted columns are in a row.
    places: Vec<usize>,
    /// Cells of a row.
    cells: usize,
    delimiter: Delimiter,
}

impl Rows {
    fn chunk(&self, block: &Block) -> Result<Chunk> {
        let (mut reader, mut row) = (reader(&block.text, self.delimiter), StringRecord::new());
        let (mut chunk, mut record) = (self.table.chunk(), block.place.record);
        loop {
            // Of two signs that end a line the reader leaves the second to the next row.
            let second = block.text.get(reader.position().byte() as usize) == Some(&b'\n');
            let line = block.place.line + reader.position().line() - 1 + u64::from(second);
            match reader.read_record(&mut row) {
                Ok(false) => return Ok(chunk),
                Ok(true) if row.len() == self.cells => {
                    self.table
                        .push(&mut chunk, record, &Position::Line(line), |cell| &row[self.places[cell]])?;
                }
                Ok(true) => {
                    let reason = format!("{} cells, the header has {}", row.len(), self.cells);
                    self.table.skip(&mut chunk, &Position::Line(line), reason)?;
                }
                Err(error) => self.table.skip(&mut chunk, &Position::Line(line), explained(&error).0)?,
            }
            record += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;
    use crate::own::stream::Ids;
    use crate::scaling::Scaling;
    use crate::schema::Stored;
    use crate::task::Task;

    fn schema() -> Schema {
        Schema {
            input: vec![3],
            task: Task::Classes(vec!["no".into(), "yes".into()]),
            label: None,
            columns: vec![Column::number("age", 0.0, 100.0), Column::categories("job", &["x", "y"])],
            vocabulary: None,
            stored: Stored::Floats,
            scaling: Scaling::identity(""),
        }
    }

    fn read(text: impl Into<Vec<u8>>, options: &Options) -> Result<Vec<Chunk>> {
        let text = std::io::Cursor::new(text.into());
        stream("t.csv", text, &schema(), options)?.jobs.map(|job| job?()).collect()
    }

    #[test]
    fn rows_come_in_order_with_their_names_whatever_the_blocks() {
        let rows: String = (0..200_000).map(|row| format!("{row},y,\"a\nb\", {} \r\n", row % 101)).collect();
        let chunks = read(format!("\u{feff}id,job,note,age\r\n{rows}"), &Options::default()).unwrap();
        assert!(chunks.len() > 2);
        let mut row = 0;
        for chunk in &chunks {
            let Ids::Texts(ids) = &chunk.ids else { panic!("names") };
            for (id, inputs) in ids.iter().zip(chunk.inputs.chunks_exact(3)) {
                let age = ((2.0 * (row % 101) as f64 / 100.0) - 1.0).min(1.0) as f32;
                assert_eq!((id, inputs), (&row.to_string()[..], &[age, 0.0, 1.0][..]));
                row += 1;
            }
        }
        assert_eq!(row, 200_000);
    }

    /// As spreadsheets save "Unicode text".
    #[test]
    fn a_mark_says_that_a_text_is_utf_16() {
        let text = "\u{feff}age\tjob\r\n50\ty\r\n";
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let text: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
            assert_eq!(read(text, &Options::default()).unwrap()[0].inputs, [0.0, 0.0, 1.0]);
        }
    }

    #[test]
    fn what_is_wrong_is_named_or_left_out() {
        let text = "age,job\n\n1,x\n2,z\n3\n4,y";
        let message = read(text, &Options::default()).unwrap_err().to_string();
        for part in ["t.csv, line 4, column `job`", "\"z\"", "--skip-bad"] {
            assert!(message.contains(part), "{message}");
        }
        let chunks = read(text, &Options { skip_bad: true, ..Options::default() }).unwrap();
        assert_eq!(chunks[0].ids, Ids::Numbers(vec![0, 3]));
        assert_eq!((chunks[0].skipped, chunks[0].inputs.len()), (2, 6));
        let message = read("age,job\n1\n", &Options::default()).unwrap_err().to_string();
        assert!(message.contains("line 2: 1 cells, the header has 2"), "{message}");
        let message = read("age\n1\n", &Options::default()).unwrap_err().to_string();
        assert!(message.contains("no column `job`"), "{message}");
        let named = Options { id: Some("name".into()), ..Options::default() };
        assert!(read("age,job\n", &named).unwrap_err().to_string().contains("no column `name`"));
        assert!(read("", &Options::default()).unwrap_err().to_string().contains("no column `age`"));
        assert!(read("age,job\n", &Options::default()).unwrap().is_empty());
        assert_eq!(read("age;job\n1;x\n", &Options::default()).unwrap()[0].ids, Ids::Numbers(vec![0]));
    }

    #[test]
    fn mutated_texts_never_panic() {
        crate::mutation::survives(b"age,job,id\n1,x,\"a\nb\"\n2,y,c\n", |bytes| {
            drop(read(bytes, &Options { skip_bad: true, ..Options::default() }));
        });
    }
}
