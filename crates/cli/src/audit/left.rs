//! What an audit leaves beside what it prints.

use super::shown;
use clap::Args;
use muffle::audit::Report;
use muffle::bounds::interval;
use muffle_page::plot::{self, Panel};
use muffle_page::results::{self, Plots};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Where drawings and results go.
#[derive(Args)]
pub struct PlotArguments {
    /// Draw the scores, and the errors beside the best that the guarantee allows, as SVG or PNG by the ending of the file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Folder to leave the results in, for `muffle report` and `muffle serve`
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// What is drawn, or why not.
type Drawn = Result<Vec<Panel>, Box<dyn Error>>;

impl PlotArguments {
    /// Draws and leaves what is asked for; nothing is drawn for nobody.
    pub fn leave(
        &self,
        text: impl FnOnce() -> String,
        panels: impl FnOnce() -> Drawn,
    ) -> Result<(), Box<dyn Error>> {
        if self.plot.is_none() && self.results.is_none() {
            return Ok(());
        }
        let panels = panels()?;
        if let Some(path) = &self.plot {
            plot::write(path, &panels)?;
        }
        match &self.results {
            Some(folder) => leave(folder, &text(), panels),
            None => Ok(()),
        }
    }

    /// Refuses results of an audit whose run is the folder with everything.
    pub fn only_plot(&self) -> Result<(), Box<dyn Error>> {
        match &self.results {
            Some(_) => Err("--results: this audit leaves a run, which `muffle report` takes as it is; choose its folder by --output".into()),
            None => Ok(()),
        }
    }
}

/// Of what was played for an audit, and for whom.
const CAUTION: &str = "The scores and counts of an audit are computed without noise: where the records of the audit are private, they are \
                       for the holder of the records.";

/// Leaves a text and plots in a folder.
pub fn leave(folder: &Path, text: &str, panels: Vec<Panel>) -> Result<(), Box<dyn Error>> {
    Ok(results::leave(folder, text, Plots { caution: CAUTION.to_string(), panels, evidence: Vec::new() })?)
}

/// Reports as a text: one row each, and what they are about.
pub fn table(title: &str, reports: &[&Report]) -> String {
    let mut text = format!(
        "# {title}\n\n| method | form | verdict | claimed | proved | measured | any mechanism | recognised | wrongly accused |\n\
         |---|---|---|---|---|---|---|---|---|\n"
    );
    let rate = |count: u64, trials: u64| {
        let [low, high] = interval(count, trials.max(1)).map(|end| 100.0 * end);
        format!("{:.2} % [{low:.2}, {high:.2}]", 100.0 * count as f64 / trials.max(1) as f64)
    };
    for report in reports {
        text += &format!(
            "| {} | {} | {} | {} | {} | {:.4} | {:.4} | {} | {} |\n",
            report.method,
            report.mode.name(),
            report.verdict.name(),
            shown(report.claimed),
            shown(report.proved),
            report.measured,
            report.measured_without_assumptions,
            rate(report.true_positives, report.trials),
            rate(report.false_positives, report.trials)
        );
    }
    if let Some(first) = reports.first() {
        text += &format!(
            "\nMeasured epsilons are lower bounds with confidence {} at delta {}, {}; rates have intervals of Clopper and Pearson, \
             95 %, over {} plays each.\n\nThreat model: {}.\n",
            first.confidence, first.delta, first.adjacency, first.trials, first.threat
        );
    }
    text
}
