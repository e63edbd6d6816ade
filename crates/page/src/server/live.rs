//! Pages that are watched: what changes of them is sent as it changes.
//!
//! Many may watch the same page. Whoever looks first looks for all of them: files are read and parts of the page made once for
//! each change, however many watch.

use super::response::{Status, head};
use crate::view::{Page, Region};
use serde_json::json;
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(400);
/// A sign of life, so that clients that went away are noticed.
const BEAT: Duration = Duration::from_secs(10);
/// Pages that are kept ready to be watched.
const MOST_PAGES: usize = 500;

/// Whether something may have changed, as something to compare.
pub type Mark = String;

/// Looks at what a page shows: a mark, and the page if the mark is another one than before; `None` if there is no such page any more.
type Look = dyn Fn(Option<&Mark>) -> Option<(Mark, Option<Page>)> + Send + Sync;

/// A page that may be watched.
pub struct Watched {
    look: Box<Look>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    at: Option<Instant>,
    state: Arc<State>,
}

/// The parts of a page that change, at one time.
#[derive(Default)]
struct State {
    mark: Mark,
    form: String,
    regions: Vec<Region>,
    gone: bool,
}

impl Watched {
    fn state(&self) -> Arc<State> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.at.is_some_and(|at| at.elapsed() < LOOK / 2) {
            return seen.state.clone();
        }
        let before = seen.at.map(|_| &seen.state.mark);
        match (self.look)(before) {
            Some((_, None)) => {}
            Some((mark, Some(Page { form, regions, .. }))) => {
                seen.state = Arc::new(State { mark, form, regions, gone: false });
            }
            None => seen.state = Arc::new(State { gone: true, ..State::default() }),
        }
        seen.at = Some(Instant::now());
        seen.state.clone()
    }
}

/// All pages that are watched, by address.
#[derive(Default)]
pub struct Watching(Mutex<HashMap<String, Arc<Watched>>>);

impl Watching {
    /// The page of an address.
    pub fn page(&self, target: &str, look: impl FnOnce() -> Box<Look>) -> Arc<Watched> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.len() >= MOST_PAGES {
            pages.retain(|_, watched| Arc::strong_count(watched) > 1);
        }
        let new = || Arc::new(Watched { look: look(), seen: Mutex::default() });
        pages.entry(target.to_string()).or_insert_with(new).clone()
    }
}

/// Sends every change of a page until the client goes away, beginning with what has changed since the mark that it has.
pub fn stream(client: &mut TcpStream, watched: &Watched, mark: Option<&Mark>) -> io::Result<()> {
    client.write_all((head(Status::Found, "text/event-stream") + "\r\nretry: 1000\n\n").as_bytes())?;
    let mut known = watched.state();
    let mut beat = Instant::now();
    if mark != Some(&known.mark) {
        send(client, "begin", &known.form)?;
        send_regions(client, &known.regions)?;
    }
    loop {
        thread::sleep(LOOK);
        let now = watched.state();
        if !Arc::ptr_eq(&known, &now) {
            if now.gone || now.form != known.form {
                send(client, "reload", &now.form)?;
            } else {
                let before = &known.regions;
                let changed = now.regions.iter().enumerate();
                let changed = changed.filter(|(place, region)| before.get(*place) != Some(region));
                let changed: Vec<Region> = changed.map(|(_, region)| region.clone()).collect();
                send_regions(client, &changed)?;
            }
            (known, beat) = (now, Instant::now());
        } else if beat.elapsed() >= BEAT {
            client.write_all(b": still here\n\n")?;
            beat = Instant::now();
        }
    }
}

fn send(client: &mut TcpStream, event: &str, text: &str) -> io::Result<()> {
    client.write_all(format!("event: {event}\ndata: {}\n\n", json!(text)).as_bytes())
}

fn send_regions(client: &mut TcpStream, regions: &[Region]) -> io::Result<()> {
    let mut text = String::new();
    for Region { id, html } in regions {
        text += &format!("event: region\ndata: {}\n\n", json!({ "id": id, "html": html }));
    }
    client.write_all(text.as_bytes())
}
