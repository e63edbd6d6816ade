//! Tables as arrays: one for each column, under its name.

use super::npz::{archive, member};
use super::row::{Position, Row, Wanted};
use crate::error::{DataError, Result};
use crate::format::npy::{Array, Values};
use crate::limits;
use crate::open;
use std::fmt::Write;
use std::path::Path;

/// Calls `visit` with each row of a file. A column is an array of as many numbers or texts as there are rows; of an array with a
/// second size a row of numbers is one cell, as token numbers are.
pub fn rows(path: &Path, wanted: &[Wanted], visit: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
    let bytes = open::read(path, limits::MAXIMUM_BYTES)?;
    rows_of(&path.display().to_string(), &bytes, wanted, visit)
}

/// The same for the bytes of a file.
pub fn rows_of(
    file: &str,
    bytes: &[u8],
    wanted: &[Wanted],
    mut visit: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut archive = archive(file, bytes)?;
    let mut budget = limits::MAXIMUM_BYTES;
    let remedy =
        "save an array for each column of the description, as in numpy.savez(file, age=..., job=...)";
    let mut arrays = Vec::new();
    for Wanted { name, .. } in wanted {
        arrays.push(member(file, &mut archive, name, &mut budget).map_err(|error| error.remedy(remedy))?);
    }
    let rows = arrays.first().and_then(|array| array.sizes.first()).copied().unwrap_or(0);
    for (array, Wanted { name, .. }) in arrays.iter().zip(wanted) {
        // An array of rows of nothing could claim any number of them.
        let fits = match array.sizes[..] {
            [count] => count == rows,
            [count, width] => count == rows && width > 0,
            _ => false,
        };
        if !fits {
            let reason = format!("sizes {:?}, other columns have {rows} rows", array.sizes);
            return Err(DataError::malformed(file, format!("array `{name}`"), reason).remedy(remedy));
        }
    }
    let mut cells = vec![String::new(); wanted.len()];
    for row in 0..rows {
        for (cell, array) in cells.iter_mut().zip(&arrays) {
            write_cell(array, row, cell);
        }
        let cells = cells.iter().map(|cell| cell.trim()).collect();
        visit(Row::new(Position::Row(row as u64 + 1), cells))?;
    }
    Ok(())
}

/// The values of one row, as CSV would write them.
fn write_cell(array: &Array, row: usize, cell: &mut String) {
    cell.clear();
    let width = array.sizes.get(1).copied().unwrap_or(1);
    for place in row * width..(row + 1) * width {
        if place > row * width {
            cell.push(' ');
        }
        let written = match &array.values {
            Values::Bytes(values) => write!(cell, "{}", values[place]),
            Values::Integers(values) => write!(cell, "{}", values[place]),
            Values::Floats(values) => write!(cell, "{}", values[place]),
            Values::Texts(values) => write!(cell, "{}", values[place]),
        };
        written.expect("a string takes all that is written");
    }
}

#[cfg(test)]
mod tests {
    use super::super::npz::tests::archive;
    use super::*;
    use crate::format::npy::tests::file as npy;

    fn read(members: &[(&str, Vec<u8>)], wanted: &[&str]) -> Result<Vec<Vec<String>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.npz");
        std::fs::write(&path, archive(true, members)).unwrap();
        let wanted: Vec<Wanted> = wanted.iter().map(|name| Wanted { name, number: false }).collect();
        let mut read = Vec::new();
        rows(&path, &wanted, |row| {
            read.push((0..wanted.len()).map(|index| row.cell(index).to_string()).collect());
            Ok(())
        })?;
        Ok(read)
    }

    #[test]
    fn every_column_is_an_array() {
        let words: Vec<u8> = "aébc".chars().flat_map(|letter| (letter as u32).to_le_bytes()).collect();
        let members = [
            ("age", npy("<i4", "(2,)", &[7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])),
            ("weight", npy("<f4", "(2,)", &[0.5f32.to_le_bytes(), 7f32.to_le_bytes()].concat())),
            ("word", npy("<U2", "(2,)", &words)),
            ("short", npy("|S3", "(2,)", b"ab\0c\0\0")),
            ("tokens", npy("<u2", "(2, 3)", &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0, 1])),
        ];
        let cells = read(&members, &["tokens", "age", "weight", "word", "short"]).unwrap();
        assert_eq!(cells, [["1 2 3", "7", "0.5", "aé", "ab"], ["4 5 256", "-1", "7", "bc", "c"]]);
        let message = read(&members, &["age", "job"]).unwrap_err().to_string();
        assert!(message.contains("array `job`") && message.contains("job=..."), "{message}");
        let uneven = [members[0].clone(), ("job", npy("|u1", "(3,)", &[0; 3]))];
        let message = read(&uneven, &["age", "job"]).unwrap_err().to_string();
        assert!(message.contains("array `job`") && message.contains("2 rows"), "{message}");
        let nothing = [("age", npy("|u1", "(999999999999, 0)", &[]))];
        let message = read(&nothing, &["age"]).unwrap_err().to_string();
        assert!(message.contains("sizes [999999999999, 0]"), "{message}");
    }
}
