//! A measure by name, to rank models by.

use super::summary::Evaluation;
use crate::data::Task;
use muffle_nn::model_file::nearest::nearest;
use std::collections::BTreeMap;
use std::fmt;

/// One of the figures of an [`Evaluation`], of one class, label or number where it has several.
#[derive(Clone, Debug)]
pub struct Measure {
    kind: &'static Kind,
    /// The class, label or number.
    of: Option<String>,
}

/// What a measure is, without a name.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    subject: Subject,
    larger_is_better: bool,
    /// Whether it lies between 0 and 1 and is shown in per cent.
    share: bool,
    figure: fn(&Evaluation, Option<&str>) -> Option<f64>,
}

/// What a measure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// Any task.
    All,
    /// Classes or labels.
    Answers,
    /// One class or label, which has to be named.
    OneAnswer,
    /// Numbers: one that is named, or the mean over them.
    Values,
}

const fn kind(
    name: &'static str,
    subject: Subject,
    larger_is_better: bool,
    share: bool,
    figure: fn(&Evaluation, Option<&str>) -> Option<f64>,
) -> Kind {
    Kind { name, subject, larger_is_better, share, figure }
}

static KINDS: &[Kind] = &[
    kind("accuracy", Subject::Answers, true, true, |test, _| test.accuracy),
    kind("balanced-accuracy", Subject::Answers, true, true, |test, _| test.balanced_accuracy),
    kind("f1", Subject::Answers, true, true, |test, _| test.f1),
    kind("auroc", Subject::Answers, true, false, |test, _| test.area_under_curve),
    kind("auprc", Subject::Answers, true, false, |test, _| test.area_under_precision_recall),
    kind("calibration-error", Subject::Answers, false, false, |test, _| test.calibration_error),
    kind("recall", Subject::OneAnswer, true, true, |test, of| *test.recall.get(of?)?),
    kind("precision", Subject::OneAnswer, true, true, |test, of| *test.precision.get(of?)?),
    kind("loss", Subject::All, false, false, |test, _| (test.records > 0).then_some(test.loss)),
    kind("mean-absolute-error", Subject::Values, false, false, |test, of| {
        error(&test.mean_absolute_error, of)
    }),
    kind("root-mean-squared-error", Subject::Values, false, false, |test, of| {
        error(&test.root_mean_squared_error, of)
    }),
];

fn error(errors: &BTreeMap<String, f64>, of: Option<&str>) -> Option<f64> {
    match of {
        Some(name) => errors.get(name).copied(),
        None => (!errors.is_empty()).then(|| errors.values().sum::<f64>() / errors.len() as f64),
    }
}

impl Measure {
    /// Reads `balanced-accuracy`, `recall:CLASS`, `mean-absolute-error:NUMBER`.
    pub fn parse(text: &str) -> Result<Measure, String> {
        let (name, of) = match text.split_once(':') {
            Some((name, of)) => (name, Some(of.to_string())),
            None => (text, None),
        };
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let meant = nearest(name, names.iter().copied());
            let meant = meant.map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
            return Err(format!("no measure `{name}`{meant}; there are {}", names.join(", ")));
        };
        match (kind.subject, &of) {
            (Subject::OneAnswer, None) => Err(format!("{name} of which class? Give {name}:CLASS")),
            (Subject::All | Subject::Answers, Some(of)) => {
                Err(format!("{name} is one figure, not one for `{of}`: leave `:{of}` out"))
            }
            _ => Ok(Measure { kind, of }),
        }
    }

    /// What models are compared by if nobody says: accuracy, or the mean absolute error of numbers.
    pub fn usual(task: &Task) -> Measure {
        let name = if matches!(task, Task::Values(_)) { "mean-absolute-error" } else { "accuracy" };
        Measure::parse(name).expect("the usual measures are in the table")
    }

    /// What training makes small, whatever the task.
    pub fn loss() -> Measure {
        Measure::parse("loss").expect("the loss is in the table")
    }

    /// Whether it can be measured for a task; if not, why.
    pub fn check(&self, task: &Task) -> Result<(), String> {
        let (answers, names): (bool, Vec<&str>) = match task {
            Task::Classes(names) | Task::Labels(names) => (true, names.iter().map(String::as_str).collect()),
            Task::Values(quantities) => (false, quantities.iter().map(|it| it.name.as_str()).collect()),
            Task::None => (false, Vec::new()),
        };
        if self.kind.subject != Subject::All && answers == (self.kind.subject == Subject::Values) {
            let (is, has) = match answers {
                true => ("numbers", "classes or labels"),
                false => ("classes or labels", "numbers to predict"),
            };
            return Err(format!("{self} is about {is}, and the records have {has}"));
        }
        match &self.of {
            Some(of) if !names.contains(&of.as_str()) => {
                Err(format!("{self}: there is no `{of}`; there are {}", names.join(", ")))
            }
            _ => Ok(()),
        }
    }

    /// Its figure; `None` where there is none, or none that is a number.
    pub fn of(&self, test: &Evaluation) -> Option<f64> {
        (self.kind.figure)(test, self.of.as_deref()).filter(|figure| figure.is_finite())
    }

    /// Whether one figure is better than another.
    pub fn is_better(&self, one: f64, other: f64) -> bool {
        if self.kind.larger_is_better { one > other } else { one < other }
    }

    /// What a figure is multiplied by to be shown: shares are shown in per cent.
    pub fn scale(&self) -> f64 {
        if self.kind.share { 100.0 } else { 1.0 }
    }

    /// A figure, a difference or a deviation as it is shown, without a unit.
    pub fn shown(&self, figure: f64) -> String {
        if self.kind.share { format!("{:.2}", 100.0 * figure) } else { format!("{figure:.4}") }
    }

    /// The name with the unit of what is [shown](Measure::shown).
    pub fn heading(&self) -> String {
        if self.kind.share { format!("{self} %") } else { self.to_string() }
    }

    /// The key of its figure on the test split in JSON: `test_accuracy`, `test_recall:yes`.
    pub fn key(&self) -> String {
        let of = self.of.as_ref().map_or(String::new(), |of| format!(":{of}"));
        format!("test_{}{of}", self.kind.name.replace('-', "_"))
    }

    /// A figure with its unit.
    pub fn in_words(&self, figure: f64) -> String {
        self.shown(figure) + if self.kind.share { " %" } else { "" }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match &self.of {
            Some(of) => write!(formatter, "{}:{of}", self.kind.name),
            None => formatter.write_str(self.kind.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Quantity;

    fn classes() -> Task {
        Task::Classes(vec!["no".to_string(), "yes".to_string()])
    }

    fn numbers() -> Task {
        Task::Values(
            ["weight", "height"].map(|name| Quantity { name: name.to_string(), range: [0.0, 1.0] }).into(),
        )
    }

    #[test]
    fn a_measure_picks_its_figure() {
        let test = Evaluation {
            accuracy: Some(0.875),
            balanced_accuracy: Some(0.5),
            loss: f64::NAN,
            recall: BTreeMap::from([("no".to_string(), Some(1.0)), ("yes".to_string(), Some(0.25))]),
            precision: BTreeMap::from([("yes".to_string(), None)]),
            mean_absolute_error: BTreeMap::from([("weight".to_string(), 3.0), ("height".to_string(), 1.0)]),
            ..Evaluation::default()
        };
        for (name, figure) in [
            ("accuracy", Some(0.875)),
            ("balanced-accuracy", Some(0.5)),
            ("recall:yes", Some(0.25)),
            ("precision:yes", None),
            ("auroc", None),
            ("loss", None),
            ("mean-absolute-error", Some(2.0)),
            ("mean-absolute-error:weight", Some(3.0)),
        ] {
            let measure = Measure::parse(name).unwrap();
            assert_eq!((measure.of(&test), measure.to_string()), (figure, name.to_string()));
        }
        let loss = |records| {
            Measure::parse("loss").unwrap().of(&Evaluation { loss: 0.5, records, ..Evaluation::default() })
        };
        assert_eq!((loss(0), loss(3)), (None, Some(0.5)), "a loss on no records is none");
        let better = |name: &str| Measure::parse(name).unwrap().is_better(2.0, 1.0);
        assert!(better("auroc") && better("f1") && !better("loss") && !better("mean-absolute-error"));
        let shown = |name: &str| Measure::parse(name).unwrap().in_words(0.5);
        assert_eq!((shown("recall:yes"), shown("auroc")), ("50.00 %".to_string(), "0.5000".to_string()));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_reason() {
        for (name, part) in [
            ("acuracy", "did you mean `accuracy`?"),
            ("recall", "recall of which class"),
            ("auroc:yes", "leave `:yes` out"),
        ] {
            let message = Measure::parse(name).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
        for (name, task, part) in [
            ("recall:maybe", classes(), "there is no `maybe`; there are no, yes"),
            ("mean-absolute-error", classes(), "is about numbers"),
            ("auroc", numbers(), "numbers to predict"),
            ("mean-absolute-error:age", numbers(), "there are weight, height"),
        ] {
            let message = Measure::parse(name).unwrap().check(&task).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
        for task in [classes(), numbers()] {
            assert_eq!(Measure::usual(&task).check(&task), Ok(()));
            assert_eq!(Measure::parse("loss").unwrap().check(&task), Ok(()));
        }
    }
}
