//! Rows as text.

use super::{Cells, Heading, Kind};
use std::io::Write;

/// A millionth: probabilities are written with six digits.
const DIGITS: f32 = 1e6;

/// The first line.
pub(super) fn header(headings: &[Heading]) -> String {
    let names: Vec<String> = headings.iter().map(|heading| quoted(&heading.name)).collect();
    names.join(",") + "\n"
}

/// Rows, one a line.
pub(super) fn rows(headings: &[Heading], columns: &[Cells]) -> Vec<u8> {
    let count = columns.first().map_or(0, Cells::len);
    let names: Vec<Vec<String>> = headings.iter().map(names).collect();
    let mut text = Vec::with_capacity(count * 12 * columns.len());
    for row in 0..count {
        for (column, (cells, names)) in columns.iter().zip(&names).enumerate() {
            if column > 0 {
                text.push(b',');
            }
            cell(cells, names, row, &mut text);
        }
        text.push(b'\n');
    }
    text
}

fn cell(cells: &Cells, names: &[String], row: usize, text: &mut Vec<u8>) {
    let written = match cells {
        Cells::Numbers(numbers) => write!(text, "{}", numbers[row]),
        Cells::Texts(texts) => {
            push_quoted(texts.get(row), text);
            Ok(())
        }
        Cells::Names(places) => {
            text.extend_from_slice(names[places[row] as usize].as_bytes());
            Ok(())
        }
        Cells::Flags(flags) => {
            text.push(b'0' + u8::from(flags[row]));
            Ok(())
        }
        Cells::Shares(shares) => {
            share(shares[row], text);
            Ok(())
        }
        Cells::Values(values) => write!(text, "{:.6}", values[row]),
    };
    written.expect("memory takes all that is written");
}

/// A number between 0 and 1 with six digits; anything else as it is.
fn share(share: f32, text: &mut Vec<u8>) {
    if !(0.0..=1.0).contains(&share) {
        write!(text, "{share}").expect("memory takes all that is written");
        return;
    }
    let mut rest = (share * DIGITS).round() as u32;
    let mut digits = *b"0.000000";
    for digit in digits[2..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits[0] = b'0' + rest as u8;
    text.extend_from_slice(&digits);
}

/// The names of a column, ready to be written.
fn names(heading: &Heading) -> Vec<String> {
    match &heading.kind {
        Kind::Names(names) => names.iter().map(|name| quoted(name)).collect(),
        _ => Vec::new(),
    }
}

/// A text as a cell.
fn quoted(cell: &str) -> String {
    let mut text = Vec::new();
    push_quoted(cell, &mut text);
    String::from_utf8(text).expect("text stays text")
}

fn push_quoted(cell: &str, text: &mut Vec<u8>) {
    if !cell.contains([',', '"', '\n', '\r']) {
        text.extend_from_slice(cell.as_bytes());
        return;
    }
    text.push(b'"');
    text.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
    text.push(b'"');
}
