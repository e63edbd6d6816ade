//! The program: everything is in the library beside it, which is built while the crates below are still being optimised.

use std::process::ExitCode;

fn main() -> ExitCode {
    muffle_cli::main()
}
