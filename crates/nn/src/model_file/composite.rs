//! How arrangements of layers are written.

use crate::config::{Entry, Piece};

/// The arrangements and their keys.
pub const COMPOSITES: [(&str, &[&str]); 5] = [
    ("sequential", &["layers"]),
    ("sum", &["branches"]),
    ("residual", &["layers", "shortcut"]),
    ("concat", &["branches"]),
    ("graph", &["edges", "outputs"]),
];

/// Name of the second branch of a residual arrangement.
const SHORTCUT: &str = "shortcut";

/// The sum of layers and of a way around them, which is the input itself if `shortcut` is empty.
pub fn residual(layers: Vec<Entry>, shortcut: Vec<Entry>) -> Piece {
    Piece::Sum(vec![
        Entry::named("", Piece::Sequential(layers)),
        Entry::named(SHORTCUT, Piece::Sequential(shortcut)),
    ])
}

/// The two lists of a sum that [`residual`] could have made.
pub fn as_residual(branches: &[Entry]) -> Option<(&[Entry], &[Entry])> {
    let [layers, shortcut] = branches else { return None };
    match (&layers.piece, &shortcut.piece) {
        (Piece::Sequential(inner), Piece::Sequential(around))
            if layers.name.as_deref() == Some("") && shortcut.name.as_deref() == Some(SHORTCUT) =>
        {
            Some((inner, around))
        }
        _ => None,
    }
}
