//! Tables as CSV, plain or compressed, with a header line.

use crate::error::{DataError, Result};
use crate::limits;
use crate::open;
use ::csv::{Position, ReaderBuilder, StringRecord};
use std::io::Read;
use std::path::Path;

/// A row of a table, in the order of the wanted columns.
pub struct Row<'a> {
    /// Where it is, for messages.
    pub position: String,
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// A row of cells.
    pub fn new(position: String, cells: Vec<&'a str>) -> Row<'a> {
        Row { position, cells }
    }

    /// The cell of a wanted column.
    pub fn cell(&self, index: usize) -> &'a str {
        self.cells[index]
    }

    /// All cells as one string of bytes that no other row shares.
    pub fn content(&self) -> Vec<u8> {
        self.cells.iter().flat_map(|cell| cell.bytes().chain([0])).collect()
    }
}

/// Calls `visit` with each row of a file.
pub fn rows(path: &Path, wanted: &[&str], visit: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
    let file = path.display().to_string();
    rows_of(&file, open::Capped::new(open::stream(path)?, limits::MAXIMUM_BYTES), wanted, visit)
}

/// Calls `visit` with each row of a stream.
pub fn rows_of(
    file: &str,
    stream: impl Read,
    wanted: &[&str],
    mut visit: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut reader = ReaderBuilder::new().from_reader(stream);
    let header = reader.headers().map_err(|error| wrong(file, error))?.clone();
    let columns = wanted.iter().map(|name| column(file, &header, name)).collect::<Result<Vec<usize>>>()?;
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| wrong(file, error))? {
        let line = record.position().map_or(0, Position::line);
        let cells = columns.iter().map(|&index| record.get(index).unwrap_or("").trim()).collect();
        visit(Row::new(format!("line {line}"), cells))?;
    }
    Ok(())
}

/// The place of a column in the header.
pub(super) fn column<'h>(file: &str, header: impl IntoIterator<Item = &'h str>, name: &str) -> Result<usize> {
    let header: Vec<&str> = header.into_iter().map(str::trim).collect();
    let found = header.iter().position(|column| *column == name);
    found.ok_or_else(|| {
        let shown: String = header.join(", ").chars().take(200).collect();
        DataError::malformed(file, "line 1", format!("no column `{name}` in the header ({shown})"))
            .remedy("correct the description or the header")
    })
}

fn wrong(file: &str, error: ::csv::Error) -> DataError {
    let position =
        error.position().map_or("whole file".to_string(), |position| format!("line {}", position.line()));
    DataError::malformed(file, position, error)
        .remedy("correct the line; every line needs as many cells as the header")
}

/// A line-based file without a header, as the UCI repository has them: every cell of every line to `visit`;
/// lines that begin with `|` are comments.
pub fn lines(
    file: &str,
    bytes: &[u8],
    cells: usize,
    mut visit: impl FnMut(&str, &StringRecord) -> Result<()>,
) -> Result<()> {
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).quoting(false).comment(Some(b'|'));
    let mut reader = builder.from_reader(bytes);
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| wrong(file, error))? {
        let position = format!("line {}", record.position().map_or(0, Position::line));
        if record.len() != cells {
            let reason = format!("{} values where {cells} are expected", record.len());
            return Err(DataError::malformed(file, position, reason));
        }
        visit(&position, &record)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives;

    fn read(text: &str, wanted: &[&str]) -> Result<Vec<Vec<String>>> {
        let mut read = Vec::new();
        rows_of("t.csv", text.as_bytes(), wanted, |row| {
            read.push(row.cells.iter().map(|cell| cell.to_string()).collect());
            Ok(())
        })?;
        Ok(read)
    }

    #[test]
    fn wanted_columns_come_in_the_wanted_order() {
        let text = "a, b,c\n1,2,3\n\"4,5\", 6 ,7\n";
        assert_eq!(read(text, &["c", "a"]).unwrap(), [["3", "1"], ["7", "4,5"]]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let message = |text: &str| read(text, &["a"]).unwrap_err().to_string();
        assert!(message("b,c\n1,2\n").contains("t.csv, line 1: no column `a` in the header (b, c)"));
        let uneven = message("a,b\n1,2\n1\n");
        assert!(uneven.contains("line 3") && uneven.contains("as many cells"), "{uneven}");
        assert!(read("a\n1", &["a"]).is_ok());
    }

    #[test]
    fn mutated_files_never_panic() {
        survives(b"a,b,c\n1,\"x y\",3\n4,5,6\n", |bytes| {
            drop(rows_of("t.csv", bytes, &["a", "c"], |_| Ok(())));
            drop(lines("t.csv", bytes, 3, |_, _| Ok(())));
        });
    }
}
