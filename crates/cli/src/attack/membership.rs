//! `muffle attack membership`: who was in the training data?

use super::command::{Attack, help, question};
use super::models::{Models, Target};
use super::trainer::{Options, Trainer};
use crate::train::Outcome;
use clap::Args;
use muffle::attack::likelihood_ratio::{self, by_likelihood_ratio};
use muffle::attack::membership::{GRADIENT_NORM, LOSS, Suspects, by_gradient_norm, by_loss};
use muffle::attack::white_box::{self, by_hidden_layers};
use muffle::attack::{Entry, Rate, Roc};
use muffle::train::Evaluator;
use muffle_accounting::attacker;
use muffle_page::plot::{Line, Panel};
use muffle_page::results::Evidence;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// False-positive rates of the report: those of the certificate.
const RATES: [f64; 3] = [0.001, 0.01, 0.1];

/// Training records, told from test records by the model.
#[derive(Args)]
#[command(about = question(Arguments::ENTRIES), long_about = help(Arguments::ENTRIES), after_help = "Examples:
  muffle attack membership runs/private --against runs/plain --plot roc.svg
  muffle attack membership runs/private --shadows 16 --records 2000
  muffle attack membership model.safetensors --data mnist --json")]
pub struct Arguments {
    #[command(flatten)]
    models: Models,
    #[command(flatten)]
    trainer: Options,
    /// Records that the attacker asks about, half of them members
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(2..))]
    records: u64,
    /// Also train N shadow models by the recipe of the run, for the likelihood-ratio attack; even, from 4
    #[arg(long, value_name = "N")]
    shadows: Option<usize>,
    /// Draw the curves, as SVG or PNG by the ending of the file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// What came of the attacks on one model.
pub struct Report {
    /// Members that were asked about; there are as many others.
    members: usize,
    curves: Vec<(&'static str, Roc)>,
    /// What the certificate allows the best attacker.
    proved: Vec<attacker::Attack>,
}

impl Arguments {
    /// All attacks on one model.
    fn attack_one(&self, target: &Target, trainer: &Trainer) -> Outcome<Report> {
        let (trained, data, threads) = (&target.trained, &target.dataset, Some(self.trainer.threads()));
        let (network, parameters) = (&trained.network, &trained.parameters);
        let records = usize::try_from(self.records)?;
        let suspects = Suspects::draw(data, trained.held_out(), records, self.trainer.seed)?;
        let mut evaluator = Evaluator::new(network.clone(), threads)?;
        let mut curves = vec![(LOSS.name, by_loss(&mut evaluator, parameters, &suspects)?)];
        // Where examples are mixed, none has a gradient of its own.
        if network.mixing_layer().is_none() {
            let roc = by_gradient_norm(network.clone(), parameters, &suspects, threads)?;
            curves.push((GRADIENT_NORM.name, roc));
            let seed = self.trainer.seed;
            let roc = by_hidden_layers(network, parameters, &suspects, threads, seed)?;
            curves.push((white_box::ENTRY.name, roc));
        }
        if let Some(count) = self.shadows {
            let plan = target.plan()?;
            let models = format!("shadow models of {}", target.name);
            let roc = trainer.train(&models, count as u64 * plan.steps, |trainings| {
                by_likelihood_ratio(&plan, data, &suspects, parameters, count, trainings)
            })?;
            curves.push((likelihood_ratio::ENTRY.name, roc));
        }
        let proved = target.certificate()?.map(|certificate| certificate.attacker).unwrap_or_default();
        let proved = proved.into_iter().filter(|attack| RATES.contains(&attack.fpr)).collect();
        Ok(Report { members: suspects.each(), curves, proved })
    }
}

impl Attack for Arguments {
    const ENTRIES: &'static [&'static Entry] =
        &[&LOSS, &GRADIENT_NORM, &white_box::ENTRY, &likelihood_ratio::ENTRY];
    type Found = Report;

    fn models(&self) -> &Models {
        &self.models
    }

    fn attack(&self, targets: &[Target]) -> Outcome<Vec<Report>> {
        let trainer = Trainer::new(&self.trainer, self.models.json)?;
        targets.iter().map(|target| self.attack_one(target, &trainer)).collect()
    }

    fn object(&self, found: &Report) -> Value {
        let rate = |rate: Rate| {
            json!({
                "fpr": rate.false_positive_rate, "tpr": rate.true_positive_rate, "interval": rate.interval(),
                "found": rate.found, "members": rate.members,
            })
        };
        let curve = |(attack, roc): &(&str, Roc)| {
            json!({
                "attack": attack, "auc": roc.area(), "auc_error": roc.area_error(),
                "rates": RATES.map(|fpr| rate(roc.at(fpr))),
            })
        };
        let curves: Vec<Value> = found.curves.iter().map(curve).collect();
        json!({
            "members": found.members, "others": found.members, "attacks": curves,
            "proved_bound": found.proved,
        })
    }

    fn lines(&self, names: &[String], found: &[Report]) -> String {
        let mut text = String::new();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let mut row = |name: &str, attack: &str, area: &str, rates: &str| {
            text += format!("{name:<width$}  {attack:<16}  {area:<16}  {rates}").trim_end();
            text.push('\n');
        };
        row("", "", "", "members found at a false-positive rate of");
        row("", "attack", "area under curve", "0.1 %                  1 %                    10 %");
        let percent = |rate: f64| format!("{:.2} %", 100.0 * rate);
        let with_interval = |rate: Rate| {
            let [low, high] = rate.interval().map(|end| 100.0 * end);
            format!("{:<23}", format!("{} [{low:.2}, {high:.2}]", percent(rate.true_positive_rate)))
        };
        for (name, Report { members, curves, proved }) in names.iter().zip(found) {
            for (attack, roc) in curves {
                let area = format!("{:.3} ± {:.3}", roc.area(), 2.0 * roc.area_error());
                row(name, attack, &area, &RATES.map(|rate| with_interval(roc.at(rate))).concat());
            }
            if !proved.is_empty() {
                let bounds: String =
                    proved.iter().map(|attack| format!("{:<23}", percent(attack.tpr))).collect();
                row(name, "any (proved)", "at most", &bounds);
            }
            row(name, &format!("{members} members"), "", "");
        }
        text + "\nAreas with two standard errors, 0.5 is guessing; rates with intervals of Clopper and Pearson, 95 %.\n"
    }

    fn plot(&self) -> Option<&Path> {
        self.plot.as_deref()
    }

    fn panel(&self, targets: &[Target], found: &[Report]) -> Option<Panel> {
        Some(panel(targets, found))
    }

    fn evidence(&self, targets: &[Target], found: &[Report]) -> Vec<Evidence> {
        let mut evidence = Vec::new();
        for (target, report) in targets.iter().zip(found) {
            let Some(run) = target.recipe_digest() else { continue };
            for (attack, roc) in &report.curves {
                evidence.extend(RATES.map(|rate| roc.at(rate)).map(|rate| Evidence {
                    run: run.clone(),
                    attack: format!("membership by {attack}"),
                    false_positive_rate: rate.false_positive_rate,
                    true_positive_rate: rate.true_positive_rate,
                    interval: rate.interval(),
                }));
            }
        }
        evidence
    }
}

/// The curves in decades, where few accusations count.
fn panel(targets: &[Target], reports: &[Report]) -> Panel {
    let mut lines = Vec::new();
    for (target, report) in targets.iter().zip(reports) {
        for (attack, roc) in &report.curves {
            let mut points: Vec<(f64, f64)> =
                roc.points().filter(|point| point.0 > 0.0 && point.1 > 0.0).collect();
            // Points closer than a hundredth of a decade are one on the page.
            let place = |rate: f64| (100.0 * rate.log10()) as i32;
            points.dedup_by_key(|point| (place(point.0), place(point.1)));
            lines.push(Line { name: format!("{}, {attack}", target.name), points, ..Line::default() });
        }
    }
    let smallest = reports.iter().map(|report| 1.0 / report.members as f64).fold(1.0, f64::min);
    let points = vec![(smallest, smallest), (1.0, 1.0)];
    lines.push(Line { name: "guessing".into(), points, ..Line::default() });
    Panel {
        title: "membership inference".into(),
        x_label: "false-positive rate".into(),
        y_label: "true-positive rate".into(),
        x_logarithmic: true,
        y_logarithmic: true,
        lines,
        ..Panel::default()
    }
}
