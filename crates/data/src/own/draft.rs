//! Descriptions that still have ranges to be filled in.

use super::description::Description;
use super::row::Wanted;
use super::table::rows;
use crate::error::{DataError, Result};
use crate::open;
use std::path::{Path, PathBuf};

/// What stands in a draft for something that has to be declared.
pub const OPEN: &str = "?";

/// A description in which the ranges of some columns are still `"?"`.
pub struct Draft {
    path: PathBuf,
    text: String,
}

impl Draft {
    /// Reads a draft.
    pub fn read(path: &Path) -> Result<Draft> {
        let text = String::from_utf8(open::read(path, 1 << 20)?);
        let text = text.map_err(|_| Draft::refusal(path, "no text (UTF-8)".to_string()))?;
        let draft = Draft { path: path.to_path_buf(), text };
        match draft.inline_column() {
            Some(name) => Err(Draft::refusal(
                path,
                format!(
                    "the open range of column `{name}` stands inside `columns = [...]`, where it cannot be filled in; give the column lines of \
                     its own: [[columns]], then name = \"{name}\", then range = \"{OPEN}\""
                ),
            )),
            None => Ok(draft),
        }
    }

    fn refusal(path: &Path, reason: String) -> DataError {
        DataError::Description { file: path.display().to_string(), reason }
    }

    /// Names of the columns whose range is open, in the order of the text.
    pub fn open_columns(&self) -> Vec<String> {
        self.lines().filter(|(_, column, _)| column.is_some()).filter_map(|(.., name)| name).collect()
    }

    /// A column with an open range that does not stand on a line of its own.
    fn inline_column(&self) -> Option<String> {
        // What is no TOML is refused by whoever reads the description.
        let description: toml::Table = self.text.parse().ok()?;
        let open = self.open_columns();
        let columns = description.get("columns")?.as_array()?.iter();
        let unfilled =
            columns.filter(|column| column.get("range").and_then(|range| range.as_str()) == Some(OPEN));
        let mut names = unfilled.filter_map(|column| column.get("name")?.as_str());
        names.find(|name| !open.iter().any(|known| known == name)).map(str::to_string)
    }

    /// Every line, the place of an open range in it, and the name of the column it belongs to.
    fn lines(&self) -> impl Iterator<Item = (&str, Option<usize>, Option<String>)> {
        let value = |line: &str, key: &str| {
            let rest = line.trim_start().strip_prefix(key)?.trim_start().strip_prefix('=')?;
            let rest = rest.trim_start().strip_prefix('"')?;
            Some(rest[..rest.find('"')?].to_string())
        };
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        // The name of a column stands before or behind its range, up to the next header.
        let mut names: Vec<Option<String>> = Vec::new();
        let mut block = 0;
        for (place, line) in lines.iter().enumerate() {
            if line.trim_start().starts_with('[') {
                block = place;
            }
            names.push(None);
            if let Some(name) = value(line, "name") {
                names[block..].fill(Some(name));
            } else if place > block {
                names[place] = names[block].clone();
            }
        }
        lines.into_iter().zip(names).map(move |(line, name)| {
            let is_open = value(line, "range").is_some_and(|range| range == OPEN);
            (line, is_open.then(|| line.find('=').unwrap_or(0) + 1), name)
        })
    }

    /// The text with ranges for some of its open columns, each with a note behind it.
    pub fn with_ranges(&self, ranges: &[(String, [f64; 2])], note: &str) -> String {
        let mut text = String::new();
        for (line, place, name) in self.lines() {
            let known = ranges.iter().find(|(known, _)| name.as_ref() == Some(known));
            match (place, known) {
                (Some(place), Some((_, [low, high]))) => {
                    let end = if line.ends_with('\n') { "\n" } else { "" };
                    text += &format!("{} [{low:?}, {high:?}]  # {note}{end}", &line[..place]);
                }
                _ => text += line,
            }
        }
        text
    }

    /// The files of the table.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        self.files_of(&self.description()?)
    }

    fn files_of(&self, description: &Description) -> Result<Vec<PathBuf>> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        description.path.files(folder).map_err(|reason| Draft::refusal(&self.path, reason))
    }

    /// The description with some range in every open place, for what does not depend on it.
    fn description(&self) -> Result<Description> {
        let some: Vec<(String, [f64; 2])> =
            self.open_columns().into_iter().map(|name| (name, [0.0, 1.0])).collect();
        let description = Description::parse_unchecked(&self.with_ranges(&some, "open"))
            .map_err(|reason| Draft::refusal(&self.path, reason))?;
        if description.is_table() {
            return Ok(description);
        }
        Err(Draft::refusal(&self.path, "only the columns of a table have ranges of their own".to_string()))
    }

    /// Calls `visit` for every row with the numbers of the open columns, in their order; an empty cell is none.
    ///
    /// These are the private records themselves: whatever is computed from them has a price.
    pub fn numbers(&self, mut visit: impl FnMut(&[Option<f64>])) -> Result<()> {
        let description = self.description()?;
        let names = self.open_columns();
        let columns: Vec<_> = names
            .iter()
            .filter_map(|name| description.columns.iter().find(|column| column.name == *name))
            .collect();
        let wanted: Vec<Wanted> = names.iter().map(|name| Wanted { name, number: true }).collect();
        let mut numbers = Vec::new();
        for path in self.files_of(&description)? {
            let file = path.display().to_string();
            rows(&description, &path, &wanted, |row| {
                numbers.clear();
                for (place, column) in columns.iter().enumerate() {
                    numbers.push(column.number_in(row.cell(place)).map_err(|reason| {
                        let position = format!("{}, column `{}`", row.position, column.name);
                        DataError::malformed(&file, position, reason).remedy("then try again")
                    })?);
                }
                visit(&numbers);
                Ok(())
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# people
format = "csv"
path = "t.csv"
decimal = ","
missing_values = ["NA"]
label = "kind"
classes = ["?"]
test_fraction = 0.2

[[columns]]
name = "age"
range = "?"   # to be filled in

[[columns]]
range = "?"
name = "height"
missing = 0

[[columns]]
name = "weight"
range = [0, 100]"#;

    fn draft(text: &str) -> (tempfile::TempDir, Draft) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.toml");
        std::fs::write(&path, text).unwrap();
        let draft = Draft::read(&path).unwrap();
        (folder, draft)
    }

    #[test]
    fn open_ranges_are_found_and_filled() {
        let (_folder, draft) = draft(TEXT);
        assert_eq!(draft.open_columns(), ["age", "height"]);
        let text = draft.with_ranges(&[("height".to_string(), [0.5, 2.0])], "paid");
        assert_eq!(text, TEXT.replace("range = \"?\"\nname", "range = [0.5, 2.0]  # paid\nname"));
        let both = [("age".to_string(), [0.0, 128.0]), ("height".to_string(), [0.5, 2.0])];
        let text = draft.with_ranges(&both, "paid").replace("[\"?\"]", "[\"a\", \"b\"]");
        assert_eq!(Description::parse(&text).unwrap().columns[0].range, Some([0.0, 128.0]));
        let reason = Description::parse(TEXT).unwrap_err();
        assert!(
            reason.contains("still to be filled in") && reason.contains("muffle data ranges"),
            "{reason}"
        );
    }

    #[test]
    fn a_range_inside_a_list_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.toml");
        let text = "format = \"csv\"\npath = \"t.csv\"\ncolumns = [{ name = \"age\", range = \"?\" }]\n";
        std::fs::write(&path, text).unwrap();
        let message = Draft::read(&path).err().unwrap().to_string();
        assert!(message.contains("column `age`") && message.contains("[[columns]]"), "{message}");
    }

    #[test]
    fn numbers_are_those_of_the_open_columns() {
        let (folder, draft) = draft(TEXT);
        let rows = "kind;height;age\na;1,5;30\nb;NA;7\n";
        std::fs::write(folder.path().join("t.csv"), rows).unwrap();
        let mut read = Vec::new();
        draft.numbers(|numbers| read.push(numbers.to_vec())).unwrap();
        assert_eq!(read, [[Some(30.0), Some(1.5)], [Some(7.0), None]]);
        std::fs::write(folder.path().join("t.csv"), "age;height\nold;1\n").unwrap();
        let message = draft.numbers(|_| ()).unwrap_err().to_string();
        assert!(message.contains("line 2, column `age`") && message.contains("\"old\""), "{message}");
    }
}
