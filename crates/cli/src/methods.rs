//! `muffle methods`: the published methods, and what became of their claims.

use crate::CommandResult;
use crate::methods_summary;
use crate::words::sentence;
use clap::Args;
use muffle::audit::results;
use muffle::kinds::{find_method, methods};
use muffle::methods::{About, Mode};
use muffle::run::Kind;
use serde_json::{Value, json};

/// List the published methods with the verdict on their claims, or explain one.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle methods
  muffle methods quantile-clip
  muffle methods --json
  muffle methods --markdown > docs/methods.md
  muffle methods --summary > docs/summary.md")]
pub struct Arguments {
    /// The method to explain
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print all of them as a page of documentation
    #[arg(long, conflicts_with_all = ["name", "json"])]
    markdown: bool,
    /// Print a page of claims, proofs, measurements, accuracies and cost of all of them
    #[arg(long, conflicts_with_all = ["name", "json", "markdown"])]
    summary: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    if arguments.markdown || arguments.summary {
        print!("{}", if arguments.summary { methods_summary::page() } else { page() });
        return Ok(());
    }
    match (&arguments.name, arguments.json) {
        (None, false) => list(),
        (None, true) => methods().for_each(|(kind, entry)| println!("{}", object(kind, entry))),
        (Some(name), false) => {
            let (kind, entry) = find_method(name)?;
            explain(kind, entry);
        }
        (Some(name), true) => {
            let (kind, entry) = find_method(name)?;
            println!("{}", object(kind, entry));
        }
    }
    Ok(())
}

fn list() {
    println!(
        "{:<18} {:<5} {:<12} {:<20} {:<22} idea",
        "name", "year", "published", "forms", "audit of the last form"
    );
    for (_, entry) in methods() {
        let (verdict, forms) = (entry.verdict.name(), forms(entry));
        let audited = entry.modes.last().and_then(|mode| results::last(entry.name, *mode));
        let audit = audited.map_or("not audited", |found| found.report.verdict.name());
        println!("{:<18} {:<5} {verdict:<12} {forms:<20} {audit:<22} {}", entry.name, entry.year, entry.idea);
    }
}

fn forms(entry: &About) -> String {
    let names: Vec<&str> = entry.modes.iter().copied().map(Mode::name).collect();
    names.join(", ")
}

/// The page of all methods.
fn page() -> String {
    let mut page = "# Methods\n\nMade by `muffle methods --markdown` from the table in the program. *Published* is the \
                    verdict on the paper's claim: sound, conditional (it holds under a condition that the published form \
                    does not always meet) or unsound. The sound form of every method is proved; a form as published that \
                    is not carries the paper's epsilon as a claim. R1 to R10 are the [rules](rules.md) of sound training.\n\n\
                    | method | year | published | forms | idea |\n|---|---|---|---|---|\n"
        .to_string();
    for (_, entry) in methods() {
        let (name, year, verdict, idea) = (entry.name, entry.year, entry.verdict.name(), entry.idea);
        page += &format!("| [`{name}`](#{name}) | {year} | {verdict} | {} | {idea} |\n", forms(entry));
    }
    for (kind, entry) in methods() {
        page += &format!(
            "\n## {}\n\n{}. {} ({}).\n\n",
            entry.name,
            sentence(entry.idea),
            entry.paper,
            entry.year
        );
        let mut row = |title: &str, text: &str| page += &format!("- **{title}**: {text}.\n");
        row("Training", &format!("{} (`kind = \"{}\"`)", kind.about, kind.name));
        row("Made of", entry.composes);
        row("A step", entry.steps);
        row("Proved", entry.guarantee);
        if !entry.breaks.is_empty() {
            row("Breaks as published", entry.breaks);
        }
        for setting in entry.settings {
            row("Setting", &format!("`{setting}`"));
        }
        if !entry.parameters.is_empty() {
            page += "\n| `parameters.` | default | meaning |\n|---|---|---|\n";
        }
        for parameter in entry.parameters {
            page += &format!("| `{}` | {} | {} |\n", parameter.name, parameter.default, parameter.meaning);
        }
    }
    page
}

fn explain(kind: &Kind, entry: &About) {
    println!("{}: {}\n{} ({})\n", entry.name, entry.idea, entry.paper, entry.year);
    println!("published  {}", entry.verdict.name());
    println!("training   {}", kind.about);
    println!("made of    {}", entry.composes);
    println!("a step     {}", entry.steps);
    println!("proved     {}", entry.guarantee);
    if !entry.breaks.is_empty() {
        println!("breaks     {}", entry.breaks);
    }
    for found in entry.modes.iter().filter_map(|mode| results::last(entry.name, *mode)) {
        let report = &found.report;
        let said = report.claimed.map_or("proved", |_| "claimed");
        let epsilon = report.claimed.or(report.proved).unwrap_or(f64::INFINITY);
        println!(
            "measured   {}: {}; one step of noise multiplier {} shows {:.3} at least, {epsilon:.3} {said}",
            report.mode.name(),
            report.verdict.name(),
            found.noise_multiplier,
            report.measured
        );
    }
    for parameter in entry.parameters {
        println!(
            "           --set parameters.{}={}  {}",
            parameter.name, parameter.default, parameter.meaning
        );
    }
    for setting in entry.settings {
        println!("settings   --set '{setting}'");
    }
}

fn object(kind: &Kind, entry: &About) -> Value {
    let parameters: Vec<Value> = entry
        .parameters
        .iter()
        .map(|parameter| {
            json!({ "name": parameter.name, "default": parameter.default, "meaning": parameter.meaning })
        })
        .collect();
    let measured: Vec<Value> = entry
        .modes
        .iter()
        .filter_map(|mode| results::last(entry.name, *mode))
        .map(|found| found.report)
        .map(|report| json!({ "mode": report.mode, "verdict": report.verdict, "measured": report.measured }))
        .collect();
    json!({
        "measured": measured,
        "name": entry.name, "kind": kind.name, "paper": entry.paper, "year": entry.year, "idea": entry.idea,
        "verdict": entry.verdict.name(), "modes": entry.modes, "composes": entry.composes, "steps": entry.steps,
        "guarantee": entry.guarantee, "breaks": entry.breaks, "parameters": parameters, "settings": entry.settings,
    })
}
