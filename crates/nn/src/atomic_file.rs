//! Files that are either whole or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `contents` to a file: see [`write_with`].
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    write_with(path, |file| file.write_all(contents.as_ref()))
}

/// Lets `fill` write under a temporary name beside `path`, syncs it, and renames it into place, so that a crash leaves
/// the old file or the new one, never half of one. Who may read an old file may read the new one, and nobody else.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let temporary = temporary_path(path);
    let written = OpenOptions::new().write(true).create_new(true).open(&temporary).and_then(|file| {
        if let Ok(old) = fs::metadata(path) {
            hand_on(&old, &file)?;
        }
        let mut writer = BufWriter::with_capacity(1 << 20, file);
        fill(&mut writer)?;
        writer.into_inner().map_err(|error| error.into_error())?.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&temporary, path)).and_then(|()| sync_folder(path));
    if placed.is_err() {
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    placed
}

/// Gives a new file the rights of the old one, and its owner where that is allowed.
fn hand_on(old: &fs::Metadata, new: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only an administrator can give a file away; whoever writes keeps it otherwise.
        let _ = fchown(new, Some(old.uid()), Some(old.gid()));
    }
    new.set_permissions(old.permissions())
}

/// A name nobody else uses, in the same folder, so that renaming is one step.
fn temporary_path(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{count}.partial", std::process::id()));
    path.with_file_name(name)
}

/// Makes the new name last through a power failure.
fn sync_folder(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if cfg!(unix) {
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
