//! Measures against cases by hand and against the examples in the documentation of scikit-learn.

use super::*;
use crate::data::column::Column;
use crate::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle_nn::ModelDescription;
use muffle_nn::shape::Shape;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|class| class.to_string()).collect()
}

/// Answers that name these classes, each surely.
fn answers(classes: usize, labels: &[u32], said: &[usize]) -> Answers {
    let mut answers = Answers::new(&names(classes), true, Decision::default());
    for (&label, &said) in labels.iter().zip(said) {
        let outputs: Vec<f32> = (0..classes).map(|class| if class == said { 4.0 } else { 0.0 }).collect();
        answers.note(muffle_nn::Target::Class(label), &outputs);
    }
    answers
}

fn summary(answers: &Answers) -> Evaluation {
    let records = answers.questions[0].holds.len();
    answers.summary(Evaluation { records, ..Evaluation::default() })
}

fn close(found: Option<f64>, expected: f64) {
    assert!(found.is_some_and(|found| (found - expected).abs() < 1e-12), "{found:?} for {expected}");
}

/// The example of `balanced_accuracy_score`: 0.625. Three of four zeros and one of two ones are found.
#[test]
fn two_classes_are_measured_by_the_second() {
    let answers = answers(2, &[0, 1, 0, 0, 1, 0], &[0, 1, 0, 0, 0, 1]);
    let found = summary(&answers);
    close(found.balanced_accuracy, 0.625);
    close(found.accuracy, 4.0 / 6.0);
    close(found.f1, 0.5);
    assert_eq!(
        (found.precision["1"], found.recall["1"], found.by_class["0"]),
        (Some(0.5), Some(0.5), Some(0.75))
    );
    assert_eq!(answers.confusion(), [[3, 1], [1, 1]]);
    assert_eq!((&*found.confusion[0].class, &found.confusion[1].said), ("0", &vec![1, 1]));
    assert!(found.never_predicted.is_empty() && found.warnings().is_empty());
}

/// The examples of `f1_score`, `precision_score` and `recall_score`, macro averages: 0.27, 0.22 and 0.33.
#[test]
fn more_classes_are_measured_one_against_the_rest() {
    let answers = answers(3, &[0, 1, 2, 0, 1, 2], &[0, 2, 1, 0, 0, 1]);
    let found = summary(&answers);
    close(found.f1, 0.8 / 3.0);
    close(found.balanced_accuracy, 1.0 / 3.0);
    let precisions: f64 = found.precision.values().flatten().sum();
    close(Some(precisions / 3.0), 2.0 / 9.0);
    assert_eq!(answers.confusion(), [[2, 0, 0], [1, 0, 1], [0, 2, 0]]);
    let report = Report::of_answers(&answers, Evaluation::default(), None);
    let (first, last) = (&report.classes[0], &report.classes[2]);
    assert_eq!((first.records, first.predicted, last.recall.unwrap().share), (2, 3, 0.0));
    assert_eq!(first.precision.unwrap().interval, crate::bounds::interval(2, 3));
}

/// 87.5 % right, and not one of the second class found.
#[test]
fn a_class_that_is_never_predicted_is_named() {
    let found = summary(&answers(2, &[0, 0, 0, 0, 0, 0, 0, 1], &[0; 8]));
    assert_eq!((found.accuracy, found.balanced_accuracy), (Some(0.875), Some(0.5)));
    assert_eq!(found.never_predicted, ["1"]);
    assert_eq!((found.precision["1"], found.f1), (None, Some(0.0)));
    assert!(found.warnings()[0].starts_with("never predicted: 1;"), "{:?}", found.warnings());
    // A class that no record has cannot be missed.
    let single = summary(&answers(2, &[0, 0], &[0, 0]));
    assert!(single.never_predicted.is_empty());
    assert_eq!((single.area_under_curve, single.recall["1"], single.f1), (None, None, None));
    assert_eq!((single.balanced_accuracy, summary(&answers(2, &[], &[])).accuracy), (Some(1.0), None));
}

#[test]
fn outputs_that_are_no_numbers_are_counted_and_have_no_place_in_a_curve() {
    let mut answers = answers(2, &[0, 1], &[0, 1]);
    answers.note(muffle_nn::Target::Class(1), &[f32::NAN, 0.0]);
    let found = summary(&answers);
    assert_eq!((found.not_numbers, found.area_under_curve, found.calibration_error), (1, None, None));
    assert_eq!(found.recall["1"], Some(0.5));
    assert!(found.warnings()[0].contains("1 of 3 records"), "{:?}", found.warnings());
}

#[test]
fn labels_are_questions_of_their_own() {
    let mut answers = Answers::new(&names(2), false, Decision::default());
    for (labels, outputs) in
        [([1.0, 0.0], [2.0, -1.0]), ([0.0, 1.0], [1.0, -2.0]), ([0.0, 0.0], [-1.0, -3.0])]
    {
        answers.note(muffle_nn::Target::Values(&labels), &outputs);
    }
    let found = summary(&answers);
    // The first label is right of 2 of 3 records, the second too; the second is never said.
    close(found.accuracy, 2.0 / 3.0);
    close(found.balanced_accuracy, 0.5 * (0.75 + 0.5));
    assert_eq!(found.never_predicted, ["1"]);
    close(found.area_under_curve, 0.5 * (1.0 + 0.5));
}

/// A network that passes its two inputs on, and a table whose third column says who somebody is.
fn table() -> (Arc<Network>, Vec<f32>, Dataset) {
    let model = "input = [5]\nlayers = [{ type = \"dense\", features = 2, bias = false }]";
    let network = ModelDescription::from_toml(model).unwrap().network().unwrap();
    let parameters = vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    // The second output is the logarithm of the odds of the second class.
    let record = |margin: f32, group: usize| {
        let mut record = vec![0.0, margin, 0.0, 0.0, 0.0];
        record[2 + group] = 1.0;
        record
    };
    let rows = [(2.0, 0, 1), (-1.0, 0, 1), (1.0, 0, 0), (-2.0, 0, 0), (0.5, 2, 1)];
    let values = rows.iter().flat_map(|&(margin, group, _)| record(margin, group)).collect();
    let split = Split::classified(Records::Floats(values), rows.iter().map(|row| row.2).collect());
    let (scaling, input) = (Scaling::identity(""), Shape::Vector(5));
    let dataset =
        Dataset::new("t", input, names(2), scaling, Visibility::Public, split.clone(), split).unwrap();
    let who = Column { other: true, ..Column::categories("who", &["a", "b"]) };
    let columns = vec![Column::number("x", 0.0, 1.0), Column::number("y", 0.0, 1.0), who];
    (Arc::new(network), parameters, dataset.with_columns(columns))
}

#[test]
fn groups_have_rates_of_their_own() {
    let (network, parameters, dataset) = table();
    let grouping = Grouping::by(&dataset.test(), "who").unwrap();
    let mut evaluator = Evaluator::new(network, Some(1)).unwrap();
    let report = evaluator.report(&parameters, &dataset.test(), Some(&grouping)).unwrap();
    let groups = report.groups.unwrap();
    let [a, b, other] = &groups.groups[..] else { panic!("{groups:?}") };
    assert_eq!((a.name.as_str(), a.records, a.small), ("a", 4, true));
    let rates = a.rates["1"];
    let shares =
        [rates.positive, rates.true_positive, rates.false_positive, a.accuracy].map(|it| it.unwrap().share);
    assert_eq!((shares, a.rates.len()), ([0.5; 4], 1));
    assert_eq!((b.records, b.accuracy, b.rates["1"].positive), (0, None, None));
    assert_eq!((other.name.as_str(), other.accuracy.unwrap().share), ("other", 1.0));
    assert_eq!(
        (other.rates["1"].false_positive, groups.largest_gap("1", |rates| rates.positive)),
        (None, None)
    );
    let large = groups.groups.iter().cloned().map(|group| GroupReport { small: false, ..group }).collect();
    let large = GroupedBy { groups: large, ..groups };
    assert_eq!(large.largest_gap("1", |rates| rates.positive), Some(0.5));
    let message = Grouping::by(&dataset.test(), "x").err().unwrap().to_string();
    assert!(message.contains("no column `x` with categories; there are who"), "{message}");
}

/// Probabilities of the second class 0.88, 0.27, 0.73, 0.12, 0.62.
#[test]
fn a_threshold_moves_decisions_and_no_ranking() {
    let (network, parameters, dataset) = table();
    let at = |threshold: Option<f64>| {
        let evaluator = Evaluator::new(network.clone(), Some(1)).unwrap();
        let mut evaluator = evaluator.deciding(Decision::new(threshold));
        let correct = evaluator.correct(&parameters, &dataset.test()).unwrap();
        let report = evaluator.report(&parameters, &dataset.test(), None).unwrap();
        assert_eq!((report.threshold, report.confusion[0][0] + report.confusion[1][1]), (threshold, correct));
        // A report has the matrix of all classes beside its summary.
        let summary = evaluator.evaluate(&parameters, &dataset.test()).unwrap();
        assert_eq!(report.summary, Evaluation { confusion: Vec::new(), ..summary });
        (report.confusion, report.summary.area_under_curve)
    };
    let (even, area) = at(None);
    assert_eq!((&even, area), (&vec![vec![1, 1], vec![1, 2]], Some(4.0 / 6.0)));
    assert_eq!(at(Some(0.25)), (vec![vec![1, 1], vec![0, 3]], area));
    assert_eq!(at(Some(0.8)), (vec![vec![2, 0], vec![2, 1]], area));
}
