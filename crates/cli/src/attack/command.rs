//! What all attacks have in common on the command line: open the models, attack them, draw, print.

use super::models::{Models, Target};
use crate::CommandResult;
use crate::plot::{self, Line, Panel};
use crate::train::Outcome;
use crate::words::sentence;
use muffle::attack::Entry;
use serde_json::{Value, json};
use std::path::Path;

/// What an attack that found nothing is worth.
const PROVES_NOTHING: &str = "A failed attack proves nothing: the next one may not fail. What holds against all of them is the epsilon.";

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

    /// What is drawn, and where it goes.
    fn plot(&self, _targets: &[Target], _found: &[Self::Found]) -> Option<(&Path, Panel)> {
        None
    }
}

/// Runs an attack.
pub fn run<A: Attack>(attack: &A) -> CommandResult {
    let models = attack.models();
    let targets = models.open()?;
    let found = attack.attack(&targets)?;
    if let Some((path, panel)) = attack.plot(&targets, &found) {
        plot::write(path, &[panel])?;
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
        let lines = attack.lines(&padded(&targets), &found);
        println!("{}\n{lines}\n{PROVES_NOTHING}", title(A::ENTRIES));
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
