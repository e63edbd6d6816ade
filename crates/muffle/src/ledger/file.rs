//! What was spent, on disk before it is spent.

use super::access::{Access, Receipt};
use crate::error::{Error, Result};
use muffle_accounting::Event;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// One line: accesses to the records that may have happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What for: the name of a [`Purpose`](super::Purpose).
    pub purpose: String,
    /// The first access of this purpose that is paid for.
    pub from: u64,
    /// One past the last.
    pub to: u64,
    /// What is paid.
    pub event: Event,
}

impl Entry {
    fn covers(&self, access: &Access) -> bool {
        // Accesses before the first step were once written as the empty range at zero.
        let number = access.number;
        self.purpose == access.purpose.name() && (self.from..self.to.max(self.from + 1)).contains(&number)
    }

    /// A single charge stands for itself.
    fn simplify(&mut self) {
        if let Event::Compose { events } = &self.event
            && let [event] = &events[..]
        {
            self.event = event.clone();
        }
    }

    /// Whether an access is the next of this entry.
    fn continues(&self, access: &Access) -> bool {
        self.purpose == access.purpose.name() && self.to == access.number
    }
}

/// The ledger of a run: a file that only grows, one line for each charge.
///
/// # Guarantee
/// [`pay`](Ledger::pay) returns receipts after the charges have reached the disk, and records are accessed with a receipt
/// only. So whenever the process dies, the file holds at least what was spent.
#[derive(Debug)]
pub struct Ledger {
    /// Where it is written; nowhere if it is in memory.
    place: Option<(PathBuf, File)>,
    entries: Vec<Entry>,
    /// Whether the same access gives the same release again, so that it is paid for once.
    repeatable: bool,
}

impl Ledger {
    /// Opens a ledger, or begins one.
    ///
    /// In a `repeatable` run all randomness follows from a seed: what is accessed again gives the same release, and is paid for
    /// once.
    ///
    /// A last line without its end belongs to a charge that never returned: nothing was done for it, and it is removed.
    pub fn open(path: &Path, repeatable: bool) -> Result<Ledger> {
        let fail = |error: std::io::Error| Error::file(path, error);
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(fail)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(fail)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut entries = Vec::new();
        for (line, entry) in text[..whole].lines().enumerate() {
            entries.push(serde_json::from_str(entry).map_err(|error| {
                Error::file(
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
        Ok(Ledger { place: Some((path.to_path_buf(), file)), entries, repeatable })
    }

    /// A ledger that is **kept nowhere**: for made-up records, for audits, and for trials whose results stay with the holder of
    /// the records.
    pub fn in_memory() -> Ledger {
        Ledger { place: None, entries: Vec::new(), repeatable: false }
    }

    /// Writes to the disk what accesses cost, and returns a receipt for each when it is there.
    pub fn pay(&mut self, accesses: &[Access]) -> Result<Vec<Receipt>> {
        let mut due: Vec<Entry> = Vec::new();
        for access in accesses.iter().filter(|access| !self.repeatable || !self.has_paid(access)) {
            let Access { purpose, number, charge, .. } = access;
            if !due.last().is_some_and(|entry| entry.continues(access)) {
                let (purpose, event) = (purpose.name().to_string(), Event::compose([]));
                due.push(Entry { purpose, from: *number, to: *number, event });
            }
            let entry = due.last_mut().expect("there is one");
            entry.to = number + 1;
            charge.iter().for_each(|charge| entry.event.append(charge.clone()));
        }
        due.iter_mut().for_each(Entry::simplify);
        self.write(&due)?;
        self.entries.append(&mut due);
        Ok(accesses.iter().map(Receipt::new).collect())
    }

    /// [`pay`](Ledger::pay) for a single access.
    pub fn pay_one(&mut self, access: Access) -> Result<Receipt> {
        Ok(self.pay(&[access])?.remove(0))
    }

    fn write(&mut self, entries: &[Entry]) -> Result<()> {
        let Some((path, file)) = self.place.as_mut().filter(|_| !entries.is_empty()) else { return Ok(()) };
        let line = |entry: &Entry| serde_json::to_string(entry).expect("an event has a form in JSON") + "\n";
        let lines: String = entries.iter().map(line).collect();
        let before = file.stream_position();
        if let Err(error) = file.write_all(lines.as_bytes()).and_then(|()| file.sync_data()) {
            // A torn line would be mended at the next start as well.
            let _ = before.and_then(|length| file.set_len(length));
            return Err(Error::file(
                path,
                format!(
                    "the charge cannot be written ({error}), so the step was not taken; make room, then resume"
                ),
            ));
        }
        Ok(())
    }

    /// Whether an access was ever paid for.
    pub fn has_paid(&self, access: &Access) -> bool {
        // The newest is nearly always the one.
        self.entries.iter().rev().any(|entry| entry.covers(access))
    }

    /// Whether the same access gives the same release again.
    pub fn is_repeatable(&self) -> bool {
        self.repeatable
    }

    /// All charges.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
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
    use super::super::Purpose;
    use super::*;
    use std::fs;
    use std::ops::Range;

    const STEPS: Purpose = Purpose::new("steps");

    fn steps(range: Range<u64>) -> Vec<Access> {
        let release = Event::gaussian(1.0);
        let step = |number| Access {
            purpose: STEPS,
            number,
            charge: Some(release.clone().poisson_sampled(0.1)),
            release: release.clone(),
            keep: false,
        };
        range.map(step).collect()
    }

    fn paid(ledger: &Ledger) -> u64 {
        ledger.entries().iter().map(|entry| entry.to).max().unwrap_or(0)
    }

    #[test]
    fn charges_come_back_and_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = Ledger::open(&path, false).unwrap();
        assert!(ledger.entries().is_empty());
        let receipts = ledger.pay(&steps(0..5)).unwrap();
        assert_eq!(receipts.iter().map(Receipt::number).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let _ = ledger.pay(&steps(5..9)).unwrap();
        drop(ledger);
        let ledger = Ledger::open(&path, false).unwrap();
        assert_eq!(paid(&ledger), 9);
        let step = Event::gaussian(1.0).poisson_sampled(0.1);
        assert_eq!(ledger.total(), Event::compose([step.repeated(9)]));
    }

    /// What follows from a seed is paid for once, what does not is paid for whenever it happens.
    #[test]
    fn the_same_access_costs_again_unless_it_gives_the_same_release() {
        let folder = tempfile::tempdir().unwrap();
        for (repeatable, expected) in [(true, 7), (false, 10)] {
            let mut ledger = Ledger::open(&folder.path().join(format!("{repeatable}")), repeatable).unwrap();
            assert_eq!(ledger.pay(&steps(0..5)).unwrap().len(), 5);
            assert_eq!(ledger.pay(&steps(2..7)).unwrap().len(), 5);
            let step = Event::gaussian(1.0).poisson_sampled(0.1);
            assert_eq!(ledger.total(), Event::compose([step.repeated(expected)]));
        }
    }

    /// Whatever part of the last line reached the disk: the lines before it stay, and the next charge is whole.
    #[test]
    fn a_torn_last_line_is_dropped_wherever_it_tears() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = Ledger::open(&path, false).unwrap();
        let _ = ledger.pay(&steps(0..5)).unwrap();
        let first = fs::metadata(&path).unwrap().len();
        let _ = ledger.pay(&steps(5..9)).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in first..whole.len() as u64 {
            fs::write(&path, &whole[..length as usize]).unwrap();
            let mut ledger = Ledger::open(&path, false).unwrap();
            assert_eq!(paid(&ledger), 5, "{length} bytes");
            let _ = ledger.pay(&steps(5..7)).unwrap();
            assert_eq!(paid(&Ledger::open(&path, false).unwrap()), 7);
        }
    }

    #[test]
    fn damage_elsewhere_is_an_error_that_names_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = Ledger::open(&path, false).unwrap();
        let _ = ledger.pay(&steps(0..5)).unwrap();
        let _ = ledger.pay(&steps(5..9)).unwrap();
        let damaged = fs::read_to_string(&path).unwrap().replacen("gaussian", "gau", 1);
        fs::write(&path, damaged).unwrap();
        let message = Ledger::open(&path, false).unwrap_err().to_string();
        assert!(message.contains("line 1 is damaged") && message.contains("spent"), "{message}");
    }

    #[test]
    #[should_panic(expected = "released something else than was paid for")]
    fn a_receipt_is_good_for_what_was_paid() {
        let receipt = Ledger::in_memory().pay_one(steps(3..4).remove(0)).unwrap();
        receipt.redeem(&Event::gaussian(0.5));
    }
}
