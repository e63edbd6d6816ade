//! Settings by `key=value`.

use toml::{Table, Value};

/// Pairs of keys of which only one makes sense: setting one drops the other.
pub(super) const EXCLUSIVE: [(&str, &str); 2] = [("steps", "epochs"), ("epochs", "steps")];

/// Changes values of a table, one after the other, but tables as a whole before their keys: `clip.threshold=2` holds beside
/// `clip={..}`, wherever it stands. The setting that cannot be applied comes back with the reason.
pub(crate) fn set_all<'a>(table: &mut Table, settings: &'a [String]) -> Result<(), (&'a String, String)> {
    let depth = |setting: &&String| setting.split('=').next().unwrap_or_default().matches('.').count();
    let mut settings: Vec<&String> = settings.iter().collect();
    settings.sort_by_key(depth);
    settings.into_iter().try_for_each(|setting| set(table, setting).map_err(|reason| (setting, reason)))
}

/// Changes one value of a table; `a.b=1` reaches into the table `a`, which takes the place of a single value, and `a=`
/// removes a value.
fn set(table: &mut Table, setting: &str) -> Result<(), String> {
    let (path, value) =
        setting.split_once('=').ok_or("settings have the form key=value, for example epsilon=2")?;
    let path = path.trim();
    let removed = value.trim().is_empty();
    if let Some((_, other)) = EXCLUSIVE.iter().find(|(key, _)| *key == path && !removed) {
        table.remove(*other);
    }
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().filter(|key| !key.is_empty()).ok_or("the key is missing")?;
    let mut inner = table;
    for key in keys {
        let entry = inner.entry(key).or_insert_with(|| Value::Table(Table::new()));
        if !entry.is_table() {
            *entry = Value::Table(Table::new());
        }
        inner = entry.as_table_mut().expect("it is a table now");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_excludes_each_other_may_come_in_any_order() {
        for settings in [["steps=5", "epochs="], ["epochs=", "steps=5"]] {
            let mut table: Table = "epochs = 3".parse().unwrap();
            set_all(&mut table, &settings.map(String::from)).unwrap();
            assert_eq!(table, "steps = 5".parse().unwrap(), "{settings:?}");
        }
    }
}
