//! Bytes of a file, decompressed if its name says so, and never more than allowed.

use super::error::{DataError, Result};
use super::limits;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use muffle_nn::regular_file;
use std::io::{BufReader, Read};
use std::path::Path;

/// Reads a file as a stream: `.gz` and `.xz` are decompressed.
pub fn stream(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = regular_file::open(path).map_err(|error| DataError::system(path, error))?;
    let file = BufReader::with_capacity(1 << 16, file);
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => Box::new(MultiGzDecoder::new(file)),
        Some("xz") => Box::new(XzReader::new_mem_limit(file, true, limits::XZ_KIBIBYTES)),
        _ => Box::new(file),
    })
}

/// A stream that fails beyond its limit, where `take` would end it as if all had been read.
pub struct Capped<R> {
    stream: R,
    left: u64,
}

impl<R: Read> Capped<R> {
    /// At most `limit` bytes of a stream.
    pub fn new(stream: R, limit: u64) -> Capped<R> {
        Capped { stream, left: limit }
    }
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| std::io::Error::other("more bytes than are allowed in one file"))?;
        Ok(count)
    }
}

/// Reads a whole file of at most `limit` bytes after decompression.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    contents(&path.display().to_string(), stream(path)?, limit)
}

/// Reads a stream to its end, at most `limit` bytes: what is promised elsewhere never sizes an allocation here.
pub fn contents(file: &str, stream: impl Read, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let result = stream.take(limit + 1).read_to_end(&mut bytes);
    result.map_err(|error| {
        DataError::malformed(file, format!("after {} decompressed bytes", bytes.len()), error)
    })?;
    if bytes.len() as u64 > limit {
        let reason = format!("the content goes on where at most {limit} bytes are expected");
        return Err(DataError::malformed(file, format!("byte {limit}"), reason));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives;
    use flate2::{Compression, write::GzEncoder};
    use lzma_rust2::{XzOptions, XzWriter};
    use std::io::Write;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(content: &[u8]) -> Vec<u8> {
        let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn compressed_and_plain_files_give_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..10_000u32).map(|index| (index * index % 251) as u8).collect();
        for (name, bytes) in [("a", content.clone()), ("a.gz", gzip(&content)), ("a.xz", xz(&content))] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(read(&path, 10_000).unwrap(), content, "{name}");
            let message = read(&path, 9_999).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains("at most 9999 bytes"), "{message}");
        }
    }

    #[test]
    fn a_capped_stream_fails_in_place_of_ending() {
        let read = |limit| Capped::new(&b"12345"[..], limit).read_to_end(&mut Vec::new());
        assert_eq!(read(5).unwrap(), 5);
        assert!(read(4).unwrap_err().to_string().contains("more bytes"));
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let bomb = gzip(&vec![0; 50_000_000]);
        assert!(bomb.len() < 100_000);
        let message = contents("b", MultiGzDecoder::new(&bomb[..]), 1000).unwrap_err().to_string();
        assert!(message.contains("b, byte 1000"), "{message}");
    }

    #[test]
    fn damaged_compression_never_panics() {
        let content = [7; 300];
        survives(&gzip(&content), |bytes| drop(contents("g", MultiGzDecoder::new(bytes), 1000)));
        survives(&xz(&content), |bytes| {
            drop(contents("x", XzReader::new_mem_limit(bytes, true, limits::XZ_KIBIBYTES), 1000));
        });
    }
}
