//! The first inputs of a campaign, and all inputs that ever showed a mistake.

use muffle_fuzz::findings::Findings;
use muffle_fuzz::panics;
use muffle_fuzz::round::{Trial, round};
use muffle_fuzz::tally::Tally;
use muffle_fuzz::target::Target;
use muffle_fuzz::targets::{TARGETS, target};
use std::path::Path;

/// Inputs for each target.
const INPUTS: u64 = 3000;

/// All in one test: memory is counted for the whole process.
#[test]
fn no_parser_panics_hangs_or_takes_more_memory_than_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let mut findings = Findings::open(folder.path()).unwrap();
    let mut try_all = |target: &'static Target| {
        let refused = (target.seeds)().iter().find_map(|seed| (target.parse)(seed).err());
        (refused, round(target, Tally::new(target, 1, 0), INPUTS, None, &mut findings).unwrap())
    };
    let tried = panics::counted(|| TARGETS.map(&mut try_all));
    for (refused, tally) in tried {
        assert_eq!(refused, None, "seeds of {} are accepted", tally.target);
        assert_eq!((tally.inputs, tally.mistakes), (INPUTS, 0), "{tally:?}");
        assert!(
            tally.accepted > 0 && tally.outcomes > 1,
            "mutations are neither too weak nor too strong: {tally:?}"
        );
    }

    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    for file in std::fs::read_dir(known).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap().to_string();
        let target = target(name.split('.').next().unwrap()).unwrap();
        let input = std::fs::read(&path).unwrap();
        let trial = panics::counted(|| Trial::new(target, &input));
        assert_eq!(trial.mistake(target, &input), None, "{name}");
    }
}
