//! What a client is told.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::TcpStream;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As it was asked.
    Found,
    /// This is no request.
    Bad,
    /// There is no such page.
    NotFound,
    /// Nothing can be changed here.
    NotAllowed,
    /// The request did not arrive in time.
    TimedOut,
    /// It is meant for somebody else.
    Misdirected,
    /// Its head does not end.
    TooLong,
    /// There are too many at once.
    Busy,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Found => "200 OK",
            Status::Bad => "400 Bad Request",
            Status::NotFound => "404 Not Found",
            Status::NotAllowed => "405 Method Not Allowed",
            Status::TimedOut => "408 Request Timeout",
            Status::Misdirected => "421 Misdirected Request",
            Status::TooLong => "431 Request Header Fields Too Large",
            Status::Busy => "503 Service Unavailable",
        }
    }
}

/// What a page may load and run: its own style, script and stream, and pictures inside of it. No other page may show it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// An answer.
pub struct Response {
    /// How it ended.
    pub status: Status,
    /// What the body is.
    pub kind: &'static str,
    /// The body.
    pub body: String,
}

impl Response {
    /// A page.
    pub fn page(status: Status, body: String) -> Response {
        Response { status, kind: "text/html; charset=utf-8", body }
    }

    /// A line of text.
    pub fn text(status: Status, body: &str) -> Response {
        Response { status, kind: "text/plain; charset=utf-8", body: format!("{body}\n") }
    }

    /// Sends it, and its body if that is wanted.
    pub fn send(&self, stream: &mut TcpStream, body: bool) -> io::Result<()> {
        let mut bytes = head(self.status, self.kind);
        let _ = write!(bytes, "Content-Length: {}\r\n\r\n", self.body.len());
        if body {
            bytes.push_str(&self.body);
        }
        stream.write_all(bytes.as_bytes())
    }
}

/// The head of an answer, without the empty line behind it.
pub fn head(status: Status, kind: &str) -> String {
    format!(
        "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n",
        status.line()
    )
}
