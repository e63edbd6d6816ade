//! Tables that are written part after part: as text, in columns, or as arrays.

mod arrays;
#[cfg(feature = "parquet")]
mod columns;
mod text;

pub use arrays::records;

use crate::own::stream::{Ids, Texts};
use std::io::{Error, Result, Write};
use std::path::Path;
use std::sync::Arc;

/// Refuses to write columns.
#[cfg(not(feature = "parquet"))]
mod columns {
    use super::{Cells, Heading};
    use crate::error::DataError;
    use std::io::{Error, Result, Write};

    pub(super) struct Columns<'w>(std::marker::PhantomData<&'w ()>);

    impl<'w> Columns<'w> {
        pub fn new(_: &'w mut (dyn Write + Send), _: &[Heading]) -> Result<Columns<'w>> {
            let what = "a table in columns".to_string();
            Err(Error::other(DataError::Feature { what, feature: "parquet" }))
        }

        pub fn write(&mut self, _: Vec<Cells>) -> Result<()> {
            Ok(())
        }

        pub fn finish(self) -> Result<()> {
            Ok(())
        }
    }
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text, cells between commas.
    Csv,
    /// Parquet.
    Parquet,
    /// Arrays of NumPy, one for each column. They lie in memory until the last row is known.
    Npz,
}

impl Format {
    /// By the ending of a file's name; text if it says nothing.
    pub fn of(path: &Path) -> Format {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("parquet") => Format::Parquet,
            Some("npz") => Format::Npz,
            _ => Format::Csv,
        }
    }
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Whole numbers.
    Numbers,
    /// Texts.
    Texts,
    /// One of these names.
    Names(Arc<[String]>),
    /// Yes or no.
    Flags,
    /// Probabilities.
    Shares,
    /// Numbers of any size.
    Values,
}

/// A column of a table to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Heading {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
}

/// Cells of one column, as many as there are rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Numbers(Vec<u64>),
    /// Texts.
    Texts(Texts),
    /// Positions among the names of the column.
    Names(Vec<u32>),
    /// Yes or no.
    Flags(Vec<bool>),
    /// Probabilities.
    Shares(Vec<f32>),
    /// Numbers of any size.
    Values(Vec<f64>),
}

impl From<Ids> for Cells {
    fn from(ids: Ids) -> Cells {
        match ids {
            Ids::Numbers(numbers) => Cells::Numbers(numbers),
            Ids::Texts(texts) => Cells::Texts(texts),
        }
    }
}

impl Cells {
    /// None yet.
    fn none(kind: &Kind) -> Cells {
        match kind {
            Kind::Numbers => Cells::Numbers(Vec::new()),
            Kind::Texts => Cells::Texts(Texts::default()),
            Kind::Names(_) => Cells::Names(Vec::new()),
            Kind::Flags => Cells::Flags(Vec::new()),
            Kind::Shares => Cells::Shares(Vec::new()),
            Kind::Values => Cells::Values(Vec::new()),
        }
    }

    /// Number of rows.
    fn len(&self) -> usize {
        match self {
            Cells::Numbers(cells) => cells.len(),
            Cells::Texts(cells) => cells.len(),
            Cells::Names(cells) => cells.len(),
            Cells::Flags(cells) => cells.len(),
            Cells::Shares(cells) => cells.len(),
            Cells::Values(cells) => cells.len(),
        }
    }

    /// Appends cells of the same kind.
    fn append(&mut self, more: Cells) {
        match (self, more) {
            (Cells::Numbers(cells), Cells::Numbers(more)) => cells.extend(more),
            (Cells::Texts(cells), Cells::Texts(more)) => more.iter().for_each(|text| cells.push(text)),
            (Cells::Names(cells), Cells::Names(more)) => cells.extend(more),
            (Cells::Flags(cells), Cells::Flags(more)) => cells.extend(more),
            (Cells::Shares(cells), Cells::Shares(more)) => cells.extend(more),
            (Cells::Values(cells), Cells::Values(more)) => cells.extend(more),
            (cells, more) => panic!("cells of two kinds: {cells:?} and {more:?}"),
        }
    }
}

/// Rows of a table, as far on the way to the file as other threads can take them.
pub enum Part {
    /// Finished text.
    Text(Vec<u8>),
    /// Columns.
    Cells(Vec<Cells>),
}

/// The columns of a table and the kind of file they are for.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The kind of file.
    pub format: Format,
    /// The columns.
    pub headings: Vec<Heading>,
}

impl Layout {
    /// Some rows, made ready on any thread.
    pub fn part(&self, columns: Vec<Cells>) -> Part {
        match self.format {
            Format::Csv => Part::Text(text::rows(&self.headings, &columns)),
            Format::Parquet | Format::Npz => Part::Cells(columns),
        }
    }
}

/// Writes a table.
pub struct Writer<'w>(Inner<'w>);

enum Inner<'w> {
    Text(&'w mut (dyn Write + Send)),
    Columns(columns::Columns<'w>),
    Arrays(arrays::Arrays<'w>),
}

impl<'w> Writer<'w> {
    /// Begins a table.
    pub fn new(stream: &'w mut (dyn Write + Send), layout: &Layout) -> Result<Writer<'w>> {
        Ok(Writer(match layout.format {
            Format::Csv => {
                stream.write_all(text::header(&layout.headings).as_bytes())?;
                Inner::Text(stream)
            }
            Format::Parquet => Inner::Columns(columns::Columns::new(stream, &layout.headings)?),
            Format::Npz => Inner::Arrays(arrays::Arrays::new(stream, &layout.headings)),
        }))
    }

    /// Writes the next rows.
    pub fn write(&mut self, part: Part) -> Result<()> {
        match (&mut self.0, part) {
            (Inner::Text(stream), Part::Text(text)) => stream.write_all(&text),
            (Inner::Columns(columns), Part::Cells(cells)) => columns.write(cells),
            (Inner::Arrays(arrays), Part::Cells(cells)) => {
                arrays.write(cells);
                Ok(())
            }
            _ => Err(Error::other("rows made ready for another kind of file")),
        }
    }

    /// Ends the table.
    pub fn finish(self) -> Result<()> {
        match self.0 {
            Inner::Text(stream) => stream.flush(),
            Inner::Columns(columns) => columns.finish(),
            Inner::Arrays(arrays) => arrays.finish(),
        }
    }
}

#[cfg(test)]
mod tests;
