//! A first description of a table: from its header, and from a public sample if there is one.
//!
//! Nothing is read of a private file but the names of its columns. What the columns hold is said by whoever asks, or guessed
//! from rows that are declared to be public.

use super::csv::{self, Form};
use super::description::{Description, Format};
use super::draft::OPEN;
use super::parquet;
use super::row::Wanted;
use super::sample::{Guess, Kind, Sample};
use super::table::rows;
use crate::error::{DataError, Result};
use std::collections::HashSet;
use std::path::Path;

/// What is known of a table without looking at its rows.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The column with the class.
    pub label: Option<String>,
    /// Columns of numbers.
    pub numbers: Vec<String>,
    /// Columns of categories.
    pub categories: Vec<String>,
    /// Columns of dates.
    pub dates: Vec<String>,
    /// Columns of text.
    pub texts: Vec<String>,
}

/// A first description of a table, as a text to be filled in. `written` is how its path should stand in it.
pub fn describe(file: &Path, written: &str, known: &Known, sample: Option<&Path>) -> Result<String> {
    let format = format_of(file);
    let header = header(file, format)?;
    let refuse = |reason: String| DataError::Description { file: file.display().to_string(), reason };
    if let Some(name) = twice(header.iter().filter(|name| !name.is_empty())) {
        return Err(refuse(format!("`{name}` stands twice in the header; give its columns different names")));
    }
    let named = [&known.numbers, &known.categories, &known.dates, &known.texts];
    let named = named.into_iter().flatten().chain(&known.label);
    if let Some(name) = named.clone().find(|name| !header.contains(name)) {
        return Err(refuse(format!("no column `{name}` in the header ({})", header.join(", "))));
    }
    if let Some(name) = twice(named) {
        return Err(refuse(format!("column `{name}` is said to be two things; say one")));
    }
    let guesses = match sample {
        Some(sample) => guess(sample, &header)?,
        None => Vec::new(),
    };
    let guess =
        |name: &String| header.iter().position(|other| other == name).and_then(|place| guesses.get(place));
    let mut text = beginning(format, written, sample.is_some());
    if let Some(words) = words_for_nothing(&guesses) {
        text += &format!("missing_values = {words:?}\n");
    }
    if guesses.iter().any(|guess| guess.comma) && !guesses.iter().any(|guess| guess.point) {
        text += "decimal = \",\"\n";
    }
    text += &target(known.label.as_ref(), known.label.as_ref().and_then(guess));
    for name in header.iter().filter(|name| !name.is_empty() && known.label.as_ref() != Some(name)) {
        text += "\n";
        text += &column(name, known, guess(name));
    }
    Ok(text)
}

/// The first name that has been there before.
fn twice<'n>(names: impl Iterator<Item = &'n String>) -> Option<&'n String> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// The kind of file, by its name.
fn format_of(file: &Path) -> Format {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("parquet") => Format::Parquet,
        _ => Format::Csv,
    }
}

fn header(file: &Path, format: Format) -> Result<Vec<String>> {
    match format {
        Format::Parquet => parquet::header(file),
        _ => csv::header(file, Form::default()),
    }
}

/// What the rows of a public sample say about each column.
fn guess(sample: &Path, header: &[String]) -> Result<Vec<Guess>> {
    let description = Description::bare(format_of(sample));
    let wanted: Vec<Wanted> = header.iter().map(|name| Wanted { name, number: false }).collect();
    let mut samples: Vec<Sample> = header.iter().map(|_| Sample::default()).collect();
    rows(&description, sample, &wanted, |row| {
        samples.iter_mut().enumerate().for_each(|(place, sample)| sample.add(row.cell(place)));
        Ok(())
    })?;
    Ok(samples.into_iter().map(Sample::guess).collect())
}

fn words_for_nothing(guesses: &[Guess]) -> Option<Vec<String>> {
    let mut words: Vec<String> = guesses.iter().flat_map(|guess| guess.words_for_nothing.clone()).collect();
    words.sort();
    words.dedup();
    (!words.is_empty()).then_some(words)
}

fn beginning(format: Format, written: &str, sampled: bool) -> String {
    let source = match sampled {
        true => "Types, categories and ranges are those of the public sample: widen them to what can be.",
        false => "Types, categories and ranges have to come from public knowledge: fill in every \"?\".",
    };
    let format = if format == Format::Parquet { "parquet" } else { "csv" };
    format!(
        "# A first description. Nothing was read of the records: only the names of the columns.\n# {source}\n\
         # A range can be paid for with privacy instead: muffle data ranges {written} --description THIS --epsilon 0.1\n\n\
         format = {format:?}\npath = {written:?}\ntest_fraction = 0.2\n"
    )
}

fn target(label: Option<&String>, guess: Option<&Guess>) -> String {
    let classes = guess.map_or(vec![OPEN.to_string()], |guess| guess.values.clone());
    match label {
        Some(label) => format!("label = {label:?}\nclasses = {classes:?}\n"),
        None => format!("label = {OPEN:?}  # the column with the class\nclasses = [{OPEN:?}]\n"),
    }
}

/// The declaration of one column.
fn column(name: &String, known: &Known, guess: Option<&Guess>) -> String {
    let guessed = guess.map(|guess| guess.kind);
    let among = |names: &Vec<String>, kind: Kind| {
        names.contains(name) || (!said(name, known) && guessed == Some(kind))
    };
    let head = format!("[[columns]]\nname = {name:?}\n");
    let indicator = if guess.is_some_and(|guess| guess.missing) { "indicator = true\n" } else { "" };
    if among(&known.numbers, Kind::Number) {
        return match guess.and_then(|guess| guess.range) {
            Some([low, high]) if low < high => format!("{head}range = [{low:?}, {high:?}]\n{indicator}"),
            _ => format!("{head}range = {OPEN:?}  # [low, high]\n{indicator}"),
        };
    }
    if among(&known.dates, Kind::Date) {
        return match guess.and_then(|guess| guess.days.as_ref()) {
            Some([first, last]) if first < last => format!("{head}dates = [{first}, {last}]\n{indicator}"),
            _ => format!("{head}dates = [1900-01-01, 2100-01-01]  # narrow it to what can be\n{indicator}"),
        };
    }
    if among(&known.categories, Kind::Category) {
        let values = guess.map_or(vec![OPEN.to_string()], |guess| guess.values.clone());
        return format!("{head}categories = {values:?}\nother = true\n{indicator}");
    }
    if among(&known.texts, Kind::Text) {
        return format!("{head}tokens = {{ kind = \"bytes\", length = 256 }}\n");
    }
    if guessed == Some(Kind::Many) {
        return format!("{head}hash = 64\n{indicator}");
    }
    format!(
        "# [[columns]]\n# name = {name:?}\n# one of: range = [low, high], dates = [first, last], categories = [...], hash = 64\n"
    )
}

/// Whether somebody has said what a column is.
fn said(name: &String, known: &Known) -> bool {
    [&known.numbers, &known.categories, &known.dates, &known.texts].iter().any(|names| names.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::Draft;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    /// # Guarantee
    /// Two files with the same header have the same description, whatever their rows.
    #[test]
    fn nothing_is_read_of_private_rows() {
        let known = Known {
            label: Some("ill".into()),
            numbers: vec!["age".into()],
            categories: vec!["job".into()],
            dates: vec!["day".into()],
            texts: vec!["note".into()],
        };
        let text = |rows: &str| {
            let folder = folder(&[("t.csv", &format!("age;job;ill;day;note;zip\n{rows}"))]);
            describe(&folder.path().join("t.csv"), "t.csv", &known, None).unwrap()
        };
        let one = text("7;nurse;yes;2000-01-01;hello;1\n");
        assert_eq!(one, text("not even\nas many cells; as above\n"));
        let folder = folder(&[("t.toml", &one)]);
        let draft = Draft::read(&folder.path().join("t.toml")).unwrap();
        assert_eq!(draft.open_columns(), ["age"]);
        let filled = draft.with_ranges(&[("age".into(), [0.0, 120.0])], "known");
        let reason = Description::parse(&filled).unwrap_err();
        assert!(reason.contains("1 classes"), "{reason}");
        let filled = filled.replace("classes = [\"?\"]", "classes = [\"no\", \"yes\"]");
        let reason = Description::parse(&filled).unwrap_err();
        assert!(reason.contains("column `job`") && reason.contains("still to be filled in"), "{reason}");
        let whole = filled.replace("categories = [\"?\"]", "categories = [\"nurse\"]");
        assert_eq!(Description::parse(&whole).unwrap().columns.len(), 4);
        assert!(whole.contains("# name = \"zip\""), "{whole}");
    }

    #[test]
    fn a_public_sample_says_what_columns_hold() {
        let rows: String = (0..100)
            .map(|row| {
                let age = if row % 9 == 0 { "NA".to_string() } else { row.to_string() };
                format!(
                    "{age},{},{},2000-01-{:02},z{row},{}\n",
                    row % 3,
                    row % 2,
                    row % 28 + 1,
                    format!("{row} words ").repeat(9)
                )
            })
            .collect();
        let head = "age,job,ill,day,zip,note\n";
        let folder = folder(&[("private.csv", head), ("public.csv", &format!("{head}{rows}"))]);
        let known = Known { label: Some("ill".into()), categories: vec!["job".into()], ..Known::default() };
        let sample = folder.path().join("public.csv");
        let text =
            describe(&folder.path().join("private.csv"), "private.csv", &known, Some(&sample)).unwrap();
        let description = Description::parse(&text).unwrap();
        let [age, job, day, zip, note] = &description.columns[..] else { panic!("{text}") };
        assert_eq!((age.range, age.indicator), (Some([1.0, 98.0]), true));
        assert_eq!(job.categories.as_deref(), Some(&["0", "1", "2"].map(String::from)[..]));
        assert!(day.dates.is_some() && zip.hash == Some(64) && note.tokens.is_some(), "{text}");
        assert_eq!(description.missing_values, ["NA"]);
        assert!(text.contains("dates = [2000-01-01, 2000-01-28]"), "{text}");
    }

    #[test]
    fn numbers_of_a_sample_may_have_a_comma() {
        let rows = "bmi;day;ill\n21,5;2024-01-02;yes\n30,25;2023-05-06;no\n";
        let folder = folder(&[("t.csv", rows)]);
        let file = folder.path().join("t.csv");
        let known = Known { label: Some("ill".into()), ..Known::default() };
        let text = describe(&file, "t.csv", &known, Some(&file)).unwrap();
        assert!(text.contains("decimal = \",\"") && text.contains("range = [21.5, 30.25]"), "{text}");
        assert!(Description::parse(&text).is_ok(), "{text}");
    }

    #[test]
    fn unknown_names_are_refused() {
        let folder = folder(&[("t.csv", "age,job\n")]);
        let known = Known { numbers: vec!["weight".into()], ..Known::default() };
        let message = describe(&folder.path().join("t.csv"), "t.csv", &known, None).unwrap_err().to_string();
        assert!(message.contains("no column `weight`") && message.contains("age, job"), "{message}");
        let age = || vec!["age".to_string()];
        let known = Known { numbers: age(), categories: age(), ..Known::default() };
        let message = describe(&folder.path().join("t.csv"), "t.csv", &known, None).unwrap_err().to_string();
        assert!(message.contains("column `age` is said to be two things"), "{message}");
        std::fs::write(folder.path().join("t.csv"), "age,job,age\n").unwrap();
        let message = describe(&folder.path().join("t.csv"), "t.csv", &Known::default(), None).unwrap_err();
        assert!(message.to_string().contains("`age` stands twice"), "{message}");
    }
}
