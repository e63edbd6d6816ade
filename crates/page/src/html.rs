//! HTML from elements. Text and attributes are escaped where they are put in, so that nothing read from a file becomes markup.

use crate::escape::push;
use std::fmt::{self, Display};

/// Elements without an end.
const VOID: [&str; 5] = ["input", "meta", "link", "img", "br"];

/// An element with its attributes and what is inside.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    attributes: String,
    inner: String,
}

/// A new element.
pub fn el(name: &'static str) -> Element {
    Element { name, attributes: String::new(), inner: String::new() }
}

impl Element {
    /// With an attribute.
    pub fn attr(mut self, name: &str, value: impl Display) -> Element {
        self.attributes.push(' ');
        self.attributes.push_str(name);
        self.attributes.push_str("=\"");
        push(&mut self.attributes, value);
        self.attributes.push('"');
        self
    }

    /// With an attribute that has no value, on a condition.
    pub fn flag(mut self, name: &str, set: bool) -> Element {
        if set {
            self.attributes.push(' ');
            self.attributes.push_str(name);
        }
        self
    }

    /// With a class for the style.
    pub fn class(self, name: &str) -> Element {
        self.attr("class", name)
    }

    /// With text behind what is there.
    pub fn text(mut self, text: impl Display) -> Element {
        push(&mut self.inner, text);
        self
    }

    /// With an element behind what is there.
    pub fn add(mut self, element: Element) -> Element {
        self.inner.push_str(&element.to_string());
        self
    }

    /// With several.
    pub fn all(self, elements: impl IntoIterator<Item = Element>) -> Element {
        elements.into_iter().fold(self, Element::add)
    }

    /// With markup that this crate has made, such as a drawing.
    pub(crate) fn markup(mut self, markup: &str) -> Element {
        self.inner.push_str(markup);
        self
    }
}

impl Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Element { name, attributes, inner } = self;
        match VOID.contains(name) {
            true => writeln!(formatter, "<{name}{attributes}>"),
            false => writeln!(formatter, "<{name}{attributes}>{inner}</{name}>"),
        }
    }
}

/// A table with a caption for whoever does not see where it stands.
pub fn table<Row: IntoIterator<Item = Element>>(
    caption: &str,
    head: impl IntoIterator<Item = String>,
    rows: impl IntoIterator<Item = Row>,
) -> Element {
    let head = head.into_iter().map(|name| el("th").attr("scope", "col").text(name));
    let rows = rows.into_iter().map(|row| el("tr").all(row));
    let table = el("table")
        .add(el("caption").text(caption))
        .add(el("thead").add(el("tr").all(head)))
        .add(el("tbody").all(rows));
    // A wide table moves within its own frame, which the keyboard reaches.
    el("div")
        .class("scroll")
        .attr("tabindex", 0)
        .attr("role", "region")
        .attr("aria-label", caption)
        .add(table)
}

/// A cell of text.
pub fn cell(text: impl Display) -> Element {
    el("td").text(text)
}

/// A cell with a number, which stands to the right.
pub fn figure_cell(text: impl Display) -> Element {
    el("td").class("number").text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_stays_text() {
        let made = el("p").attr("title", "\" onload=\"x").text("<script>").add(el("b").text("&"));
        assert_eq!(made.to_string(), "<p title=\"&quot; onload=&quot;x\">&lt;script&gt;<b>&amp;</b>\n</p>\n");
        assert_eq!(
            el("input").attr("type", "text").flag("checked", true).to_string(),
            "<input type=\"text\" checked>\n"
        );
    }
}
