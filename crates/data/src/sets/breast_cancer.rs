//! Breast Cancer Wisconsin (Diagnostic): 30 measurements of cell nuclei.
//!
//! The set has no split of its own: a hash of each record sends a fifth of them to the test split. Ranges are the
//! summary that the published description prints.

use super::{exactly, finish, names};
use crate::column::Column;
use crate::dataset::Dataset;
use crate::entry::{Content, Entry, Official};
use crate::error::{DataError, Result};
use crate::own::csv::lines;
use crate::own::partition::is_test;
use crate::own::rows::Rows;
use crate::scaling::Scaling;
use crate::task::Task;

/// The registry's line.
pub static ENTRY: Entry = Entry {
    name: "breast-cancer",
    title: "measurements of cell nuclei: malignant or benign",
    input: &[30],
    records: (TRAIN, 569 - TRAIN),
    classes: 2,
    licence: "CC BY 4.0",
    citation: "Wolberg, Mangasarian, Street, Street 1995, UCI Machine Learning Repository, doi 10.24432/C5DW2B",
    folders: &["breast-cancer", "breast_cancer", "uci", "."],
    system: &[],
    files: &[Official {
        name: "breast_cancer.csv",
        bytes: 119_913,
        md5: Some("36ef90874abc87f4b4a8554dcc17cf6f"),
    }],
    archive: None,
    downloads: &[
        "https://raw.githubusercontent.com/scikit-learn/scikit-learn/1.5.0/sklearn/datasets/data/breast_cancer.csv",
    ],
    package: None,
    built_in: None,
    load,
};

/// Records that the hash sends to the training split.
const TRAIN: usize = 445;
const TEST_FRACTION: f64 = 0.2;
const HEADER: &str = "569,30,malignant,benign";
const CLASSES: [&str; 2] = ["malignant", "benign"];

/// The smallest and largest value of each measurement, as scikit-learn's description of the set prints them.
const RANGES: [(&str, f64, f64); 30] = [
    ("mean radius", 6.981, 28.11),
    ("mean texture", 9.71, 39.28),
    ("mean perimeter", 43.79, 188.5),
    ("mean area", 143.5, 2501.0),
    ("mean smoothness", 0.053, 0.163),
    ("mean compactness", 0.019, 0.345),
    ("mean concavity", 0.0, 0.427),
    ("mean concave points", 0.0, 0.201),
    ("mean symmetry", 0.106, 0.304),
    ("mean fractal dimension", 0.05, 0.097),
    ("radius error", 0.112, 2.873),
    ("texture error", 0.36, 4.885),
    ("perimeter error", 0.757, 21.98),
    ("area error", 6.802, 542.2),
    ("smoothness error", 0.002, 0.031),
    ("compactness error", 0.002, 0.135),
    ("concavity error", 0.0, 0.396),
    ("concave points error", 0.0, 0.053),
    ("symmetry error", 0.008, 0.079),
    ("fractal dimension error", 0.001, 0.03),
    ("worst radius", 7.93, 36.04),
    ("worst texture", 12.02, 49.54),
    ("worst perimeter", 50.41, 251.2),
    ("worst area", 185.2, 4254.0),
    ("worst smoothness", 0.071, 0.223),
    ("worst compactness", 0.027, 1.058),
    ("worst concavity", 0.0, 1.252),
    ("worst concave points", 0.0, 0.291),
    ("worst symmetry", 0.156, 0.664),
    ("worst fractal dimension", 0.055, 0.208),
];

fn load(entry: &Entry, contents: Vec<Content>) -> Result<Dataset> {
    let [content] = exactly(entry, contents)?;
    let body = content.bytes.strip_prefix(HEADER.as_bytes()).ok_or_else(|| {
        DataError::malformed(&content.file, "line 1", format!("the header is not `{HEADER}`"))
    })?;
    let columns: Vec<Column> =
        RANGES.iter().map(|(name, low, high)| Column::number(name, *low, *high)).collect();
    let numbers = Task::Classes(names(&["0", "1"]));
    let mut train = Rows::new(&content.file, &columns, &numbers);
    let mut test = Rows::new(&content.file, &columns, &numbers);
    lines(&content.file, body, RANGES.len() + 1, |position, line| {
        let rows = if is_test(line.as_slice().as_bytes(), TEST_FRACTION) { &mut test } else { &mut train };
        rows.push(&position, |index| line.get(index).unwrap_or(""))
    })?;
    let scaling = Scaling::identity("numbers by the published ranges to -1 to 1");
    finish(entry, names(&CLASSES), scaling, train.finish(), test.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives_cases;

    fn file() -> Vec<u8> {
        let line = |row: usize| format!("\n{}{}", format!("0.{row},").repeat(30), row % 2);
        (0..20).fold(HEADER.to_string(), |text, row| text + &line(row)).into_bytes()
    }

    fn read(bytes: &[u8]) -> Result<Dataset> {
        load(&ENTRY, vec![Content { file: "b.csv".to_string(), bytes: bytes.to_vec() }])
    }

    #[test]
    fn every_record_goes_to_one_side() {
        let dataset = read(&file()).unwrap();
        assert_eq!(dataset.train().split().len() + dataset.test().split().len(), 20);
    }

    #[test]
    fn another_header_and_another_class_are_refused() {
        let message = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(message(b"1,2,3\n").contains("b.csv, line 1"));
        let text = String::from_utf8(file()).unwrap();
        assert!(message(format!("{text}\n{}2", "0,".repeat(30)).as_bytes()).contains("class \"2\""));
    }

    #[test]
    fn mutated_files_never_panic() {
        survives_cases(&file(), 2000, |bytes| drop(read(bytes)));
    }
}
