//! What has to be said before a figure is read.

use crate::html::{Element, el};

/// A paragraph that stands out.
pub fn notice(kind: &str, heading: &str, text: &str) -> Element {
    let strong = el("strong").text(heading);
    el("p").class(&format!("notice {kind}")).add(strong).text(" ").text(text)
}

/// A mark beside a heading over figures that no epsilon covers.
pub fn unprotected() -> Element {
    el("span").class("mark").text("not protected")
}

/// A section with its heading.
pub fn section(heading: &str, parts: impl IntoIterator<Item = Element>) -> Element {
    el("section").add(el("h2").text(heading)).all(parts)
}

/// The same over figures that no epsilon covers.
pub fn unprotected_section(heading: &str, parts: impl IntoIterator<Item = Element>) -> Element {
    el("section").add(el("h2").text(heading).text(" ").add(unprotected())).all(parts)
}

/// Pairs of a name and what it stands for.
pub fn facts<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Element {
    let pairs = pairs.into_iter().filter(|pair| !pair.1.is_empty());
    el("dl")
        .class("facts")
        .all(pairs.map(|(name, value)| el("div").add(el("dt").text(name)).add(el("dd").text(value))))
}
