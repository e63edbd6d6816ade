//! Values of recipe keys, combined with each other.

use crate::recipes::key;
use sha2::{Digest, Sha256};

/// One key and the values it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// A key of the recipe; `clip.threshold` reaches into a table.
    pub key: String,
    /// Its values, as in a setting.
    pub values: Vec<String>,
}

impl Axis {
    /// Reads `key=value,value,…`, the value of a command's option; commas inside brackets, braces and quotes belong to the value.
    pub fn parse(option: &str, text: &str) -> Result<Axis, String> {
        let fail = |reason: &str| Err(format!("{option} {text}: {reason}"));
        let Some((key, values)) = text.split_once('=') else {
            return fail("give key=value,value, for example learning_rate=0.5,1,2");
        };
        let key = key.trim().to_string();
        if OWN_KEYS.contains(&key.as_str()) {
            return fail(OWN);
        }
        let values = split(values);
        if key.is_empty() || values.iter().any(String::is_empty) {
            return fail("a key and its values must not be empty");
        }
        let repeated = values.iter().enumerate().find(|(place, value)| values[..*place].contains(value));
        match repeated {
            Some((_, value)) => fail(&format!("the value {value} is there twice")),
            None => Ok(Axis { key, values }),
        }
    }

    /// Every combination of one value from each axis; the last axis varies first.
    pub fn combinations(axes: &[Axis]) -> Vec<Vec<String>> {
        axes.iter().fold(vec![Vec::new()], |rows, axis| {
            let longer = |row: &Vec<String>| {
                let row = row.clone();
                axis.values.iter().map(move |value| [&row[..], std::slice::from_ref(value)].concat())
            };
            rows.iter().flat_map(longer).collect()
        })
    }

    /// The name of a folder for a combination, different for different combinations.
    pub fn folder_name(axes: &[Axis], levels: &[String]) -> String {
        let pairs: Vec<String> =
            axes.iter().zip(levels).map(|(axis, level)| format!("{}={level}", axis.key)).collect();
        let (plain, readable) =
            (pairs.join("+"), |letter: char| letter.is_ascii_alphanumeric() || "=+._-".contains(letter));
        let name: String =
            plain.chars().map(|letter| if readable(letter) { letter } else { '_' }).take(120).collect();
        if name == plain {
            return name;
        }
        // What was left out tells combinations apart.
        let digest = Sha256::digest(plain.as_bytes());
        format!("{name}-{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3])
    }
}

/// Cuts at commas outside of brackets, braces and quotes.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quote) = (vec![String::new()], 0, None);
    for letter in text.chars() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            ('{' | '[', None) => depth += 1,
            ('}' | ']', None) => depth -= 1,
            (',', None) if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("there is always a part").push(letter);
    }
    parts.iter().map(|part| part.trim().to_string()).collect()
}

/// Refuses settings that an experiment decides itself.
pub fn check_settings(settings: &[String]) -> Result<(), String> {
    match settings.iter().find(|setting| OWN_KEYS.contains(&key(setting))) {
        Some(setting) => Err(format!("--set {setting}: {OWN}")),
        None => Ok(()),
    }
}

/// Keys that an experiment sets for every cell.
const OWN_KEYS: [&str; 2] = ["seed", "threads"];
const OWN: &str = "seeds are given by --seeds, and every run has one thread";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_commas_of_their_own_stay_whole() {
        let axis = Axis::parse("--grid", "optimizer={kind=\"sgd\", momentum=0.9},{kind=\"adam\"}").unwrap();
        assert_eq!(axis.key, "optimizer");
        assert_eq!(axis.values, ["{kind=\"sgd\", momentum=0.9}", "{kind=\"adam\"}"]);
        assert_eq!(Axis::parse("--grid", "learning_rate=0.5, 1").unwrap().values, ["0.5", "1"]);
    }

    #[test]
    fn combinations_and_their_folders_are_different() {
        let axes = ["a=1,2", "b=x y,x_y,z"].map(|text| Axis::parse("--grid", text).unwrap());
        let rows = Axis::combinations(&axes);
        assert_eq!(rows.len(), 6);
        assert_eq!(rows[1], ["1", "x_y"]);
        let names: std::collections::BTreeSet<String> =
            rows.iter().map(|row| Axis::folder_name(&axes, row)).collect();
        assert_eq!(names.len(), 6);
        assert!(names.contains("a=2+b=z") && names.iter().all(|name| !name.contains(' ')));
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        for (text, part) in [
            ("learning_rate", "key=value"),
            ("=1", "must not be empty"),
            ("a=1,,2", "must not be empty"),
            ("a=1,1", "there twice"),
            ("seed=1,2", "--seeds"),
        ] {
            let message = Axis::parse("--grid", text).unwrap_err();
            assert!(message.contains(part) && message.contains(text), "{message}");
        }
        assert!(
            check_settings(&["steps=5".into()]).is_ok() && check_settings(&["threads=2".into()]).is_err()
        );
    }
}
