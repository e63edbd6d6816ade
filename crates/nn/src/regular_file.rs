//! Files that can be read as a whole: a pipe with nobody behind it would be waited for without end, and a device may never end.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Where a shell puts pipes that are open already, such as standard input and `<(command)`.
const OPEN: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];

/// Opens a file for reading if it is a regular one, or a pipe that somebody has opened for this process.
pub fn open(path: &Path) -> Result<File> {
    let metadata = std::fs::metadata(path)?;
    let open = OPEN.iter().any(|folder| path.starts_with(folder)) && kind(&metadata) == PIPE;
    match metadata.is_file() || open {
        true => File::open(path),
        false => Err(Error::new(
            ErrorKind::InvalidInput,
            format!("this is {}, and a regular file is needed", kind(&metadata)),
        )),
    }
}

/// The bytes of a regular file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file.
pub fn read_to_string(path: &Path) -> Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Error::new(ErrorKind::InvalidData, "this is no text in UTF-8"),
        _ => error,
    })?;
    Ok(text)
}

const PIPE: &str = "a named pipe";

/// What it is in place of a regular file.
fn kind(metadata: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return PIPE;
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if metadata.is_dir() { "a folder" } else { "something else" }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_would_block_or_never_end_is_refused() {
        let folder = std::env::temp_dir().join(format!("muffle-regular-file-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let pipe = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = folder.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, what) in [
            (&*pipe, "a named pipe"),
            (&socket, "a socket"),
            (&*folder, "a folder"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            let message = read(path).unwrap_err().to_string();
            assert!(message.contains(what), "{message}");
        }
        let file = folder.join("file");
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, folder.join("link")).unwrap();
        assert_eq!(read_to_string(&folder.join("link")).unwrap(), "text");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
