//! Adult, the census income table of the UCI repository.
//!
//! Categories are those of `adult.names`, with `?` as one of its own where the file uses it; numbers are scaled by round
//! ranges that contain every value the questionnaire allows.

use super::{exactly, finish, names};
use crate::column::Column;
use crate::dataset::{Dataset, Split};
use crate::entry::{Content, Entry, Official};
use crate::error::Result;
use crate::own::csv::lines;
use crate::own::rows::Rows;
use crate::scaling::Scaling;
use crate::task::Task;

/// The registry's line.
pub static ENTRY: Entry = Entry {
    name: "adult",
    title: "census records: income above 50,000 or not",
    input: &[108],
    records: (32_561, 16_281),
    classes: 2,
    licence: "CC BY 4.0",
    citation: "Becker, Kohavi 1996, UCI Machine Learning Repository, doi 10.24432/C5XW20",
    folders: &["adult", "uci", "."],
    system: &[],
    files: &[
        Official { name: "adult.data", bytes: 3_974_305, md5: Some("5d7c39d7b8804f071cdd1f2a7c460872") },
        Official { name: "adult.test", bytes: 2_003_153, md5: Some("35238206dfdf7f1fe215bbb874adecdc") },
    ],
    archive: None,
    downloads: &[
        "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test",
    ],
    package: None,
    built_in: None,
    load,
};

const CLASSES: [&str; 2] = ["<=50K", ">50K"];

#[rustfmt::skip]
fn columns() -> Vec<Column> {
    vec![
        Column::number("age", 0.0, 100.0),
        Column::categories("workclass", &[
            "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov", "Without-pay",
            "Never-worked", "?",
        ]),
        Column::amount("fnlwgt", 0.0, 2e6),
        Column::categories("education", &[
            "Bachelors", "Some-college", "11th", "HS-grad", "Prof-school", "Assoc-acdm", "Assoc-voc", "9th", "7th-8th",
            "12th", "Masters", "1st-4th", "10th", "Doctorate", "5th-6th", "Preschool",
        ]),
        Column::number("education-num", 1.0, 16.0),
        Column::categories("marital-status", &[
            "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent",
            "Married-AF-spouse",
        ]),
        Column::categories("occupation", &[
            "Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty",
            "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving",
            "Priv-house-serv", "Protective-serv", "Armed-Forces", "?",
        ]),
        Column::categories("relationship", &[
            "Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried",
        ]),
        Column::categories("race", &["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]),
        Column::categories("sex", &["Female", "Male"]),
        Column::amount("capital-gain", 0.0, 99_999.0),
        Column::amount("capital-loss", 0.0, 99_999.0),
        Column::number("hours-per-week", 0.0, 100.0),
        Column::categories("native-country", &[
            "United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany", "Outlying-US(Guam-USVI-etc)",
            "India", "Japan", "Greece", "South", "China", "Cuba", "Iran", "Honduras", "Philippines", "Italy", "Poland",
            "Jamaica", "Vietnam", "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic", "Laos", "Ecuador",
            "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand", "Yugoslavia",
            "El-Salvador", "Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands", "?",
        ]),
    ]
}

fn load(entry: &Entry, contents: Vec<Content>) -> Result<Dataset> {
    let [train, test] = exactly(entry, contents)?;
    let scaling = Scaling::identity(
        "numbers by round public ranges to -1 to 1 (amounts by their logarithm), categories of adult.names as 0 or 1",
    );
    let dataset = finish(entry, names(&CLASSES), scaling, split(&train)?, split(&test)?)?;
    Ok(dataset.with_columns(columns()))
}

fn split(content: &Content) -> Result<Split> {
    let (columns, task) = (columns(), Task::Classes(names(&CLASSES)));
    let mut rows = Rows::new(&content.file, &columns, &task);
    lines(&content.file, &content.bytes, columns.len() + 1, |position, line| {
        let cell = |index: usize| line.get(index).unwrap_or("");
        // The test file ends every class with a full stop.
        let class = cell(columns.len()).trim().trim_end_matches('.');
        rows.push(&position, |index| if index < columns.len() { cell(index) } else { class })
    })?;
    Ok(rows.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::width;
    use crate::dataset::Records;
    use crate::mutation::survives;

    // The first line of adult.data, and one with unknowns in the manner of adult.test.
    const TRAIN: &str = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, \
                         2174, 0, 40, United-States, <=50K\n\n";
    const TEST: &str = "|1x3 Cross validator\n18, ?, 103497, Some-college, 10, Never-married, ?, Own-child, White, \
                        Female, 0, 0, 30, ?, >50K.\n";

    fn content(text: &str) -> Content {
        Content { file: "adult".to_string(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn both_manners_are_read() {
        assert_eq!(ENTRY.input, [width(&columns())]);
        let train = split(&content(TRAIN)).unwrap();
        assert_eq!(train.labels(), [0]);
        let Records::Floats(values) = &train.records else { panic!("floats") };
        assert_eq!(values.len(), 108);
        assert_eq!(values[..10], [-0.22, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        let test = split(&content(TEST)).unwrap();
        assert_eq!(test.labels(), [1]);
        let Records::Floats(values) = &test.records else { panic!("floats") };
        assert_eq!((values[9], values[107]), (1.0, 1.0));
    }

    #[test]
    fn wrong_lines_are_named() {
        let message = |text: &str| split(&content(text)).unwrap_err().to_string();
        assert!(message(&TRAIN.replace("Bachelors", "PhD")).contains("line 1, column `education`"));
        assert!(message(&TRAIN.replace("<=50K", "50K")).contains("class \"50K\""));
        assert!(message("1, 2\n").contains("2 values where 15"));
    }

    #[test]
    fn mutated_files_never_panic() {
        for text in [TRAIN, TEST] {
            survives(text.as_bytes(), |bytes| {
                drop(split(&Content { file: String::new(), bytes: bytes.to_vec() }));
            });
        }
    }
}
