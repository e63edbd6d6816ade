//! From TOML values to options of layers, with errors that say which options there are.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;
use toml::de::DeValue;

/// Why a table is not what it should be.
#[derive(Debug, PartialEq)]
pub enum Problem {
    /// The `type` is not among the known ones.
    UnknownType(&'static [&'static str]),
    /// An option is not among the known ones.
    UnknownKey(String, &'static [&'static str]),
    /// A needed option is missing.
    MissingKey(&'static str),
    /// Anything else.
    Other(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::UnknownType(_) => write!(formatter, "unknown type"),
            Problem::UnknownKey(key, _) => write!(formatter, "unknown key `{key}`"),
            Problem::MissingKey(key) => write!(formatter, "`{key}` is missing"),
            Problem::Other(message) => write!(formatter, "{message}"),
        }
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Problem {
        Problem::Other(message.to_string())
    }

    fn invalid_type(found: de::Unexpected, expected: &dyn de::Expected) -> Problem {
        let expected = match expected.to_string().as_str() {
            "usize" => "a whole number, 0 or more".to_string(),
            "f32" => "a number".to_string(),
            other => other.to_string(),
        };
        Problem::Other(format!("found {found}, expected {expected}"))
    }

    fn invalid_value(found: de::Unexpected, expected: &dyn de::Expected) -> Problem {
        Problem::invalid_type(found, expected)
    }

    fn unknown_variant(_variant: &str, expected: &'static [&'static str]) -> Problem {
        Problem::UnknownType(expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Problem {
        Problem::UnknownKey(field.to_string(), expected)
    }

    fn missing_field(field: &'static str) -> Problem {
        Problem::MissingKey(field)
    }
}

/// Reads options from the entries of a table.
pub fn from_entries<T: DeserializeOwned>(entries: &[(&str, &DeValue)]) -> Result<T, Problem> {
    let entries = entries.iter().map(|&(key, value)| (key, Value(value)));
    T::deserialize(MapDeserializer::new(entries))
}

/// The words that may stand for `type` in a tagged enum.
pub fn kinds<T: DeserializeOwned>() -> &'static [&'static str] {
    match from_entries::<T>(&[("type", &DeValue::String("".into()))]) {
        Err(Problem::UnknownType(kinds)) => kinds,
        _ => &[],
    }
}

/// A TOML value as serde wants to see it.
#[derive(Clone, Copy)]
struct Value<'a, 'i>(&'a DeValue<'i>);

impl<'de> IntoDeserializer<'de, Problem> for Value<'_, '_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Value<'_, '_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => Err(Problem::Other(format!("{number} is out of range"))),
            },
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() => visitor.visit_f64(number),
                _ => Err(Problem::Other(format!("{number} is not a finite number"))),
            },
            DeValue::Boolean(value) => visitor.visit_bool(*value),
            DeValue::Array(values) => {
                let values = values.iter().map(|value| Value(value.get_ref()));
                visitor.visit_seq(SeqDeserializer::new(values))
            }
            DeValue::Datetime(_) => Err(Problem::Other("a date is not an option".to_string())),
            DeValue::Table(_) => Err(Problem::Other("a table is not an option".to_string())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
