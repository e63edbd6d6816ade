//! Tables of any format becoming a data set.

use super::description::{Description, Format, Public, SplitColumn};
use super::files::Paths;
use super::partition::{Content, is_test};
use super::row::{Row, Wanted};
use super::rows::Rows;
use super::{csv, npz_table, parquet};
use crate::column::{quoted, width};
use crate::dataset::{Dataset, Split, Visibility};
use crate::error::{DataError, Result};
use crate::scaling::Scaling;
use crate::task::Task;
use muffle_nn::shape::Shape;
use std::path::Path;

/// Reads a table row by row into both splits.
pub(super) fn load(name: &str, folder: &Path, description: &Description, task: Task) -> Result<Dataset> {
    let columns = &description.columns;
    let table = Table { name, folder, description };
    let mut wanted = wanted(description, task.cells());
    wanted.extend(description.split.as_ref().map(|split| Wanted { name: &split.column, number: false }));
    let files = table.files(&description.path)?;
    let mut train = Rows::new(name, columns, &task);
    let mut test = Rows::new(name, columns, &task);
    let content = Content::new(columns, &description.target_columns(), &task);
    for (path, shown) in &files {
        train.continue_in(shown);
        test.continue_in(shown);
        rows(description, path, &wanted, |row| {
            let in_test = match (&description.split, description.test_fraction) {
                (Some(split), _) => says_test(split, row.cell(wanted.len() - 1)).map_err(|reason| {
                    DataError::malformed(shown, row.position, reason)
                        .remedy("correct the row or the description")
                })?,
                (None, Some(fraction)) => is_test(&content.of(&row), fraction),
                (None, None) => false,
            };
            let rows = if in_test { &mut test } else { &mut train };
            rows.push(&row.position, |index| row.cell(index))
        })?;
    }
    let (train, mut test) = (train.finish(), test.finish());
    if let Some(paths) = &description.test_path {
        test = table.whole(paths, &task)?;
    }
    let public = match description.public.as_ref().map(Public::parts) {
        Some((paths, true)) => Some(table.whole(paths, &task)?),
        Some((paths, false)) => Some(table.whole(paths, &Task::None)?),
        None => None,
    };
    let scaling = Scaling::identity(
        "numbers and dates by the declared ranges to -1 to 1 (or declared mean and deviation), categories as 0 or 1, \
         texts as token numbers",
    );
    let input = Shape::Vector(width(columns));
    let dataset = Dataset::with_task(name, input, task, scaling, Visibility::Private, train, test)?;
    let mut dataset = dataset.with_columns(columns.clone()).with_label(description.label.clone());
    if description.test_fraction.is_some() {
        dataset = dataset.with_split_by_hash();
    }
    match public {
        Some(public) => dataset.with_public(public),
        None => Ok(dataset),
    }
}

/// The cells that a row needs: those of the columns, then as many of its target.
pub(super) fn wanted(description: &Description, targets: usize) -> Vec<Wanted<'_>> {
    let columns =
        description.columns.iter().map(|column| Wanted { name: &column.name, number: column.is_number() });
    let number = description.values.is_some();
    let targets = description.target_columns().into_iter().take(targets);
    columns.chain(targets.map(|name| Wanted { name, number })).collect()
}

/// Calls `visit` with each row of a file.
pub(super) fn rows(
    description: &Description,
    path: &Path,
    wanted: &[Wanted],
    visit: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    match description.format {
        Format::Parquet => parquet::rows(path, wanted, visit),
        Format::Npz => npz_table::rows(path, wanted, visit),
        Format::Csv | Format::Images => csv::rows(path, description.form(), wanted, visit),
    }
}

/// A described table.
struct Table<'a> {
    name: &'a str,
    folder: &'a Path,
    description: &'a Description,
}

impl Table<'_> {
    /// Files with their names for messages.
    fn files(&self, paths: &Paths) -> Result<Vec<(std::path::PathBuf, String)>> {
        let files = paths
            .files(self.folder)
            .map_err(|reason| DataError::Description { file: self.name.to_string(), reason })?;
        let shown = |path: std::path::PathBuf| {
            let shown = path.display().to_string();
            (path, shown)
        };
        Ok(files.into_iter().map(shown).collect())
    }

    /// All rows of some files as one split.
    fn whole(&self, paths: &Paths, task: &Task) -> Result<Split> {
        let wanted = wanted(self.description, task.cells());
        let files = self.files(paths)?;
        let mut read = Rows::new(self.name, &self.description.columns, task);
        for (path, shown) in &files {
            read.continue_in(shown);
            rows(self.description, path, &wanted, |row| read.push(&row.position, |index| row.cell(index)))?;
        }
        Ok(read.finish())
    }
}

/// Whether a row's own word sends it to the test split.
fn says_test(split: &SplitColumn, value: &str) -> std::result::Result<bool, String> {
    if value != split.train && value != split.test {
        return Err(format!(
            "{} in `{}` is neither {:?} nor {:?}",
            quoted(value),
            split.column,
            split.train,
            split.test
        ));
    }
    Ok(value == split.test)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::npy::tests::file as npy;
    use crate::own::load;
    use crate::own::npz::tests::archive;
    use muffle_nn::examples::Examples;

    /// A folder with these files.
    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    fn described(description: &str, files: &[(&str, &[u8])]) -> Result<Dataset> {
        let folder = folder(&[files, &[("t.toml", description.as_bytes())]].concat());
        load(&folder.path().join("t.toml"))
    }

    const AGES: std::ops::Range<i64> = 0..60;
    const TARGET: &str = "label = \"kind\"\nclasses = [\"a\", \"b\"]\ntest_fraction = 0.5\n";

    fn weight(age: i64) -> Option<f64> {
        (age % 3 != 0).then_some(age as f64 / 64.0)
    }

    fn kind(age: i64) -> &'static str {
        ["a", "b"][age as usize % 2]
    }

    /// Rows as text: `head` and `line` say how.
    fn written(head: &str, line: impl Fn(i64, String, &str) -> String) -> String {
        let weight = |age| weight(age).map_or("NaN".to_string(), |weight| weight.to_string());
        AGES.fold(head.to_string(), |text, age| text + &line(age, weight(age), kind(age)))
    }

    /// A description of these rows in a format, with its columns in both orders.
    fn description(format: &str, path: &str, more: &str, turned: bool) -> String {
        let mut columns = [
            "[[columns]]\nname = \"age\"\nrange = [0, 40]\n",
            "[[columns]]\nname = \"weight\"\nrange = [0, 1]\nmissing = 0.5\n",
        ];
        if turned {
            columns.reverse();
        }
        let missing = "missing_values = [\"NaN\"]";
        format!("format = {format:?}\npath = {path}\n{missing}\n{more}\n{TARGET}{}", columns.concat())
    }

    /// The ages of a split, in order.
    fn ages(view: crate::dataset::View<'_>, place: usize) -> Vec<i64> {
        let mut input = [0.0; 2];
        let age = |index| {
            view.read(index, &mut input);
            (f64::from(input[place] + 1.0) * 20.0).round() as i64
        };
        (0..view.len()).map(age).collect()
    }

    /// # Guarantee of the split
    /// Neither the format, nor the order of columns, nor the way of writing numbers moves a record to the other side.
    #[test]
    fn the_same_rows_are_split_the_same_way_however_they_are_written() {
        let plain = written("age,weight,kind\n", |age, weight, kind| format!("{age},{weight},{kind}\n"));
        let csv =
            described(&description("csv", "\"t.csv\"", "", false), &[("t.csv", plain.as_bytes())]).unwrap();
        let (train, test) = (ages(csv.train(), 0), ages(csv.test(), 0));
        assert_eq!(train.len() + test.len(), 60);
        assert!(train.len() > 15 && test.len() > 15, "{} {}", train.len(), test.len());

        let comma = written("kind;other;weight;age\r\n", |age, weight, kind| {
            let weight = weight.replace('.', ",").replace("NaN", "");
            format!("{kind};x;{weight};{age},0\r\n")
        });
        let comma: Vec<u8> =
            std::iter::once(0xfeff).chain(comma.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        let decimal = description("csv", "\"t.csv\"", "decimal = \",\"", true);
        let turned = described(&decimal, &[("t.csv", &comma)]).unwrap();
        assert_eq!((ages(turned.train(), 1), ages(turned.test(), 1)), (train, test));

        let floats =
            |value: fn(i64) -> f32| AGES.flat_map(|age| value(age).to_le_bytes()).collect::<Vec<u8>>();
        let kinds: Vec<u8> = AGES.flat_map(|age| (kind(age).as_bytes()[0] as u32).to_le_bytes()).collect();
        let members = [
            ("kind", npy("<U1", "(60,)", &kinds)),
            ("age", npy("<f4", "(60,)", &floats(|age| age as f32))),
            (
                "weight",
                npy("<f4", "(60,)", &floats(|age| weight(age).map_or(f32::NAN, |weight| weight as f32))),
            ),
        ];
        let arrays = archive(true, &members);
        let arrays = described(&description("npz", "\"t.npz\"", "", false), &[("t.npz", &arrays)]).unwrap();
        assert_eq!(arrays.train().split(), csv.train().split());
        assert_eq!(arrays.test().split(), csv.test().split());
        in_columns(&csv);
    }

    #[cfg(feature = "parquet")]
    fn in_columns(csv: &Dataset) {
        use ::parquet::basic::Compression;
        let (ages, kinds): (Vec<i64>, Vec<&str>) = AGES.map(|age| (age, kind(age))).unzip();
        let weights: Vec<Option<f64>> = AGES.map(weight).collect();
        let file = crate::own::parquet::tests::file(Compression::SNAPPY, &ages, &weights, &kinds);
        let description = description("parquet", "\"t.parquet\"", "", false);
        let parquet = described(&description, &[("t.parquet", &file)]).unwrap();
        assert_eq!(parquet.train().split(), csv.train().split());
        assert_eq!(parquet.test().split(), csv.test().split());
    }

    #[cfg(not(feature = "parquet"))]
    fn in_columns(_: &Dataset) {}

    #[test]
    fn several_files_are_one_table() {
        let lines: Vec<String> = AGES.map(|age| format!("{age},0.5,{}\n", kind(age))).collect();
        let part = |lines: &[String]| format!("age,weight,kind\n{}", lines.concat());
        let (one, two) = (part(&lines[..20]), "weight,age,kind\n0.5,77,a\n");
        let whole = part(&lines);
        let whole =
            described(&description("csv", "\"t.csv\"", "", false), &[("t.csv", whole.as_bytes())]).unwrap();
        let rest = part(&lines[20..]);
        let files = [("p-1.csv", one.as_bytes()), ("p-2.csv", rest.as_bytes()), ("q.csv", two.as_bytes())];
        let parts = described(&description("csv", "\"p-*.csv\"", "", false), &files).unwrap();
        assert_eq!(parts.train().split(), whole.train().split());
        assert_eq!(parts.test().split(), whole.test().split());
        let list = described(&description("csv", "[\"p-?.csv\", \"q.csv\"]", "", false), &files).unwrap();
        assert_eq!(list.train().len() + list.test().len(), 61);
        let wrong = [("p-1.csv", one.as_bytes()), ("p-2.csv", &b"age,weight,kind\nold,1,a\n"[..])];
        let message =
            described(&description("csv", "\"p-*.csv\"", "", false), &wrong).unwrap_err().to_string();
        assert!(message.contains("p-2.csv, line 2, column `age`"), "{message}");
        let message =
            described(&description("csv", "\"r-*.csv\"", "", false), &files).unwrap_err().to_string();
        assert!(message.contains("t.toml") && message.contains("r-*.csv, which is not there"), "{message}");
    }

    #[test]
    fn every_kind_of_column_becomes_inputs() {
        let description = r#"
            format = "csv"
            path = "t.csv"
            missing_values = ["NA"]
            label = "class"
            classes = ["no", "yes"]
            split = { column = "set", train = "a", test = "b" }
            columns = [
                { name = "in", dates = [2000-01-01, "2000-01-05"], date_format = "%d.%m.%Y" },
                { name = "age", range = [0, 100], indicator = true },
                { name = "city", hash = 4 },
                { name = "note", tokens = { kind = "bytes", length = 3 } },
                { name = "ids", tokens = { kind = "ids", length = 2, vocabulary = 50 } },
            ]"#;
        let rows = "set\tin\tage\tcity\tnote\tids\tclass\n\
                    a\t02.01.2000\tNA\tOslo\tNo\t49 3 5\tno\nb\t05.01.2000\t50\tOslo\t\t\tyes\n";
        let dataset = described(description, &[("t.csv", rows.as_bytes())]).unwrap();
        assert_eq!(dataset.input(), Shape::Vector(1 + 2 + 4 + 3 + 2));
        let read = |view: crate::dataset::View<'_>| {
            let mut input = [0.0; 12];
            view.read(0, &mut input);
            input
        };
        // Oslo falls into bucket 2.
        assert_eq!(
            read(dataset.train()),
            [-0.5, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 78.0, 111.0, 256.0, 49.0, 3.0]
        );
        assert_eq!(read(dataset.test()), [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 256.0, 256.0, 256.0, 0.0, 0.0]);
        let refused = |rows: &str, parts: &[&str]| {
            let message = described(description, &[("t.csv", rows.as_bytes())]).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        };
        let line = |cells: &str| format!("set,in,age,city,note,ids,class\n{cells}\n");
        refused(&line("a,2000-01-01,1,c,n,1,no"), &["line 2, column `in`", "%d.%m.%Y"]);
        refused(&line("a,01.01.2000,1,c,n,50,no"), &["line 2, column `ids`", "from 0 to 49"]);
        let twice = "set,in,age,city,note,ids,class,age\na,01.01.2000,1,c,n,1,no,2\n";
        refused(twice, &["line 1", "`age` stands twice"]);
    }

    #[cfg(not(feature = "tokenizers"))]
    #[test]
    fn tokenizers_without_their_feature_name_it() {
        let description = "format = \"csv\"\npath = \"t.csv\"\ntarget = \"none\"\ntest_fraction = 0.5\n\
                           [[columns]]\nname = \"note\"\n\
                           tokens = { kind = \"tokenizer\", file = \"tokenizer.json\", length = 3 }\n";
        let message = described(description, &[("t.csv", b"note\nhello\n")]).unwrap_err().to_string();
        assert!(message.contains("tokenizer.json") && message.contains("--features tokenizers"), "{message}");
    }
}
