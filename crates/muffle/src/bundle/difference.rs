//! Where data differ from those that a model was made for.

use crate::data::column::Column;
use crate::data::{Schema, Task};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Differences that are spelled out; the others are counted.
const SHOWN: usize = 5;

/// Everything in which data with the schema `given` would mean something else to a model with the schema `known`, in words;
/// `None` if they mean the same.
pub fn differences(known: &Schema, given: &Schema) -> Option<String> {
    let mut found = Vec::new();
    tasks(&known.task, &given.task, &mut found);
    if let (Some(known), Some(given)) = (&known.label, &given.label)
        && known != given
    {
        found.push(format!("the class was in column `{known}`, it is in `{given}` in the data"));
    }
    columns(&known.columns, &given.columns, &mut found);
    if let (Some(known), Some(given)) = (known.vocabulary, given.vocabulary)
        && known != given
    {
        found.push(format!("the model reads {known} tokens, the data have {given}"));
    }
    if known.input != given.input && found.is_empty() {
        found.push(format!(
            "the model takes records of sizes {:?}, the data have {:?}",
            known.input, given.input
        ));
    }
    if !known.scaling.agrees(&given.scaling) {
        let (known, given) = (known.scaling.about(), given.scaling.about());
        found.push(format!("values were scaled by `{known}`, the data are scaled by `{given}`"));
    }
    if found.is_empty() {
        return None;
    }
    let more = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Some(format!("{}{more}", found.join("; ")))
}

fn tasks(known: &Task, given: &Task, found: &mut Vec<String>) {
    match (known, given) {
        (Task::Classes(known), Task::Classes(given)) | (Task::Labels(known), Task::Labels(given)) => {
            if known != given {
                found.push(format!("the outputs are {}, in the data {}", list(known), list(given)));
            }
        }
        (Task::Values(known), Task::Values(given)) => {
            let names =
                |task: &[crate::data::Quantity]| task.iter().map(|value| value.name.clone()).collect();
            let [known_names, given_names]: [Vec<String>; 2] = [names(known), names(given)];
            if known_names != given_names {
                found.push(format!(
                    "the outputs are {}, in the data {}",
                    list(&known_names),
                    list(&given_names)
                ));
                return;
            }
            for (known, given) in known.iter().zip(given).filter(|(known, given)| known != given) {
                let ranges = format!("range {:?} in the model, {:?} in the data", known.range, given.range);
                found.push(format!("value `{}`: {ranges}", known.name));
            }
        }
        (known, given) if known == given => {}
        (known, given) => {
            found.push(format!("the model predicts {}, the data have {}", kind(known), kind(given)))
        }
    }
}

fn kind(task: &Task) -> &'static str {
    match task {
        Task::Classes(_) => "classes",
        Task::Labels(_) => "labels",
        Task::Values(_) => "numbers",
        Task::None => "no target",
    }
}

/// Names, as many as a line holds.
fn list(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(12).map(|name| format!("`{name}`")).collect();
    if names.len() > shown.len() {
        shown.push(format!("… ({} in all)", names.len()));
    }
    shown.join(", ")
}

fn columns(known: &[Column], given: &[Column], found: &mut Vec<String>) {
    let names = |columns: &[Column]| columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    let (known_names, given_names) = (names(known), names(given));
    if known_names != given_names {
        let without = |all: &[String], others: &[String]| -> Vec<String> {
            all.iter().filter(|name| !others.contains(name)).cloned().collect()
        };
        let missing = without(&known_names, &given_names);
        let more = without(&given_names, &known_names);
        if !missing.is_empty() {
            found.push(format!("the data lack {}", counted("column", &missing)));
        }
        if !more.is_empty() {
            found.push(format!("the model does not know {}", counted("column", &more)));
        }
        if missing.is_empty() && more.is_empty() {
            found.push(format!(
                "the columns come as {}, in the data as {}",
                list(&known_names),
                list(&given_names)
            ));
        }
        return;
    }
    for (known, given) in known.iter().zip(given) {
        let (known_keys, given_keys) = (keys(known), keys(given));
        let all: BTreeSet<&String> = known_keys.keys().chain(given_keys.keys()).collect();
        for key in all {
            let [known_value, given_value] =
                [&known_keys, &given_keys].map(|keys| keys.get(key).unwrap_or(&Value::Null));
            if known_value != given_value {
                let (known_value, given_value) = (short(known_value), short(given_value));
                found.push(format!(
                    "column `{}`: {key} {known_value} in the model, {given_value} in the data",
                    known.name
                ));
            }
        }
    }
}

fn counted(what: &str, names: &[String]) -> String {
    format!("{what}{} {}", if names.len() > 1 { "s" } else { "" }, list(names))
}

/// What is declared of a column, whatever there may be to declare, in tables inside of it too; but not where a file lies.
fn keys(column: &impl Serialize) -> Map<String, Value> {
    let mut keys = Map::new();
    let Ok(Value::Object(outer)) = serde_json::to_value(column) else { return keys };
    for (key, value) in outer {
        match value {
            Value::Object(inner) => {
                let inner = inner.into_iter().filter(|(name, _)| name != "file");
                keys.extend(inner.map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value => drop(keys.insert(key, value)),
        }
    }
    keys
}

/// A value, as much of it as a line holds.
fn short(value: &Value) -> String {
    let whole = value.to_string();
    match whole.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::schema::Stored;
    use crate::data::{Quantity, Scaling};
    use serde_json::json;

    fn schema() -> Schema {
        Schema {
            input: vec![3],
            task: Task::Classes(vec!["no".into(), "yes".into()]),
            label: Some("answer".into()),
            columns: vec![Column::number("age", 0.0, 100.0), Column::categories("job", &["a", "b"])],
            vocabulary: None,
            stored: Stored::Floats,
            scaling: Scaling::identity("as is"),
        }
    }

    fn difference(change: impl FnOnce(&mut Schema)) -> Option<String> {
        let mut given = schema();
        change(&mut given);
        differences(&schema(), &given)
    }

    #[test]
    fn what_means_the_same_is_no_difference() {
        assert_eq!(difference(|_| {}), None);
        assert_eq!(difference(|given| given.scaling = Scaling::identity("in other words")), None);
        assert_eq!(difference(|given| given.label = None), None);
    }

    #[test]
    fn each_difference_is_spelled_out() {
        let told = |change: fn(&mut Schema), expected: &str| {
            assert_eq!(difference(change).as_deref(), Some(expected));
        };
        told(
            |given| given.task = Task::Classes(vec!["yes".into(), "no".into()]),
            "the outputs are `no`, `yes`, in the data `yes`, `no`",
        );
        told(
            |given| given.columns[0] = Column::number("age", 0.0, 120.0),
            "column `age`: range [0.0,100.0] in the model, [0.0,120.0] in the data",
        );
        told(
            |given| given.columns[0].missing = Some(3.0),
            "column `age`: missing null in the model, 3.0 in the data",
        );
        told(
            |given| given.columns[0].name = "height".into(),
            "the data lack column `age`; the model does not know column `height`",
        );
        told(
            |given| given.columns.reverse(),
            "the columns come as `age`, `job`, in the data as `job`, `age`",
        );
        told(
            |given| given.label = Some("reply".into()),
            "the class was in column `answer`, it is in `reply` in the data",
        );
        told(
            |given| given.scaling = Scaling::range(0.0, 2.0),
            "values were scaled by `as is`, the data are scaled by `the declared range 0 to 2 becomes -1 to 1`",
        );
        let price = |high| Task::Values(vec![Quantity { name: "price".into(), range: [0.0, high] }]);
        told(|given| given.task = Task::None, "the model predicts classes, the data have no target");
        let [mut known, mut given] = [schema(), schema()];
        (known.task, given.task) = (price(1.0), price(2.0));
        let expected = "value `price`: range [0.0, 1.0] in the model, [0.0, 2.0] in the data";
        assert_eq!(differences(&known, &given).as_deref(), Some(expected));
    }

    #[test]
    fn texts_differ_in_what_their_tokens_are() {
        let note = |padding: u32| -> Column {
            let tokens = json!({ "kind": "ids", "length": 3, "vocabulary": 9, "padding": padding });
            serde_json::from_value(json!({ "name": "note", "tokens": tokens })).unwrap()
        };
        let [mut known, mut given] = [schema(), schema()];
        (known.columns, given.columns) = (vec![note(0)], vec![note(8)]);
        let expected = "column `note`: tokens.padding 0 in the model, 8 in the data";
        assert_eq!(differences(&known, &given).as_deref(), Some(expected));
        (known.columns, given.columns) = (Vec::new(), Vec::new());
        (known.vocabulary, given.vocabulary) = (Some(50), Some(60));
        let expected = "the model reads 50 tokens, the data have 60";
        assert_eq!(differences(&known, &given).as_deref(), Some(expected));
        // A bundle from before the vocabulary was part of it.
        known.vocabulary = None;
        assert_eq!(differences(&known, &given), None);
    }
}
