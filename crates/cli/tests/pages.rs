//! Pages of documentation that are made from the tables of the program say what the program says.

use std::fs;
use std::process::Command;

#[test]
fn pages_are_those_that_the_program_prints() {
    for (page, arguments) in [
        ("docs/methods.md", "methods --markdown"),
        ("docs/summary.md", "methods --summary"),
        ("docs/attacks.md", "attack list --markdown"),
    ] {
        let program = env!("CARGO_BIN_EXE_muffle");
        let printed = Command::new(program).args(arguments.split(' ')).output().unwrap().stdout;
        let stored = fs::read(format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(printed == stored, "{page} is out of date: muffle {arguments} > {page}");
    }
}
