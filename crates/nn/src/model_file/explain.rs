//! What is wrong with a file, in words of its own: parsers speak of variants, fields and types of the program.

use super::nearest::nearest;

/// What is wrong with a TOML file or table: the place, then what would be right. `others` are keys that are known beside those
/// that the error lists.
pub fn toml_error(error: &toml::de::Error, others: &[&str]) -> String {
    let (whole, message) = (error.to_string(), error.message().trim_end());
    let reason = explain(message, others);
    if error.span().is_some() {
        // The line, with a mark below what is meant.
        return whole.trim_end().replace(message, &reason);
    }
    let place = whole.lines().find_map(|line| line.strip_prefix("in "));
    place.map_or(reason.clone(), |place| format!("{place}: {reason}"))
}

/// What is wrong with a JSON file: the place, then what would be right.
pub fn json_error(error: &serde_json::Error) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    let whole = error.to_string();
    let message = whole.rsplit_once(" at line ").map_or(&whole[..], |(message, _)| message);
    match error.classify() {
        serde_json::error::Category::Data => format!("{place}: {}", explain(message, &[])),
        serde_json::error::Category::Io => message.to_string(),
        serde_json::error::Category::Eof => format!("{place}: the file ends in the middle of JSON"),
        serde_json::error::Category::Syntax => format!("{place}: this is no JSON ({message})"),
    }
}

/// A message of serde in words of its own.
fn explain(message: &str, others: &[&str]) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = |what: &str, others: &[&str]| {
        let (word, known) = quoted.split_first().map_or(("", &[][..]), |(word, known)| (*word, known));
        let meant = nearest(word, known.iter().chain(others).copied());
        let meant = meant.map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"));
        let known = match known {
            [] => String::new(),
            [one] => format!("; the only one is `{one}`"),
            several => format!("; the known ones are `{}`", several.join("`, `")),
        };
        format!("unknown {what} `{word}`{meant}{known}")
    };
    let expected = |text: &str| {
        let (found, expected) = text.split_once(", expected ")?;
        Some(format!("found {}, expected {}", found_in_words(found), expected_in_words(expected)))
    };
    let told = match message.split_once(' ') {
        Some(("unknown", rest)) if rest.starts_with("field") => Some(unknown("key", others)),
        Some(("unknown", rest)) if rest.starts_with("variant") => Some(unknown("word", &[])),
        Some(("missing", _)) => quoted.first().map(|key| format!("`{key}` is missing")),
        Some(("duplicate", _)) => quoted.first().map(|key| format!("`{key}` is there twice")),
        Some(("invalid", rest)) => match rest.split_once(": ") {
            Some(("type" | "value", rest)) => expected(rest),
            _ if rest.starts_with("length ") => expected(rest),
            // Parsers have a word for what breaks their grammar.
            _ => None,
        },
        Some(("u64", _)) => Some("the number is too large".to_string()),
        Some(("cannot", rest)) if rest.starts_with("recurse") => {
            Some("lists or tables lie too deep within each other".to_string())
        }
        Some(("data", rest)) if rest.starts_with("did not match") => {
            Some("this has none of the forms that it may have".to_string())
        }
        _ => None,
    };
    told.unwrap_or_else(|| message.to_string())
}

/// What was found, without the name of its type.
fn found_in_words(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    match (kind, value) {
        ("string", text) => format!("the text {text}"),
        ("length", count) => format!("a list of {count}"),
        ("integer" | "boolean" | "character", value) => value.trim_matches('`').to_string(),
        ("floating", value) => value.trim_start_matches("point ").trim_matches('`').to_string(),
        ("map", _) => "a table".to_string(),
        ("sequence", _) => "a list".to_string(),
        ("null" | "Option", _) => "nothing".to_string(),
        _ => "something else".to_string(),
    }
}

/// What would be right, without the name of a type of the program.
fn expected_in_words(expected: &str) -> String {
    let first = expected.split(' ').next().unwrap_or_default();
    match (first, expected) {
        ("f32" | "f64", _) => "a number".to_string(),
        ("u8" | "u16" | "u32" | "u64" | "usize", _) => "a whole number, 0 or more".to_string(),
        ("i8" | "i16" | "i32" | "i64" | "isize", _) => "a whole number".to_string(),
        (_, "a boolean") => "true or false".to_string(),
        (_, "a string" | "string only" | "a borrowed string") => "a text".to_string(),
        (_, "string or map" | "variant identifier" | "field identifier") => {
            "one of the known words".to_string()
        }
        (_, "a sequence") => "a list".to_string(),
        ("internally" | "adjacently" | "enum", _) => "a table that says its kind".to_string(),
        ("struct" | "variant", _) | (_, "a map" | "struct variant") => "a table".to_string(),
        (_, text) => match text.strip_prefix("an array of length ").or(text.strip_prefix("a tuple of size "))
        {
            Some(count) => format!("a list of {count}"),
            None => text.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::fmt::Debug;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "they are only read")]
    struct Outer {
        count: u64,
        rate: Option<f64>,
        on: Option<bool>,
        name: Option<String>,
        pair: Option<[f64; 2]>,
        kind: Option<Kind>,
        shape: Option<Shape>,
        names: Option<Vec<String>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        One,
        Two,
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
    #[allow(dead_code, reason = "they are only read")]
    enum Shape {
        Round { radius: f64 },
    }

    /// Every way to be wrong that the files here have, in TOML and in JSON.
    #[test]
    fn no_word_of_the_parser_is_left() {
        let cases = [
            (r#"{"cuont": 1}"#, "unknown key `cuont` (did you mean `count`?)"),
            (r#"{"count": "x"}"#, "found the text \"x\", expected a whole number, 0 or more"),
            (r#"{"count": -1}"#, "found -1, expected a whole number, 0 or more"),
            (r#"{"count": 1.5}"#, "found 1.5, expected a whole number"),
            (r#"{"rate": 1}"#, "`count` is missing"),
            (r#"{"count": 1, "rate": "x"}"#, "expected a number"),
            (r#"{"count": 1, "on": 3}"#, "found 3, expected true or false"),
            (r#"{"count": 1, "name": 3}"#, "found 3, expected a text"),
            (r#"{"count": 1, "name": [3]}"#, "found a list, expected a text"),
            (r#"{"count": 1, "pair": [1.0]}"#, "found a list of 1, expected a list of 2"),
            (r#"{"count": 1, "names": 3}"#, "found 3, expected a list"),
            (
                r#"{"count": 1, "kind": "tow"}"#,
                "unknown word `tow` (did you mean `two`?); the known ones are `one`, `two`",
            ),
            (r#"{"count": 1, "shape": 3}"#, "found 3, expected a table that says its kind"),
            (r#"{"count": 1, "shape": {}}"#, "`kind` is missing"),
            (r#"{"count": 1, "shape": {"kind": "round"}}"#, "`radius` is missing"),
            (
                r#"{"count": 1, "shape": {"kind": "round", "radios": 1.0}}"#,
                "unknown key `radios` (did you mean `radius`?)",
            ),
        ];
        for (json, told) in cases {
            let from_json = json_error(&serde_json::from_str::<Outer>(json).unwrap_err());
            assert!(
                from_json.starts_with("line 1, column ") && from_json.contains(told),
                "{json}: {from_json}"
            );
            let value: toml::Table = serde_json::from_str(json).unwrap();
            let from_table = toml_error(&value.clone().try_into::<Outer>().unwrap_err(), &[]);
            let text = toml::to_string(&value).unwrap();
            let from_text = toml_error(&toml::from_str::<Outer>(&text).unwrap_err(), &[]);
            for shown in [&from_table, &from_text] {
                assert!(shown.contains(told), "{json}: {shown}");
            }
            for shown in [from_json, from_table, from_text] {
                let words = ["field", "variant", "enum", "struct", "u64", "f64", "usize", "invalid"];
                assert!(!words.iter().any(|word| shown.contains(word)), "{shown}");
            }
        }
    }

    #[test]
    fn the_place_is_told() {
        let table: toml::Table = "count = 1\npair = [1, 'x']".parse().unwrap();
        let shown = toml_error(&table.try_into::<Outer>().unwrap_err(), &[]);
        assert!(shown.starts_with("`pair"), "{shown}");
        let shown = toml_error(&toml::from_str::<Outer>("count = 1\nrate = 'x'").unwrap_err(), &[]);
        assert!(shown.contains("line 2") && shown.contains("rate = 'x'"), "{shown}");
        let shown = toml_error(&toml::from_str::<Outer>("name = 'x").unwrap_err(), &[]);
        assert!(shown.contains("line 1") && !shown.contains("something else"), "{shown}");
        let shown = json_error(&serde_json::from_str::<Outer>("{\"count\": 1,\n}").unwrap_err());
        assert!(shown.starts_with("line 2, column 1: this is no JSON"), "{shown}");
        let shown = json_error(&serde_json::from_str::<Outer>("{\"count\": 1").unwrap_err());
        assert!(shown.contains("ends in the middle"), "{shown}");
    }
}
