//! `muffle evaluate --counts`: what records are worth by their number, those of generators beside real ones.

use crate::CommandResult;
use crate::bar::bar;
use crate::model_arguments::ModelArguments;
use crate::opened_generator::OpenedGenerator;
use clap::Args;
use muffle::adversarial::{Generator, LearningCurve, Point};
use muffle::train::evaluation::NOT_COVERED;
use muffle_page::plot::{self, Line, Panel};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The name of the curve beside those of generators.
const REAL: &str = "real records";

/// Which curves are measured.
#[derive(Args)]
pub struct CurveArguments {
    /// For a generator: numbers of records, as in 100,1000,10000. Its recipe's classifier learns from as many generated records, and from
    /// as many real ones, and is tested on real ones
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        conflicts_with = "groups",
        value_parser = clap::value_parser!(u64).range(1..=100_000_000)
    )]
    counts: Vec<u64>,
    /// With --counts: classifiers for each number, every one with records and first weights of its own
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        requires = "counts",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    repeats: u64,
    /// With --counts: another generator of the same records, for the same classifier; can be given several times
    #[arg(long, value_name = "RUN", requires = "counts")]
    against: Vec<PathBuf>,
    /// With --counts: everything random follows from it
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "counts")]
    seed: u64,
    /// With --counts: draw means and 95 % intervals, as SVG or PNG by the ending of the file
    #[arg(long, value_name = "FILE", requires = "counts")]
    plot: Option<PathBuf>,
}

/// The name of a curve, and its points.
type Curve = (String, Vec<Point>);

impl CurveArguments {
    /// Whether any curve is.
    pub fn is_asked_for(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Measures the curves of an opened generator, of those it is put beside, and of real records.
    pub fn run(&self, model: &ModelArguments, opened: OpenedGenerator, json: bool) -> CommandResult {
        let OpenedGenerator { generator, recipe, dataset } = opened;
        let Some(classifier) = &recipe.classifier else {
            return Err(format!(
                "{}: its recipe has no [classifier] to learn from records; say one by --set, as in \
                 'classifier={{model=\"cnn-small\",steps=500,batch_size=128,learning_rate=0.1}}'",
                generator.path.display()
            )
            .into());
        };
        let mut counts = self.counts.iter().map(|count| *count as usize).collect::<Vec<_>>();
        counts.sort_unstable();
        counts.dedup();
        let mut generators = vec![(model.run.display().to_string(), generator)];
        for run in &self.against {
            generators.push((run.display().to_string(), Generator::open(run, model.threads)?));
        }
        let classifiers = (generators.len() + 1) as u64 * counts.len() as u64 * self.repeats;
        let bar = bar(&format!("{classifiers} classifiers"), classifiers * classifier.steps, json);
        let after_each = || bar.inc(classifier.steps);
        let curve = LearningCurve {
            dataset: &dataset,
            classifier,
            counts: &counts,
            repeats: self.repeats,
            threads: model.threads,
            seed: self.seed,
            after_each: &after_each,
        };
        // What cannot be measured is said before hours of work.
        generators.iter().try_for_each(|(_, generator)| curve.check(generator))?;
        let mut curves = Vec::new();
        for (name, mut generator) in generators {
            curves.push((name, curve.of_generated(&mut generator)?));
        }
        curves.push((REAL.to_string(), curve.of_real()?));
        bar.finish_and_clear();
        match json {
            true => println!("{}", object(&curve, &curves)),
            false => print!("{}", text(&curve, &curves)),
        }
        // Last: what was measured is printed, whatever becomes of the file.
        Ok(self.plot.as_ref().map_or(Ok(()), |path| plot::write(path, &[panel(&curve, &curves)]))?)
    }
}

/// The result for machines.
fn object(curve: &LearningCurve, curves: &[Curve]) -> Value {
    let point = |point: &Point| {
        json!({
            "count": point.count, "mean": point.mean.mean, "standard_deviation": point.mean.standard_deviation,
            "standard_error": point.mean.standard_error(), "accuracies": point.accuracies,
        })
    };
    let points = |(name, points): &Curve| json!({ "name": name, "points": points.iter().map(point).collect::<Vec<_>>() });
    json!({
        "data": curve.dataset.name(), "test_records": curve.dataset.test().split().len(), "repeats": curve.repeats,
        "seed": curve.seed, "classifier_steps": curve.classifier.steps,
        "curves": curves.iter().map(points).collect::<Vec<_>>(), "not_covered": NOT_COVERED,
    })
}

/// A row for each number of records, a column for each curve.
fn text(curve: &LearningCurve, curves: &[Curve]) -> String {
    let mut text = format!(
        "accuracy in % on {} real test records of classifiers that learned from so many records in {} steps:\n\
         mean ± standard deviation (standard error of the mean), repeats: {}\n\n{:>9}",
        curve.dataset.test().split().len(),
        curve.classifier.steps,
        curve.repeats,
        "records"
    );
    let width = |name: &str| name.chars().count().max("100.00 ± 10.00 (10.00)".chars().count());
    curves.iter().for_each(|(name, _)| text += &format!("  {name:<width$}", width = width(name)));
    for count in curve.counts {
        text += &format!("\n{count:>9}");
        for (name, points) in curves {
            let point = points.iter().find(|point| point.count == *count);
            let cell = point.map_or("-".to_string(), in_words);
            text += &format!("  {cell:<width$}", width = width(name));
        }
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn in_words(point: &Point) -> String {
    let mut words = format!("{:.2}", 100.0 * point.mean.mean);
    if let (Some(deviation), Some(error)) = (point.mean.standard_deviation, point.mean.standard_error()) {
        words += &format!(" ± {:.2} ({:.2})", 100.0 * deviation, 100.0 * error);
    }
    words
}

/// All curves on the same axes.
fn panel(curve: &LearningCurve, curves: &[Curve]) -> Panel {
    let line = |(name, points): &Curve| Line {
        name: name.clone(),
        points: points.iter().map(|point| (point.count as f64, 100.0 * point.mean.mean)).collect(),
        bars: points
            .iter()
            .filter_map(|point| {
                let interval = point.mean.interval(0.95)?;
                Some((point.count as f64, 100.0 * interval.low, 100.0 * interval.high))
            })
            .collect(),
        ..Line::default()
    };
    Panel {
        title: format!("learned from few records, tested on real ones ({})", curve.dataset.name()),
        x_label: "records to learn from".to_string(),
        y_label: "accuracy %".to_string(),
        x_logarithmic: true,
        y_close_up: true,
        lines: curves.iter().map(line).collect(),
        ..Panel::default()
    }
}
