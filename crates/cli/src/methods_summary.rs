//! The summary of all methods: claims, proofs, measurements, accuracies and cost on one page.

use muffle::audit::results;
use muffle::kinds::methods;
use muffle::methods::{About, Mode, Verdict};
use muffle::summary::{Accuracy, accuracies, step_cost};

const PREFACE: &str = "\
# Every method on one page

Made by `muffle methods --summary` from docs/audit.jsonl, docs/accuracies.jsonl and docs/steps.jsonl, which the program carries.

The three epsilons are those of one step (or of one release, or a committee's answers) at the noise of the audit, δ = 1e-5: *claimed* by the
paper, *proved* by an accountant, and *measured*, a lower bound of an attack at 95 % confidence ([audit.md](audit.md)). A measured epsilon above
the claim is a claim refuted. Accuracies are per cent of the test records, means and standard deviations over the seeds, each with its command
in [results.md](results.md), [relevance.md](relevance.md), [objective.md](objective.md), [generators.md](generators.md) or [pate.md](pate.md); *printed* is the paper's, at its own epsilon. *Step*
is the time of a step over one of `dp-sgd` on the same network (`muffle bench --workload w1 --seconds 25 --json --methods NAMES > docs/steps.jsonl`). A dash
is something that was not measured, or that a form does not have.

";

/// The page.
pub fn page() -> String {
    let mut page = PREFACE.to_string();
    page += "| method | form | claimed ε | proved ε | measured ε ≥ | audit | step |\n|---|---|---|---|---|---|---|\n";
    for (_, entry) in methods() {
        entry.modes.iter().for_each(|mode| page += &epsilons(entry, *mode));
    }
    page += "\n| method | form | data | table | printed (ε) | here (ε) | seeds | length |\n|---|---|---|---|---|---|---|---|\n";
    for (_, entry) in methods() {
        for mode in entry.modes {
            accuracies(entry.name, *mode).iter().for_each(|found| page += &accuracy(found));
        }
    }
    page += "\n## In a sentence\n\n";
    for (_, entry) in methods() {
        page += &format!("- [`{}`](methods.md#{}): {}.\n", entry.name, entry.name, sentence(entry));
    }
    page
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_string(), |value| format!("{value:.2}"))
}

fn epsilons(entry: &About, mode: Mode) -> String {
    let name = format!("| [`{}`](methods.md#{}) | {}", entry.name, entry.name, mode.name());
    let step = step_cost(entry.name, mode).map_or("-".to_string(), |cost| format!("{:.2}x", cost.ratio));
    match results::last(entry.name, mode) {
        Some(found) => {
            let report = found.report;
            let (claimed, proved) = (number(report.claimed), number(report.proved));
            let (measured, verdict) = (number(Some(report.measured)), report.verdict.name());
            format!("{name} | {claimed} | {proved} | {measured} | {verdict} | {step} |\n")
        }
        None => format!("{name} | - | - | - | not audited | {step} |\n"),
    }
}

fn accuracy(found: &Accuracy) -> String {
    let Accuracy { method, mode, data, source, seeds, length, .. } = found;
    let at = |epsilon: Option<f64>| epsilon.map_or(String::new(), |epsilon| format!(" ({epsilon})"));
    let printed = match found.paper {
        Some(paper) => format!("{paper:.2}{}", at(found.paper_epsilon.or(found.epsilon))),
        None => "-".to_string(),
    };
    let deviation = found.deviation.map_or(String::new(), |deviation| format!(" ± {deviation:.2}"));
    let here = format!("{:.2}{deviation}{}", found.here, at(found.epsilon));
    let mode = mode.name();
    format!("| `{method}` | {mode} | {data} | {source} | {printed} | {here} | {seeds} | {length} |\n")
}

fn sentence(entry: &About) -> String {
    match entry.verdict {
        Verdict::Sound => format!("sound as published: {}", entry.guarantee),
        _ if entry.breaks.is_empty() => format!("{}: {}", entry.verdict.name(), entry.guarantee),
        _ => format!("{} as published: {}", entry.verdict.name(), entry.breaks),
    }
}
