//! The command that feeds damaged files to every parser.

use clap::Parser;
use muffle_fuzz::findings::Findings;
use muffle_fuzz::round::{Trial, round};
use muffle_fuzz::tally::{self, HEAD, Tally};
use muffle_fuzz::target::Target;
use muffle_fuzz::targets::{TARGETS, target};
use muffle_fuzz::{panics, watch};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Inputs of a round: what a campaign that is stopped does again.
const ROUND: u64 = 500_000;

/// Feed damaged files to the parsers, and count what becomes of them.
#[derive(Parser)]
struct Arguments {
    /// Inputs for each parser.
    #[arg(long, default_value_t = 100_000)]
    inputs: u64,

    /// Only this parser; may be given several times.
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,

    /// Stop after so many seconds, wherever the campaign is by then.
    #[arg(long)]
    seconds: Option<u64>,

    /// Another seed, other inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// A file to which every round is appended, and from which a campaign goes on.
    #[arg(long, value_name = "FILE.jsonl")]
    record: Option<PathBuf>,

    /// The folder for inputs that show a mistake.
    #[arg(long, value_name = "DIR", default_value = "findings")]
    findings: PathBuf,

    /// Try one file, and say what becomes of it.
    #[arg(long, value_name = "FILE", requires = "target")]
    replay: Option<PathBuf>,

    /// Print one JSON object for each parser instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.replay {
        Some(file) => replay(&arguments, file),
        None => campaign(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

impl Arguments {
    fn targets(&self) -> Result<Vec<&'static Target>, Box<dyn Error>> {
        let known = || TARGETS.map(|target| target.name).join(", ");
        match &self.target[..] {
            [] => Ok(TARGETS.to_vec()),
            names => names
                .iter()
                .map(|name| {
                    target(name).ok_or_else(|| format!("--target {name} is not one of {}", known()).into())
                })
                .collect(),
        }
    }
}

/// Runs all rounds that are not in the record yet, a round of each target in turn. Whether there was no mistake.
fn campaign(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let until = arguments.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut totals: Vec<(&Target, Tally)> = arguments
        .targets()?
        .into_iter()
        .map(|target| (target, Tally::new(target, arguments.seed, 0)))
        .collect();
    if let Some(path) = &arguments.record {
        for past in tally::read(path)?.iter().filter(|past| past.seed == arguments.seed) {
            totals
                .iter_mut()
                .filter(|(target, _)| target.name == past.target)
                .for_each(|(_, total)| total.add(past));
        }
    }
    let mut findings = Findings::open(&arguments.findings)?;
    watch::watch();
    panics::counted(|| -> Result<(), Box<dyn Error>> {
        let in_time = || until.is_none_or(|until| Instant::now() < until);
        while in_time() && totals.iter().any(|(_, total)| total.inputs < arguments.inputs) {
            for (target, total) in totals.iter_mut().filter(|(_, total)| total.inputs < arguments.inputs) {
                let begun = Tally::new(target, arguments.seed, total.round + 1);
                let inputs = ROUND.min(arguments.inputs - total.inputs);
                let done = round(target, begun, inputs, until, &mut findings)?;
                if let Some(path) = &arguments.record {
                    tally::append(path, &done)?;
                }
                total.add(&done);
                eprintln!("{} of {} {} files", total.inputs, arguments.inputs, target.name);
            }
        }
        Ok(())
    })?;
    findings.close()?;
    if !arguments.json {
        println!("{HEAD}");
    }
    for (target, total) in &totals {
        let line = if arguments.json { serde_json::to_string(total)? } else { total.row(target) };
        println!("{line}");
    }
    Ok(totals.iter().all(|(_, total)| total.mistakes == 0))
}

/// Tries one file. Whether it showed no mistake.
fn replay(arguments: &Arguments, file: &Path) -> Result<bool, Box<dyn Error>> {
    let input = std::fs::read(file)?;
    let mut right = true;
    for target in arguments.targets()? {
        let trial = panics::counted(|| Trial::new(target, &input));
        let mistake = trial.mistake(target, &input);
        right &= mistake.is_none();
        let said = match trial.said {
            Ok(Ok(())) => "accepted".to_string(),
            Ok(Err(refusal)) => format!("refused: {refusal}"),
            Err(_) => "panicked".to_string(),
        };
        println!(
            "{said}\n{} bytes, {:.6} s, {} panics caught inside",
            trial.peak, trial.seconds, trial.caught
        );
        mistake.iter().for_each(|mistake| println!("mistake: {mistake}"));
    }
    Ok(right)
}
