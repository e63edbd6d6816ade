//! What is around the parts of a page: as one of several that are served, or as one file.

use super::Page;
use super::results::base64;
use crate::assets::{SCRIPT, STYLE};
use crate::html::{Element, el};
use sha2::{Digest, Sha256};

/// The pages that every other leads to.
const PLACES: [(&str, &str); 3] = [("/", "Runs"), ("/methods", "Methods"), ("/calculator", "Calculator")];

/// A page as it is served; `here` is its own address.
pub fn served(page: &Page, here: &str) -> String {
    let link = |(address, name): (&str, &str)| {
        let link = el("a").attr("href", address).text(name);
        el("li").add(if address == here { link.attr("aria-current", "page") } else { link })
    };
    let links = el("ul").all(PLACES.map(link));
    let brand = el("a").class("brand").attr("href", "/").text("muffle");
    let header = el("header").add(el("nav").attr("aria-label", "pages").add(brand).add(links));
    let head = head(&page.title)
        .add(el("link").attr("rel", "icon").attr("href", "/icon.svg"))
        .add(el("link").attr("rel", "stylesheet").attr("href", "/page.css"))
        .add(el("script").attr("src", "/page.js").flag("defer", true));
    let main = el("main").attr("id", "main").all(page.parts.iter().cloned());
    let main =
        if page.live { main.attr("data-mark", &page.mark).attr("data-form", &page.form) } else { main };
    let skip = el("a").class("skip").attr("href", "#main").text("To the contents");
    let live = el("p")
        .class("connection")
        .attr("id", "connection")
        .attr("role", "status")
        .text(if page.live { "live" } else { "" });
    document(head, el("body").add(skip).add(header).add(main).add(el("footer").add(live)))
}

/// One file that needs nothing else: what it may load is nothing, what it may run is its own script.
pub fn report(title: &str, parts: impl IntoIterator<Item = Element>) -> String {
    let digest = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())));
    let policy = format!(
        "default-src 'none'; img-src data:; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    );
    let head = el("head")
        .add(el("meta").attr("charset", "utf-8"))
        .add(el("meta").attr("http-equiv", "Content-Security-Policy").attr("content", policy))
        .markup(&inside(title))
        .markup(&format!("<style>{STYLE}</style><script>{SCRIPT}</script>"));
    let foot = el("footer").add(
        el("p")
            .text(format!("Made by muffle {}. ", env!("CARGO_PKG_VERSION")))
            .text("Figures marked as not protected are covered by no epsilon."),
    );
    document(head, el("body").class("report").add(el("main").attr("id", "main").all(parts)).add(foot))
}

/// A page about what went wrong, with what to do.
pub fn error(heading: &str, advice: &str) -> Page {
    let back = el("a").attr("href", "/").text("To the list of runs");
    let text = el("div").class("empty").add(el("p").text(advice)).add(el("p").add(back));
    Page::still(heading, vec![el("h1").text(heading), text])
}

fn head(title: &str) -> Element {
    el("head").add(el("meta").attr("charset", "utf-8")).markup(&inside(title))
}

fn inside(title: &str) -> String {
    let viewport = el("meta").attr("name", "viewport").attr("content", "width=device-width, initial-scale=1");
    let scheme = el("meta").attr("name", "color-scheme").attr("content", "light dark");
    format!("{viewport}{scheme}{}", el("title").text(title).text(" - muffle"))
}

fn document(head: Element, body: Element) -> String {
    format!("<!doctype html>\n{}", el("html").attr("lang", "en").add(head).add(body))
}
