//! For whom a request is meant.

use std::net::{IpAddr, SocketAddr};

/// Whether a request names this machine as it is reached here: by its address, or as `localhost` where only this machine can ask.
pub fn is_meant_for(host: &str, address: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && !port.ends_with(']') => (name, port.parse().ok()),
        _ => (host, Some(80)),
    };
    let name = name.to_ascii_lowercase();
    let ip = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let loopback = address.ip().is_loopback();
    let known = match ip {
        Ok(ip) => ip == address.ip() || address.ip().is_unspecified(),
        Err(_) => loopback && name == "localhost",
    };
    known && port == Some(address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_this_machine_are_answered() {
        let here: SocketAddr = "127.0.0.1:7000".parse().unwrap();
        for host in ["127.0.0.1:7000", "localhost:7000", "LOCALHOST:7000"] {
            assert!(is_meant_for(host, here), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:7000",
            "localhost",
            "localhost:7001",
            "127.0.0.1",
            "127.0.0.1.evil.example:7000",
            "127.0.0.2:7000",
            ":7000",
        ] {
            assert!(!is_meant_for(host, here), "{host}");
        }
        let six: SocketAddr = "[::1]:7000".parse().unwrap();
        assert!(is_meant_for("[::1]:7000", six) && !is_meant_for("[::2]:7000", six));
        let all: SocketAddr = "0.0.0.0:7000".parse().unwrap();
        assert!(
            is_meant_for("192.168.1.5:7000", all) && !is_meant_for("localhost:7000", all),
            "a name could be anybody's"
        );
    }
}
