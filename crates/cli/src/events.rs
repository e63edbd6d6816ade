//! What was spent, from whatever says so: events, a ledger, a certificate, or the folder of a run.

use muffle::ledger::Entry;
use muffle::run::{Certificate, read_ledger, verify};
use muffle_accounting::{Adjacency, Event};
use muffle_nn::model_file::explain::json_error;
use muffle_nn::regular_file;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::error::Error;
use std::path::Path;

/// What was spent, with what a certificate says beside it.
pub struct Spent {
    /// What is to be priced.
    pub event: Event,
    /// Of a certificate.
    pub adjacency: Option<Adjacency>,
    /// Of a certificate.
    pub delta: Option<f64>,
}

impl Spent {
    /// Reads a file of events, a ledger, a certificate, or the folder of a run.
    pub fn read(path: &Path) -> Result<Spent, Box<dyn Error>> {
        let fail = |reason: String| format!("--events {}: {reason}", path.display());
        let spent = match path.is_dir() {
            true => of_folder(path),
            false => of_file(path),
        };
        let spent = spent.map_err(|error| fail(error.to_string()))?;
        spent.event.validate().map_err(|error| fail(error.to_string()))?;
        Ok(spent)
    }
}

impl From<Event> for Spent {
    fn from(event: Event) -> Spent {
        Spent { event, adjacency: None, delta: None }
    }
}

impl From<Certificate> for Spent {
    fn from(certificate: Certificate) -> Spent {
        let (adjacency, delta) = (Some(certificate.adjacency), Some(certificate.delta));
        Spent { event: certificate.events, adjacency, delta }
    }
}

/// The certificate if there is one, else the ledger.
fn of_folder(path: &Path) -> Result<Spent, Box<dyn Error>> {
    if !path.join("privacy.json").exists() {
        return Ok(read_ledger(path)?.total().into());
    }
    let certificate = verify(path)?;
    if read_ledger(path)?.head() != certificate.binding.ledger {
        return Err(
            "the ledger has grown since the certificate was written; resume the run to its end, or give \
                    ledger.jsonl itself"
                .into(),
        );
    }
    Ok(certificate.into())
}

fn of_file(path: &Path) -> Result<Spent, Box<dyn Error>> {
    let text = regular_file::read_to_string(path)?;
    let first = serde_json::Deserializer::from_str(&text).into_iter::<Value>().next();
    let first = first.ok_or("the file is empty")?.map_err(|error| json_error(&error))?;
    let has = |keys: [&str; 2]| keys.iter().all(|key| first.get(key).is_some());
    if has(["events", "proved"]) {
        return Ok(parsed::<Certificate>(&text)?.into());
    }
    if !has(["purpose", "event"]) {
        return Ok(parsed::<Event>(&text)?.into());
    }
    let folder =
        path.parent().filter(|folder| path.ends_with("ledger.jsonl") && folder.join("recipe.toml").is_file());
    if let Some(folder) = folder {
        // Beside its recipe, so that its chain can be followed.
        return Ok(read_ledger(folder)?.total().into());
    }
    let entries = text.lines().zip(1..).map(|(line, number)| {
        parsed::<Entry>(line).map(|entry| entry.event).map_err(|error| format!("entry {number}: {error}"))
    });
    Ok(Event::compose(entries.collect::<Result<Vec<_>, _>>()?).into())
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| json_error(&error))
}
