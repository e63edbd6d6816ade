//! The schema of a run's data, beside its recipe, so that a run goes on with the data it began with.

use super::difference::differences;
use crate::atomic_file;
use crate::data::Schema;
use crate::error::{Error, Result};
use std::path::Path;

/// Name of the file in the folder of a run.
const FILE: &str = "schema.json";

/// Writes down what the data of a run in a folder mean, or holds them to what is written there.
///
/// # Guarantee
/// A run whose data mean something else than when it began is refused, with the difference.
pub fn hold(folder: &Path, schema: &Schema) -> Result<()> {
    let path = folder.join(FILE);
    if !path.exists() {
        let text = serde_json::to_string_pretty(schema).expect("a schema has a form in JSON");
        return atomic_file::write(&path, text + "\n").map_err(|error| Error::file(&path, error));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| Error::file(&path, error))?;
    let begun: Schema = serde_json::from_str(&text)
        .map_err(|error| Error::file(&path, format!("damaged ({error}); restore it from a copy")))?;
    match differences(&begun, schema) {
        Some(difference) => Err(Error::file(
            &path,
            format!(
                "the run began with data of another meaning: {difference}; restore the description of the data"
            ),
        )),
        None => Ok(()),
    }
}
