//! Settings by `key=value`, and what somebody may have meant by a key that does not exist.

use muffle_nn::model_file::nearest::nearest;
use toml::{Table, Value};

/// Pairs of keys of which only one makes sense: setting one drops the other.
const EXCLUSIVE: [(&str, &str); 2] = [("steps", "epochs"), ("epochs", "steps")];

/// Changes one value of a table; `a.b=1` reaches into the table `a`, and `a=` removes a value.
pub(crate) fn set(table: &mut Table, setting: &str) -> Result<(), String> {
    let (path, value) =
        setting.split_once('=').ok_or("settings have the form key=value, for example epsilon=2")?;
    let path = path.trim();
    if let Some((_, other)) = EXCLUSIVE.iter().find(|(key, _)| *key == path) {
        table.remove(*other);
    }
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().filter(|key| !key.is_empty()).ok_or("the key is missing")?;
    let mut inner = table;
    for key in keys {
        let entry = inner.entry(key).or_insert_with(|| Value::Table(Table::new()));
        inner = entry.as_table_mut().ok_or_else(|| format!("`{key}` is a single value"))?;
    }
    match value.trim() {
        "" => drop(inner.remove(last)),
        // What is not a value in TOML is a word without its quotes.
        text => {
            let parsed =
                format!("value = {text}").parse::<Table>().ok().and_then(|mut it| it.remove("value"));
            inner.insert(last.to_string(), parsed.unwrap_or_else(|| Value::String(text.to_string())));
        }
    }
    Ok(())
}

/// An error in words, with the word that may have been meant; `others` are known beside those that the error lists.
pub(crate) fn explained(error: &toml::de::Error, others: &[&str]) -> String {
    let message = error.message().trim_end();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = message.starts_with("unknown");
    match quoted.split_first() {
        Some((word, known)) if unknown => match nearest(word, known.iter().chain(others).copied()) {
            Some(meant) => format!("{message}; did you mean `{meant}`?"),
            None => message.to_string(),
        },
        _ => error.to_string().trim_end().to_string(),
    }
}
