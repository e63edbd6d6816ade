//! `muffle attack list`: the attacks, and what their figures mean.

use crate::CommandResult;
use clap::Args;
use muffle::attack::{ATTACKS, Entry};
use serde_json::json;

/// What a page of all attacks begins with.
const PREFACE: &str = "\
# Attacks on finished models

Made by `muffle attack list --markdown` from the table in the program.

    muffle attack membership RUN --against PLAIN_RUN --plot roc.svg
    muffle attack membership RUN --shadows 16 --records 2000
    muffle attack extraction RUN --queries 100,1000
    muffle attack equations RUN
    muffle attack inversion RUN --class 3 --output three.png
    muffle attack reconstruction RUN --against PLAIN_RUN --output found.png
    muffle attack attribute RUN --column occupation
    muffle attack poisoning RUN --fractions 0,0.1,0.4
    muffle attack generator RUN --against PLAIN_RUN

An attack measures what somebody who holds a model can learn of the records behind it. Run on a private and on a plain model
of the same recipe, it shows what privacy bought. Attacks read the training records, so that what they print is for the holder
of the records; no epsilon covers it. **A failed attack proves nothing**: the next one may not fail. What holds against all of
them is the epsilon of the run.

`RUN` is the folder of a finished run, or its model alone (`--data` then names the data it was trained on). All commands take `--against RUN` for a second model beside the first, and `--json`.
";

/// List the attacks: whose they are, what they need, and what their figures mean.
#[derive(Args)]
#[command(after_help = "Examples:
  muffle attack list
  muffle attack list --json
  muffle attack list --markdown > docs/attacks.md")]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print all of them as a page of documentation
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    match (arguments.json, arguments.markdown) {
        (true, _) => ATTACKS.iter().for_each(|entry| object(entry)),
        (_, true) => print!("{}", page()),
        _ => list(),
    }
    Ok(())
}

fn list() {
    println!("{:<20} {:<14} {:<5} question", "name", "command", "year");
    for Entry { name, command, year, question, .. } in ATTACKS {
        println!("{name:<20} {command:<14} {year:<5} {question}");
    }
}

fn object(entry: &Entry) {
    let Entry { name, command, paper, year, question, needs, steps, figure } = entry;
    let object = json!({
        "name": name, "command": command, "paper": paper, "year": year, "question": question, "needs": needs, "steps": steps,
        "figure": figure,
    });
    println!("{object}");
}

fn page() -> String {
    let mut page = PREFACE.to_string() + "\n| attack | command | year | question |\n|---|---|---|---|\n";
    for Entry { name, command, year, question, .. } in ATTACKS {
        page += &format!("| [{name}](#{}) | `{command}` | {year} | {question} |\n", name.replace(' ', "-"));
    }
    // Attacks that share a question share what their figures mean: it is said after the last of them.
    for sharing in ATTACKS.chunk_by(|one, next| one.command == next.command) {
        for Entry { name, paper, year, needs, steps, .. } in sharing {
            page += &format!("\n## {name}\n\n{paper} ({year}).\n\n- **Threat model**: {needs}.\n");
            page += &format!("- **Attack**: {steps}.\n");
        }
        let whose = if sharing.len() == 1 { "**Figure**" } else { "**Figure of all of these**" };
        page += &format!("- {whose}: {}.\n", sharing[0].figure);
    }
    page
}
