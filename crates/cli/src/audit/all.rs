//! `muffle audit all`: one step of every method of every kind, in every form.

use super::step::Options;
use super::{Outcome, exit_code, left, shown};
use clap::Args;
use muffle::atomic_file;
use muffle::audit::step::{StepReport, audit, refutable, same_as};
use muffle::audit::{Report, Verdict};
use muffle::kinds;
use muffle::methods::{Mode, Verdict as Published};
use std::path::{Path, PathBuf};

/// Audit a step of every method in every form; exit code 1 if a sound form is refuted.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle audit all
  muffle audit all --docs docs      writes docs/audit.jsonl, and the table in docs/audit.md")]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Folder of docs whose results are replaced
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
    /// Folder to leave the results in, for `muffle report` and `muffle serve`
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

const HEADER: &str = "| method | form | published claim | verdict | claimed | proved | measured | any mechanism | pair |\n\
                      |---|---|---|---|---|---|---|---|---|\n";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Outcome {
    let mut reports: Vec<(StepReport, Published)> = Vec::new();
    if !arguments.json {
        print!("{HEADER}");
    }
    for (_, entry) in kinds::methods() {
        for &mode in entry.modes {
            let settings = refutable(&arguments.options.settings(entry.name, mode, Vec::new()))?;
            let same = same_as(&settings)?;
            let made = reports
                .iter()
                .map(|(found, _)| found)
                .find(|found| found.report.mode == mode && Some(&found.report.method[..]) == same);
            let report = match made {
                Some(found) => found.of_same(entry.name),
                None => audit(&settings)?.0,
            };
            match arguments.json {
                true => println!("{}", serde_json::to_string(&report)?),
                false => print!("{}", row(&report, entry.verdict)),
            }
            reports.push((report, entry.verdict));
        }
    }
    if let Some(folder) = &arguments.results {
        let rows: Vec<&Report> = reports.iter().map(|(found, _)| &found.report).collect();
        left::leave(folder, &left::table("Audit of one step of every method", &rows), Vec::new())?;
    }
    if let Some(folder) = &arguments.docs {
        write(folder, &reports)?;
    }
    let broken = |(found, _): &(StepReport, Published)| {
        found.report.mode == Mode::Sound && found.report.verdict == Verdict::Violated
    };
    let verdict = if reports.iter().any(broken) { Verdict::Violated } else { Verdict::NoContradictionFound };
    Ok(exit_code(verdict))
}

fn row(found: &StepReport, published: Published) -> String {
    let report = &found.report;
    format!(
        "| {} | {} | {} | {} | {} | {} | {:.4} | {:.4} | {} |\n",
        report.method,
        report.mode.name(),
        published.name(),
        report.verdict.name(),
        shown(report.claimed),
        shown(report.proved),
        report.measured,
        report.measured_without_assumptions,
        found
            .same_as
            .as_ref()
            .map_or_else(|| found.pair.clone(), |name| format!("the same release as `{name}`"))
    )
}

/// Marks of the part of the page that is replaced.
const MARKS: [&str; 2] = ["<!-- results -->\n", "<!-- end of results -->"];

fn write(folder: &Path, reports: &[(StepReport, Published)]) -> Result<(), Box<dyn std::error::Error>> {
    let page = folder.join("audit.md");
    let text = std::fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let places = MARKS.map(|mark| {
        text.find(mark).ok_or_else(|| format!("{}: there is no `{}`", page.display(), mark.trim()))
    });
    let [begin, end] = places;
    let rows: String = reports.iter().map(|(report, published)| row(report, *published)).collect();
    let text = format!("{}\n{HEADER}{rows}\n{}", &text[..begin? + MARKS[0].len()], &text[end?..]);
    let lines: Result<Vec<String>, _> =
        reports.iter().map(|(report, _)| serde_json::to_string(report)).collect();
    atomic_file::write(&folder.join("audit.jsonl"), lines?.join("\n") + "\n")?;
    Ok(atomic_file::write(&page, text)?)
}
