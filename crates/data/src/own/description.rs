//! A small TOML file that says what a data set of the user's own is.

use super::csv::{Decimal, Delimiter, Form};
use super::encoding::Encoding;
use super::files::Paths;
use super::npz;
use crate::column::{Column, width};
use crate::limits;
use crate::task::{Quantity, Task};
use muffle_nn::model_file::explain::toml_error;
use serde::Deserialize;

/// What kind of files a description is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A table as text.
    Csv,
    /// A table in columns.
    Parquet,
    /// Arrays of NumPy.
    Npz,
    /// A folder of images.
    Images,
}

/// A column that says which split a row belongs to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitColumn {
    /// Its name in the header.
    pub column: String,
    /// The value of training rows.
    pub train: String,
    /// The value of test rows.
    pub test: String,
}

/// Names of the classes, or their number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a list of names, or their number")]
pub enum Classes {
    /// Classes 0 to one less than this.
    Number(usize),
    /// Names, in the order of the labels.
    Names(Vec<String>),
}

impl Classes {
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Classes::Number(count) => numbered(*count),
            Classes::Names(names) => names.clone(),
        }
    }
}

/// Classes that have numbers for names.
pub(super) fn numbered(count: usize) -> Vec<String> {
    // One more than allowed is enough to be refused.
    (0..count.min(limits::MAXIMUM_CLASSES + 1)).map(|class| class.to_string()).collect()
}

/// A number to predict.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueColumn {
    /// Its name in the header.
    pub column: String,
    /// The declared smallest and largest value; they become 0 and 1.
    pub range: [f64; 2],
}

/// A table of records that are public.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a path, or { path = \"...\", labelled = true }")]
pub enum Public {
    /// Its path, or several, relative to the description; its targets are not read.
    Path(Paths),
    /// Its path, and whether it has the targets of the other tables.
    Pool(Pool),
}

/// A table of records that are public, in full.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Relative to the description.
    pub path: Paths,
    /// Whether it has the columns of the target.
    #[serde(default)]
    pub labelled: bool,
}

impl Public {
    /// The path, and whether targets are read.
    pub(super) fn parts(&self) -> (&Paths, bool) {
        match self {
            Public::Path(path) => (path, false),
            Public::Pool(Pool { path, labelled }) => (path, *labelled),
        }
    }
}

/// Says that records have no target.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoTarget {
    /// Nothing is known of the records.
    None,
}

/// A data set of the user's own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Kind of the files.
    pub format: Format,
    /// The file or folder with the records, relative to the description; of a table it may be several files.
    pub path: Paths,
    /// Further files with the test rows of a table.
    pub test_path: Option<Paths>,
    /// What stands between the cells of a table as text; without it the header line says.
    pub delimiter: Option<Delimiter>,
    /// What stands before the fraction of a number in a table as text.
    pub decimal: Option<Decimal>,
    /// How the characters of a table as text are written; without it a byte-order mark says, or it is UTF-8.
    pub encoding: Option<Encoding>,
    /// Cells of a table that mean the same as an empty one.
    #[serde(default)]
    pub missing_values: Vec<String>,
    /// A further file of a table with records that are declared to be public.
    pub public: Option<Public>,
    /// The column of a table that says which split a row belongs to.
    pub split: Option<SplitColumn>,
    /// The share of records for testing, chosen by a hash of each record.
    pub test_fraction: Option<f64>,
    /// The column of a table that holds the class.
    pub label: Option<String>,
    /// The classes of a table or of arrays.
    pub classes: Option<Classes>,
    /// In place of a class: columns of a table (or of the target array) that say 0 or 1, each for a label of its own.
    pub labels: Option<Vec<String>>,
    /// In place of a class: columns of a table (or of the target array) that hold numbers to predict.
    pub values: Option<Vec<ValueColumn>>,
    /// In place of a class: `none`, if the records have no target.
    pub target: Option<NoTarget>,
    /// The columns of a table that become inputs.
    #[serde(default)]
    pub columns: Vec<Column>,
    /// The range of float arrays; it becomes -1 to 1.
    pub range: Option<[f64; 2]>,
    /// Says that the records of arrays are token numbers, and how many different ones there are.
    pub vocabulary: Option<u32>,
    /// The order of the sizes of arrays.
    pub layout: Option<npz::Layout>,
    /// Height and width that images are resized to.
    pub size: Option<[usize; 2]>,
    /// 1 for grey images, 3 for colour.
    pub channels: Option<usize>,
}

impl Description {
    /// What an archive means that comes without a description.
    pub(super) fn bare(format: Format) -> Description {
        Description {
            format,
            path: Paths::One(String::new()),
            test_path: None,
            delimiter: None,
            decimal: None,
            encoding: None,
            missing_values: Vec::new(),
            public: None,
            split: None,
            test_fraction: None,
            label: None,
            classes: None,
            labels: None,
            values: None,
            target: None,
            columns: Vec::new(),
            range: None,
            vocabulary: None,
            layout: None,
            size: None,
            channels: None,
        }
    }

    /// Reads and checks a description.
    pub fn parse(text: &str) -> std::result::Result<Description, String> {
        let description = Description::parse_unchecked(text)?;
        description.check()?;
        Ok(description)
    }

    /// Reads a description that need not be whole yet.
    pub(super) fn parse_unchecked(text: &str) -> std::result::Result<Description, String> {
        let mut description: Description = toml::from_str(text).map_err(|error| toml_error(&error, &[]))?;
        if !description.missing_values.is_empty() {
            let words = &description.missing_values;
            description.columns.iter_mut().for_each(|column| {
                column.missing_values.get_or_insert_with(|| words.clone());
            });
        }
        Ok(description)
    }

    /// Whether it is about the rows of a table.
    pub(super) fn is_table(&self) -> bool {
        match self.format {
            Format::Csv | Format::Parquet => true,
            Format::Npz => !self.columns.is_empty(),
            Format::Images => false,
        }
    }

    /// How a table as text is written.
    pub(super) fn form(&self) -> Form {
        let Description { delimiter, encoding, .. } = *self;
        Form { delimiter, decimal: self.decimal.unwrap_or_default(), encoding }
    }

    fn check(&self) -> std::result::Result<(), String> {
        if let Some(fraction) = self.test_fraction
            && !(fraction > 0.0 && fraction < 1.0)
        {
            return Err(format!("test_fraction = {fraction} must lie between 0 and 1"));
        }
        if self.vocabulary == Some(0) {
            return Err("vocabulary = 0: there are no tokens".to_string());
        }
        if let Some([low, high]) = self.range
            && !(low < high && low.is_finite() && high.is_finite())
        {
            return Err(format!("range {low} to {high} is empty or not finite"));
        }
        let (table, text) = (self.is_table(), self.format == Format::Csv);
        let arrays = self.format == Format::Npz && !table;
        let several = !matches!(self.path, Paths::One(_));
        let given = [
            ("a list of paths", several, table),
            ("delimiter", self.delimiter.is_some(), text),
            ("decimal", self.decimal.is_some(), text),
            ("encoding", self.encoding.is_some(), text),
            ("missing_values", !self.missing_values.is_empty(), table),
            ("label", self.label.is_some(), table),
            ("columns", !self.columns.is_empty(), self.format != Format::Images),
            ("split", self.split.is_some(), table),
            ("public", self.public.is_some(), table),
            ("test_path", self.test_path.is_some(), table),
            ("labels", self.labels.is_some(), self.format != Format::Images),
            ("values", self.values.is_some(), self.format != Format::Images),
            ("target", self.target.is_some(), self.format != Format::Images),
            ("classes", self.classes.is_some(), self.format != Format::Images),
            ("test_fraction", self.test_fraction.is_some(), !arrays),
            ("range", self.range.is_some(), arrays),
            ("vocabulary", self.vocabulary.is_some(), arrays && self.range.is_none()),
            ("layout", self.layout.is_some(), arrays),
            ("size", self.size.is_some(), self.format == Format::Images),
            ("channels", self.channels.is_some(), self.format == Format::Images),
        ];
        if let Some((key, ..)) = given.iter().find(|(_, given, allowed)| *given && !allowed) {
            return Err(format!("`{key}` has no meaning for format {:?}", self.format));
        }
        if let Some(task) = self.task()? {
            task.check()?;
        }
        if table { self.check_table() } else { Ok(()) }
    }

    /// The declared task; arrays may leave their classes to the test split.
    pub(super) fn task(&self) -> std::result::Result<Option<Task>, String> {
        let class = self.label.is_some() || self.classes.is_some();
        let kinds = [class, self.labels.is_some(), self.values.is_some(), self.target.is_some()];
        if kinds.iter().filter(|given| **given).count() > 1 {
            return Err(
                "records have one kind of target: give one of `label` (with `classes`), `labels`, `values` \
                        and `target = \"none\"`"
                    .to_string(),
            );
        }
        let quantity = |value: &ValueColumn| Quantity { name: value.column.clone(), range: value.range };
        Ok(match (&self.classes, &self.labels, &self.values) {
            (Some(classes), ..) => Some(Task::Classes(classes.names())),
            (_, Some(labels), _) => Some(Task::Labels(labels.clone())),
            (.., Some(values)) => Some(Task::Values(values.iter().map(quantity).collect())),
            _ => self.target.map(|_| Task::None),
        })
    }

    /// The columns of a table that hold the target, in the order of the task.
    pub(super) fn target_columns(&self) -> Vec<&str> {
        let values = self.values.iter().flatten().map(|value| value.column.as_str());
        let labels = self.labels.iter().flatten().map(String::as_str);
        self.label.as_deref().into_iter().chain(labels).chain(values).collect()
    }

    fn check_table(&self) -> std::result::Result<(), String> {
        let targets = self.target_columns();
        let untold = targets.is_empty() && self.target.is_none();
        if self.columns.is_empty() || untold || self.label.is_some() != self.classes.is_some() {
            return Err(
                "a table needs `label` and `classes` (or `labels`, `values`, or `target = \"none\"`) and at \
                        least one of [[columns]]"
                    .to_string(),
            );
        }
        let ways = [self.test_path.is_some(), self.split.is_some(), self.test_fraction.is_some()];
        if ways.iter().filter(|given| **given).count() != 1 {
            return Err("a table needs one of `test_path`, `split` and `test_fraction`".to_string());
        }
        if let Some(again) = (1..targets.len()).find(|&index| targets[..index].contains(&targets[index])) {
            return Err(format!("target `{}` is declared twice", targets[again]));
        }
        for (index, column) in self.columns.iter().enumerate() {
            column.check()?;
            if self.columns[..index].iter().any(|other| other.name == column.name) {
                return Err(format!("column `{}` is declared twice", column.name));
            }
            if targets.contains(&column.name.as_str()) {
                return Err(format!(
                    "column `{}` is the label: as an input it would give the answer away",
                    column.name
                ));
            }
        }
        if width(&self.columns) > limits::MAXIMUM_RECORD {
            return Err(format!("{} inputs are too many", width(&self.columns)));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A table of two columns with a class and a column that splits it.
    pub(crate) const TABLE: &str = r#"
        format = "csv"
        path = "t.csv"
        label = "class"
        classes = ["no", "yes"]
        split = { column = "set", train = "a", test = "b" }
        columns = [{ name = "age", range = [0, 100] }, { name = "job", categories = ["x", "y"] }]
    "#;

    #[test]
    fn descriptions_that_mean_nothing_are_refused() {
        let refused = |text: &str, part: &str| {
            let reason = Description::parse(text).unwrap_err();
            assert!(reason.contains(part), "{reason}");
        };
        refused("format = \"xml\"", "unknown word `xml`");
        refused(
            "format = \"csv\"\npath = \"a\"\nlable = \"c\"",
            "unknown key `lable` (did you mean `label`?)",
        );
        refused("format = \"csv\"\npath = \"a\"", "needs `label`");
        refused(&TABLE.replace("range = [0, 100]", "other = false"), "spend privacy");
        refused(&TABLE.replace("\"age\"", "\"class\""), "give the answer away");
        refused(&TABLE.replace("\"job\"", "\"age\""), "declared twice");
        refused(&format!("test_fraction = 0.5\n{TABLE}"), "one of");
        refused(&format!("test_fraction = 1.5\n{TABLE}"), "between 0 and 1");
        refused(&format!("size = [1, 2]\n{TABLE}"), "`size` has no meaning");
    }

    #[test]
    fn records_have_one_kind_of_target() {
        let targets = |target: &str| {
            let text = TABLE.replace("label = \"class\"", target).replace("classes = [\"no\", \"yes\"]", "");
            Description::parse(&text).and_then(|description| description.task())
        };
        assert_eq!(targets("labels = [\"a\"]"), Ok(Some(Task::Labels(vec!["a".into()]))));
        assert_eq!(targets("target = \"none\""), Ok(Some(Task::None)));
        let price = Quantity { name: "price".into(), range: [0.0, 10.0] };
        let values = "values = [{ column = \"price\", range = [0, 10] }]";
        assert_eq!(targets(values), Ok(Some(Task::Values(vec![price]))));
        let refused = |target: &str, part: &str| {
            let reason = targets(target).unwrap_err();
            assert!(reason.contains(part), "{reason}");
        };
        refused("", "target = \"none\"");
        refused("label = \"class\"", "`classes`");
        refused("labels = [\"a\"]\ntarget = \"none\"", "one kind of target");
        refused(&format!("labels = [\"a\"]\n{values}"), "one kind of target");
        refused("labels = [\"a\", \"a\"]", "`a` is declared twice");
        refused("labels = [\"job\"]", "give the answer away");
        refused("labels = []", "0 labels");
        refused("values = [{ column = \"price\", range = [1, 1] }]", "`price`");
        assert!(Description::parse(&format!("labels = [\"a\"]\n{TABLE}")).unwrap_err().contains("one kind"));
    }
}
