//! Tables as CSV, plain or compressed, with a header line.

use super::encoding::{self, Encoding};
use super::row::{Position, Row, Wanted, places};
use crate::column::quoted;
use crate::error::{DataError, Result};
use crate::limits;
use crate::open;
use ::csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};
use serde::{Deserialize, Serialize};
use std::io::{Cursor, Read};
use std::path::Path;

/// Most bytes of a header line.
const MAXIMUM_HEADER: u64 = 1 << 20;

/// How a table is written, as far as it is stated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Form {
    /// What stands between cells; without it the header line says.
    pub delimiter: Option<Delimiter>,
    /// What stands before the fraction of a number.
    pub decimal: Decimal,
    /// How characters are written; without it a byte-order mark says, or it is UTF-8.
    pub encoding: Option<Encoding>,
}

/// What stands between cells: one character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Delimiter(u8);

impl TryFrom<String> for Delimiter {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Delimiter, String> {
        match text.as_bytes() {
            b"tab" => Ok(Delimiter(b'\t')),
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n.-+_".contains(byte) => {
                Ok(Delimiter(*byte))
            }
            _ => Err(format!("delimiter {} is not one of \",\", \";\", \"|\" and \"tab\"", quoted(&text))),
        }
    }
}

impl Default for Delimiter {
    fn default() -> Delimiter {
        Delimiter(b',')
    }
}

impl Delimiter {
    pub(super) fn byte(self) -> u8 {
        self.0
    }
}

impl From<Delimiter> for String {
    fn from(Delimiter(byte): Delimiter) -> String {
        if byte == b'\t' { "tab".to_string() } else { char::from(byte).to_string() }
    }
}

/// What stands before the fraction of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decimal {
    /// As in 1.5.
    #[default]
    #[serde(rename = ".")]
    Point,
    /// As in 1,5.
    #[serde(rename = ",")]
    Comma,
}

/// Calls `visit` with each row of a file.
pub fn rows(
    path: &Path,
    form: Form,
    wanted: &[Wanted],
    visit: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let file = path.display().to_string();
    rows_of(&file, open::Capped::new(open::stream(path)?, limits::MAXIMUM_BYTES), form, wanted, visit)
}

/// Calls `visit` with each row of a stream.
pub fn rows_of(
    file: &str,
    stream: impl Read + Send,
    form: Form,
    wanted: &[Wanted],
    mut visit: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let Opened { mut reader, behind } = reader(file, stream, form)?;
    let header = header_of(file, &mut reader)?;
    let columns = places(file, &header, wanted)?;
    let comma = form.decimal == Decimal::Comma;
    let mut points = vec![String::new(); if comma { wanted.len() } else { 0 }];
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| wrong(file, error, behind))? {
        let position = Position::Line(record.position().map_or(0, ::csv::Position::line) + behind);
        let cell = |index: &usize| record.get(*index).unwrap_or("").trim();
        for (place, point) in points.iter_mut().enumerate().filter(|(place, _)| wanted[*place].number) {
            with_point(cell(&columns[place]), point).map_err(|reason| {
                let position = format!("{position}, column `{}`", wanted[place].name);
                DataError::malformed(file, position, reason).remedy("correct it or the description")
            })?;
        }
        let cells = columns.iter().enumerate().map(|(place, index)| match points.get(place) {
            Some(point) if wanted[place].number => point.as_str(),
            _ => cell(index),
        });
        visit(Row::new(position, cells.collect()))?;
    }
    Ok(())
}

/// The names in the header of a file, and nothing else of it.
pub fn header(path: &Path, form: Form) -> Result<Vec<String>> {
    let file = path.display().to_string();
    header_of(&file, &mut reader(&file, open::stream(path)?, form)?.reader)
}

/// A table behind its byte-order mark.
struct Opened<'s> {
    reader: Reader<Box<dyn Read + Send + 's>>,
    /// Lines by which the place of a row is behind: of two signs that end a line the reader leaves the second to the next row.
    behind: u64,
}

/// A reader behind the byte-order mark, with the delimiter that is stated or found.
fn reader<'s>(file: &str, stream: impl Read + Send + 's, form: Form) -> Result<Opened<'s>> {
    let unread = |error: std::io::Error| DataError::malformed(file, "line 1", error);
    let mut text = encoding::utf8(stream, form.encoding).map_err(unread)?;
    let mut start = Vec::new();
    while !start.contains(&b'\n') {
        let before = start.len();
        text.by_ref().take(1 << 12).read_to_end(&mut start).map_err(unread)?;
        if start.len() == before {
            break;
        }
        if start.len() as u64 > MAXIMUM_HEADER {
            let reason = format!("no line ends in the first {MAXIMUM_HEADER} bytes");
            return Err(DataError::malformed(file, "line 1", reason));
        }
    }
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Delimiter(delimiter) = form.delimiter.unwrap_or_else(|| found(line));
    let behind = u64::from(line.ends_with(b"\r"));
    let text: Box<dyn Read + Send + 's> = Box::new(Cursor::new(start).chain(text));
    Ok(Opened { reader: ReaderBuilder::new().delimiter(delimiter).from_reader(text), behind })
}

/// What a header line has most of, outside quotes: the names of columns are public, whatever the rows are.
pub(super) fn found(line: &[u8]) -> Delimiter {
    let count = |delimiter: u8| {
        let mut quoted = false;
        let outside = line.iter().filter(|byte| {
            quoted ^= **byte == b'"';
            !quoted && **byte == delimiter
        });
        outside.count()
    };
    // Of equals the last is taken.
    Delimiter(*b"|\t;,".iter().max_by_key(|delimiter| count(**delimiter)).unwrap_or(&b','))
}

fn header_of<R: Read>(file: &str, reader: &mut Reader<R>) -> Result<Vec<String>> {
    let header = reader.headers().map_err(|error| wrong(file, error, 0))?;
    Ok(header.iter().map(|name| name.trim().to_string()).collect())
}

/// A number with a decimal comma, written with a point.
pub(super) fn with_point(cell: &str, point: &mut String) -> std::result::Result<(), String> {
    point.clear();
    // A point might group thousands: 1.500 would be read as one and a half.
    if cell.contains('.') && cell.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(format!("{} has a point, but `decimal = \",\"` is declared", quoted(cell)));
    }
    point.extend(cell.chars().map(|sign| if sign == ',' { '.' } else { sign }));
    Ok(())
}

fn wrong(file: &str, error: ::csv::Error, behind: u64) -> DataError {
    let position = error
        .position()
        .map_or("whole file".to_string(), |position| format!("line {}", position.line() + behind));
    let (reason, remedy) = explained(&error);
    DataError::malformed(file, position, reason).remedy(remedy)
}

/// What is wrong with a row, and what to do about it.
pub(super) fn explained(error: &::csv::Error) -> (String, &'static str) {
    match error.kind() {
        ErrorKind::Utf8 { .. } => (
            "no text in UTF-8".to_string(),
            "save it as UTF-8, or declare how it is written, as in `encoding = \"windows-1252\"`",
        ),
        ErrorKind::UnequalLengths { expected_len, len, .. } => (
            format!("{len} cells, the header has {expected_len}"),
            "correct the line, or declare the `delimiter`; every line needs as many cells as the header",
        ),
        ErrorKind::Io(error) => (error.to_string(), "try again, or get the file again"),
        _ => ("no row of a table".to_string(), "the file is damaged or not what its name says: get it again"),
    }
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
    while reader.read_record(&mut record).map_err(|error| wrong(file, error, 0))? {
        let position = format!("line {}", record.position().map_or(0, ::csv::Position::line));
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

    fn read_as(form: Form, text: &str, wanted: &[&str]) -> Result<Vec<Vec<String>>> {
        let mut read = Vec::new();
        let wanted: Vec<Wanted> = wanted.iter().map(|name| Wanted { name, number: *name != "b" }).collect();
        rows_of("t.csv", text.as_bytes(), form, &wanted, |row| {
            read.push((0..wanted.len()).map(|index| row.cell(index).to_string()).collect());
            Ok(())
        })?;
        Ok(read)
    }

    fn read(text: &str, wanted: &[&str]) -> Result<Vec<Vec<String>>> {
        read_as(Form::default(), text, wanted)
    }

    fn delimiter(text: &str) -> std::result::Result<Delimiter, String> {
        Delimiter::try_from(text.to_string())
    }

    #[test]
    fn wanted_columns_come_in_the_wanted_order() {
        let text = "a, b,c\n1,2,3\n\"4,5\", 6 ,7\n";
        assert_eq!(read(text, &["c", "a"]).unwrap(), [["3", "1"], ["7", "4,5"]]);
    }

    #[test]
    fn a_cell_in_quotes_may_go_on_in_the_next_line() {
        let text = "a,b\n1,\"two\nlines, \"\"quoted\"\"\"\r\nx,3\n";
        assert_eq!(read(text, &["b"]).unwrap(), [["two\nlines, \"quoted\""], ["3"]]);
        let message = read("a,b\n1,\"two\nlines\"\n1\n", &["b"]).unwrap_err().to_string();
        assert!(message.contains("line 4"), "{message}");
    }

    #[test]
    fn the_header_line_says_what_stands_between_cells() {
        let rows = [["3", "1"], ["7", "4"]];
        for delimiter in [",", ";", "\t", "|"] {
            let text = "a,\"b,x;y\",c\n1,2,3\n4,6,7\n".replace(',', delimiter);
            assert_eq!(read(&text, &["c", "a"]).unwrap(), rows, "{delimiter}");
        }
        assert_eq!(read("a\n1\n", &["a"]).unwrap(), [["1"]]);
        let stated = Form { delimiter: Some(delimiter(";").unwrap()), ..Form::default() };
        assert_eq!(read_as(stated, "a,x,y;b\n1;2\n", &["b"]).unwrap(), [["2"]]);
        assert_eq!(delimiter("tab").map(String::from), Ok("tab".to_string()));
        assert!(delimiter("ab").is_err() && delimiter("\"").is_err() && delimiter("1").is_err());
    }

    #[test]
    fn numbers_may_have_a_comma() {
        let form = Form { decimal: Decimal::Comma, ..Form::default() };
        let text = "a;b;c\n1,5;1,5;-0,25\n;x;7\n";
        assert_eq!(read_as(form, text, &["c", "b", "a"]).unwrap(), [["-0.25", "1,5", "1.5"], ["7", "x", ""]]);
        let message = read_as(form, "a;b\n1.500;2\n", &["a"]).unwrap_err().to_string();
        assert!(message.contains("line 2, column `a`") && message.contains("has a point"), "{message}");
        assert_eq!(read_as(form, "a;b\n.;2\n", &["a"]).unwrap(), [["."]]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let message = |text: &str| read(text, &["a"]).unwrap_err().to_string();
        assert!(message("b,c\n1,2\n").contains("t.csv, line 1: no column `a` in the header (b, c)"));
        let uneven = message("a,b\n1,2\n1\n");
        assert!(uneven.contains("line 3: 1 cells") && uneven.contains("as many cells"), "{uneven}");
        assert!(message("a,b,c,b\n1,2,3,4\n").contains("`b` stands twice in the header"));
        assert!(read("a,,\n1,,\n", &["a"]).is_ok());
        let latin =
            rows_of("t.csv", &b"a\n\xf6\n"[..], Form::default(), &[], |_| Ok(())).unwrap_err().to_string();
        assert!(latin.contains("line 2: no text in UTF-8") && latin.contains("windows-1252"), "{latin}");
    }

    #[test]
    fn lines_that_end_with_two_signs_are_counted_once() {
        for text in ["a,b\r\n1,2\r\n\"x\r\ny\",2\r\n1\r\n", "a,b\n1,2\n\"x\ny\",2\n1\n"] {
            let message = read(text, &["a"]).unwrap_err().to_string();
            assert!(message.contains("line 5: 1 cells"), "{message}");
        }
    }

    #[test]
    fn mutated_files_never_panic() {
        let wanted = [Wanted { name: "a", number: true }, Wanted { name: "c", number: false }];
        let form = Form { decimal: Decimal::Comma, ..Form::default() };
        survives(b"a;b;c\n1,5;\"x y\";3\n4;5;6\n", |bytes| {
            drop(rows_of("t.csv", bytes, form, &wanted, |_| Ok(())));
            drop(lines("t.csv", bytes, 3, |_, _| Ok(())));
        });
    }
}
