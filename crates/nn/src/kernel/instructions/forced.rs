//! Tests choose the instructions: those of other machines must be right too.

use std::cell::Cell;

use super::portable::{Portable, Quarter};
use super::{InstructionSet, Pair};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Forced {
    Portable,
    /// Plain arrays in blocks as wide as those of AVX-512.
    PortableWide,
}

thread_local! {
    pub(super) static FORCED: Cell<Option<Forced>> = const { Cell::new(None) };
}

/// Runs `test` with the chosen instructions.
pub(crate) fn with(forced: Forced, test: impl FnOnce()) {
    FORCED.set(Some(forced));
    test();
    FORCED.set(None);
}

/// Runs a task as forced, or gives it back.
pub(super) fn dispatch<T: super::Task>(task: T) -> Option<T> {
    match FORCED.get() {
        Some(Forced::Portable) => task.run::<Portable>(),
        Some(Forced::PortableWide) => task.run::<PortableWide>(),
        None => return Some(task),
    }
    None
}

struct PortableWide;

impl InstructionSet for PortableWide {
    type Vector = Pair<Pair<Quarter>>;
    type Wide = Pair<Pair<Quarter>>;
    const ROWS: usize = 12;
    const COLUMNS: usize = 2;
}
