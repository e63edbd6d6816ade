//! Loads a data set of the user's own.

use super::description::{Description, Format, numbered};
use super::{images, npz, table};
use crate::dataset::{Dataset, Records, Split, Visibility};
use crate::error::{DataError, Result};
use crate::open;
use crate::scaling::Scaling;
use crate::task::Task;
use std::path::Path;

/// What a user copies who has given a table without a description.
const EXAMPLE: &str = r#"describe it in a small file, for example people.toml:

    format = "csv"                  # csv, parquet, npz or images
    path = "people.csv"
    test_fraction = 0.2
    label = "income"
    classes = ["low", "high"]

    [[columns]]
    name = "age"
    range = [0, 120]

    [[columns]]
    name = "job"
    categories = ["nurse", "teacher"]
    other = true

then give people.toml in its place. Ranges and categories are declared, not computed: a statistic of private
records has a price in privacy"#;

/// Loads a data set of the user's own: a description, a folder of images, or an archive of arrays.
pub fn load(path: &Path) -> Result<Dataset> {
    let name = path.display().to_string();
    let refuse =
        |reason: &str| Err(DataError::Description { file: name.clone(), reason: reason.to_string() });
    if !path.exists() {
        return refuse("no such file or folder");
    }
    if path.is_dir() {
        return images_of(&name, path, images::Form::default());
    }
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or("") {
        "toml" => described(&name, path),
        "npz" => arrays(&name, path, &Description::bare(Format::Npz), None),
        "csv" | "parquet" | "gz" | "xz" => {
            refuse(&format!("a table alone does not say what it means; {EXAMPLE}"))
        }
        _ => refuse(
            "not a kind of file known here: give a .toml description, a .npz archive or a folder of images",
        ),
    }
}

fn described(name: &str, path: &Path) -> Result<Dataset> {
    let refuse = |reason: String| DataError::Description { file: name.to_string(), reason };
    let text = open::read(path, 1 << 20)?;
    let text = String::from_utf8(text).map_err(|_| refuse("no text (UTF-8)".to_string()))?;
    let mut description = Description::parse(&text).map_err(refuse)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let task = description.task().map_err(refuse)?;
    if description.is_table() {
        description.columns.iter_mut().try_for_each(|column| column.load(folder))?;
        return table::load(name, folder, &description, task.unwrap_or(Task::None));
    }
    let records = description.path.files(folder).map_err(refuse)?.remove(0);
    match description.format {
        Format::Csv | Format::Parquet | Format::Npz => arrays(name, &records, &description, task),
        Format::Images => {
            let form = images::Form {
                size: description.size,
                channels: description.channels,
                test_fraction: description.test_fraction,
            };
            images_of(name, &records, form)
        }
    }
}

fn images_of(name: &str, path: &Path, form: images::Form) -> Result<Dataset> {
    let folder = images::read(path, form)?;
    let scaling = Scaling::range(0.0, 255.0);
    let images::Folder { input, classes, train, test, split_by_hash } = folder;
    let dataset = Dataset::new(name, input, classes, scaling, Visibility::Private, train, test)?;
    Ok(if split_by_hash { dataset.with_split_by_hash() } else { dataset })
}

fn arrays(name: &str, path: &Path, description: &Description, task: Option<Task>) -> Result<Dataset> {
    let form =
        npz::Form { layout: description.layout.unwrap_or_default(), vocabulary: description.vocabulary };
    let arrays = npz::read(path, form, task.as_ref())?;
    let floats =
        [&arrays.train, &arrays.test].iter().any(|split| matches!(split.records, Records::Floats(_)));
    let scaling = match description.range {
        _ if description.vocabulary.is_some() => Scaling::identity("token numbers as they are"),
        Some([low, high]) => Scaling::range(low, high),
        None if !floats => Scaling::range(0.0, 255.0),
        None => {
            return Err(DataError::Description {
                file: name.to_string(),
                reason:
                    "float arrays need a declared range, which is not computed from private records: write a \
                         description with `format = \"npz\"`, `path` and `range = [low, high]`"
                        .to_string(),
            });
        }
    };
    // Without a declaration the test split, which is not what privacy protects here, says how many classes there are.
    let task = task.unwrap_or_else(|| Task::Classes(numbered(highest(&arrays.test))));
    let npz::Arrays { input, train, test } = arrays;
    let dataset = Dataset::with_task(name, input, task, scaling, Visibility::Private, train, test)?;
    Ok(dataset.with_vocabulary(description.vocabulary))
}

/// One more than the largest label.
fn highest(split: &Split) -> usize {
    split.labels().iter().max().map_or(0, |label| *label as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::npy::tests::file as npy;
    use crate::own::description::tests::TABLE;
    use crate::own::npz::tests::archive;
    use muffle_nn::examples::{Examples, Target};
    use muffle_nn::shape::Shape;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        folder
    }

    #[test]
    fn a_described_table_is_loaded() {
        let rows = b"set,age,job,class\na,25,x,no\nb,100,y,yes\na,0,y,yes\n";
        let folder = folder(&[("t.toml", TABLE.as_bytes()), ("t.csv", rows)]);
        let dataset = load(&folder.path().join("t.toml")).unwrap();
        assert_eq!(dataset.input(), Shape::Vector(3));
        assert_eq!((dataset.train().len(), dataset.test().len()), (2, 1));
        assert_eq!(dataset.visibility(), Visibility::Private);
        let names: Vec<&str> = dataset.columns().iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["age", "job"]);
        let mut input = [0.0; 3];
        dataset.train().read(1, &mut input);
        assert_eq!(input, [-1.0, 0.0, 1.0]);
        assert_eq!(dataset.train().label(1), 1);
    }

    #[test]
    fn one_row_more_moves_no_other_row() {
        let text =
            TABLE.replace("split = { column = \"set\", train = \"a\", test = \"b\" }", "test_fraction = 0.5");
        let rows: Vec<String> = (0..50).map(|row| format!("a,{row},x,no\n")).collect();
        let read = |rows: &[String]| {
            let csv = format!("set,age,job,class\n{}", rows.concat());
            let folder = folder(&[("t.toml", text.as_bytes()), ("t.csv", csv.as_bytes())]);
            load(&folder.path().join("t.toml")).unwrap()
        };
        let (all, fewer) = (read(&rows), read(&rows[1..]));
        let gone = (all.train().len() - fewer.train().len(), all.test().len() - fewer.test().len());
        assert!(gone == (1, 0) || gone == (0, 1), "{gone:?}");
    }

    #[test]
    fn rows_that_do_not_fit_are_named() {
        let refused = |rows: &str, parts: &[&str]| {
            let folder = folder(&[("t.toml", TABLE.as_bytes()), ("t.csv", rows.as_bytes())]);
            let message = load(&folder.path().join("t.toml")).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        };
        refused("set,age,job,class\na,old,x,no\n", &["t.csv, line 2, column `age`", "not a number"]);
        refused("set,age,job,class\na,1,z,no\n", &["line 2, column `job`", "other = true"]);
        refused("set,age,job,class\na,1,x,perhaps\n", &["line 2", "perhaps", "classes"]);
        refused("set,age,job,class\nc,1,x,no\n", &["line 2", "neither"]);
        refused("set,age,job\na,1,x\n", &["no column `class`"]);
        refused("set,age,job,class\na,1,x,no\n", &["the test split is empty"]);
    }

    #[cfg(feature = "images")]
    #[test]
    fn folders_of_images_need_no_description() {
        let image = |level: u8| crate::own::decoder::tests::portable(2, 2, [level; 3]);
        let images = folder(&[
            ("train/a/1.png", &image(0)),
            ("train/b/1.png", &image(255)),
            ("test/a/1.png", &image(9)),
        ]);
        let dataset = load(images.path()).unwrap();
        let mut input = [0.0; 12];
        dataset.train().read(1, &mut input);
        assert_eq!(input, [1.0; 12]);
    }

    #[cfg(not(feature = "images"))]
    #[test]
    fn images_without_their_feature_name_it() {
        let images = folder(&[("train/a/1.png", b"any"), ("test/a/1.png", b"any")]);
        let message = load(images.path()).unwrap_err().to_string();
        assert!(message.contains("1.png") && message.contains("--features images"), "{message}");
    }

    #[cfg(not(feature = "parquet"))]
    #[test]
    fn parquet_without_its_feature_names_it() {
        let text = TABLE.replace("csv", "parquet");
        let folder = folder(&[("t.toml", text.as_bytes()), ("t.parquet", b"any")]);
        let message = load(&folder.path().join("t.toml")).unwrap_err().to_string();
        assert!(message.contains("t.parquet") && message.contains("--features parquet"), "{message}");
    }

    #[test]
    fn arrays_need_no_description() {
        let bytes = |name, kind, shape, body: &[u8]| (name, npy(kind, shape, body));
        let members = [
            bytes("x_train", "|u1", "(2, 1)", &[0, 255]),
            bytes("y_train", "|u1", "(2,)", &[0, 1]),
            bytes("x_test", "|u1", "(2, 1)", &[0, 255]),
            bytes("y_test", "|u1", "(2,)", &[0, 1]),
        ];
        let folder = folder(&[]);
        let path = folder.path().join("a.npz");
        std::fs::write(&path, archive(true, &members)).unwrap();
        assert_eq!(load(&path).unwrap().classes(), ["0", "1"]);
        let mut more = members.clone();
        more[1] = bytes("y_train", "|u1", "(2,)", &[0, 2]);
        std::fs::write(&path, archive(true, &more)).unwrap();
        let message = load(&path).unwrap_err().to_string();
        assert!(message.contains("label 2") && message.contains("declare more classes"), "{message}");
        let mut floats = members;
        floats[0] = bytes("x_train", "<f4", "(2, 1)", &[0; 8]);
        std::fs::write(&path, archive(true, &floats)).unwrap();
        assert!(load(&path).unwrap_err().to_string().contains("range = [low, high]"));
    }

    #[test]
    fn a_table_alone_is_answered_with_an_example() {
        let folder = folder(&[("t.csv", b"a,b\n1,2\n"), ("t.doc", b"")]);
        let message = |name: &str| load(&folder.path().join(name)).unwrap_err().to_string();
        assert!(message("t.csv").contains("[[columns]]"));
        assert!(message("t.doc").contains("not a kind of file"));
        assert!(message("none").contains("no such file"));
    }

    #[test]
    fn tables_have_labels_values_or_nothing() {
        let read = |target: &str, rows: &str| {
            let text = TABLE.replace("label = \"class\"", target).replace("classes = [\"no\", \"yes\"]", "");
            let folder = folder(&[("t.toml", text.as_bytes()), ("t.csv", rows.as_bytes())]);
            load(&folder.path().join("t.toml"))
        };
        let rows = "set,age,job,price,ill\na,25,x,50,yes\nb,100,y,100,no\na,0,y,900,no\n";
        let values = "values = [{ column = \"price\", range = [0, 200] }]";
        let dataset = read(values, rows).unwrap();
        assert_eq!(dataset.train().target(0), Target::Values(&[0.25]));
        assert_eq!(dataset.train().target(1), Target::Values(&[1.0]));
        assert_eq!(dataset.test().target(0), Target::Values(&[0.5]));
        let dataset = read("labels = [\"ill\"]", rows).unwrap();
        assert_eq!(dataset.train().target(0), Target::Values(&[1.0]));
        let dataset = read("target = \"none\"", rows).unwrap();
        assert_eq!((dataset.train().len(), dataset.train().target(1)), (2, Target::None));
        let message = read(values, "set,age,job\na,1,x\n").unwrap_err().to_string();
        assert!(message.contains("no column `price`"), "{message}");
    }

    #[test]
    fn a_table_may_have_a_public_pool() {
        let rows = b"set,age,job,class\na,25,x,no\nb,100,y,yes\n";
        let read = |public: &str, pool: &str| {
            let text = format!("public = {public}\n{TABLE}");
            let files = [("t.toml", text.as_bytes()), ("t.csv", &rows[..]), ("pool.csv", pool.as_bytes())];
            load(&folder(&files).path().join("t.toml"))
        };
        let dataset = read("\"pool.csv\"", "job,age\ny,50\nx,0\n").unwrap();
        let pool = dataset.public().unwrap();
        assert_eq!((pool.len(), pool.target(0)), (2, Target::None));
        let labelled = "{ path = \"pool.csv\", labelled = true }";
        let dataset = read(labelled, "class,job,age\nyes,y,50\n").unwrap();
        assert_eq!(dataset.public().unwrap().label(0), 1);
        let message = read(labelled, "job,age\ny,50\n").unwrap_err().to_string();
        assert!(message.contains("pool.csv") && message.contains("no column `class`"), "{message}");
        let message = read("\"none.csv\"", "").unwrap_err().to_string();
        assert!(message.contains("none.csv"), "{message}");
    }
}
