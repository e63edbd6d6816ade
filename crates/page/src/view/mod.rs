//! One set of views, for reports and for live pages.

mod calculator;
mod curves;
mod figure;
mod list;
pub mod markdown;
mod methods;
mod notice;
mod overlay;
mod results;
mod run;
mod shell;

pub use calculator::calculator;
pub use list::{Wanted, list};
pub use methods::methods;
pub use overlay::{MOST_RUNS, overlay};
pub use results::{results, results_page};
pub use run::{Setting, run, sections as run_sections};
pub use shell::{error, report, served};

use crate::html::Element;

/// A page: its parts, and those of them that change while it is watched.
pub struct Page {
    /// In the tab of a browser.
    pub title: String,
    /// From top to bottom.
    pub parts: Vec<Element>,
    /// What changes while a run goes on, by the identifier of its element.
    pub regions: Vec<Region>,
    /// Whether anything may change.
    pub live: bool,
    /// Changes when regions alone do not tell what has changed, so that the page has to be loaded again.
    pub form: String,
    /// Another one when what is shown may have changed.
    pub mark: String,
}

/// A part of a page that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The identifier of its element.
    pub id: String,
    /// The element.
    pub html: String,
}

impl Page {
    /// A page that stays as it is.
    pub fn still(title: impl Into<String>, parts: Vec<Element>) -> Page {
        Page {
            title: title.into(),
            parts,
            regions: Vec::new(),
            live: false,
            form: String::new(),
            mark: String::new(),
        }
    }
}

impl Region {
    fn of(id: &str, element: &Element) -> Region {
        Region { id: id.to_string(), html: element.to_string() }
    }
}

/// A name as part of an address; what is not plain is written by its bytes.
pub fn address(kind: &str, name: &str) -> String {
    format!("/{kind}/{}", encoded(name))
}

fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A short text for a long one, to compare.
fn digest(text: &str) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
