//! Where the files of a published set are.

use super::checksum::md5_hex;
use super::entry::{Archive, Content, Entry, Official};
use super::error::{DataError, Result};
use super::open;
use flate2::read::MultiGzDecoder;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// The folders to search, best first.
#[derive(Clone, Debug)]
pub struct Search {
    folders: Vec<PathBuf>,
    /// Where relative paths of the user's own data may begin, beside the working folder.
    bases: Vec<PathBuf>,
}

impl Search {
    /// The given folder, then the environment's (`MUFFLE_DATA`), then the user's own.
    pub fn new(data_dir: Option<&Path>) -> Search {
        let environment = std::env::var_os("MUFFLE_DATA").filter(|folder| !folder.is_empty());
        let folders = [data_dir.map(Path::to_path_buf), environment.map(PathBuf::from), home()];
        Search { folders: folders.into_iter().flatten().collect(), bases: Vec::new() }
    }

    /// These folders and no others, but for those of system packages.
    pub fn only(folders: &[PathBuf]) -> Search {
        Search { folders: folders.to_vec(), bases: Vec::new() }
    }

    /// The same for what a run names: a relative path that is not found from the working folder may begin at any folder above
    /// its place, so that a run finds its data from everywhere as long as both lie as they lay.
    pub fn near(&self, run: &Path) -> Search {
        let place = std::path::absolute(run).unwrap_or_else(|_| run.to_path_buf());
        let bases = place.ancestors().map(Path::to_path_buf).collect();
        Search { bases, ..self.clone() }
    }

    /// A file or folder of the user's own, at the first place where it is.
    pub fn own(&self, path: &Path) -> PathBuf {
        let mut places = self.bases.iter().map(|base| base.join(path));
        match path.exists() {
            true => path.to_path_buf(),
            false => places.find(|place| place.exists()).unwrap_or_else(|| path.to_path_buf()),
        }
    }

    /// Where downloads go.
    pub fn destination(&self, entry: &Entry) -> Result<PathBuf> {
        let folder = self.folders.first().ok_or_else(|| DataError::Description {
            file: "data folder".to_string(),
            reason: "no home directory; give --data-dir or set MUFFLE_DATA".to_string(),
        })?;
        Ok(folder.join(entry.folder()))
    }

    /// Every folder a set may lie in.
    fn candidates(&self, entry: &Entry) -> Vec<PathBuf> {
        let inside = self.folders.iter().flat_map(|folder| {
            entry
                .folders
                .iter()
                .map(move |name| if *name == "." { folder.clone() } else { folder.join(name) })
        });
        inside.chain(entry.system.iter().map(PathBuf::from)).collect()
    }

    /// Finds a set without reading it.
    pub fn find(&self, entry: &'static Entry) -> Result<Found> {
        if let Some(files) = entry.built_in {
            return Ok(Found { entry, place: Place::BuiltIn(files) });
        }
        let candidates = self.candidates(entry);
        for folder in &candidates {
            let files: Option<Vec<PathBuf>> = entry.files.iter().map(|file| variant(folder, file)).collect();
            if let Some(files) = files {
                return Ok(Found { entry, place: Place::Files(files) });
            }
            let archive = entry.archive.map(|archive| (folder.join(archive.name), archive));
            if let Some((path, archive)) = archive.filter(|(path, _)| path.is_file()) {
                return Ok(Found { entry, place: Place::Archive(path, archive) });
            }
        }
        let names: Vec<&str> = entry.files.iter().map(|file| file.name).collect();
        Err(DataError::Missing {
            name: entry.name.to_string(),
            looked: candidates,
            remedy: format!(
                "get it with {}; or put {} (plain, .gz or .xz){} into one of these folders; \
                 --data-dir or MUFFLE_DATA name another",
                entry.how_to_get(),
                names.join(", "),
                entry.archive.map_or(String::new(), |archive| format!(" or {}", archive.name))
            ),
        })
    }
}

/// The folder for a user's data by the conventions of the desktop.
fn home() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    base.or_else(|| set("LOCALAPPDATA")).map(|base| base.join("muffle"))
}

/// A file, plain or compressed.
fn variant(folder: &Path, file: &Official) -> Option<PathBuf> {
    ["", ".gz", ".xz"]
        .iter()
        .map(|ending| folder.join(format!("{}{ending}", file.name)))
        .find(|path| path.is_file())
}

/// A set that is there.
pub struct Found {
    /// Which.
    pub entry: &'static Entry,
    place: Place,
}

enum Place {
    BuiltIn(&'static [&'static [u8]]),
    Files(Vec<PathBuf>),
    Archive(PathBuf, Archive),
}

impl Found {
    /// Where, for people.
    pub fn place(&self) -> String {
        match &self.place {
            Place::BuiltIn(_) => "built in".to_string(),
            Place::Files(files) => {
                files.first().and_then(|file| file.parent()).unwrap_or(Path::new(".")).display().to_string()
            }
            Place::Archive(path, _) => path.display().to_string(),
        }
    }

    /// Whether the files come out of the official archive.
    pub fn is_archive(&self) -> bool {
        matches!(self.place, Place::Archive(..))
    }

    /// The contents of all files, checked against the published sizes and checksums.
    pub fn contents(&self) -> Result<Vec<Content>> {
        let files = self.entry.files;
        match &self.place {
            Place::BuiltIn(compressed) => {
                let read = |(file, compressed): (&Official, &&[u8])| {
                    let name = format!("built-in {}", file.name);
                    let bytes = open::contents(&name, MultiGzDecoder::new(*compressed), file.bytes)?;
                    self.check(file, Content { file: name, bytes })
                };
                files.par_iter().zip(compressed.par_iter()).map(read).collect()
            }
            Place::Files(paths) => {
                let read = |(file, path): (&Official, &PathBuf)| {
                    let bytes = open::read(path, file.bytes)?;
                    self.check(file, Content { file: path.display().to_string(), bytes })
                };
                files.par_iter().zip(paths).map(read).collect()
            }
            Place::Archive(path, archive) => {
                let contents = members(path, archive, files)?;
                files.par_iter().zip(contents).map(|(file, content)| self.check(file, content)).collect()
            }
        }
    }

    /// Loads the set.
    pub fn load(&self) -> Result<super::Dataset> {
        (self.entry.load)(self.entry, self.contents()?)
    }

    fn check(&self, official: &Official, content: Content) -> Result<Content> {
        check(self.entry.name, official, content)
    }
}

/// Compares a content with the published length and checksum.
pub fn check(name: &str, official: &Official, content: Content) -> Result<Content> {
    if content.bytes.len() as u64 != official.bytes {
        let position = format!("byte {}", content.bytes.len());
        let reason = format!("the content ends where the published file has {} bytes", official.bytes);
        return Err(DataError::malformed(&content.file, position, reason)
            .remedy(format!("remove it, then `muffle data fetch {name}`")));
    }
    if let Some(expected) = official.md5 {
        let found = md5_hex(&content.bytes);
        if found != expected {
            let (name, expected) = (name.to_string(), expected.to_string());
            return Err(DataError::Checksum { name, file: content.file, expected, found });
        }
    }
    Ok(content)
}

/// The official files inside an archive, whatever folder they are in.
///
/// The archive's own checksum stands for files that have none.
fn members(path: &Path, archive: &Archive, files: &[Official]) -> Result<Vec<Content>> {
    let name = path.display().to_string();
    let compressed = open::contents(
        &name,
        muffle_nn::regular_file::open(path).map_err(|error| DataError::system(path, error))?,
        archive.bytes,
    )?;
    if files.iter().any(|file| file.md5.is_none()) {
        let found = md5_hex(&compressed);
        if found != archive.md5 {
            let reason = format!("the archive has md5 {found}, the published one has {}", archive.md5);
            return Err(DataError::malformed(&name, "whole file", reason));
        }
    }
    untar(&name, &compressed, files)
}

/// Picks the wanted files out of a gzipped tar.
pub fn untar(name: &str, compressed: &[u8], files: &[Official]) -> Result<Vec<Content>> {
    let wrong = |error: std::io::Error| DataError::malformed(name, "tar entry", error);
    let total: u64 = files.iter().map(|file| file.bytes).sum();
    // Room for headers and read-me files; a bomb ends here.
    let decoder = std::io::Read::take(MultiGzDecoder::new(compressed), total + (16 << 20));
    let mut tar = tar::Archive::new(decoder);
    let mut contents: Vec<Option<Content>> = files.iter().map(|_| None).collect();
    for member in tar.entries().map_err(wrong)? {
        let member = member.map_err(wrong)?;
        let inside = member.path().map_err(wrong)?.into_owned();
        let wanted = files.iter().position(|file| inside.file_name().is_some_and(|name| name == file.name));
        let Some(wanted) = wanted.filter(|_| member.header().entry_type().is_file()) else { continue };
        let file = format!("{name}/{}", inside.display());
        if contents[wanted].is_some() {
            return Err(DataError::malformed(name, inside.display(), "the archive holds this file twice"));
        }
        let bytes = open::contents(&file, member, files[wanted].bytes)?;
        contents[wanted] = Some(Content { file, bytes });
    }
    let complete = contents.into_iter().zip(files).map(|(content, file)| {
        content.ok_or_else(|| {
            DataError::malformed(name, "end of the archive", format!("no `{}` inside", file.name))
        })
    });
    complete.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives_cases;
    use crate::sets::cifar10;
    use flate2::{Compression, write::GzEncoder};
    use lzma_rust2::{XzOptions, XzWriter};
    use std::io::Write;

    /// CIFAR-10 with two records in a batch.
    fn small() -> (&'static Entry, Vec<(&'static str, Vec<u8>)>) {
        let files: Vec<(&'static str, Vec<u8>)> = cifar10::ENTRY
            .files
            .iter()
            .enumerate()
            .map(|(batch, file)| {
                let record = |label: usize| [vec![label as u8], vec![batch as u8 * 10; 3072]].concat();
                (file.name, [record(batch), record(9)].concat())
            })
            .collect();
        let official = files.iter().map(|(name, bytes)| Official {
            name,
            bytes: bytes.len() as u64,
            md5: Some(Box::leak(md5_hex(bytes).into_boxed_str())),
        });
        let entry = Entry {
            files: Box::leak(official.collect::<Vec<_>>().into_boxed_slice()),
            records: (10, 2),
            ..cifar10::ENTRY
        };
        (Box::leak(Box::new(entry)), files)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn tar_gz(files: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, format!("cifar-10-batches-bin/{name}"), &bytes[..]).unwrap();
        }
        gzip(&builder.into_inner().unwrap())
    }

    fn check_loaded(found: &Found) {
        let dataset = found.load().unwrap();
        assert_eq!(dataset.train().split().labels(), [0, 9, 1, 9, 2, 9, 3, 9, 4, 9]);
        assert_eq!(dataset.test().split().labels(), [5, 9]);
    }

    #[test]
    fn plain_xz_gz_and_archived_files_are_found() {
        let (entry, files) = small();
        let folder = tempfile::tempdir().unwrap();
        let search = Search::only(&[folder.path().join("nowhere"), folder.path().to_path_buf()]);
        for (inside, ending) in [("cifar10", ""), ("cifar-10", ".xz"), ("cifar-10-batches-bin", ".gz")] {
            let inside = folder.path().join(inside);
            std::fs::create_dir(&inside).unwrap();
            for (name, bytes) in &files {
                let bytes = match ending {
                    ".xz" => xz(bytes),
                    ".gz" => gzip(bytes),
                    _ => bytes.clone(),
                };
                std::fs::write(inside.join(format!("{name}{ending}")), bytes).unwrap();
            }
            let found = search.find(entry).unwrap();
            assert_eq!(found.place(), inside.display().to_string());
            check_loaded(&found);
            std::fs::remove_dir_all(&inside).unwrap();
        }
        std::fs::write(folder.path().join("cifar-10-binary.tar.gz"), tar_gz(&files)).unwrap();
        let found = search.find(entry).unwrap();
        assert!(found.place().ends_with("cifar-10-binary.tar.gz"));
        check_loaded(&found);
    }

    #[test]
    fn a_missing_set_says_where_it_looked_and_how_to_get_it() {
        let search = Search::only(&[PathBuf::from("/nowhere")]);
        let message = search.find(&cifar10::ENTRY).err().unwrap().to_string();
        for part in ["/nowhere/cifar10\n", "muffle data fetch cifar10", "data_batch_1.bin", "MUFFLE_DATA"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn truncated_oversized_and_changed_files_are_refused() {
        let (entry, files) = small();
        let folder = tempfile::tempdir().unwrap();
        let search = Search::only(&[folder.path().to_path_buf()]);
        for (name, bytes) in &files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let (name, good) = &files[2];
        let refused = |bytes: &[u8], parts: &[&str]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            let message = search.find(entry).unwrap().load().unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        };
        refused(&good[..100], &["byte 100", "6146 bytes", "muffle data fetch cifar10"]);
        refused(&[&good[..], &[0]].concat(), &["byte 6146", "goes on"]);
        let mut changed = good.clone();
        changed[50] ^= 1;
        refused(&changed, &["md5", "published"]);
    }

    #[test]
    fn archives_that_lack_repeat_or_break_are_refused() {
        let (entry, files) = small();
        let message = |files: &[(&'static str, Vec<u8>)]| {
            untar("a.tar.gz", &tar_gz(files), entry.files).unwrap_err().to_string()
        };
        assert!(message(&files[1..]).contains("no `data_batch_1.bin` inside"));
        assert!(message(&[&files[..], &files[..1]].concat()).contains("twice"));
        let one = &entry.files[..1];
        survives_cases(&tar_gz(&files[..1]), 2000, |bytes| drop(untar("a.tar.gz", bytes, one)));
    }
}
