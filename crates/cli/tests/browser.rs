//! Reports and live pages in a real browser, and a server among rude clients.

mod common;
#[path = "browser/driver.rs"]
mod driver;
#[path = "browser/site.rs"]
mod site;

use common::{Project, last_json};
use driver::Browser;
use site::Site;
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';

impl Project {
    /// A finished run.
    fn train(&self, name: &str, settings: &[&str]) {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> =
            ["train", "small.toml", "--quiet", "--output", name].into_iter().chain(settings).collect();
        let output = self.muffle(&arguments);
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn a_report_opens_from_disk_and_says_what_was_measured() {
    let project = Project::new();
    project.train("runs/<script>alert(1)</script>", &["steps=40", "seed=7"]);
    let made =
        project.muffle(&["report", "runs/<script>alert(1)</script>", "--output", "report.html", "--json"]);
    assert!(last_json(&made)["bytes"].as_u64().unwrap() < 500_000, "{made:?}");
    let text = fs::read_to_string(project.path("report.html")).unwrap();
    assert!(
        !text.contains("<script>alert") && !text.contains("seed = 7"),
        "names stay text, and the seed stays at home"
    );
    let Some(browser) = Browser::start() else { return };
    browser.open(&format!("file://{}", project.path("report.html").display()));
    let shown = browser.text("document.body.innerText");
    let parts = [
        "Three epsilons",
        "What an attacker could do at best",
        "On the way",
        "Where the budget went",
        "results by class",
    ];
    let more = [
        "Recipe",
        "What is not covered",
        "Digests",
        "Checked just now",
        "To sign",
        "if the seed is secret",
        "not protected",
    ];
    for part in parts.into_iter().chain(more) {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(browser.text("document.querySelector('h1').innerText"), "runs/<script>alert(1)</script>");
    browser.point_at(".figures .hit");
    browser.wait("[...document.querySelectorAll('.reading')].some(it => it.textContent.includes(' '))");
    browser.assert_accessible("report");
    browser.phone();
    assert!(!browser.overflows(), "a report fits a phone");
    browser.assert_quiet("file:");
}

#[test]
fn a_run_is_watched_while_it_advances_and_finishes() {
    let project = Project::new();
    let site = Site::serve(&project);
    let Some(browser) = Browser::start() else { return };
    browser.open(&site.page("/"));
    assert!(browser.text("document.body.innerText").contains("There are no runs in this folder yet"));
    let settings = ["--set", "steps=40000", "--set", "evaluations=40", "--set", "checkpoint_seconds=0.05"];
    let arguments: Vec<&str> =
        ["train", "small.toml", "--quiet", "--output", "runs/live"].into_iter().chain(settings).collect();
    let mut process = project.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
    browser.wait("document.querySelector('#runs a')");
    browser.open(&site.page("/run/runs/live"));
    let steps =
        || browser.text("document.getElementById('status').innerText.match(/steps\\s+([\\d,]+)/)?.[1] ?? ''");
    let mut seen = std::collections::BTreeSet::from([steps()]);
    let begun = Instant::now();
    while browser.text("document.querySelector('.state').innerText") != "finished" {
        seen.insert(steps());
        assert!(begun.elapsed() < Duration::from_secs(120), "{seen:?}");
    }
    assert!(process.wait().unwrap().success());
    browser.wait("document.body.innerText.includes('Checked just now')");
    assert!(seen.len() > 2 && steps() == "40,000", "advanced while it was watched: {seen:?}");
    assert!(browser.text("document.querySelectorAll('#curves .hit').length").parse::<u64>().unwrap() > 40);
    browser.assert_quiet(&site.address);
}

#[test]
fn runs_are_found_and_laid_over_each_other_by_keyboard() {
    let project = Project::new();
    for (name, settings) in
        [("runs/a", ["steps=20", "learning_rate=0.5"]), ("runs/b", ["steps=40", "learning_rate=0.1"])]
    {
        project.train(name, &settings);
    }
    let cut = fs::read_to_string(project.path("runs/b/privacy.json")).unwrap();
    fs::create_dir_all(project.path("runs/broken")).unwrap();
    fs::copy(project.path("runs/b/recipe.toml"), project.path("runs/broken/recipe.toml")).unwrap();
    fs::write(project.path("runs/broken/privacy.json"), &cut[..cut.len() / 2]).unwrap();
    let site = Site::serve(&project);
    let Some(browser) = Browser::start() else { return };
    browser.open(&site.page("/"));
    let rows = "[...document.querySelectorAll('#runs tbody tr:not([hidden])')]";
    assert_eq!(
        browser.text(&format!("{rows}.map(row => row.dataset.state).sort()")),
        "finished,finished,refused"
    );
    // From here on there is no mouse: to the search, two runs chosen, the button.
    let focus = |wanted: &str| {
        for _ in 0..60 {
            if browser.script(&format!("return document.activeElement.matches({wanted:?})")) == true {
                return;
            }
            browser.press(&TAB.to_string());
        }
        panic!("{wanted} is not reached by the keyboard");
    };
    focus("#text");
    browser.press("runs/a");
    browser.wait(&format!("{rows}.length === 1"));
    focus("input[value='runs/a']");
    browser.press(" ");
    browser.script("document.getElementById('text').value = ''; document.getElementById('text').focus()");
    browser.press("runs/b");
    focus("input[value='runs/b']");
    browser.press(" ");
    browser.script("document.querySelector('#runs button').focus()");
    assert_ne!(
        browser.text("getComputedStyle(document.activeElement).outlineStyle"),
        "none",
        "focus can be seen"
    );
    browser.press(&ENTER.to_string());
    browser.wait("location.pathname === '/overlay' && document.querySelector('#curves svg')");
    let legend = browser.text("document.querySelector('#curves svg').textContent");
    assert!(legend.contains("runs/a") && legend.contains("runs/b"), "{legend}");
    let shown = browser.text("document.body.innerText");
    assert!(shown.contains("learning_rate") && shown.contains("0.1"), "{shown}");
    browser.assert_quiet(&site.address);
}

#[test]
fn the_calculator_says_what_the_accountant_says() {
    let project = Project::new();
    let site = Site::serve(&project);
    let account = "account --noise-multiplier 1.3 --sample-rate 0.02 --steps 700 --delta 1e-6 --json";
    let said = last_json(&project.muffle(&account.split(' ').collect::<Vec<_>>()))["epsilon"]["pld"]
        .as_f64()
        .unwrap();
    let Some(browser) = Browser::start() else { return };
    browser.open(&site.page("/calculator"));
    browser.script("document.getElementById('delta').value = ''; document.getElementById('noise').focus()");
    browser.press(&format!("1.3{TAB}700{TAB}0.02{TAB}{TAB}1e-6{ENTER}"));
    browser.wait("document.getElementById('found')");
    let found: f64 = browser.text("document.getElementById('found').dataset.value").parse().unwrap();
    assert!(said <= found && found < said + 1.1e-4, "{found} is {said} rounded up");
    assert!(browser.script("return document.querySelectorAll('.figures svg').length") == 2);
    // With that epsilon in place of the noise, the noise comes back.
    browser.script(&format!(
        "document.getElementById('noise').value = ''; document.getElementById('epsilon').value = '{found}'; document.querySelector('form').submit()"
    ));
    browser.wait("document.querySelector('.found')?.innerText.startsWith('noise')");
    let noise: f64 = browser.text("document.getElementById('found').dataset.value").parse().unwrap();
    assert!((noise / 1.3 - 1.0).abs() < 1e-3, "{noise}");
    browser.open(&site.page("/calculator?noise=1&delta=1e-5"));
    assert!(browser.text("document.querySelector('[role=alert]').innerText").contains("three of the four"));
    browser.assert_quiet(&site.address);
}

#[test]
fn pages_can_be_used_by_everybody_in_light_and_dark_and_on_a_phone() {
    let project = Project::new();
    project.train("runs/a", &["steps=20"]);
    project.train("runs/b", &["steps=20", "seed=3"]);
    let audit = "audit step --method dp-sgd --trials 600 --width 60 --results audits/step --plot step.png";
    assert!(project.muffle(&audit.split(' ').collect::<Vec<_>>()).status.success());
    assert!(fs::read(project.path("step.png")).unwrap().starts_with(b"\x89PNG"));
    let site = Site::serve(&project);
    let Some(browser) = Browser::start() else { return };
    let pages = [
        "/",
        "/run/runs/a",
        "/run/runs/b",
        "/overlay?run=runs/a&run=runs/b",
        "/results/audits/step",
        "/methods",
        "/calculator?noise=1&steps=10&rate=0.1&delta=1e-5",
    ];
    for page in pages {
        browser.open(&site.page(page));
        browser.assert_accessible(&format!("{page} in light"));
    }
    let light = browser.text("getComputedStyle(document.documentElement).backgroundColor");
    browser.dark();
    browser.phone();
    // The others are made of the same parts.
    for page in
        ["/", "/run/runs/b", "/results/audits/step", "/calculator?noise=1&steps=10&rate=0.1&delta=1e-5"]
    {
        browser.open(&site.page(page));
        browser.assert_accessible(&format!("{page} in dark, on a phone"));
        assert!(!browser.overflows(), "{page} fits a phone");
    }
    assert_ne!(browser.text("getComputedStyle(document.documentElement).backgroundColor"), light);
    browser.assert_quiet(&site.address);
}

/// What a page may load is said by the server, and no address leads out of the folder.
#[test]
fn only_what_was_found_is_shown_and_only_to_this_machine() {
    let project = Project::new();
    project.train("runs/a", &["steps=10"]);
    fs::write(project.path("people-secret.txt"), "secret").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", project.path("runs/etc")).unwrap();
    let site = Site::serve(&project);
    let page = site.get("/run/runs/a");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    for header in [
        "Content-Security-Policy: default-src 'none'; script-src 'self'",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
    ] {
        assert!(page.contains(header), "{header}");
    }
    for target in [
        "/run/../people-secret.txt",
        "/run/runs/a/../../people-secret.txt",
        "/run/%2e%2e/%2e%2e/etc/passwd",
        "/run//etc/passwd",
        "/results/..",
        "/run/runs/a/privacy.json",
        "/people-secret.txt",
        "/run/runs/etc",
        "/live?page=/run/../..",
        "/live?page=x",
    ] {
        let answer = site.get(target);
        assert!(answer.starts_with("HTTP/1.1 404"), "{target}: {answer}");
        assert!(!answer.contains("root:") && !answer.contains("secret\n"), "{target}");
    }
    for host in ["evil.example", "evil.example:80", "localhost"] {
        let answer = site.answer(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 421"), "{host}: {answer}");
    }
    let port = site.host().rsplit_once(':').unwrap().1.to_string();
    assert!(
        site.answer(format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").as_bytes())
            .starts_with("HTTP/1.1 200")
    );
    assert!(
        site.answer(format!("POST / HTTP/1.1\r\nHost: {}\r\n\r\n", site.host()).as_bytes())
            .starts_with("HTTP/1.1 405")
    );
    let found = site.get("/?text=%3Cscript%3Ealert(1)%3C/script%3E");
    assert!(found.starts_with("HTTP/1.1 200") && !found.contains("<script>alert"), "{found}");
}

/// Garbage, endless heads, clients that say nothing, and a hundred pages that wait.
#[test]
fn rude_clients_and_a_hundred_live_pages_leave_the_server_as_it_was() {
    let project = Project::new();
    project.train("runs/a", &["steps=10"]);
    // One that can be watched: it was never finished.
    fs::remove_file(project.path("runs/a/privacy.json")).unwrap();
    let site = Site::serve(&project);
    let silent: Vec<_> = (0..50).map(|_| site.connect()).collect();
    let live = format!("GET /live?page=/run/runs/a HTTP/1.1\r\nHost: {}\r\n\r\n", site.host());
    let mut pages: Vec<_> = (0..100).map(|_| site.connect()).collect();
    for page in &mut pages {
        page.write_all(live.as_bytes()).unwrap();
    }
    for page in &mut pages {
        let mut bytes = [0; 12];
        page.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"HTTP/1.1 200");
    }
    assert!(site.answer(b"\x00\xff\x16\x03\x01 what?\r\n\r\n").starts_with("HTTP/1.1 400"));
    let endless = [b"GET / HTTP/1.1\r\nHost: a\r\nx: ".as_slice(), &[b'a'; 20_000]].concat();
    // Answered and hung up on; what was not read may take the answer with it.
    let told = site.answer(&endless);
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 431"), "{told}");
    let mut slow = site.connect();
    for byte in live.as_bytes().iter().take(20) {
        slow.write_all(&[*byte]).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    let begun = Instant::now();
    assert!(site.get("/").starts_with("HTTP/1.1 200") && begun.elapsed() < Duration::from_secs(5));
    drop((silent, pages, slow));
    assert!(site.get("/run/runs/a").contains("interrupted"));
}
