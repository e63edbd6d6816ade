//! Reading model files. Every error says where it is and what would be right.

use super::ModelDescription;
use super::composite::{COMPOSITES, residual};
use super::nearest::nearest;
use super::value::{Problem, from_entries, kinds};
use crate::config::{Edge, Entry, Graph, LayerConfig, Piece};
use crate::error::{Error, Result};
use crate::layers::activation::Activation;
use crate::shape::Shape;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a whole file.
pub fn model(text: &str) -> Result<ModelDescription> {
    let table =
        DeTable::parse(text).map_err(|error| Error::Description(error.to_string().trim_end().to_string()))?;
    let reader = Reader { text };
    let everything =
        Table { reader: &reader, path: "the model file".to_string(), span: 0..0, entries: table.get_ref() };
    everything.only(&["input", "layers"])?;
    let input = everything.need("input")?;
    let sizes = everything.numbers("input", input)?;
    let input = Shape::from_sizes(&sizes).ok_or_else(|| {
        everything.fail(
            input.span(),
            &format!(
                "`input` has {} sizes; write [features], [steps, features] or [channels, height, width]",
                sizes.len()
            ),
        )
    })?;
    let layers = reader.entries(everything.need("layers")?, "layers")?;
    Ok(ModelDescription { input, layers })
}

/// The text, for line numbers.
struct Reader<'a> {
    text: &'a str,
}

/// A table and its place in the file.
struct Table<'a> {
    reader: &'a Reader<'a>,
    path: String,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
}

impl<'a> Reader<'a> {
    fn fail(&self, span: Range<usize>, path: &str, message: &str) -> Error {
        let line = 1 + self.text[..span.start.min(self.text.len())].matches('\n').count();
        Error::Description(format!("line {line}: {path}: {message}"))
    }

    fn array(&self, value: &'a Spanned<DeValue<'a>>, path: &str) -> Result<&'a [Spanned<DeValue<'a>>]> {
        match value.get_ref() {
            DeValue::Array(values) => Ok(values),
            _ => Err(self.fail(value.span(), path, "this must be a list")),
        }
    }

    fn table(&'a self, value: &'a Spanned<DeValue<'a>>, path: String) -> Result<Table<'a>> {
        match value.get_ref() {
            DeValue::Table(entries) => Ok(Table { reader: self, path, span: value.span(), entries }),
            _ => Err(self.fail(value.span(), &path, "this must be a table such as { type = \"relu\" }")),
        }
    }

    fn entries(&'a self, value: &'a Spanned<DeValue<'a>>, path: &str) -> Result<Vec<Entry>> {
        self.array(value, path)?
            .iter()
            .enumerate()
            .map(|(index, value)| self.table(value, format!("{path}[{index}]"))?.entry())
            .collect()
    }
}

impl<'a> Table<'a> {
    fn fail(&self, span: Range<usize>, message: &str) -> Error {
        self.reader.fail(span, &self.path, message)
    }

    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.entries.get(key)
    }

    fn need(&self, key: &str) -> Result<&'a Spanned<DeValue<'a>>> {
        self.get(key).ok_or_else(|| self.fail(self.span.clone(), &format!("`{key}` is missing")))
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match value.get_ref() {
                DeValue::String(text) => Ok(Some(text)),
                _ => Err(self.fail(value.span(), &format!("`{key}` must be a string"))),
            },
        }
    }

    fn number(&self, key: &str, value: &Spanned<DeValue>) -> Result<usize> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number.ok_or_else(|| self.fail(value.span(), &format!("`{key}` must be a whole number, 0 or more")))
    }

    fn numbers(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Result<Vec<usize>> {
        let values = self.reader.array(value, &format!("{}: `{key}`", self.path))?;
        values.iter().map(|value| self.number(key, value)).collect()
    }

    /// Refuses keys that mean nothing here.
    fn only(&self, known: &[&str]) -> Result<()> {
        match self.entries.iter().find(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some((key, _)) => Err(self.unknown_key(key.get_ref(), known)),
        }
    }

    fn unknown_key(&self, key: &str, known: &[&str]) -> Error {
        let span = self
            .entries
            .iter()
            .find(|(candidate, _)| candidate.get_ref() == key)
            .map_or(self.span.clone(), |(candidate, _)| candidate.span());
        let mut message = format!("unknown key `{key}`");
        if let Some(word) = nearest(key, known.iter().copied()) {
            message += &format!(" (did you mean `{word}`?)");
        }
        message += &match known {
            [] => "; it has no options".to_string(),
            _ => format!("; it takes {}", known.join(", ")),
        };
        self.fail(span, &message)
    }

    /// The table as one piece of a network.
    fn entry(mut self) -> Result<Entry> {
        let Some(kind) = self.text("type")? else {
            return Err(self.fail(
                self.span.clone(),
                &format!("`type` is missing; the known types are {}", known_kinds().join(", ")),
            ));
        };
        let name = self.text("name")?.map(str::to_string);
        let path = std::mem::take(&mut self.path);
        let named = Table { path: format!("{path} ({kind})"), ..self };
        let piece = if let Some((_, keys)) = COMPOSITES.iter().find(|(composite, _)| *composite == kind) {
            named.only(&[&["type", "name"], *keys].concat())?;
            named.composite(kind, &path)?
        } else if kinds::<Activation>().contains(&kind) {
            Piece::Activation(named.options()?)
        } else if kinds::<LayerConfig>().contains(&kind) {
            Piece::Layer(named.options()?)
        } else {
            let known = known_kinds();
            let mut message = format!("unknown type `{kind}`");
            if let Some(word) = nearest(kind, known.iter().copied()) {
                message += &format!(" (did you mean `{word}`?)");
            }
            message += &format!("; the known types are {}", known.join(", "));
            let span = named.get("type").map_or(named.span.clone(), Spanned::span);
            return Err(named.reader.fail(span, &path, &message));
        };
        Ok(Entry { name, piece })
    }

    fn composite(&self, kind: &str, path: &str) -> Result<Piece> {
        let entries = |key: &str| self.reader.entries(self.need(key)?, &format!("{path}.{key}"));
        Ok(match kind {
            "sequential" => Piece::Sequential(entries("layers")?),
            "sum" => Piece::Sum(entries("branches")?),
            "concat" => Piece::Concat(entries("branches")?),
            "residual" => {
                let shortcut = if self.get("shortcut").is_some() { entries("shortcut")? } else { Vec::new() };
                residual(entries("layers")?, shortcut)
            }
            _ => Piece::Graph(self.graph(path)?),
        })
    }

    fn graph(&self, path: &str) -> Result<Graph> {
        let mut edges = Vec::new();
        let list = self.reader.array(self.need("edges")?, &format!("{path}.edges"))?;
        for (index, value) in list.iter().enumerate() {
            let path = format!("{path}.edges[{index}]");
            let edge = self.reader.table(value, path.clone())?;
            edge.only(&["from", "to", "layers"])?;
            let layers = match edge.get("layers") {
                Some(layers) => self.reader.entries(layers, &format!("{path}.layers"))?,
                None => Vec::new(),
            };
            edges.push(Edge {
                from: edge.number("from", edge.need("from")?)?,
                to: edge.number("to", edge.need("to")?)?,
                layers,
            });
        }
        let outputs = self.numbers("outputs", self.need("outputs")?)?;
        Ok(Graph { edges, outputs })
    }

    /// The options of a layer or an activation.
    fn options<T: DeserializeOwned + Serialize>(&self) -> Result<T> {
        let entries: Vec<(&str, &DeValue)> = self
            .entries
            .iter()
            .map(|(key, value)| (key.get_ref().as_ref(), value.get_ref()))
            .filter(|(key, _)| *key != "name")
            .collect();
        let options: T = from_entries(&entries).map_err(|problem| self.explain::<T>(problem, &entries))?;
        // Serde lets everything pass behind a type without options.
        let known = toml::Table::try_from(&options).unwrap_or_default();
        match entries.iter().find(|(key, _)| !known.contains_key(*key)) {
            None => Ok(options),
            Some((key, _)) => Err(self.unknown_key(key, &[])),
        }
    }

    fn explain<T: DeserializeOwned>(&self, problem: Problem, entries: &[(&str, &DeValue)]) -> Error {
        match problem {
            Problem::UnknownKey(key, known) => self.unknown_key(&key, known),
            Problem::Other(message) => {
                // The culprit is the entry without which the complaint would be another.
                let complaint = Err(Problem::Other(message.clone()));
                let culprit = entries.iter().find(|(key, _)| {
                    let others: Vec<_> = entries.iter().copied().filter(|(other, _)| other != key).collect();
                    *key != "type" && from_entries::<T>(&others).map(|_| ()) != complaint
                });
                match culprit.and_then(|(key, _)| Some((key, self.get(key)?))) {
                    Some((key, value)) => self.fail(value.span(), &format!("`{key}`: {message}")),
                    None => self.fail(self.span.clone(), &message),
                }
            }
            other => self.fail(self.span.clone(), &other.to_string()),
        }
    }
}

/// Every type an entry may have.
fn known_kinds() -> Vec<&'static str> {
    let composites = COMPOSITES.iter().map(|(kind, _)| *kind);
    let layers = kinds::<LayerConfig>().iter().copied();
    layers.chain(kinds::<Activation>().iter().copied()).chain(composites).collect()
}
