//! Results of a comparison, a sweep, a study, an audit or an attack: their text, their plots, their runs.

use super::figure::figures;
use super::list::{rows, table_of_runs};
use super::markdown;
use super::notice::{notice, section, unprotected_section};
use super::{Page, digest};
use crate::folder::{Picture, Stamp, State, Summary};
use crate::html::{Element, el};
use crate::results::{PLOTS, Plots, TEXT, plots, text};
use std::path::Path;

/// The parts of a folder with results, and its runs if there are any.
pub fn results(name: &str, folder: &Path, runs: &[&Summary], linked: bool) -> Vec<Element> {
    let Plots { caution, panels, .. } = plots(folder);
    let text = text(folder);
    let mut parts = markdown::elements(&text);
    if !text.starts_with("# ") {
        parts.insert(0, el("h1").text(name));
    }
    if text.is_empty() {
        let advice = "There are no results yet. They are written when the command that works in this folder ends, or is interrupted.";
        parts.push(el("p").class("quiet").text(advice));
    }
    if !caution.is_empty() {
        parts.insert(1, notice("careful", "Not protected.", &caution));
    }
    let drawn = panels.iter().any(|panel| !panel.is_empty());
    if drawn {
        parts.push(match caution.is_empty() {
            true => section("Plots", [figures(&panels)]),
            false => unprotected_section("Plots", [figures(&panels)]),
        });
    }
    // Where plots are there as data, the drawings beside them show the same.
    let left: Vec<Picture> =
        Picture::all(folder).into_iter().filter(|picture| !(picture.drawing && drawn)).collect();
    parts.extend(pictures("Pictures in this folder", &left));
    if !runs.is_empty() {
        parts.push(section("Runs", [table_of_runs(runs, linked)]));
    }
    parts
}

/// The same as a page, whose runs may be under way.
pub fn results_page(name: &str, folder: &Path, runs: &[&Summary], version: u64) -> Page {
    let live = runs.iter().any(|run| run.state != State::Finished);
    let (regions, written) = (rows(runs), Stamp::of(folder, &[TEXT, PLOTS]));
    let names: Vec<&str> = regions.iter().map(|region| region.id.as_str()).collect();
    let form = digest(&format!("{names:?} {written:?}"));
    Page {
        live,
        form,
        regions,
        mark: version.to_string(),
        ..Page::still(name, results(name, folder, runs, true))
    }
}

/// Pictures within the page itself. As an image a drawing can neither run anything nor fetch anything.
pub fn pictures(heading: &str, pictures: &[Picture]) -> Option<Element> {
    let shown = pictures.iter().filter_map(|picture| {
        let kind = if picture.drawing { "image/svg+xml" } else { "image/png" };
        let source = format!("data:{kind};base64,{}", base64(picture.bytes.as_ref()?));
        let image = el("img").attr("src", source).attr("alt", format!("picture {}", picture.name));
        Some(el("figure").add(image).add(el("figcaption").text(&picture.name)))
    });
    let left = pictures.iter().filter(|picture| picture.bytes.is_none()).count();
    let more = (left > 0).then(|| el("p").class("quiet").text(format!("{left} more lie in the folder.")));
    (!pictures.is_empty())
        .then(|| section(heading, [el("div").class("pictures").all(shown)].into_iter().chain(more)))
}

/// Bytes as letters.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number =
            three.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_letters_of_the_standard() {
        // RFC 4648, section 10.
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
