//! What a client asks for.

use super::response::Status;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A head is not longer than this, and does not take longer to arrive.
const LONGEST: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(5);
const MOST_HEADERS: usize = 64;

/// The head of a request for a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The address without what is asked behind it, decoded.
    pub path: String,
    /// What is asked behind it, decoded, in order.
    pub query: Vec<(String, String)>,
    /// For whom it is meant.
    pub host: String,
    /// Whether the body is wanted as well.
    pub body: bool,
}

impl Request {
    /// Reads it, from a client that may be slow or may send anything; `None` if the client went away.
    pub fn read(stream: &mut TcpStream) -> Result<Option<Request>, Status> {
        let (deadline, mut bytes) = (Instant::now() + PATIENCE, Vec::new());
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
                return Err(Status::TimedOut);
            }
            let mut part = [0; 2048];
            match stream.read(&mut part) {
                Ok(0) => return Ok(None),
                Ok(count) => bytes.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(Status::TimedOut);
                }
                Err(_) => return Ok(None),
            }
            if let Some(request) = Request::parse(&bytes)? {
                return Ok(Some(request));
            }
            if bytes.len() > LONGEST {
                return Err(Status::TooLong);
            }
        }
    }

    /// The request in these bytes; `None` if its head is not whole yet.
    pub fn parse(bytes: &[u8]) -> Result<Option<Request>, Status> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        match head.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Status::TooLong),
            Err(_) => return Err(Status::Bad),
        }
        let body = match head.method {
            Some("GET") => true,
            Some("HEAD") => false,
            _ => return Err(Status::NotAllowed),
        };
        let hosts: Vec<&[u8]> = head
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("host"))
            .map(|header| header.value)
            .collect();
        // Two of them would leave it open which one a check has seen.
        let [host] = hosts[..] else { return Err(Status::Bad) };
        let host = std::str::from_utf8(host).map_err(|_| Status::Bad)?.trim().to_string();
        let request = head.path.and_then(Request::of_target).ok_or(Status::Bad)?;
        Ok(Some(Request { host, body, ..request }))
    }

    /// The request of an address on this server, for nobody yet; `None` if that is none.
    pub fn of_target(target: &str) -> Option<Request> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(&name.replace('+', " "))?, decoded(&value.replace('+', " "))?))
        };
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect::<Option<_>>()?;
        let path = decoded(path).filter(|path| path.starts_with('/'))?;
        Some(Request { path, query, host: String::new(), body: true })
    }

    /// The first value of a name in what is asked.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|pair| pair.0 == name).map(|pair| pair.1.as_str())
    }

    /// All values of a name.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(move |pair| pair.0 == name).map(|pair| pair.1.as_str())
    }
}

/// Text in which some bytes stand as two digits behind a per cent sign; `None` if that is no text.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Request>, Status> {
        Request::parse(text.as_bytes())
    }

    #[test]
    fn a_request_is_read_when_it_is_whole() {
        let whole = "GET /run/a%20b?text=x+y&run=1&run=%3C HTTP/1.1\r\nHost: localhost:1\r\n\r\n";
        for cut in 0..whole.len() {
            assert_eq!(parse(&whole[..cut]), Ok(None), "{cut}");
        }
        let found = parse(whole).unwrap().unwrap();
        assert_eq!(
            (&*found.path, found.value("text"), &*found.host),
            ("/run/a b", Some("x y"), "localhost:1")
        );
        assert_eq!(found.values("run").collect::<Vec<_>>(), ["1", "<"]);
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, status) in [
            ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", Status::NotAllowed),
            ("GET / HTTP/1.1\r\n\r\n", Status::Bad),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Status::Bad),
            ("GET http://other/ HTTP/1.1\r\nHost: a\r\n\r\n", Status::Bad),
            ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", Status::Bad),
            ("GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n", Status::Bad),
            ("GET /?a=%2 HTTP/1.1\r\nHost: a\r\n\r\n", Status::Bad),
            ("\u{1}\u{2}\u{3}\r\n\r\n", Status::Bad),
        ] {
            assert_eq!(parse(text), Err(status), "{text}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100));
        assert_eq!(parse(&many), Err(Status::TooLong));
    }
}
