//! What is to be filed: the recipe, what the figures leave out, the digests, and a place to sign.

use super::super::notice::{notice, section};
use crate::html::{Element, cell, el, table};
use crate::numbers::{count, epsilon};
use muffle::run::{Certificate, Parts};
use toml::{Table, Value};

/// The recipe with every question answered, without its seeds: whoever knows them knows the noise.
pub fn recipe(parts: &Parts) -> Element {
    let mut table: Table = Parts::to_toml(&parts.run, &parts.training).parse().unwrap_or_default();
    let seeds = without_seeds(&mut table);
    let text =
        el("pre").attr("tabindex", 0).add(el("code").text(toml::to_string(&table).unwrap_or_default()));
    let remark = (seeds > 0).then(|| {
        let text =
            "Seeds are left out: whoever knows them knows the noise. They stand in the folder of the run.";
        el("p").class("quiet").text(text)
    });
    section("Recipe", [text].into_iter().chain(remark))
}

/// Takes every seed out, and says how many there were.
fn without_seeds(table: &mut Table) -> usize {
    let own = usize::from(table.remove("seed").is_some());
    own + table.iter_mut().map(|(_, value)| inside(value)).sum::<usize>()
}

fn inside(value: &mut Value) -> usize {
    match value {
        Value::Table(table) => without_seeds(table),
        Value::Array(values) => values.iter_mut().map(inside).sum(),
        _ => 0,
    }
}

/// What the figures leave out.
pub fn not_covered(certificate: &Certificate) -> Element {
    let items = certificate.not_covered.iter().map(|text| el("li").text(text));
    section("What is not covered", [el("ul").all(items)])
}

/// What the certificate is about, and whether it still is.
pub fn digests(certificate: &Certificate, verified: Option<&Result<(), String>>) -> Element {
    let checked = match verified {
        Some(Ok(())) => notice(
            "good",
            "Checked just now:",
            "recipe, ledger and files are those that the certificate is about.",
        ),
        Some(Err(reason)) => notice("bad", "Not what was certified.", reason),
        None => notice("careful", "Not checked.", "`muffle report` checks a run when it is not under way."),
    };
    let binding = &certificate.binding;
    let ledger = format!("ledger, {} lines", count(binding.ledger.lines));
    let rows = [("recipe".to_string(), &binding.recipe), (ledger, &binding.ledger.sha256)];
    let files = binding.files.iter().map(|(name, digest)| (name.clone(), digest));
    let rows = rows.into_iter().chain(files);
    let rows = rows.map(|(name, digest)| [cell(name), el("td").add(el("code").text(digest))]);
    let head = ["of", "SHA-256"].map(String::from);
    let made =
        format!("muffle {}, {}, format {}", certificate.muffle, certificate.created, certificate.format);
    section(
        "Digests",
        [checked, table("digests of what was certified", head, rows), el("p").class("quiet").text(made)],
    )
}

/// A place to sign.
pub fn signature(certificate: &Certificate) -> Element {
    let proved = certificate.proved.epsilon.map_or("no proved epsilon".to_string(), |proved| {
        format!("epsilon {} at delta {}", epsilon(proved), certificate.delta)
    });
    let line = |name: &str| el("div").class("line").add(el("span").text(name));
    let text = format!("I have read this report on a run with {proved}, and what it does not cover.");
    let lines = ["name", "date", "signature"].map(line);
    section("To sign", [el("p").text(text), el("div").class("signature").all(lines)])
}
