//! One blocking GET.

use super::error::{DataError, Result};
use std::path::Path;

/// Writes what an address serves to a file, at most so many bytes.
#[cfg(feature = "fetch")]
pub(crate) fn to_file(url: &str, part: &Path, most: u64, https: bool) -> Result<()> {
    use std::io::{Read, Write};
    let failed = |reason: String| DataError::Download {
        url: url.to_string(),
        reason: format!("{reason}; check the connection and try again, or use --mirror"),
    };
    let system = |error| DataError::system(part, error);
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .https_only(https)
        .timeout_connect(Some(std::time::Duration::from_secs(20)))
        .timeout_recv_response(Some(std::time::Duration::from_secs(60)))
        .timeout_recv_body(Some(std::time::Duration::from_secs(3600)))
        .build()
        .into();
    let mut response = agent.get(url).call().map_err(|error| failed(error.to_string()))?;
    let mut body = response.body_mut().as_reader();
    let mut file = std::fs::File::create(part).map_err(system)?;
    let (mut buffer, mut length) = (vec![0; 1 << 16], 0);
    loop {
        let count = body.read(&mut buffer).map_err(|error| failed(error.to_string()))?;
        if count == 0 {
            break;
        }
        length += count as u64;
        if length > most {
            return Err(failed(format!("more than the {most} bytes it should have")));
        }
        file.write_all(&buffer[..count]).map_err(system)?;
    }
    // Synced before the rename: a crash leaves the whole file or none.
    file.sync_all().map_err(system)
}

/// Refuses every address.
#[cfg(not(feature = "fetch"))]
pub(crate) fn to_file(url: &str, _: &Path, _: u64, _: bool) -> Result<()> {
    Err(DataError::Feature { what: url.to_string(), feature: "fetch" })
}
