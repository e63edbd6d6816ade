//! `muffle data describe`: a first description of a table.

use super::Report;
use clap::Args;
use muffle::atomic_file;
use muffle::data::own::describe::{Known, describe};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Write a first description of a table, to be filled in
///
/// Nothing is read of the file but the names of its columns: what its rows hold is private. Say what you know of the columns,
/// or give a sample that is public, from which types, categories and ranges are guessed. Every "?" that is left has to come from
/// public knowledge; ranges can be paid for with `muffle data ranges`.
#[derive(Args)]
pub struct Arguments {
    /// The table: CSV or Parquet
    file: PathBuf,
    /// The file to write; without it the description is printed
    #[arg(long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
    /// Rows of the same columns that are public: types, categories and ranges are taken from them
    #[arg(long, value_name = "FILE")]
    public_sample: Option<PathBuf>,
    /// The column with the class
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Columns of numbers
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    number: Vec<String>,
    /// Columns of categories
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    category: Vec<String>,
    /// Columns of dates or times
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    date: Vec<String>,
    /// Columns of text
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    text: Vec<String>,
}

/// Describes a table.
pub fn run(arguments: &Arguments) -> Report {
    let known = Known {
        label: arguments.label.clone(),
        numbers: arguments.number.clone(),
        categories: arguments.category.clone(),
        dates: arguments.date.clone(),
        texts: arguments.text.clone(),
    };
    let written = written(&arguments.file, arguments.output.as_deref())?;
    let text = describe(&arguments.file, &written, &known, arguments.public_sample.as_deref())?;
    let open = text.lines().filter(|line| !line.starts_with('#') && line.contains("\"?\"")).count();
    let object = json!({ "description": text, "output": arguments.output, "open": open });
    let Some(output) = &arguments.output else { return Ok((object, text.trim_end().to_string())) };
    if output.exists() {
        let name = output.display();
        return Err(format!("--output {name} is there already: remove it, or choose another name").into());
    }
    atomic_file::write(output, &text).map_err(|error| format!("--output {}: {error}", output.display()))?;
    let next = match open {
        0 => format!("then `muffle data check {}`", output.display()),
        _ => format!(
            "{open} places to fill in from public knowledge are marked with \"?\"; ranges can be paid for with `muffle data \
             ranges {} --epsilon 0.1`",
            output.display()
        ),
    };
    Ok((object, format!("{}: read it and correct it; {next}", output.display())))
}

/// The path of a table as its description has it: relative to the folder of the description where both share one.
fn written(file: &Path, output: Option<&Path>) -> Result<String, Box<dyn std::error::Error>> {
    let Some(output) = output else { return Ok(file.display().to_string()) };
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_string();
    if output.parent() == file.parent() {
        return Ok(name);
    }
    let whole = std::fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(whole.display().to_string())
}
