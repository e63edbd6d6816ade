//! Lines of which each follows from the one before.

use super::file::Entry;
use super::head::Head;
use crate::digest::sha256;
use crate::error::{Error, Result};
use muffle_nn::model_file::explain::json_error;
use std::path::Path;

/// What to do about a ledger that does not hold together.
const REMEDY: &str = "without it nobody can say what was spent: restore the file from a copy, or start a new run in another \
                      folder and count this one as well";

/// The digests of what a ledger is of, and of its lines.
#[derive(Clone, Debug)]
pub(super) struct Chain(Vec<String>);

impl Chain {
    /// Before the first line of a ledger of this.
    pub fn from(origin: &str) -> Chain {
        Chain(vec![sha256(origin)])
    }

    fn last(&self) -> &str {
        self.0.last().expect("what the ledger is of comes first")
    }

    /// The next line, which follows from the last one, without its end.
    pub fn append(&mut self, entry: &mut Entry) -> String {
        entry.previous = self.last().to_string();
        let line = serde_json::to_string(entry).expect("an event has a form in JSON");
        self.0.push(sha256(&line));
        line
    }

    /// Where it ends.
    pub fn head(&self) -> Head {
        Head { lines: self.0.len() as u64 - 1, sha256: self.last().to_string() }
    }

    /// Whether a head is one of this chain. If not, the reason and the remedy.
    pub fn check_contains(&self, head: &Head) -> std::result::Result<(), String> {
        let (named, lines) = (head.lines, self.0.len() as u64 - 1);
        match usize::try_from(named).ok().and_then(|place| self.0.get(place)) {
            Some(digest) if *digest == head.sha256 => Ok(()),
            Some(_) => Err(format!(
                "rests on a ledger whose line {named} is another one than that of ledger.jsonl; {REMEDY}"
            )),
            None => Err(format!(
                "rests on a ledger of {named} lines, and ledger.jsonl has {lines}: some are missing; {REMEDY}"
            )),
        }
    }
}

/// What is in the file of a ledger.
pub(super) struct Lines {
    pub entries: Vec<Entry>,
    pub chain: Chain,
    /// Bytes up to the end of the last whole line, or of all if only its end is missing.
    pub whole: usize,
}

impl Lines {
    /// Reads and checks the lines of a ledger of `origin`.
    pub fn read(path: &Path, text: &str, origin: &str) -> Result<Lines> {
        let ended = text.rfind('\n').map_or(0, |end| end + 1);
        let whole = match serde_json::from_str::<Entry>(&text[ended..]) {
            Ok(_) => text.len(),
            Err(_) => ended,
        };
        let mut chain = Chain::from(origin);
        let mut entries = Vec::new();
        for (line, number) in text[..whole].lines().zip(1..) {
            let fail = |reason: String| Error::file(path, format!("line {number} {reason}; {REMEDY}"));
            let entry: Entry = serde_json::from_str(line)
                .map_err(|error| fail(format!("is damaged ({})", json_error(&error))))?;
            if entry.previous.is_empty() {
                return Err(fail(
                    "does not say which line it follows, so it is of an older version, whose ledgers could be cut".to_string(),
                ));
            }
            if entry.previous != chain.last() {
                return Err(fail(match number {
                    1 => "does not follow from the recipe: one of the two was changed, or is of another run"
                        .to_string(),
                    _ => "does not follow from the line before: one was changed or taken out".to_string(),
                }));
            }
            chain.0.push(sha256(line));
            entries.push(entry);
        }
        Ok(Lines { entries, chain, whole })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Access, Ledger, Purpose};
    use muffle_accounting::Event;
    use std::fs;

    const COUNT: Purpose = Purpose::new("count");

    /// However lines are taken out, doubled or changed: it shows in the chain, or beside the head.
    #[test]
    fn whatever_is_done_to_the_lines_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = Ledger::open(&path, "this run", false).unwrap();
        let mut heads = vec![ledger.head()];
        for number in 0..5 {
            let _ = ledger.pay_one(Access::all(COUNT, number, Event::laplace(2.0))).unwrap();
            heads.push(ledger.head());
        }
        let whole = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let read = |lines: &[&str], origin: &str| {
            fs::write(&path, lines.iter().flat_map(|line| [line, "\n"]).collect::<String>()).unwrap();
            Ledger::read(&path, origin).map_err(|error| error.to_string())
        };
        let known = read(&lines, "this run").unwrap();
        assert!(heads.iter().all(|head| known.check_contains(head).is_ok()), "a longer ledger will do");
        for cut in 0..5 {
            let short = read(&lines[..cut], "this run").unwrap();
            let reason = short.check_contains(&heads[5]).unwrap_err();
            assert!(reason.contains(&format!("5 lines, and ledger.jsonl has {cut}")), "{reason}");
        }
        for (number, changed) in [
            (2, [&lines[..1], &lines[2..]].concat()),
            (3, [&lines[..2], &lines[1..]].concat()),
            (1, lines[1..].to_vec()),
        ] {
            let message = read(&changed, "this run").unwrap_err();
            assert!(message.contains(&format!("line {number} does not follow")), "{message}");
        }
        let cheaper = lines[1].replace("2.0", "9.0");
        let message = read(&[lines[0], &cheaper, lines[2]], "this run").unwrap_err();
        assert!(message.contains("line 3 does not follow from the line before"), "{message}");
        let last = read(&[lines[0], &cheaper], "this run").unwrap().check_contains(&heads[2]).unwrap_err();
        assert!(last.contains("line 2 is another one"), "{last}");
        let message = read(&lines, "another run").unwrap_err();
        assert!(message.contains("line 1 does not follow from the recipe"), "{message}");
    }

    #[test]
    fn a_ledger_without_a_chain_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let line = r#"{"purpose":"steps","from":0,"to":5,"event":{"kind":"non_private"}}"#;
        fs::write(&path, format!("{line}\n")).unwrap();
        let message = Ledger::open(&path, "this run", false).unwrap_err().to_string();
        assert!(message.contains("older version") && message.contains("start a new run"), "{message}");
    }
}
