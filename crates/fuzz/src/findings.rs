//! Inputs that showed a mistake, in files.

use crate::outcome;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A folder of findings, and the input that is under way.
pub struct Findings {
    folder: PathBuf,
    known: HashSet<(String, u64)>,
    under_way: File,
}

impl Findings {
    /// A folder, made if it is not there. An input that was under way when an earlier process ended is kept as a file of its own.
    pub fn open(folder: &Path) -> io::Result<Findings> {
        fs::create_dir_all(folder)?;
        let path = under_way(folder);
        if let Some(input) = fs::read(&path).ok().as_deref().and_then(framed) {
            let kept = folder.join(format!("under-way-{:016x}", digest(input)));
            fs::write(&kept, input)?;
            eprintln!("an earlier process ended before its last input did: {}", kept.display());
        }
        let under_way = File::create(path)?;
        Ok(Findings { folder: folder.to_path_buf(), known: HashSet::new(), under_way })
    }

    /// Puts the input that comes next where it is found if the process dies of it.
    pub fn begin(&self, input: &[u8]) -> io::Result<()> {
        let mut framed = (input.len() as u64).to_le_bytes().to_vec();
        framed.extend(input);
        self.under_way.write_all_at(&framed, 0)
    }

    /// Keeps an input that ended in a mistake, one for each kind.
    pub fn keep(&mut self, target: &str, mistake: &str, input: &[u8]) -> io::Result<()> {
        if self.known.insert((target.to_string(), outcome::kind(mistake))) {
            let path = self.folder.join(format!("{target}-{:016x}", digest(input)));
            fs::write(&path, input)?;
            eprintln!("{target}: {mistake}\n  --target {target} --replay {}", path.display());
        }
        Ok(())
    }

    /// Nothing is under way any more.
    pub fn close(self) -> io::Result<()> {
        fs::remove_file(under_way(&self.folder))
    }
}

fn under_way(folder: &Path) -> PathBuf {
    folder.join("under-way")
}

/// The input in a file that begins with its length.
fn framed(file: &[u8]) -> Option<&[u8]> {
    let (length, input) = file.split_first_chunk()?;
    input.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

fn digest(input: &[u8]) -> u64 {
    input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
