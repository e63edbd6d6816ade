//! The tables of a factor study, in the form of Lin et al. 2020.

use crate::words::in_words;
use muffle::statistics::{FactorRow, FactorStudy, Mean};
use serde_json::{Map, Value, json};

/// The mean results of one combination of levels.
pub struct Row {
    /// Its level in every factor: data, model, optimizer, noise, threshold, order.
    pub levels: Vec<String>,
    /// Whether it is without noise: a reference, not part of the study.
    pub plain: bool,
    /// Test accuracy.
    pub accuracy: f64,
    /// Test loss; `None` if it is no longer a number.
    pub loss: Option<f64>,
    /// TPVD.
    pub distortion: Option<f64>,
    /// The epsilon of the certificate, if the seed is secret.
    pub epsilon: Option<f64>,
}

/// Places of factors.
const DATA: usize = 0;
const MODEL: usize = 1;
const NOISE: usize = 3;
const ORDER: usize = 5;

/// The tables of the paper that show results on a data set.
const NUMBERS: [(&str, u8); 3] = [("mnist", 3), ("cifar10-grey", 4), ("svhn-grey", 5)];

/// A result of a row.
type Measure = fn(&Row) -> f64;

/// What the tests look at.
const MEASURES: [(&str, Measure); 2] =
    [("accuracy", |row| row.accuracy), ("loss", |row| row.loss.unwrap_or(f64::NAN))];

/// What noise before the clip gains in one network on one data set.
struct Gain {
    data: String,
    model: String,
    accuracy: f64,
    loss: f64,
}

/// Results and their statistics.
pub struct Tables {
    rows: Vec<Row>,
    /// By measure.
    studies: [FactorStudy; 2],
}

impl Tables {
    /// Of the results of all combinations.
    pub fn new(factors: &[&str], rows: Vec<Row>) -> Tables {
        let factors: Vec<String> = factors.iter().map(ToString::to_string).collect();
        let studies = MEASURES.map(|(_, value)| {
            let noisy = rows.iter().filter(|row| !row.plain);
            let rows = noisy.map(|row| FactorRow { levels: row.levels.clone(), value: value(row) });
            FactorStudy::new(factors.clone(), rows.collect())
        });
        Tables { rows, studies }
    }

    /// All tables as paragraphs.
    pub fn markdown(&self) -> Vec<String> {
        let accuracy = &self.studies[0];
        let mut paragraphs = Vec::new();
        for data in accuracy.levels(DATA) {
            let number = NUMBERS.iter().find(|(name, _)| *name == data);
            let form = number.map_or(String::new(), |(_, number)| format!(", in the form of Table {number}"));
            paragraphs.push(format!("## Results on {data}{form}"));
            paragraphs.push(self.results(data));
        }
        paragraphs.push("## Normality of every level (Shapiro-Wilk), Tables 8 and 9".into());
        paragraphs.push(self.normality());
        paragraphs.push("## Factors of two levels (Mann-Whitney), Tables 10 and 11".into());
        paragraphs.push(self.two_levels());
        paragraphs.push("## Factors of three or more levels (Kruskal-Wallis)".into());
        paragraphs.push(self.several_levels());
        let constant = accuracy.constant();
        if !constant.is_empty() {
            paragraphs.push(format!("Without a second level, and so in no test: {}.", constant.join(", ")));
        }
        paragraphs.push(
            "U and W are those of the second level. A - is a test of too few or only equal values.".into(),
        );
        paragraphs.push("## Gains of noise before the clip over noise after it, AC - CA".into());
        paragraphs.push(self.gains_table());
        paragraphs
    }

    /// One row for every network, optimizer, threshold and order; columns for every noise multiplier.
    fn results(&self, data: &str) -> String {
        let noises = self.studies[0].levels(NOISE);
        let mut head = vec!["model".to_string(), "optimizer".into(), "C".into(), "order".into()];
        for noise in &noises {
            let columns = ["accuracy %", "loss", "TPVD", "epsilon if the seed is secret"];
            head.extend(columns.map(|column| format!("σ {noise}: {column}")));
        }
        let own = |row: &&Row| row.levels[DATA] == data;
        let first = self.rows.iter().filter(own).filter(|row| row.plain || row.levels[NOISE] == noises[0]);
        let body = first.map(|first| {
            let [_, model, optimizer, _, threshold, order] = &first.levels[..] else {
                unreachable!("six factors")
            };
            let mut line = [model, optimizer, threshold, order].map(String::clone).to_vec();
            for (place, noise) in noises.iter().enumerate() {
                let mut levels = first.levels.clone();
                if !first.plain {
                    levels[NOISE] = noise.to_string();
                }
                // A run without noise has one column.
                let row = self.rows.iter().find(|row| row.levels == levels && !(row.plain && place > 0));
                line.extend(row.map_or_else(|| ["-"; 4].map(String::from), cells));
            }
            line
        });
        table(&head, body)
    }

    fn normality(&self) -> String {
        let [accuracy, loss] = self.studies.each_ref().map(FactorStudy::normality);
        let head = ["factor", "level", "values", "accuracy W", "p", "loss W", "p"];
        let body = accuracy.iter().zip(&loss).map(|(accuracy, loss)| {
            let mut line = vec![accuracy.factor.clone(), accuracy.level.clone(), accuracy.count.to_string()];
            for test in [&accuracy.test, &loss.test] {
                line.extend(numbers(test.as_ref().map(|test| [test.w, test.p])));
            }
            line
        });
        some_or(table(&head, body), accuracy.is_empty(), "No factor has a second level.")
    }

    fn two_levels(&self) -> String {
        let [accuracy, loss] = self.studies.each_ref().map(FactorStudy::two_levels);
        let head = ["factor", "first", "second", "accuracy U", "W", "Z", "p", "loss U", "W", "Z", "p"];
        let body = accuracy.iter().zip(&loss).map(|(accuracy, loss)| {
            let [first, second] = accuracy.levels.clone();
            let mut line = vec![accuracy.factor.clone(), first, second];
            for test in [&accuracy.test, &loss.test] {
                line.extend(numbers(test.as_ref().map(|test| [test.u, test.rank_sum, test.z, test.p])));
            }
            line
        });
        some_or(table(&head, body), accuracy.is_empty(), "Left out: no factor has two levels here.")
    }

    fn several_levels(&self) -> String {
        let [accuracy, loss] = self.studies.each_ref().map(FactorStudy::several_levels);
        let head = ["factor", "levels", "degrees", "accuracy H", "p", "loss H", "p"];
        let body = accuracy.iter().zip(&loss).map(|(accuracy, loss)| {
            let degrees = (accuracy.levels.len() - 1).to_string();
            let mut line = vec![accuracy.factor.clone(), accuracy.levels.join(", "), degrees];
            for test in [&accuracy.test, &loss.test] {
                line.extend(numbers(test.as_ref().map(|test| [test.h, test.p])));
            }
            line
        });
        some_or(table(&head, body), accuracy.is_empty(), "Left out: no factor has three or more levels here.")
    }

    /// Of every network on every data set where both orders ran.
    fn gains(&self) -> Vec<Gain> {
        let mean = |data: &str, model: &str, order: &str, value: Measure| {
            let levels = [(DATA, data), (MODEL, model), (ORDER, order)];
            let rows = self.rows.iter();
            let rows = rows.filter(|row| levels.iter().all(|&(factor, level)| row.levels[factor] == level));
            Some(Mean::of(&rows.map(value).collect::<Vec<f64>>()).ok()?.mean)
        };
        let [(_, accuracy), (_, loss)] = MEASURES;
        let mut gains = Vec::new();
        for model in self.studies[0].levels(MODEL) {
            for data in self.studies[0].levels(DATA) {
                let gain = |value| Some(mean(data, model, "AC", value)? - mean(data, model, "CA", value)?);
                if let (Some(accuracy), Some(loss)) = (gain(accuracy), gain(loss)) {
                    gains.push(Gain { data: data.into(), model: model.into(), accuracy, loss });
                }
            }
        }
        gains
    }

    fn gains_table(&self) -> String {
        let gains = self.gains();
        let head = ["model", "data", "mean accuracy, points", "mean loss"];
        let body = gains.iter().map(|gain| {
            let figures = [format!("{:+.2}", 100.0 * gain.accuracy), format!("{:+.3}", gain.loss)];
            [[gain.model.clone(), gain.data.clone()], figures].concat()
        });
        some_or(
            table(&head, body),
            gains.is_empty(),
            "Left out: AC and CA did not both run, with finite losses.",
        )
    }

    /// The same for machines.
    pub fn json(&self) -> Map<String, Value> {
        let mut tests = Map::new();
        for ((measure, _), study) in MEASURES.iter().zip(&self.studies) {
            let normality = study.normality();
            let normality = normality.iter().map(|row| {
                let test = row.test.as_ref().ok();
                json!({ "factor": row.factor, "level": row.level, "values": row.count, "test": test })
            });
            let two = study.two_levels();
            let two = two.iter().map(
                |row| json!({ "factor": row.factor, "levels": row.levels, "test": row.test.as_ref().ok() }),
            );
            let several = study.several_levels();
            let several = several.iter().map(
                |row| json!({ "factor": row.factor, "levels": row.levels, "test": row.test.as_ref().ok() }),
            );
            let all = json!({
                "shapiro_wilk": normality.collect::<Vec<Value>>(), "mann_whitney": two.collect::<Vec<Value>>(),
                "kruskal_wallis": several.collect::<Vec<Value>>(),
            });
            tests.insert(measure.to_string(), all);
        }
        let gain = |gain: Gain| json!({ "data": gain.data, "model": gain.model, "accuracy": gain.accuracy, "loss": gain.loss });
        let distortion = |row: &Row| json!({ "levels": row.levels, "mean": row.distortion });
        let noisy = self.rows.iter().filter(|row| !row.plain);
        Map::from_iter([
            ("statistics".to_string(), Value::Object(tests)),
            ("gains".to_string(), self.gains().into_iter().map(gain).collect()),
            ("distortion".to_string(), noisy.map(distortion).collect()),
        ])
    }
}

/// Accuracy, loss, TPVD and epsilon.
fn cells(row: &Row) -> [String; 4] {
    let optional = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.4}"));
    [
        format!("{:.2}", 100.0 * row.accuracy),
        optional(row.loss),
        optional(row.distortion),
        row.epsilon.map_or("none".to_string(), in_words),
    ]
}

/// The figures of a test, or a dash for each.
fn numbers<const N: usize, E>(figures: Result<[f64; N], E>) -> [String; N] {
    figures.map_or_else(
        |_| std::array::from_fn(|_| "-".to_string()),
        |figures| {
            // Rank sums are whole or halves; everything else has the three decimals of the paper.
            figures.map(|it| if (2.0 * it).fract() == 0.0 { it.to_string() } else { format!("{it:.3}") })
        },
    )
}

/// A table in Markdown.
fn table(head: &[impl AsRef<str>], body: impl Iterator<Item = Vec<String>>) -> String {
    let head: Vec<&str> = head.iter().map(AsRef::as_ref).collect();
    let mut lines = vec![format!("| {} |", head.join(" | ")), format!("|{}", "---|".repeat(head.len()))];
    lines.extend(body.map(|line| format!("| {} |", line.join(" | "))));
    lines.join("\n")
}

/// The table, or why there is none.
fn some_or(table: String, empty: bool, reason: &str) -> String {
    if empty { reason.to_string() } else { table }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTORS: [&str; 6] = ["data", "model", "optimizer", "noise", "threshold", "order"];

    fn row(levels: [&str; 6], accuracy: f64) -> Row {
        Row {
            levels: levels.map(String::from).to_vec(),
            plain: levels[ORDER] == "plain",
            accuracy,
            loss: Some(1.0 - accuracy),
            distortion: (levels[ORDER] != "plain").then_some(0.5),
            epsilon: (levels[ORDER] == "CA").then_some(4.0),
        }
    }

    /// One data set, one network, one optimizer, one threshold; AC is better by 0.1 and 0.3.
    fn small() -> Tables {
        let rows = vec![
            row(["mnist", "cnn", "sgd", "-", "-", "plain"], 0.95),
            row(["mnist", "cnn", "sgd", "0.1", "0.8", "AC"], 0.9),
            row(["mnist", "cnn", "sgd", "0.1", "0.8", "CA"], 0.8),
            row(["mnist", "cnn", "sgd", "0.5", "0.8", "AC"], 0.7),
            row(["mnist", "cnn", "sgd", "0.5", "0.8", "CA"], 0.4),
        ];
        Tables::new(&FACTORS, rows)
    }

    #[test]
    fn results_have_a_row_for_each_order_and_columns_for_each_noise() {
        let table = small().results("mnist");
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 5, "{table}");
        assert_eq!(lines[2], "| cnn | sgd | - | plain | 95.00 | 0.0500 | - | none | - | - | - | - |");
        assert_eq!(
            lines[3],
            "| cnn | sgd | 0.8 | AC | 90.00 | 0.1000 | 0.5000 | none | 70.00 | 0.3000 | 0.5000 | none |"
        );
        assert_eq!(
            lines[4],
            "| cnn | sgd | 0.8 | CA | 80.00 | 0.2000 | 0.5000 | 4.0000 | 40.00 | 0.6000 | 0.5000 | 4.0000 |"
        );
    }

    #[test]
    fn tests_leave_out_runs_without_noise_and_factors_of_one_level() {
        let text = small().markdown().join("\n\n");
        for part in [
            "## Results on mnist, in the form of Table 3",
            // (0.9, 0.7) against (0.8, 0.4): the second is larger in one pair of four.
            "| order | AC | CA | 1 | 4 | -0.775 | 0.439 | 3 | 6 | 0.775 | 0.439 |",
            "| noise | 0.1 | 2 | - | - | - | - |",
            "Left out: no factor has three or more levels here.",
            "Without a second level, and so in no test: data, model, optimizer, threshold.",
            "| cnn | mnist | +20.00 | -0.200 |",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let json = small().json();
        assert_eq!(json["distortion"].as_array().unwrap().len(), 4);
        assert_eq!(json["statistics"]["accuracy"]["mann_whitney"][1]["test"]["u"], 1.0);
    }

    #[test]
    fn a_loss_that_is_no_number_has_no_tests_and_no_gain() {
        let mut rows = small().rows;
        rows[1].loss = None;
        let text = Tables::new(&FACTORS, rows).markdown().join("\n\n");
        assert!(text.contains("| order | AC | CA | 1 | 4 | -0.775 | 0.439 | - | - | - | - |"), "{text}");
        assert!(text.contains("Left out: AC and CA did not both run, with finite losses."), "{text}");
    }
}
