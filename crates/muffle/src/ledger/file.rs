//! What was spent, on disk before it is spent.

use super::access::{Access, Receipt};
use super::chain::{Chain, Lines};
use super::head::Head;
use crate::error::{Error, Result};
use muffle_accounting::Event;
use muffle_nn::regular_file;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
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
    /// SHA-256 of the line before; for the first, of what the ledger is of.
    #[serde(default)]
    pub previous: String,
}

impl Entry {
    fn covers(&self, access: &Access) -> bool {
        // Accesses before the first step were once written as the empty range at zero.
        let number = access.number;
        let within = self.from == number || (self.from..self.to).contains(&number);
        self.purpose == access.purpose.name() && within
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
/// only. So whenever the process dies, the file holds at least what was spent. Every line holds the digest of the one before,
/// so no line can be changed or taken out of the middle; a cut end shows beside anything that names the [head](Ledger::head)
/// it rests on.
#[derive(Debug)]
pub struct Ledger {
    /// Where it is written; nowhere if it is in memory.
    place: Option<(PathBuf, File)>,
    entries: Vec<Entry>,
    chain: Chain,
    /// Whether the same access gives the same release again, so that it is paid for once.
    repeatable: bool,
}

impl Ledger {
    /// Opens a ledger, or begins one. `origin` is what it is a ledger of, such as the text of a recipe: its first line follows
    /// from that, and the ledger of something else is refused.
    ///
    /// In a `repeatable` run all randomness follows from a seed: what is accessed again gives the same release, and is paid for
    /// once.
    ///
    /// A torn last line belongs to a charge that never returned: nothing was done for it, and it is removed. A last line that
    /// only lacks its end is kept.
    pub fn open(path: &Path, origin: &str, repeatable: bool) -> Result<Ledger> {
        let fail = |error: std::io::Error| Error::file(path, error);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(fail)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(fail)?;
        let Lines { entries, chain, whole } = Lines::read(path, &text, origin)?;
        let mended = match whole {
            _ if whole < text.len() => file.set_len(whole as u64).and_then(|()| file.sync_all()),
            _ if !text.is_empty() && !text.ends_with('\n') => {
                file.write_all(b"\n").and_then(|()| file.sync_all())
            }
            _ => Ok(()),
        };
        mended.map_err(fail)?;
        Ok(Ledger { place: Some((path.to_path_buf(), file)), entries, chain, repeatable })
    }

    /// Reads a ledger and leaves the file as it is. What is paid on it is kept nowhere.
    pub fn read(path: &Path, origin: &str) -> Result<Ledger> {
        let text = regular_file::read_to_string(path).map_err(|error| Error::file(path, error))?;
        Ledger::parse(path, &text, origin)
    }

    /// The same from the text of the file.
    pub fn parse(path: &Path, text: &str, origin: &str) -> Result<Ledger> {
        let Lines { entries, chain, .. } = Lines::read(path, text, origin)?;
        Ok(Ledger { place: None, entries, chain, repeatable: false })
    }

    /// A ledger that is **kept nowhere**: for made-up records, for audits, and for trials whose results stay with the holder of
    /// the records.
    pub fn in_memory() -> Ledger {
        Ledger { place: None, entries: Vec::new(), chain: Chain::from(""), repeatable: false }
    }

    /// Writes to the disk what accesses cost, and returns a receipt for each when it is there.
    pub fn pay(&mut self, accesses: &[Access]) -> Result<Vec<Receipt>> {
        let mut due: Vec<Entry> = Vec::new();
        for access in accesses.iter().filter(|access| !self.repeatable || !self.has_paid(access)) {
            let Access { purpose, number, charge, .. } = access;
            if !due.last().is_some_and(|entry| entry.continues(access)) {
                let (purpose, event) = (purpose.name().to_string(), Event::compose([]));
                let previous = String::new();
                due.push(Entry { purpose, from: *number, to: *number, event, previous });
            }
            let entry = due.last_mut().expect("there is one");
            entry.to = number + 1;
            charge.iter().for_each(|charge| entry.event.append(charge.clone()));
        }
        due.iter_mut().for_each(Entry::simplify);
        let mut chain = self.chain.clone();
        let lines: String = due.iter_mut().map(|entry| chain.append(entry) + "\n").collect();
        self.write(&lines)?;
        self.chain = chain;
        self.entries.append(&mut due);
        Ok(accesses.iter().map(Receipt::new).collect())
    }

    /// [`pay`](Ledger::pay) for a single access.
    pub fn pay_one(&mut self, access: Access) -> Result<Receipt> {
        Ok(self.pay(&[access])?.remove(0))
    }

    fn write(&mut self, lines: &str) -> Result<()> {
        let Some((path, file)) = self.place.as_mut().filter(|_| !lines.is_empty()) else { return Ok(()) };
        let before = file.metadata();
        if let Err(error) = file.write_all(lines.as_bytes()).and_then(|()| file.sync_data()) {
            // A torn line would be mended at the next start as well.
            let _ = before.and_then(|before| file.set_len(before.len()));
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

    /// Where it ends by now: what is left behind names it.
    pub fn head(&self) -> Head {
        self.chain.head()
    }

    /// Whether it is, or goes on from, the ledger that somebody saw. If not, the reason and the remedy.
    pub fn check_contains(&self, head: &Head) -> std::result::Result<(), String> {
        self.chain.check_contains(head)
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
        let mut ledger = Ledger::open(&path, "run", false).unwrap();
        assert!(ledger.entries().is_empty());
        let receipts = ledger.pay(&steps(0..5)).unwrap();
        assert_eq!(receipts.iter().map(Receipt::number).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let _ = ledger.pay(&steps(5..9)).unwrap();
        drop(ledger);
        let ledger = Ledger::open(&path, "run", false).unwrap();
        assert_eq!(paid(&ledger), 9);
        let step = Event::gaussian(1.0).poisson_sampled(0.1);
        assert_eq!(ledger.total(), Event::compose([step.repeated(9)]));
    }

    /// What follows from a seed is paid for once, what does not is paid for whenever it happens.
    #[test]
    fn the_same_access_costs_again_unless_it_gives_the_same_release() {
        let folder = tempfile::tempdir().unwrap();
        for (repeatable, expected) in [(true, 7), (false, 10)] {
            let mut ledger =
                Ledger::open(&folder.path().join(format!("{repeatable}")), "run", repeatable).unwrap();
            assert_eq!(ledger.pay(&steps(0..5)).unwrap().len(), 5);
            assert_eq!(ledger.pay(&steps(2..7)).unwrap().len(), 5);
            let step = Event::gaussian(1.0).poisson_sampled(0.1);
            assert_eq!(ledger.total(), Event::compose([step.repeated(expected)]));
        }
    }

    /// Two charges of two lines in a file, and the length of the first line.
    fn two_charges(path: &Path) -> (Vec<u8>, u64) {
        let mut ledger = Ledger::open(path, "run", false).unwrap();
        let _ = ledger.pay(&steps(0..5)).unwrap();
        let first = fs::metadata(path).unwrap().len();
        let _ = ledger.pay(&steps(5..9)).unwrap();
        (fs::read(path).unwrap(), first)
    }

    /// Whatever part of the last line reached the disk: the lines before it stay, and the next charge is whole.
    #[test]
    fn a_torn_last_line_is_dropped_wherever_it_tears() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let (whole, first) = two_charges(&path);
        for length in first..whole.len() as u64 - 1 {
            fs::write(&path, &whole[..length as usize]).unwrap();
            assert_eq!(paid(&Ledger::read(&path, "run").unwrap()), 5, "{length} bytes");
            assert_eq!(fs::metadata(&path).unwrap().len(), length, "reading changes nothing");
            let mut ledger = Ledger::open(&path, "run", false).unwrap();
            assert_eq!(paid(&ledger), 5, "{length} bytes");
            let _ = ledger.pay(&steps(5..7)).unwrap();
            assert_eq!(paid(&Ledger::open(&path, "run", false).unwrap()), 7);
        }
    }

    /// A line that lacks nothing but its end may have been acted upon.
    #[test]
    fn a_whole_last_line_without_its_end_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let (whole, _) = two_charges(&path);
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let mut ledger = Ledger::open(&path, "run", false).unwrap();
        assert_eq!(paid(&ledger), 9);
        assert_eq!(fs::read(&path).unwrap(), whole);
        let _ = ledger.pay(&steps(9..11)).unwrap();
        assert_eq!(paid(&Ledger::open(&path, "run", false).unwrap()), 11);
    }

    /// What another process writes is never written over, and two that spend side by side are noticed.
    #[test]
    fn nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let [mut one, mut two] = [(); 2].map(|()| Ledger::open(&path, "run", false).unwrap());
        let _ = one.pay(&steps(0..5)).unwrap();
        let _ = two.pay(&steps(0..7)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
        let message = Ledger::open(&path, "run", false).unwrap_err().to_string();
        assert!(message.contains("line 2 does not follow"), "{message}");
    }

    #[test]
    fn damage_elsewhere_is_an_error_that_names_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = Ledger::open(&path, "run", false).unwrap();
        let _ = ledger.pay(&steps(0..5)).unwrap();
        let _ = ledger.pay(&steps(5..9)).unwrap();
        let damaged = fs::read_to_string(&path).unwrap().replacen("gaussian", "gau", 1);
        fs::write(&path, damaged).unwrap();
        let message = Ledger::open(&path, "run", false).unwrap_err().to_string();
        assert!(message.contains("line 1 is damaged") && message.contains("spent"), "{message}");
    }

    #[test]
    #[should_panic(expected = "released something else than was paid for")]
    fn a_receipt_is_good_for_what_was_paid() {
        let receipt = Ledger::in_memory().pay_one(steps(3..4).remove(0)).unwrap();
        receipt.redeem(&Event::gaussian(0.5));
    }
}
