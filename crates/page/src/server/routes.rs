//! Which address shows what.

use super::live::{Mark, Watched, Watching};
use super::request::Request;
use super::response::{Response, Status};
use crate::assets::{ICON, SCRIPT, STYLE};
use crate::calculation::{Answer as Calculated, Question, solve};
use crate::folder::{Run, Shelf, Summary};
use crate::report::about;
use crate::results::plots;
use crate::view::{self, MOST_RUNS, Page, Wanted};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers of the calculator that are kept.
const MOST_ANSWERS: usize = 100;

/// What is served.
pub struct Site {
    shelf: Arc<Shelf>,
    watching: Watching,
    /// One calculation at a time, so that pages leave the machine to the runs.
    answers: Mutex<HashMap<String, Result<Calculated, String>>>,
}

/// How a request is answered.
pub enum Answer {
    /// At once.
    Whole(Response),
    /// By what changes of a page.
    Live(Arc<Watched>, Option<Mark>),
}

/// A page that shows something of the folder.
#[derive(Clone)]
enum Subject {
    List(Wanted),
    Run(String),
    Results(String),
    Overlay(Vec<String>),
}

impl Site {
    /// Of a folder.
    pub fn open(folder: &Path) -> Result<Site, String> {
        let shelf = Arc::new(Shelf::open(folder)?);
        Ok(Site { shelf, watching: Watching::default(), answers: Mutex::default() })
    }

    /// What a request gets.
    pub fn answer(&self, request: &Request) -> Answer {
        let asset = |kind, body: &str| {
            Answer::Whole(Response { status: Status::Found, kind, body: body.to_string() })
        };
        match request.path.as_str() {
            "/page.css" => return asset("text/css; charset=utf-8", STYLE),
            "/page.js" => return asset("text/javascript; charset=utf-8", SCRIPT),
            "/icon.svg" | "/favicon.ico" => return asset("image/svg+xml", ICON),
            "/live" => return self.live(request),
            _ => {}
        }
        let page = match request.path.as_str() {
            "/methods" => Some(view::methods()),
            "/calculator" => Some(self.calculator(request)),
            _ => Subject::of(request).and_then(|subject| {
                // The mark comes first: what changes behind it is then sent again, and never missed.
                let mark = subject.mark(&self.shelf)?;
                Some(Page { mark, ..subject.page(&self.shelf)? })
            }),
        };
        Answer::Whole(match page {
            Some(page) => Response::page(Status::Found, view::served(&page, &request.path)),
            None => {
                let advice = "There is nothing at this address. A run may have been moved or removed since the link was made.";
                let page = view::error("Not found", advice);
                Response::page(Status::NotFound, view::served(&page, &request.path))
            }
        })
    }

    fn live(&self, request: &Request) -> Answer {
        let target = request.value("page").unwrap_or_default();
        let subject = Request::of_target(target).as_ref().and_then(Subject::of);
        let Some(subject) = subject.filter(|subject| subject.mark(&self.shelf).is_some()) else {
            return Answer::Whole(Response::text(Status::NotFound, "there is no such page to watch"));
        };
        let shelf = self.shelf.clone();
        let watched = self.watching.page(target, || {
            Box::new(move |before: Option<&Mark>| {
                let mark = subject.mark(&shelf)?;
                let page = if before == Some(&mark) { None } else { Some(subject.page(&shelf)?) };
                Some((mark, page))
            })
        });
        Answer::Live(watched, request.value("mark").map(String::from))
    }

    fn calculator(&self, request: &Request) -> Page {
        let text = |name: &str| request.value(name).map(|value| value.trim().to_string());
        let given = |name: &str| text(name).filter(|value| !value.is_empty());
        if request.query.is_empty() {
            return view::calculator(&text, None);
        }
        let key = format!("{:?}", ["noise", "steps", "rate", "epsilon", "delta"].map(given));
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MOST_ANSWERS {
            answers.clear();
        }
        let answer = answers.entry(key).or_insert_with(|| solve(&question(&given)?));
        view::calculator(&text, Some(answer))
    }
}

/// What is asked of the calculator, or which field is no number.
fn question(given: &dyn Fn(&str) -> Option<String>) -> Result<Question, String> {
    let number = |name: &str| {
        let value = given(name).map(|text| {
            let plain = text.replace([' ', ','], "");
            plain
                .parse::<f64>()
                .map_err(|_| format!("{name}: \"{text}\" is no number; write it as 0.01 or 1e-5."))
        });
        value.transpose()
    };
    let steps = number("steps")?;
    if let Some(steps) = steps.filter(|steps| steps.fract() != 0.0 || !(0.0..1e18).contains(steps)) {
        return Err(format!("steps: {steps} is no whole number."));
    }
    Ok(Question {
        noise: number("noise")?,
        steps: steps.map(|steps| steps as u64),
        rate: number("rate")?,
        epsilon: number("epsilon")?,
        delta: number("delta")?
            .ok_or("delta is missing; 1e-5 is usual, well below one over the number of records.")?,
    })
}

impl Subject {
    fn of(request: &Request) -> Option<Subject> {
        // A browser leaves out the single dot that stands for the folder itself.
        let named = |kind: &str| {
            let name = request.path.strip_prefix(kind)?;
            Some(if name.is_empty() { ".".to_string() } else { name.to_string() })
        };
        match request.path.as_str() {
            "/" => {
                let text = |name: &str| request.value(name).unwrap_or_default().to_string();
                Some(Subject::List(Wanted { text: text("text"), state: text("state") }))
            }
            "/overlay" => {
                Some(Subject::Overlay(request.values("run").take(MOST_RUNS).map(String::from).collect()))
            }
            _ => named("/run/").map(Subject::Run).or_else(|| named("/results/").map(Subject::Results)),
        }
    }

    /// Another one when the page may be another one; `None` if there is no such page.
    fn mark(&self, shelf: &Shelf) -> Option<Mark> {
        match self {
            Subject::List(_) => Some(shelf.contents().version.to_string()),
            Subject::Results(name) => {
                let contents = shelf.contents();
                contents.results.get(name).map(|_| contents.version.to_string())
            }
            Subject::Run(name) => {
                shelf.run_path(name)?;
                Some(shelf.mark(std::slice::from_ref(name)))
            }
            Subject::Overlay(names) => {
                names.iter().for_each(|name| drop(shelf.run_path(name)));
                Some(shelf.mark(names))
            }
        }
    }

    fn page(&self, shelf: &Shelf) -> Option<Page> {
        match self {
            Subject::List(wanted) => Some(view::list(&shelf.contents(), &shelf.name(), wanted)),
            Subject::Run(name) => {
                let run = shelf.run(name)?;
                let evidence: Vec<_> = match run.certificate {
                    Some(_) => shelf
                        .contents()
                        .results
                        .values()
                        .flat_map(|result| plots(&result.path).evidence)
                        .collect(),
                    None => Vec::new(),
                };
                Some(view::run(&run, &shelf.analysis(&run), &about(&run, &evidence)))
            }
            Subject::Results(name) => {
                let contents = shelf.contents();
                let result = contents.results.get(name)?;
                let within = if name == "." { String::new() } else { format!("{name}/") };
                let runs = contents.runs.iter().filter(|(run, _)| run.starts_with(&within));
                let runs: Vec<&Summary> = runs.map(|(_, run)| run).collect();
                Some(view::results_page(name, &result.path, &runs, contents.version))
            }
            Subject::Overlay(names) => {
                let runs: Vec<(&String, Option<Run>)> =
                    names.iter().map(|name| (name, shelf.run(name))).collect();
                let missing: Vec<String> =
                    runs.iter().filter(|(_, run)| run.is_none()).map(|(name, _)| name.to_string()).collect();
                let runs: Vec<Run> = runs.into_iter().filter_map(|(_, run)| run).collect();
                Some(view::overlay(&runs, &missing))
            }
        }
    }
}
