//! A run: what it cost, what an attacker could do, how good it is, and what the figures leave out.

mod attacker;
mod budget;
mod epsilons;
mod measured;
mod papers;
mod status;

pub use status::bar;

use super::curves::panels;
use super::figure::figures;
use super::notice::{notice, unprotected_section};
use super::results::pictures;
use super::{Page, Region};
use crate::folder::{Analysis, Picture, Run, State};
use crate::html::{Element, el};
use crate::results::Evidence;
use muffle::run::REPRODUCIBLE;
use muffle::train::evaluation::NOT_COVERED;

/// Where a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// In a report, to be signed.
    Report,
    /// On a page that is watched.
    Live,
}

/// The page of a run.
pub fn run(run: &Run, analysis: &Analysis, evidence: &[Evidence]) -> Page {
    let (status, curves) = (status::status(run), curves(run));
    let regions = vec![Region::of("status", &status), Region::of("curves", &curves)];
    let mut page = Page::still(run.name.clone(), sections(run, analysis, evidence, Setting::Live));
    page.live = run.state != State::Finished;
    page.regions = if page.live { regions } else { Vec::new() };
    page.form = run.state.name().to_string();
    page
}

/// The parts of a run, from top to bottom.
pub fn sections(run: &Run, analysis: &Analysis, evidence: &[Evidence], setting: Setting) -> Vec<Element> {
    let mut parts = vec![el("h1").text(&run.name), status::status(run)];
    parts.extend(notices(run, analysis));
    // That of a run that was taken up again is about what it was before.
    let certificate = run.certificate.as_ref().filter(|_| run.state != State::Running);
    if let Some(certificate) = certificate {
        parts.push(epsilons::epsilons(certificate));
        parts.push(attacker::attacker(certificate, analysis.trade_off.as_ref(), evidence));
    }
    parts.push(curves(run));
    parts.extend(budget::budget(run, &analysis.purposes));
    parts.extend(measured::measured(run));
    parts.extend(pictures("Pictures that the run left", &Picture::all(&run.path)));
    parts.extend(run.recipe.as_ref().map(papers::recipe));
    if let Some(certificate) = certificate {
        parts.push(papers::not_covered(certificate));
        parts.push(papers::digests(certificate, analysis.verified.as_ref()));
        if setting == Setting::Report {
            parts.push(papers::signature(certificate));
        }
    }
    parts
}

/// What has to be known before any figure is read.
fn notices(run: &Run, analysis: &Analysis) -> Vec<Element> {
    let mut notices = Vec::new();
    if let Some(reason) = &run.reason {
        notices.push(notice("bad", "Refused.", reason));
    }
    if let Some(Err(reason)) = &analysis.verified {
        notices.push(notice("bad", "This is not what was certified.", reason));
    }
    if run.recipe.as_ref().is_some_and(|recipe| !recipe.run.private) {
        notices.push(notice(
            "bad",
            "Not private.",
            "This run protects nobody: there is no epsilon, and its model may hold its records.",
        ));
    }
    let certificate = run.certificate.as_ref();
    if run.summary().as_published {
        notices.push(notice(
            "bad",
            "As published, not proved.",
            "This is the method as its paper prints it. No proof of its privacy holds.",
        ));
    }
    if certificate.is_some_and(|certificate| certificate.reproducible) {
        notices.push(notice("careful", "Not proved:", &format!("{REPRODUCIBLE}.")));
    }
    if run.state == State::Interrupted {
        let advice = format!("It goes on with `muffle train --resume {}`.", run.path.display());
        notices.push(notice("careful", "Interrupted.", &advice));
    }
    if run.keeps_private {
        let text = "The folder `private` of this run holds what no epsilon covers, such as raw votes and models without noise. \
                    Nothing of it is shown here; it must not leave, and can be deleted when the run is finished.";
        notices.push(notice("careful", "Internal files.", text));
    }
    notices
}

/// What was measured on the way.
fn curves(run: &Run) -> Element {
    let panels = panels(&[run]);
    let plots = match panels.is_empty() {
        true => el("p")
            .class("quiet")
            .text("Nothing was measured yet. The first figures come with the first evaluation."),
        false => figures(&panels),
    };
    let remark = el("p").class("quiet").text("Figures on test records: ").text(NOT_COVERED);
    unprotected_section("On the way", [plots, remark]).attr("id", "curves")
}
