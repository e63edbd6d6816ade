//! What was spent, on disk before it is spent.

use super::error::{Result, TrainError};
use muffle_accounting::Event;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// One line: an access to the records that may have happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What for.
    pub purpose: Access,
    /// The first step that is paid for.
    pub from: u64,
    /// One past the last step that is paid for.
    pub to: u64,
    /// What is paid.
    pub event: Event,
}

/// A release of all records before the first step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// What for.
    pub purpose: Access,
    /// What it costs.
    pub event: Event,
}

/// What an access was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Principal components of the inputs, before the first step.
    PrincipalComponents,
    /// What the method learns of all records, before the first step.
    Method,
    /// Steps of training.
    Steps,
    /// A count of correct validation records, between two steps.
    Validation,
}

/// The ledger of a run: a file that only grows, one line for each charge.
///
/// # Guarantee
/// [`charge`](Ledger::charge) returns after the charge has reached the disk, and the caller accesses the records only then.
/// So whenever the process dies, the file holds at least what was spent.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
}

impl Ledger {
    /// Opens a ledger, or begins one.
    ///
    /// A last line without its end belongs to a charge that never returned: nothing was done for it, and it is removed.
    pub fn open(path: &Path) -> Result<Ledger> {
        let fail = |error: std::io::Error| TrainError::file(path, error);
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(fail)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(fail)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut entries = Vec::new();
        for (line, entry) in text[..whole].lines().enumerate() {
            entries.push(serde_json::from_str(entry).map_err(|error| {
                TrainError::file(
                    path,
                    format!(
                        "line {} is damaged ({error}); without it nobody can say what was spent: restore the file from \
                         a copy, or start a new run and count this one as well",
                        line + 1
                    ),
                )
            })?);
        }
        if whole < text.len() {
            file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(fail)?;
        }
        file.seek(SeekFrom::End(0)).map_err(fail)?;
        Ok(Ledger { path: path.to_path_buf(), file, entries })
    }

    /// Writes a charge to the disk and returns when it is there.
    pub fn charge(&mut self, entry: Entry) -> Result<()> {
        let line = serde_json::to_string(&entry).expect("an event has a form in JSON") + "\n";
        let before = self.file.stream_position();
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // A torn line would be mended at the next start as well.
            let _ = before.and_then(|length| self.file.set_len(length));
            return Err(TrainError::file(
                &self.path,
                format!(
                    "the charge cannot be written ({error}), so the step was not taken; make room, then resume"
                ),
            ));
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Pays for a release before the first step. If it follows from a seed, it is paid for once: the same comes again.
    pub fn prepare(&mut self, preparation: &Preparation, seeded: bool) -> Result<()> {
        let Preparation { purpose, event } = preparation.clone();
        if seeded && self.entries.iter().any(|entry| entry.purpose == purpose) {
            return Ok(());
        }
        self.charge(Entry { purpose, from: 0, to: 0, event })
    }

    /// What was paid for before the first step.
    pub fn preparations(&self) -> Vec<Preparation> {
        let purposes = [Access::PrincipalComponents, Access::Method];
        let before = self.entries.iter().filter(|entry| purposes.contains(&entry.purpose));
        before.map(|entry| Preparation { purpose: entry.purpose, event: entry.event.clone() }).collect()
    }

    /// Whether nothing was charged yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One past the last step that was ever paid for.
    pub fn paid_steps(&self) -> u64 {
        let steps = self.entries.iter().filter(|entry| entry.purpose == Access::Steps);
        steps.map(|entry| entry.to).max().unwrap_or(0)
    }

    /// The last charge for steps.
    pub fn last_step_charge(&self) -> Option<&Event> {
        self.entries.iter().rev().filter(|entry| entry.purpose == Access::Steps).find_map(|entry| {
            let Event::Compose { events } = &entry.event else { return Some(&entry.event) };
            events.last().map(|event| match event {
                Event::Repeat { event, .. } => event,
                event => event,
            })
        })
    }

    /// Whether the validation after this many steps was paid for.
    pub fn has_validation_after(&self, step: u64) -> bool {
        self.entries.iter().any(|entry| entry.purpose == Access::Validation && entry.from == step)
    }

    /// Everything that was paid, in order.
    pub fn total(&self) -> Event {
        let parts = self.entries.iter().flat_map(|entry| match &entry.event {
            Event::Compose { events } => events.clone(),
            event => vec![event.clone()],
        });
        Event::compose(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn entry(from: u64, to: u64) -> Entry {
        let event = Event::compose([Event::gaussian(1.0).poisson_sampled(0.1).repeated(to - from)]);
        Entry { purpose: Access::Steps, from, to, event }
    }

    #[test]
    fn charges_come_back_and_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = Ledger::open(&path).unwrap();
        assert!(ledger.is_empty() && ledger.paid_steps() == 0);
        ledger.charge(entry(0, 5)).unwrap();
        ledger.charge(entry(5, 9)).unwrap();
        drop(ledger);
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(ledger.paid_steps(), 9);
        let step = Event::gaussian(1.0).poisson_sampled(0.1);
        assert_eq!(ledger.total(), Event::compose([step.repeated(9)]));
    }

    /// Whatever part of the last line reached the disk: the lines before it stay, and the next charge is whole.
    #[test]
    fn a_torn_last_line_is_dropped_wherever_it_tears() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = Ledger::open(&path).unwrap();
        ledger.charge(entry(0, 5)).unwrap();
        let first = fs::metadata(&path).unwrap().len();
        ledger.charge(entry(5, 9)).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in first..whole.len() as u64 {
            fs::write(&path, &whole[..length as usize]).unwrap();
            let mut ledger = Ledger::open(&path).unwrap();
            assert_eq!(ledger.paid_steps(), 5, "{length} bytes");
            ledger.charge(entry(5, 7)).unwrap();
            assert_eq!(Ledger::open(&path).unwrap().paid_steps(), 7);
        }
    }

    #[test]
    fn damage_elsewhere_is_an_error_that_names_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = Ledger::open(&path).unwrap();
        ledger.charge(entry(0, 5)).unwrap();
        ledger.charge(entry(5, 9)).unwrap();
        let damaged = fs::read_to_string(&path).unwrap().replacen("gaussian", "gau", 1);
        fs::write(&path, damaged).unwrap();
        let message = Ledger::open(&path).unwrap_err().to_string();
        assert!(message.contains("line 1 is damaged") && message.contains("spent"), "{message}");
    }
}
