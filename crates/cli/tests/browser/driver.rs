//! A real browser, spoken to in plain WebDriver: Debian's `chromium` and `chromium-driver`.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long something may take to appear.
const PATIENCE: Duration = Duration::from_secs(60);

/// The accessibility checks of axe-core (MPL-2.0).
const AXE: &str = include_str!("../axe/axe.min.js");

/// A browser with one page.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts one; `None`, with a message, where there is none.
    pub fn start() -> Option<Browser> {
        let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
            .into_iter()
            .find(|path| Path::new(path).exists());
        let driver =
            Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let (Some(chromium), Ok(mut driver)) = (chromium, driver) else {
            println!("skipped: there is no browser here; apt-get install chromium chromium-driver");
            return None;
        };
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            line.strip_prefix("ChromeDriver was started successfully on port ")?
                .trim_end_matches('.')
                .parse()
                .ok()
        });
        let mut browser =
            Browser { driver, port: port.expect("chromedriver says its port"), session: String::new() };
        let options = json!({
            "binary": chromium,
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900",
                // Nothing but this machine has an address.
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
        });
        let wanted = json!({
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let made = browser.ask("POST", "/session", json!({ "capabilities": { "alwaysMatch": wanted } }));
        browser.session = format!("/session/{}", made["sessionId"].as_str().unwrap());
        Some(browser)
    }

    /// One request to the driver.
    fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        reader.take(length).read_to_string(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
        assert!(answer["value"].get("error").is_none(), "{method} {path}: {}", answer["value"]);
        answer["value"].clone()
    }

    fn post(&self, path: &str, body: Value) -> Value {
        self.ask("POST", &format!("{}{path}", self.session), body)
    }

    /// Opens a page.
    pub fn open(&self, address: &str) {
        self.post("/url", json!({ "url": address }));
    }

    /// What a script says of the page.
    pub fn script(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] }))
    }

    /// The same as text.
    pub fn text(&self, script: &str) -> String {
        self.script(&format!("return String({script})")).as_str().unwrap_or_default().to_string()
    }

    /// Waits until a script says yes.
    pub fn wait(&self, condition: &str) {
        let begun = Instant::now();
        while self.script(&format!("return Boolean({condition})")) != true {
            let shown = || self.text("document.body.innerText");
            assert!(begun.elapsed() < PATIENCE, "waited for {condition}:\n{}", shown());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Presses keys, one after the other.
    pub fn press(&self, keys: &str) {
        let press = |key: char| {
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        };
        let actions: Vec<Value> = keys.chars().flat_map(press).collect();
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// Points at the middle of an element.
    pub fn point_at(&self, selector: &str) {
        let place = self.script(&format!(
            "const found = document.querySelector({selector:?}); found.scrollIntoView({{ block: 'center' }}); \
             const box = found.getBoundingClientRect(); return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];"
        ));
        let action = json!({ "type": "pointerMove", "duration": 0, "x": place[0], "y": place[1] });
        self.post(
            "/actions",
            json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": [action] }] }),
        );
    }

    fn develop(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": parameters }))
    }

    /// As somebody with a dark screen sees pages.
    pub fn dark(&self) {
        let feature = json!({ "name": "prefers-color-scheme", "value": "dark" });
        self.develop("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// As somebody with a phone sees pages.
    pub fn phone(&self) {
        let size = json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true });
        self.develop("Emulation.setDeviceMetricsOverride", size);
    }

    /// Fails if something was written to the console, or asked for elsewhere than at `home`.
    pub fn assert_quiet(&self, home: &str) {
        let console = self.post("/se/log", json!({ "type": "browser" }));
        assert_eq!(console, json!([]), "the console is empty");
        let log = self.post("/se/log", json!({ "type": "performance" }));
        for entry in log.as_array().unwrap() {
            let message: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
            let request = &message["message"];
            if request["method"] == "Network.requestWillBeSent" {
                let address = request["params"]["request"]["url"].as_str().unwrap();
                let own = [home, "data:", "file:", "about:"].iter().any(|start| address.starts_with(start));
                assert!(own, "a request leaves the machine: {address}");
            }
        }
    }

    /// Fails if axe-core has a serious finding.
    pub fn assert_accessible(&self, what: &str) {
        self.script(AXE);
        let script = "const done = arguments[arguments.length - 1]; axe.run().then(found => done(found.violations\
                      .filter(it => ['serious', 'critical'].includes(it.impact))\
                      .map(it => it.id + ': ' + it.nodes.map(node => node.html + ' ' + node.failureSummary).slice(0, 3).join('; '))));";
        let found = self.post("/execute/async", json!({ "script": script, "args": [] }));
        assert_eq!(found, json!([]), "{what}");
    }

    /// Whether the page is wider than the screen.
    pub fn overflows(&self) -> bool {
        self.script("return document.documentElement.scrollWidth > document.documentElement.clientWidth + 1")
            == true
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.session.is_empty() {
            self.ask("DELETE", &self.session, json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
