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
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Destination::StandardOutput);
        };
        let path = followed(path)?;
        match descriptor(&path) {
            Some("1") => return Ok(Destination::StandardOutput),
            Some(_) => return Ok(Destination::Open(path)),
            None => {}
        }
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
            // Behind what others have written, where an open file of this process is a file.
            Destination::Open(path) => fill(&mut OpenOptions::new().append(true).open(path)?),
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

/// The path at the end of a chain of links, or the name of an open file of this process on the way.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(link) if descriptor(&path).is_none() => {
                path = path.parent().unwrap_or(Path::new("")).join(link);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("links that lead to each other"))
}

/// The number of the open file of this process that a path stands for. Where it leads may be no path at all: a pipe.
fn descriptor(path: &Path) -> Option<&str> {
    match path.to_str()? {
        "/dev/stdout" => Some("1"),
        "/dev/stderr" => Some("2"),
        path => ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|folder| path.strip_prefix(folder)),
    }
}
