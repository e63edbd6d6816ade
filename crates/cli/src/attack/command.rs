//! What all attacks have in common on the command line: open the models, attack them, draw, print.

use super::models::{Models, Target};
use crate::CommandResult;
use crate::train::Outcome;
use crate::words::sentence;
use muffle::attack::Entry;
use muffle_page::plot::{self, Line, Panel};
use muffle_page::results::{Evidence, Plots, leave};
use serde_json::{Value, json};
use std::path::Path;

/// What an attack that found nothing is worth.
const PROVES_NOTHING: &str = "A failed attack proves nothing: the next one may not fail. What holds against all of them is the epsilon.";

/// What its results are.
const CAUTION: &str = "An attack reads the training records: what it found is for the holder of the records, and no epsilon covers it.";

/// One attack as a command: what it has of its own.
pub trait Attack {
    /// Its rows of the table.
    const ENTRIES: &'static [&'static Entry];

    /// What comes of it for one model.
    type Found;

    /// The models that are attacked.
    fn models(&self) -> &Models;

    /// Attacks all of them.
    fn attack(&self, targets: &[Target]) -> Outcome<Vec<Self::Found>>;

    /// What was found of one model, as an object without its name.
    fn object(&self, found: &Self::Found) -> Value;

    /// The lines of the report, each with the name of its model.
    fn lines(&self, names: &[String], found: &[Self::Found]) -> String;

    /// Where a drawing is wanted.
    fn plot(&self) -> Option<&Path> {
        None
    }

    /// What is drawn.
    fn panel(&self, _targets: &[Target], _found: &[Self::Found]) -> Option<Panel> {
        None
    }

    /// What the attack has reached on each model, to be laid on what is proved of it.
    fn evidence(&self, _targets: &[Target], _found: &[Self::Found]) -> Vec<Evidence> {
        Vec::new()
    }
}

/// Runs an attack.
pub fn run<A: Attack>(attack: &A) -> CommandResult {
    let models = attack.models();
    let targets = models.open()?;
    let found = attack.attack(&targets)?;
    let panel = attack.panel(&targets, &found);
    if let (Some(path), Some(panel)) = (attack.plot(), &panel) {
        plot::write(path, std::slice::from_ref(panel))?;
    }
    let report =
        || format!("{}\n{}\n{PROVES_NOTHING}", title(A::ENTRIES), attack.lines(&padded(&targets), &found));
    if let Some(folder) = &models.results {
        let text = format!("# {}\n\n```\n{}\n```\n", question(A::ENTRIES), report());
        let plots = Plots {
            caution: CAUTION.to_string(),
            panels: panel.into_iter().collect(),
            evidence: attack.evidence(&targets, &found),
        };
        leave(folder, &text, plots)?;
    }
    if models.json {
        let named = |(target, found): (&Target, &A::Found)| {
            let mut object = attack.object(found);
            object["run"] = json!(target.name);
            object
        };
        let objects: Vec<Value> = targets.iter().zip(&found).map(named).collect();
        println!("{}", json!({ "runs": objects, "remark": PROVES_NOTHING }));
    } else {
        println!("{}", report());
    }
    Ok(())
}

/// The question of an attack, as a title for its report and in the list of commands.
pub fn question(entries: &[&Entry]) -> String {
    sentence(entries[0].question)
}

/// What the help says of an attack.
pub fn help(entries: &[&Entry]) -> String {
    format!("{}\nThe figure: {}.", title(entries), entries[0].figure)
}

/// The question and who asks it.
fn title(entries: &[&Entry]) -> String {
    let mut title = question(entries) + "\n";
    for Entry { name, needs, .. } in entries {
        title += &match entries.len() {
            1 => format!("Threat model: {needs}.\n"),
            _ => format!("Threat model: by {name}, {needs}.\n"),
        };
    }
    title
}

/// Names of the models, padded to the same width.
fn padded(targets: &[Target]) -> Vec<String> {
    let width = targets.iter().map(|target| target.name.chars().count()).max().unwrap_or(0);
    targets.iter().map(|target| format!("{:<width$}", target.name)).collect()
}

/// One line for each model through the points of what was found.
pub fn curves<F>(targets: &[Target], found: &[F], points: impl Fn(&F) -> Vec<(f64, f64)>) -> Vec<Line> {
    let line = |(target, found): (&Target, &F)| Line {
        name: target.name.clone(),
        points: points(found),
        ..Line::default()
    };
    targets.iter().zip(found).map(line).collect()
}
