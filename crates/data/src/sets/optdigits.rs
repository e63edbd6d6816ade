//! Optical digits of the UCI repository: 8 by 8 counts from 0 to 16.

use super::{exactly, finish, names};
use crate::dataset::{Dataset, Records, Split};
use crate::entry::{Content, Entry, Official};
use crate::error::{DataError, Result};
use crate::own::csv::lines;
use crate::scaling::Scaling;

/// The registry's line.
pub static ENTRY: Entry = Entry {
    name: "optdigits",
    title: "handwritten digits, grey, coarse",
    input: &[1, 8, 8],
    records: (3_823, 1_797),
    classes: 10,
    licence: "CC BY 4.0",
    citation: "Alpaydin, Kaynak 1998, UCI Machine Learning Repository, doi 10.24432/C50P49",
    folders: &["optdigits", "uci", "."],
    system: &[],
    files: &[
        Official { name: "optdigits.tra", bytes: 563_639, md5: Some("268ce7771f3f15afbc54402478b1d454") },
        Official { name: "optdigits.tes", bytes: 264_712, md5: Some("a0339c30a8a5312a1b6f9e5c719dcce5") },
    ],
    archive: None,
    downloads: &[
        "https://archive.ics.uci.edu/ml/machine-learning-databases/optdigits/optdigits.tra",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/optdigits/optdigits.tes",
    ],
    package: None,
    built_in: None,
    load,
};

const CLASSES: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const PIXELS: usize = 64;
const INK: u8 = 16;

fn load(entry: &Entry, contents: Vec<Content>) -> Result<Dataset> {
    let [train, test] = exactly(entry, contents)?;
    // The range is that of the published description: counts of 16 bits.
    finish(entry, names(&CLASSES), Scaling::range(0.0, f64::from(INK)), split(&train)?, split(&test)?)
}

fn split(content: &Content) -> Result<Split> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    lines(&content.file, &content.bytes, PIXELS + 1, |position, line| {
        for (index, cell) in line.iter().enumerate() {
            let highest = if index == PIXELS { 9 } else { INK };
            let value =
                cell.trim().parse::<u8>().ok().filter(|value| *value <= highest).ok_or_else(|| {
                    let position = format!("{position}, value {}", index + 1);
                    DataError::malformed(
                        &content.file,
                        position,
                        format!("{cell:?}, not a number from 0 to {highest}"),
                    )
                })?;
            if index == PIXELS {
                labels.push(u32::from(value));
            } else {
                pixels.push(value);
            }
        }
        Ok(())
    })?;
    Ok(Split::classified(Records::Bytes(pixels), labels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives;

    fn content(lines: &[(u32, u32)]) -> Content {
        let line = |(ink, label): &(u32, u32)| format!("{}{label}\n", format!("{ink},").repeat(64));
        Content { file: "o.tra".to_string(), bytes: lines.iter().map(line).collect::<String>().into_bytes() }
    }

    #[test]
    fn lines_are_read_and_wrong_ones_named() {
        let read = split(&content(&[(16, 3), (0, 9)])).unwrap();
        assert_eq!(read.labels(), [3, 9]);
        assert_eq!(read.records.len(), 128);
        let message = |lines: &[(u32, u32)]| split(&content(lines)).unwrap_err().to_string();
        assert!(message(&[(0, 1), (17, 1)]).contains("o.tra, line 2, value 1"));
        assert!(message(&[(0, 10)]).contains("line 1, value 65"));
        let short = Content { file: "o.tra".to_string(), bytes: b"1,2,3\n".to_vec() };
        assert!(split(&short).unwrap_err().to_string().contains("3 values where 65"));
    }

    #[test]
    fn mutated_files_never_panic() {
        survives(&content(&[(16, 3), (0, 9)]).bytes, |bytes| {
            drop(split(&Content { file: String::new(), bytes: bytes.to_vec() }));
        });
    }
}
