//! What was measured of a model, for people.

use muffle::train::evaluation::{
    Area, ClassReport, Evaluation, GroupedBy, NOT_COVERED, Rates, Report, Share,
};
use std::fmt::Write;

/// Confusion matrices of more classes are for machines.
const MOST_CLASSES: usize = 20;

/// A report as text.
pub fn text(report: &Report) -> String {
    let mut text = figures(&report.summary, report.threshold);
    if !report.classes.is_empty() {
        text += &format!("\n{}", table(&by_class(&report.classes)));
    }
    if (1..=MOST_CLASSES).contains(&report.confusion.len()) {
        text += &format!("\nrecords of each class (rows) by predicted class\n{}", table(&confusion(report)));
    }
    if let [_, second] = &report.classes[..]
        && let Some(calibration) = &second.calibration
        && !report.confusion.is_empty()
    {
        let mut rows =
            vec![["stated %", "records", "mean stated %", "came true %"].map(String::from).to_vec()];
        rows.extend(calibration.bins.iter().map(|bin| {
            let [low, high] = bin.range.map(|end| 100.0 * end);
            let share = |share: f64| format!("{:.1}", 100.0 * share);
            vec![
                format!("{low:.0} to {high:.0}"),
                bin.records.to_string(),
                share(bin.stated),
                share(bin.came_true),
            ]
        }));
        text += &format!("\nprobability of {}\n{}", second.name, table(&rows));
    }
    if let Some(groups) = &report.groups {
        text += &by_group(groups);
    }
    text + "\nIntervals hold with a confidence of 95 %. " + NOT_COVERED + "\n"
}

/// One figure a line.
fn figures(total: &Evaluation, threshold: Option<f64>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, figure: String| {
        let _ = writeln!(text, "{name:<32}{figure}");
    };
    if let Some(accuracy) = total.accuracy {
        line("accuracy", format!("{:.2} % of {} records", 100.0 * accuracy, total.records));
    }
    if let Some(balanced) = total.balanced_accuracy {
        line("balanced accuracy", format!("{:.2} %", 100.0 * balanced));
    }
    line("loss", format!("{:.4}", total.loss));
    for (name, figure) in [
        ("F1", total.f1),
        ("area under the ROC curve", total.area_under_curve),
        ("area under precision-recall", total.area_under_precision_recall),
        ("calibration error", total.calibration_error),
    ] {
        figure.into_iter().for_each(|figure| line(name, format!("{figure:.4}")));
    }
    if let Some(threshold) = threshold {
        line("threshold", format!("{threshold}"));
    }
    for (name, error) in &total.mean_absolute_error {
        let root = total.root_mean_squared_error.get(name).copied().unwrap_or_default();
        line(name, format!("mean absolute error {error:.4}, root of the mean square {root:.4}"));
    }
    text
}

fn by_class(classes: &[ClassReport]) -> Vec<Vec<String>> {
    let headings =
        ["", "records", "predicted", "precision %", "recall %", "F1", "ROC area", "precision-recall area"];
    let mut rows = vec![headings.map(String::from).to_vec()];
    rows.extend(classes.iter().map(|class| {
        vec![
            class.name.clone(),
            class.records.to_string(),
            class.predicted.to_string(),
            share(class.precision),
            share(class.recall),
            class.f1.map_or("-".to_string(), |f1| format!("{f1:.4}")),
            area(class.area_under_curve),
            area(class.area_under_precision_recall),
        ]
    }));
    rows
}

fn confusion(report: &Report) -> Vec<Vec<String>> {
    let names = || report.classes.iter().map(|class| class.name.clone());
    let mut rows = vec![[String::new()].into_iter().chain(names()).collect::<Vec<String>>()];
    let row = |(name, counts): (String, &Vec<u64>)| {
        [name].into_iter().chain(counts.iter().map(ToString::to_string)).collect()
    };
    rows.extend(names().zip(&report.confusion).map(row));
    rows
}

/// A table for each class that the groups have rates of, or one of their errors.
fn by_group(groups: &GroupedBy) -> String {
    let Some(first) = groups.groups.first() else { return String::new() };
    let name = |name: &str, small: bool| if small { format!("{name} *") } else { name.to_string() };
    let mut text = String::new();
    for class in first.rates.keys() {
        let headings =
            [&groups.column, "records", "accuracy %", "predicted %", "true positives %", "false positives %"];
        let mut rows = vec![headings.map(String::from).to_vec()];
        rows.extend(groups.groups.iter().map(|group| {
            let Rates { positive, true_positive, false_positive } = group.rates[class];
            let rates = [group.accuracy, positive, true_positive, false_positive].map(share);
            [name(&group.name, group.small), group.records.to_string()].into_iter().chain(rates).collect()
        }));
        let _ = write!(text, "\n{class} by {}\n{}", groups.column, table(&rows));
        let gap = |name: &str, rate: fn(&Rates) -> Option<Share>| {
            Some(format!("{name} {:.2} points", 100.0 * groups.largest_gap(class, rate)?))
        };
        let gaps = [
            gap("predicted", |rates| rates.positive),
            gap("true positives", |rates| rates.true_positive),
            gap("false positives", |rates| rates.false_positive),
        ];
        let gaps: Vec<String> = gaps.into_iter().flatten().collect();
        if !gaps.is_empty() {
            let _ = writeln!(text, "largest differences: {}", gaps.join(", "));
        }
    }
    let numbers = groups.groups.iter().find(|group| !group.mean_absolute_error.is_empty());
    if let Some(numbers) = numbers {
        let names: Vec<String> = numbers.mean_absolute_error.keys().cloned().collect();
        let headings = [groups.column.clone(), "records".to_string()];
        let mut rows = vec![headings.into_iter().chain(names.iter().cloned()).collect::<Vec<String>>()];
        rows.extend(groups.groups.iter().map(|group| {
            let error =
                |name: &String| group.mean_absolute_error.get(name).map(|error| format!("{error:.4}"));
            let errors = names.iter().map(|name| error(name).unwrap_or("-".to_string()));
            [name(&group.name, group.small), group.records.to_string()].into_iter().chain(errors).collect()
        }));
        let _ = write!(text, "\nmean absolute error by {}\n{}", groups.column, table(&rows));
    }
    if groups.groups.iter().any(|group| group.small) {
        text += "* fewer than 100 records: too few to say much, and left out of differences\n";
    }
    text
}

/// A share in per cent, with its interval.
fn share(share: Option<Share>) -> String {
    share.map_or("-".to_string(), |share| {
        let [low, high] = share.interval.map(|end| 100.0 * end);
        format!("{:.2} ({low:.2} to {high:.2})", 100.0 * share.share)
    })
}

fn area(area: Option<Area>) -> String {
    area.map_or("-".to_string(), |area| match area.interval {
        Some([low, high]) => format!("{:.4} ({low:.4} to {high:.4})", area.area),
        None => format!("{:.4}", area.area),
    })
}

/// Cells in columns: the first to the left, the others to the right.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cell = |(column, text): (usize, &String)| match column {
        0 => format!("  {text:<0$}", widths[0]),
        _ => format!("  {text:>0$}", widths[column]),
    };
    rows.iter()
        .map(|row| row.iter().enumerate().map(cell).collect::<String>().trim_end().to_string() + "\n")
        .collect()
}
