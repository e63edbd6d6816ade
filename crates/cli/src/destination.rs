//! Where a command writes: standard output, what is there, or a new file.

use crate::train::Outcome;
use muffle::atomic_file;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Links that lead to each other are followed so far.
const MOST_LINKS: usize = 40;

/// A place to write to.
#[derive(Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    StandardOutput,
    /// A device, a pipe: written into, and never replaced.
    Open(PathBuf),
    /// A file, whole or not at all.
    File(PathBuf),
}

impl Destination {
    /// What a path leads to. A link stays: what it leads to is written.
    pub fn of(path: Option<&Path>) -> io::Result<Destination> {
        let Some(path) = path.filter(|path| !["-", "/dev/stdout"].map(Path::new).contains(path)) else {
            return Ok(Destination::StandardOutput);
        };
        // What stands for an open file of this process is written into, whatever that is.
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return Ok(Destination::Open(path.to_path_buf()));
        }
        let path = followed(path)?;
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => {
                Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a folder"))
            }
            Ok(found) if !found.is_file() => Ok(Destination::Open(path)),
            _ => Ok(Destination::File(path)),
        }
    }

    /// Lets `fill` write there. A file appears when all of it is written, and not at all if anything fails.
    pub fn write<T>(&self, fill: impl FnOnce(&mut (dyn Write + Send)) -> Outcome<T>) -> Outcome<T> {
        match self {
            Destination::StandardOutput => fill(&mut io::stdout()),
            Destination::Open(path) => fill(&mut OpenOptions::new().write(true).open(path)?),
            Destination::File(path) => {
                let mut result = None;
                let written = atomic_file::write_with(path, |file| {
                    result = Some(fill(file));
                    match result {
                        Some(Ok(_)) => Ok(()),
                        _ => Err(io::Error::other("what fills the file has failed")),
                    }
                });
                match result {
                    Some(Ok(filled)) => Ok(written.map(|()| filled)?),
                    Some(Err(error)) => Err(error),
                    None => {
                        Err(written.err().unwrap_or_else(|| io::Error::other("nothing was written")).into())
                    }
                }
            }
        }
    }
}

/// The path at the end of a chain of links.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("links that lead to each other"))
}
