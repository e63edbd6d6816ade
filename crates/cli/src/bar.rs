//! How far several trainings are together.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar of steps on a terminal; nothing elsewhere, or if it is not wanted.
pub fn bar(what: &str, steps: u64, quiet: bool) -> ProgressBar {
    let shown = !quiet && std::io::stderr().is_terminal();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{bar:8} step {pos}/{len}, {eta} left: {wide_msg}");
    let bar = ProgressBar::with_draw_target(Some(steps), target);
    bar.with_style(style.expect("the template is well formed")).with_message(what.to_string())
}
