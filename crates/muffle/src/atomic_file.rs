//! Files that are either whole or not there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes `contents` under a temporary name beside `path`, syncs it, and renames it into place, so that a crash leaves the
/// old file or the new one, never half of one.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.partial", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(contents.as_ref())?;
        file.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&temporary, path)).and_then(|()| sync_folder(path));
    if placed.is_err() {
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    placed
}

/// Makes the new name last through a power failure.
fn sync_folder(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if cfg!(unix) {
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
