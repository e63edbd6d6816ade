//! What the last audit of all methods found.

use super::step::StepReport;
use crate::methods::Mode;

/// The reports of the last `muffle audit all --docs docs`.
static RESULTS: &str = include_str!("../../../../docs/audit.jsonl");

/// The last report on a form of a method, if there is one that this version can read.
pub fn last(method: &str, mode: Mode) -> Option<StepReport> {
    let mut reports = RESULTS.lines().filter_map(|line| serde_json::from_str::<StepReport>(line).ok());
    reports.find(|found| found.report.method == method && found.report.mode == mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_can_be_read_and_found() {
        for line in RESULTS.lines() {
            let found: StepReport = serde_json::from_str(line).unwrap();
            assert_eq!(last(&found.report.method, found.report.mode), Some(found));
        }
    }
}
