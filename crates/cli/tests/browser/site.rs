//! `muffle serve` as a process of its own.

use super::common::Project;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A server of the project's folder.
pub struct Site {
    process: Child,
    /// Ends with a slash.
    pub address: String,
}

impl Site {
    pub fn serve(project: &Project) -> Site {
        let mut command = project.command(&["serve", "--port", "0", "--json"]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        Site { process, address: said["address"].as_str().unwrap().to_string() }
    }

    pub fn page(&self, path: &str) -> String {
        format!("{}{}", self.address, path.trim_start_matches('/'))
    }

    pub fn host(&self) -> String {
        self.address.trim_start_matches("http://").trim_end_matches('/').to_string()
    }

    /// A connection that gives up after a while.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// What is answered to these bytes.
    pub fn answer(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // A server that has enough may hang up before all is written.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The page at an address.
    pub fn get(&self, target: &str) -> String {
        self.answer(format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host()).as_bytes())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
