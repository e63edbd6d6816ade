//! A row of a table, whatever the format.

use crate::error::{DataError, Result};
use std::fmt;

/// A column that is wanted of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted<'a> {
    /// Its name in the header.
    pub name: &'a str,
    /// Whether its cells are numbers, which a table may write in its own way.
    pub number: bool,
}

/// Where a row is, for messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Position {
    /// The line of a text where it begins.
    Line(u64),
    /// Its number, from 1.
    Row(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(line) => write!(formatter, "line {line}"),
            Position::Row(row) => write!(formatter, "row {row}"),
        }
    }
}

/// A row of a table, in the order of the wanted columns.
pub struct Row<'a> {
    /// Where it is.
    pub position: Position,
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// A row of cells.
    pub fn new(position: Position, cells: Vec<&'a str>) -> Row<'a> {
        Row { position, cells }
    }

    /// The cell of a wanted column.
    pub fn cell(&self, index: usize) -> &'a str {
        self.cells[index]
    }
}

/// The places of the wanted columns in a header, in which no name may stand twice.
pub(super) fn places(file: &str, header: &[String], wanted: &[Wanted]) -> Result<Vec<usize>> {
    let mut sorted: Vec<&String> = header.iter().filter(|name| !name.is_empty()).collect();
    sorted.sort();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        let reason = format!("`{}` stands twice in the header", pair[0]);
        return Err(
            DataError::malformed(file, "line 1", reason).remedy("give every column a name of its own")
        );
    }
    let place = |wanted: &Wanted| {
        header.iter().position(|name| name == wanted.name).ok_or_else(|| {
            let shown: String = header.join(", ").chars().take(200).collect();
            DataError::malformed(
                file,
                "line 1",
                format!("no column `{}` in the header ({shown})", wanted.name),
            )
            .remedy("correct the description or the header")
        })
    };
    wanted.iter().map(place).collect()
}
