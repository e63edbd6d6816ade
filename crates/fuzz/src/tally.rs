//! What is counted, and the file that a campaign goes on from.

use crate::target::{LONGEST, Target};
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// What became of the inputs of one round, or of all rounds of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Which parser.
    pub target: String,
    /// The seed of the campaign.
    pub seed: u64,
    /// Which round: inputs follow from seed, target and round.
    pub round: u64,
    /// Files that were tried.
    pub inputs: u64,
    /// Those that were accepted.
    pub accepted: u64,
    /// Different ways in which they ended; of several rounds, the most in one of them.
    pub outcomes: u64,
    /// Panics of foreign decoders that became errors.
    pub caught: u64,
    /// Mistakes: panics, inputs that took too long or too much.
    pub mistakes: u64,
    /// Most bytes in use for one input.
    pub peak: usize,
    /// Most seconds for one input.
    pub slowest: f64,
    /// Seconds for all of them.
    pub seconds: f64,
}

impl Tally {
    /// Nothing yet.
    pub fn new(target: &Target, seed: u64, round: u64) -> Tally {
        Tally { target: target.name.to_string(), seed, round, ..Tally::default() }
    }

    /// Adds another round of the same target.
    pub fn add(&mut self, other: &Tally) {
        self.round = self.round.max(other.round);
        self.inputs += other.inputs;
        self.accepted += other.accepted;
        self.outcomes = self.outcomes.max(other.outcomes);
        self.caught += other.caught;
        self.mistakes += other.mistakes;
        self.peak = self.peak.max(other.peak);
        self.slowest = self.slowest.max(other.slowest);
        self.seconds += other.seconds;
    }

    /// A line of the table in `docs/fuzzing.md`.
    pub fn row(&self, target: &Target) -> String {
        let Tally { inputs, accepted, outcomes, caught, mistakes, peak, slowest, seconds, .. } = self;
        format!(
            "| {} | `{}` | {inputs} | {accepted} | {outcomes} | {:.0} | {} | {} | {:.1} ms | {caught} | {mistakes} |",
            target.name,
            target.door,
            *inputs as f64 / seconds.max(1e-9),
            kibibytes(*peak),
            kibibytes(target.memory.limit(LONGEST)),
            1000.0 * slowest
        )
    }
}

/// The lines above the rows.
pub const HEAD: &str = "| files | read by | inputs | accepted | outcomes | inputs/s | most memory | allowed | slowest | caught | mistakes |\n\
                        |---|---|---|---|---|---|---|---|---|---|---|";

fn kibibytes(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

/// The rounds in a file, none if it is not there.
pub fn read(path: &Path) -> io::Result<Vec<Tally>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    // A torn last line is a round that is done again.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Appends a round to a file.
pub fn append(path: &Path, tally: &Tally) -> io::Result<()> {
    let line = serde_json::to_string(tally)? + "\n";
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}
