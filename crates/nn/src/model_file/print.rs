//! Writing model files: one line for each layer, arrangements indented.

use super::ModelDescription;
use super::composite::as_residual;
use crate::config::{Edge, Entry, LayerConfig, Piece};
use crate::layers::activation::Activation;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a whole file.
pub fn model(model: &ModelDescription) -> String {
    let mut text = format!("input = {:?}\nlayers = ", model.input.sizes());
    list(&mut text, &model.layers, 0, entry);
    text.push('\n');
    text
}

/// A list with one line, or more, for each item.
fn list<T>(text: &mut String, items: &[T], depth: usize, write: impl Fn(&mut String, &T, usize)) {
    text.push('[');
    for item in items {
        *text += &format!("\n{}", "  ".repeat(depth + 1));
        write(text, item, depth + 1);
        text.push(',');
    }
    if !items.is_empty() {
        *text += &format!("\n{}", "  ".repeat(depth));
    }
    text.push(']');
}

fn entry(text: &mut String, entry: &Entry, depth: usize) {
    *text += "{ ";
    if let Some(name) = &entry.name {
        *text += &format!("name = {}, ", toml::Value::from(name.as_str()));
    }
    match &entry.piece {
        Piece::Layer(layer) => *text += &options::<LayerConfig>(layer),
        Piece::Custom(layer) => *text += &format!("type = {}", toml::Value::from(layer.kind())),
        Piece::Activation(activation) => *text += &options::<Activation>(activation),
        Piece::Sequential(layers) => composite(text, "sequential", &[("layers", layers)], depth),
        Piece::Sum(branches) => match as_residual(branches) {
            Some((layers, [])) => composite(text, "residual", &[("layers", layers)], depth),
            Some((layers, shortcut)) => {
                let parts = [("layers", layers), ("shortcut", shortcut)];
                composite(text, "residual", &parts, depth);
            }
            None => composite(text, "sum", &[("branches", branches)], depth),
        },
        Piece::Concat(branches) => composite(text, "concat", &[("branches", branches)], depth),
        Piece::Graph(graph) => {
            *text += &format!("type = \"graph\", outputs = {:?}, edges = ", graph.outputs);
            list(text, &graph.edges, depth, edge);
        }
    }
    *text += " }";
}

fn composite(text: &mut String, kind: &str, parts: &[(&str, &[Entry])], depth: usize) {
    *text += &format!("type = \"{kind}\"");
    for (key, entries) in parts {
        *text += &format!(", {key} = ");
        list(text, entries, depth, entry);
    }
}

fn edge(text: &mut String, edge: &Edge, depth: usize) {
    *text += &format!("{{ from = {}, to = {}", edge.from, edge.to);
    if !edge.layers.is_empty() {
        *text += ", layers = ";
        list(text, &edge.layers, depth, entry);
    }
    *text += " }";
}

/// `key = value` pairs, without those that are default anyway.
fn options<T: Serialize + DeserializeOwned + PartialEq>(options: &T) -> String {
    // Options are numbers, words and short lists, so every line of the TOML text is one pair.
    let text = toml::to_string(options).unwrap_or_default();
    let mut lines: Vec<&str> = text.lines().collect();
    let mut index = 0;
    while index < lines.len() {
        let line = lines.remove(index);
        if toml::from_str::<T>(&lines.join("\n")).ok().as_ref() != Some(options) {
            lines.insert(index, line);
            index += 1;
        }
    }
    lines.join(", ")
}
