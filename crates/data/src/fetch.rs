//! Downloads of the official files, kept only if their content is the published one.

use super::checksum::md5_hex;
use super::download;
use super::entry::{Content, Entry};
use super::error::{DataError, Result};
use super::limits;
use super::locate::{Search, check};
use super::open;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// One file after `fetch`.
#[derive(Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it is now.
    pub path: PathBuf,
    /// Whether it was there before.
    pub already: bool,
}

/// Downloads what is missing of a set into the first data folder.
///
/// A `mirror` replaces the official address: it serves the same files as `MIRROR/NAME/FILE`, and may speak plain http,
/// since contents are compared with the published ones. `report` hears of each address before it is fetched.
pub fn fetch(
    entry: &Entry,
    search: &Search,
    mirror: Option<&str>,
    mut report: impl FnMut(&str),
) -> Result<Vec<Fetched>> {
    if entry.downloads.is_empty() {
        return Ok(Vec::new());
    }
    let folder = search.destination(entry)?;
    fs::create_dir_all(&folder).map_err(|error| DataError::system(&folder, error))?;
    let mut fetched = Vec::new();
    for official in entry.downloads {
        let name = official.rsplit('/').next().unwrap_or(official);
        let path = folder.join(name);
        let already = path.is_file() && verify(entry, name, &path).is_ok();
        if !already {
            let url = match mirror {
                Some(mirror) => format!("{}/{}/{name}", mirror.trim_end_matches('/'), entry.folder()),
                None => official.to_string(),
            };
            report(&url);
            // The name keeps its ending, by which it is decompressed for the check.
            let part = folder.join(format!(".part-{}-{name}", std::process::id()));
            let result = download::to_file(&url, &part, most(entry, name), mirror.is_none())
                .and_then(|()| verify(entry, name, &part).map_err(|error| unlike(&url, error)))
                .and_then(|()| fs::rename(&part, &path).map_err(|error| DataError::system(&path, error)));
            if result.is_err() {
                let _ = fs::remove_file(&part);
            }
            result?;
        }
        fetched.push(Fetched { path, already });
    }
    Ok(fetched)
}

/// What was downloaded is not the published file.
fn unlike(url: &str, error: DataError) -> DataError {
    let reason = match error {
        DataError::Checksum { expected, found, .. } => {
            format!("the content has md5 {found}, the published file has {expected}")
        }
        DataError::Malformed { position, reason, .. } => format!("{position}: {reason}"),
        other => other.to_string(),
    };
    DataError::Download {
        url: url.to_string(),
        reason: format!("{reason}; nothing was kept: try again later or use --mirror"),
    }
}

/// Most bytes of a download: its content, and a little if compression gained nothing.
fn most(entry: &Entry, name: &str) -> u64 {
    if let Some(archive) = entry.archive.filter(|archive| archive.name == name) {
        return archive.bytes;
    }
    let content = entry.files.iter().find(|file| name.starts_with(file.name)).map_or(0, |file| file.bytes);
    (content + content / 100 + 4096).min(limits::MAXIMUM_BYTES)
}

/// Compares a downloaded file with what is published of it.
fn verify(entry: &Entry, name: &str, path: &Path) -> Result<()> {
    let shown = path.display().to_string();
    if let Some(archive) = entry.archive.filter(|archive| archive.name == name) {
        let file = File::open(path).map_err(|error| DataError::system(path, error))?;
        let found = md5_hex(&open::contents(&shown, file, archive.bytes)?);
        if found != archive.md5 {
            let (name, expected) = (entry.name.to_string(), archive.md5.to_string());
            return Err(DataError::Checksum { name, file: shown, expected, found });
        }
        return Ok(());
    }
    let official = entry.files.iter().find(|file| name.starts_with(file.name)).ok_or_else(|| {
        DataError::Description { file: shown.clone(), reason: "not a file of this set".to_string() }
    })?;
    let bytes = open::read(path, official.bytes)?;
    check(entry.name, official, Content { file: shown, bytes }).map(drop)
}

#[cfg(all(test, feature = "fetch"))]
mod tests {
    use super::*;
    use crate::entry::{Archive, Official};
    use crate::sets::{cifar10, fashion_mnist};
    use flate2::{Compression, write::GzEncoder};
    use std::collections::HashMap;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    /// A server on this machine that knows some paths; it lives as long as the test.
    fn server(files: HashMap<String, Vec<u8>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let request = lines.next().and_then(|line| line.ok()).unwrap_or_default();
                while lines.next().and_then(|line| line.ok()).is_some_and(|line| !line.is_empty()) {}
                let path = request.split(' ').nth(1).unwrap_or("");
                let (status, body) =
                    files.get(path).map_or(("404 Not Found", &[][..]), |body| ("200 OK", &body[..]));
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
            }
        });
        address
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A set of two gzipped files.
    fn two() -> Entry {
        let official = |name, content: &[u8]| Official {
            name,
            bytes: content.len() as u64,
            md5: Some(Box::leak(md5_hex(content).into_boxed_str())),
        };
        let files = vec![official("one", b"first content"), official("two", b"second content")];
        Entry {
            name: "small",
            folders: &["small"],
            files: Box::leak(files.into_boxed_slice()),
            downloads: &["https://example.org/a/one.gz", "https://example.org/a/two.gz"],
            ..fashion_mnist::ENTRY
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_fetched_checked_and_fetched_once() {
        let entry = two();
        let address = server(HashMap::from([
            ("/small/one.gz".to_string(), gzip(b"first content")),
            ("/small/two.gz".to_string(), gzip(b"second content")),
        ]));
        let folder = tempfile::tempdir().unwrap();
        let search = Search::only(&[folder.path().to_path_buf()]);
        let mut heard = 0;
        let fetched = fetch(&entry, &search, Some(&address), |_| heard += 1).unwrap();
        assert_eq!((heard, fetched.len()), (2, 2));
        assert_eq!(names(&folder.path().join("small")), ["one.gz", "two.gz"]);
        let again = fetch(&entry, &search, Some("http://127.0.0.1:1"), |_| ()).unwrap();
        assert!(again.iter().all(|file| file.already));
    }

    #[test]
    fn what_is_not_the_published_content_is_not_kept() {
        let entry = two();
        let folder = tempfile::tempdir().unwrap();
        let search = Search::only(&[folder.path().to_path_buf()]);
        for (content, part) in [
            (gzip(b"other content"), "md5"),
            (gzip(b"short"), "13 bytes"),
            (gzip(b"first content and more"), "goes on"),
            (vec![0; 100_000], "more than"),
            (b"no gzip".to_vec(), "byte"),
        ] {
            let address = server(HashMap::from([("/small/one.gz".to_string(), content)]));
            let message = fetch(&entry, &search, Some(&address), |_| ()).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("/small/one.gz"), "{message}");
            assert!(names(&folder.path().join("small")).is_empty());
        }
        let address = server(HashMap::new());
        let message = fetch(&entry, &search, Some(&address), |_| ()).unwrap_err().to_string();
        assert!(message.contains("404") && message.contains("--mirror"), "{message}");
    }

    #[test]
    fn archives_are_known_by_their_own_checksum() {
        let archive = Archive {
            name: "cifar-10-binary.tar.gz",
            md5: Box::leak(md5_hex(b"an archive").into_boxed_str()),
            bytes: 10,
        };
        let entry = Entry { archive: Some(archive), ..cifar10::ENTRY };
        let folder = tempfile::tempdir().unwrap();
        let search = Search::only(&[folder.path().to_path_buf()]);
        let path = "/cifar10/cifar-10-binary.tar.gz".to_string();
        let wrong = server(HashMap::from([(path.clone(), b"an Archive".to_vec())]));
        assert!(fetch(&entry, &search, Some(&wrong), |_| ()).unwrap_err().to_string().contains("md5"));
        let right = server(HashMap::from([(path, b"an archive".to_vec())]));
        assert!(!fetch(&entry, &search, Some(&right), |_| ()).unwrap()[0].already);
    }

    #[test]
    fn official_addresses_are_https_and_name_known_files() {
        for entry in crate::registry::ENTRIES {
            for url in entry.downloads {
                assert!(url.starts_with("https://"), "{url}");
                let name = url.rsplit('/').next().unwrap();
                let archive = entry.archive.is_some_and(|archive| archive.name == name);
                assert!(archive || entry.files.iter().any(|file| name.starts_with(file.name)), "{url}");
            }
            assert_eq!(entry.downloads.is_empty(), entry.built_in.is_some());
        }
    }
}

#[cfg(all(test, not(feature = "fetch")))]
mod tests_without_network {
    #[test]
    fn a_download_without_its_feature_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let search = super::Search::only(&[folder.path().to_path_buf()]);
        let message =
            super::fetch(&crate::sets::cifar10::ENTRY, &search, None, |_| ()).unwrap_err().to_string();
        assert!(message.contains("https://") && message.contains("--features fetch"), "{message}");
    }
}
