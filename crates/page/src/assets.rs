//! What pages are made with, shipped inside the program.

/// The style of all pages.
pub const STYLE: &str = include_str!("../assets/page.css");
/// What a page does by itself: live values, filters, numbers beside the pointer. Everything can be read without it.
pub const SCRIPT: &str = include_str!("../assets/page.js");
/// The picture in the tab of a browser.
pub const ICON: &str = include_str!("../assets/icon.svg");
