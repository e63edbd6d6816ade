//! Printing that outlives its reader: a closed pipe, or a full disk behind standard output, must not end a run halfway.
//!
//! `println!` and its siblings mean these macros in this crate: those of the standard library panic where they cannot write.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::sync::OnceLock;

/// Why standard output is given up, after the first failure to write to it.
static GIVEN_UP: OnceLock<io::Error> = OnceLock::new();

/// Writes to standard output, unless that has failed before.
pub fn out(text: Arguments) {
    if GIVEN_UP.get().is_none()
        && let Err(error) = io::stdout().lock().write_fmt(text)
    {
        // Another thread may have failed first, with the same consequence.
        let _ = GIVEN_UP.set(error);
    }
}

/// Writes to standard error; there is nowhere to say that it fails.
pub fn err(text: Arguments) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// Gives up standard output for a reason that was met outside of this module.
pub fn give_up(error: io::Error) {
    let _ = GIVEN_UP.set(error);
}

/// Why something that was printed is lost, if it is.
pub fn lost() -> Option<&'static io::Error> {
    if GIVEN_UP.get().is_none()
        && let Err(error) = io::stdout().lock().flush()
    {
        let _ = GIVEN_UP.set(error);
    }
    GIVEN_UP.get()
}

macro_rules! print {
    ($($text:tt)*) => { $crate::output::out(format_args!($($text)*)) };
}

macro_rules! println {
    () => { $crate::output::out(format_args!("\n")) };
    ($($text:tt)*) => { $crate::output::out(format_args!("{}\n", format_args!($($text)*))) };
}

macro_rules! eprint {
    ($($text:tt)*) => { $crate::output::err(format_args!($($text)*)) };
}

macro_rules! eprintln {
    ($($text:tt)*) => { $crate::output::err(format_args!("{}\n", format_args!($($text)*))) };
}
