//! Where the budget went.

use super::super::notice::section;
use super::status::bar;
use crate::folder::{Purpose, Run};
use crate::html::{Element, cell, el, figure_cell, table};
use crate::numbers::{count, epsilon};

/// Accesses to the records by purpose; nothing before the first certificate.
pub fn budget(run: &Run, purposes: &[Purpose]) -> Option<Element> {
    if purposes.is_empty() {
        return None;
    }
    let budget = run.recipe.as_ref().and_then(|recipe| recipe.run.epsilon);
    let largest = purposes.iter().filter_map(|purpose| purpose.epsilon).fold(0.0, f64::max);
    let most = budget.unwrap_or(largest).max(largest).max(f64::MIN_POSITIVE);
    let head = ["purpose", "accesses", "epsilon by itself", ""].map(String::from);
    let rows = purposes.iter().map(|purpose| {
        let share = match purpose.epsilon {
            Some(value) => el("td").add(bar(&format!("epsilon of {}", purpose.name), value, most)),
            None => cell("no proof"),
        };
        let price = purpose.epsilon.map_or("none".to_string(), epsilon);
        [cell(&purpose.name), figure_cell(count(purpose.accesses)), figure_cell(price), share]
    });
    let remark = "Each line is what these accesses would cost alone, by pld at the delta of the run. Together they cost less than \
                  the sum of the lines, and what the certificate says.";
    Some(section(
        "Where the budget went",
        [
            table("accesses to the private records by purpose", head, rows),
            el("p").class("quiet").text(remark),
        ],
    ))
}
