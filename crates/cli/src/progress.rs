//! How a run looks while it goes on: a bar on a terminal, lines elsewhere, JSON for machines.

use crate::words::{duration, in_words};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use muffle::run::{Job, Progress, Readiness};
use muffle::train::Evaluation;
use serde_json::json;
use std::io::IsTerminal;
use std::time::Instant;

/// Where reports go.
pub struct Display {
    form: Form,
    begun: Instant,
    first_step: Option<u64>,
    /// Tenths of the work before the first step that were told of.
    tenths: u64,
    seeded: bool,
}

enum Form {
    Quiet,
    Json,
    Lines,
    Bar(ProgressBar),
}

impl Display {
    /// Chooses the form, and says what is about to happen.
    pub fn new(job: &dyn Job, json: bool, quiet: bool) -> Display {
        let terms = job.terms();
        let form = if json && !quiet {
            Form::Json
        } else if quiet {
            Form::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(terms.steps), ProgressDrawTarget::stderr());
            // What does not fit is cut off at the end.
            let style = ProgressStyle::with_template("{bar:6} {pos}/{len} {wide_msg}");
            Form::Bar(bar.with_style(style.expect("the template is well formed")))
        } else {
            Form::Lines
        };
        if let Form::Lines | Form::Bar(_) = form {
            eprint!("{}", plan_text(job));
        }
        let seeded = terms.recipe.seed.is_some();
        Display { form, begun: Instant::now(), first_step: None, tenths: 0, seeded }
    }

    /// Where the run is.
    pub fn show(&mut self, progress: &Progress) {
        if let Some(readiness) = progress.readiness {
            return self.show_readiness(readiness);
        }
        let first = *self.first_step.get_or_insert(progress.step);
        match &self.form {
            Form::Quiet => {}
            Form::Json => {
                if progress.evaluated {
                    println!("{}", object(progress, self.seeded));
                }
            }
            Form::Lines => {
                if progress.evaluated {
                    eprintln!("step {}/{}  {}", progress.step, progress.steps, self.message(progress, first));
                }
            }
            Form::Bar(bar) => {
                bar.set_length(progress.steps);
                bar.set_position(progress.step);
                bar.set_message(self.message(progress, first));
            }
        }
    }

    /// How far the work before the first step is: in tenths where there is no bar. Time is counted from its end on.
    fn show_readiness(&mut self, Readiness { what, done, of }: Readiness) {
        self.begun = Instant::now();
        let tenths = 10 * done / of.max(1);
        let told = std::mem::replace(&mut self.tenths, tenths) == tenths;
        match &self.form {
            Form::Json if !told => println!("{}", json!({ "making": what, "done": done, "of": of })),
            Form::Lines if !told => eprintln!("{what} {done}/{of}"),
            Form::Bar(bar) => {
                bar.set_length(of);
                bar.set_position(done);
                bar.set_message(what);
            }
            Form::Quiet | Form::Json | Form::Lines => {}
        }
    }

    /// Leaves the last state on the screen.
    pub fn finish(&self) {
        if let Form::Bar(bar) = &self.form {
            bar.abandon();
        }
    }

    fn message(&self, progress: &Progress, first: u64) -> String {
        let done = (progress.step - first).max(1) as f64;
        let left = self.begun.elapsed().as_secs_f64() / done * (progress.steps - progress.step) as f64;
        message(progress, left, self.seeded)
    }
}

/// What is known of a run on its way, in the order of importance: a narrow terminal shows the beginning.
fn message(progress: &Progress, seconds_left: f64, seeded: bool) -> String {
    let condition = if seeded { " (secret seed)" } else { "" };
    let mut parts = vec![format!("epsilon{condition} {}", in_words(progress.epsilon))];
    let test = progress.measured.as_ref().map(Evaluation::of);
    parts.extend(test.as_ref().map(|test| format!("test {}", test.in_words())));
    parts.push(format!("{} left", duration(seconds_left)));
    parts.extend(test.as_ref().map(|test| format!("loss {:.3}", test.loss)));
    parts.push(format!("{:.0} records/s", progress.examples_per_s));
    parts.join("  ")
}

fn object(progress: &Progress, seeded: bool) -> serde_json::Value {
    let epsilon = Some(progress.epsilon).filter(|epsilon| epsilon.is_finite());
    let test = progress.measured.as_ref().map(Evaluation::of);
    json!({
        "step": progress.step, "steps": progress.steps,
        "epsilon": epsilon.filter(|_| !seeded), "epsilon_if_seed_is_secret": epsilon.filter(|_| seeded),
        "test_accuracy": test.as_ref().and_then(|test| test.accuracy),
        "test_loss": test.as_ref().map(|test| test.loss),
        "examples_per_s": progress.examples_per_s,
    })
}

/// What is about to happen, in a few lines.
pub fn plan_text(job: &dyn Job) -> String {
    let run = job.terms().recipe;
    let records = run.records.map_or(String::new(), |records| format!(", {records} records"));
    let data = ("data", format!("{}{records}", run.data));
    let lines = std::iter::once(data).chain(job.outline());
    lines.map(|(name, value)| format!("{name:<17} {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muffle::run::Measurements;

    /// A terminal of sixty columns shows the place, the price, the accuracy and the time left.
    #[test]
    fn what_matters_fits_into_sixty_columns() {
        let evaluation = Evaluation { accuracy: Some(0.9812), loss: 0.1, ..Evaluation::default() };
        let progress = Progress {
            step: 12_345,
            steps: 60_000,
            epsilon: 2.99961,
            measured: Some(Measurements::default().with("test", evaluation)),
            examples_per_s: 123_456.0,
            evaluated: true,
            readiness: None,
        };
        let line =
            format!("###### {}/{} {}", progress.step, progress.steps, message(&progress, 754.0, false));
        let shown: String = line.chars().take(60).collect();
        assert!(shown.contains("12345/60000 epsilon 2.9997  test 98.12 %  13 min left"), "{line}");
        let seeded = message(&progress, 754.0, true);
        assert!(seeded.starts_with("epsilon (secret seed) 2.9997  test 98.12 %"), "{seeded}");
    }
}
