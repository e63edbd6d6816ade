//! Folders of PNG, JPEG and TIFF images, one folder for each class.
//!
//! Either `FOLDER/train/CLASS/*.png` and `FOLDER/test/CLASS/*.png`, or `FOLDER/CLASS/*.png` divided by a hash of each
//! image's pixels.

use super::decoder;
use super::partition::is_test;
use crate::dataset::{Records, Split};
use crate::error::{DataError, Result};
use crate::limits;
use crate::open;
use crate::picture::Picture;
use muffle_nn::shape::Shape;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Most bytes of one image file.
const MAXIMUM_FILE: u64 = 256 << 20;

/// What all images are made into.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form {
    /// Height and width to resize to; without it all images must have one size.
    pub size: Option<[usize; 2]>,
    /// 1 for grey, 3 for colour (the default).
    pub channels: Option<usize>,
    /// The share of records for testing, if the folders do not say.
    pub test_fraction: Option<f64>,
}

/// What a folder holds.
#[derive(Debug)]
pub struct Folder {
    /// Names of the class folders, in order.
    pub classes: Vec<String>,
    /// Shape of one image.
    pub input: Shape,
    /// Training records.
    pub train: Split,
    /// Test records.
    pub test: Split,
    /// Whether a hash of each image decided between the two.
    pub split_by_hash: bool,
}

/// Reads a folder.
pub fn read(folder: &Path, form: Form) -> Result<Folder> {
    let channels = form.channels.unwrap_or(3);
    let refuse = |reason: String| DataError::Description { file: folder.display().to_string(), reason };
    if channels != 1 && channels != 3 {
        return Err(refuse(format!("images of {channels} channels; choose 1 (grey) or 3 (colour)")));
    }
    let (train_folder, test_folder) = (folder.join("train"), folder.join("test"));
    if train_folder.is_dir() && test_folder.is_dir() {
        let classes = folders(&train_folder)?;
        if let Some(unknown) = folders(&test_folder)?.iter().find(|class| !classes.contains(class)) {
            return Err(refuse(format!("test has a class `{unknown}` that train does not have")));
        }
        let (mut size, mut read) = (form.size, Vec::new());
        for part in [&train_folder, &test_folder] {
            let (found, images) = decode(part, &classes, size, channels)?;
            size = Some(found);
            read.push(images);
        }
        let [train, test] = [0, 1].map(|part| join(read[part].iter()));
        return Ok(Folder { classes, input: shape(size, channels), train, test, split_by_hash: false });
    }
    let classes = folders(folder)?;
    let (size, images) = decode(folder, &classes, form.size, channels)?;
    let fraction = form.test_fraction.unwrap_or(0.2);
    let (test, train): (Vec<_>, Vec<_>) =
        images.into_iter().partition(|image| is_test(&image.pixels, fraction));
    Ok(Folder {
        classes,
        input: shape(Some(size), channels),
        train: join(train.iter()),
        test: join(test.iter()),
        split_by_hash: true,
    })
}

/// Reads a folder whose classes, size and channels are known: a class may be missing, and no other may be there. All images are in
/// both splits, unless the folder itself has a split.
pub fn read_known(
    folder: &Path,
    classes: &[String],
    size: [usize; 2],
    channels: usize,
) -> Result<(Split, Split)> {
    let (train, test) = (folder.join("train"), folder.join("test"));
    let split = |folder: &Path| {
        if let Some(unknown) = folders(folder)?.into_iter().find(|class| !classes.contains(class)) {
            let reason =
                format!("a folder `{unknown}`, which is no class of the model ({})", classes.join(", "));
            return Err(DataError::Description { file: folder.display().to_string(), reason });
        }
        Ok(join(decode(folder, classes, Some(size), channels)?.1.iter()))
    };
    if train.is_dir() && test.is_dir() {
        return Ok((split(&train)?, split(&test)?));
    }
    let all = split(folder)?;
    Ok((all.clone(), all))
}

/// Whether a folder holds images, not folders of classes.
pub fn is_flat(folder: &Path) -> Result<bool> {
    Ok(!listing(folder)?.iter().any(|path| path.is_dir()))
}

fn shape(size: Option<[usize; 2]>, channels: usize) -> Shape {
    let [height, width] = size.unwrap_or([0, 0]);
    Shape::Image { height, width, channels }
}

struct Decoded {
    class: u32,
    pixels: Vec<u8>,
}

fn join<'a>(images: impl Iterator<Item = &'a Decoded> + Clone) -> Split {
    let labels = images.clone().map(|image| image.class).collect();
    Split::classified(Records::Bytes(images.flat_map(|image| image.pixels.iter().copied()).collect()), labels)
}

/// Names of the folders inside a folder, sorted, without hidden ones.
fn folders(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for path in listing(folder)? {
        if path.is_dir() {
            let name =
                path.file_name().and_then(|name| name.to_str()).ok_or_else(|| DataError::Description {
                    file: path.display().to_string(),
                    reason: "the name of this class is no text; rename the folder".to_string(),
                })?;
            names.push(name.to_string());
        }
    }
    if names.is_empty() {
        return Err(DataError::Description {
            file: folder.display().to_string(),
            reason: "no folders of images inside; make one folder for each class".to_string(),
        });
    }
    Ok(names)
}

/// What a folder holds, sorted so that records have the same order on every machine; hidden files are left out.
pub(super) fn listing(folder: &Path) -> Result<Vec<PathBuf>> {
    let system = |error| DataError::system(folder, error);
    let entries = std::fs::read_dir(folder).map_err(system)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(system)?;
    paths.retain(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
    paths.sort();
    Ok(paths)
}

/// Every image of every class folder, all of one size.
fn decode(
    folder: &Path,
    classes: &[String],
    size: Option<[usize; 2]>,
    channels: usize,
) -> Result<([usize; 2], Vec<Decoded>)> {
    let mut files = Vec::new();
    for (class, name) in classes.iter().enumerate() {
        let inside = folder.join(name);
        if inside.is_dir() {
            files.extend(listing(&inside)?.into_iter().map(|path| (class as u32, path)));
        }
    }
    let (_, first) = files.first().ok_or_else(|| DataError::Description {
        file: folder.display().to_string(),
        reason: "the folders hold no images".to_string(),
    })?;
    let declared = size.is_some();
    let size = match size {
        Some(size) => size,
        None => {
            let image = decode_file(first)?;
            [image.height, image.width]
        }
    };
    if size.contains(&0) || size.iter().any(|side| *side > limits::MAXIMUM_SIDE) {
        let reason = format!("images of {} by {} pixels", size[0], size[1]);
        return Err(DataError::Description { file: folder.display().to_string(), reason });
    }
    if (files.len() * size[0] * size[1] * channels) as u64 > limits::MAXIMUM_VALUES {
        let reason = format!(
            "{} images of {} by {} pixels are more than fit; declare a smaller `size`",
            files.len(),
            size[0],
            size[1]
        );
        return Err(DataError::Description { file: folder.display().to_string(), reason });
    }
    let one = |(class, path): &(u32, PathBuf)| {
        let image = decode_file(path)?;
        let pixels = form(&path.display().to_string(), image, size, declared, channels)?;
        Ok(Decoded { class: *class, pixels })
    };
    Ok((size, files.par_iter().map(one).collect::<Result<Vec<_>>>()?))
}

/// Decodes a PNG, JPEG or TIFF file.
pub(super) fn decode_file(path: &Path) -> Result<Picture> {
    let known = ["png", "jpg", "jpeg", "tif", "tiff"];
    let extension =
        path.extension().and_then(|extension| extension.to_str()).unwrap_or("").to_ascii_lowercase();
    let file = path.display().to_string();
    if !known.contains(&extension.as_str()) {
        return Err(DataError::Description {
            file,
            reason: "neither a .png nor a .jpg nor a .tif file; move it out of the class folders".to_string(),
        });
    }
    decoder::picture(&file, &open::read(path, MAXIMUM_FILE)?)
}

/// Resizes if a size was declared, refuses another size if not, and keeps grey or colour.
pub(super) fn form(
    file: &str,
    image: Picture,
    [height, width]: [usize; 2],
    resize: bool,
    channels: usize,
) -> Result<Vec<u8>> {
    let same = image.height == height && image.width == width;
    if !same && !resize {
        let reason =
            format!("{} by {} pixels, the first image has {height} by {width}", image.height, image.width);
        return Err(DataError::malformed(file, "image", reason)
            .remedy("declare a size to resize all images to, as in `size = [32, 32]`"));
    }
    let image = if same { image } else { image.resized([height, width]) };
    Ok(if channels == 1 { image.into_grey() } else { image.into_colour() })
}

#[cfg(all(test, feature = "images"))]
mod tests {
    use super::*;
    use crate::own::decoder::tests::portable;

    fn place(folder: &Path, name: &str, bytes: &[u8]) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn folders_are_classes_and_sides_may_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        place(root, "train/cat/1.png", &portable(3, 2, [1, 2, 3]));
        place(root, "train/dog/1.jpg", include_bytes!("../../tests/fixtures/images/pale.jpg"));
        place(root, "test/dog/7.PNG", &portable(3, 2, [4, 5, 6]));
        place(root, "train/.hidden/1.txt", b"");
        let read_folder = read(root, Form::default()).unwrap();
        assert_eq!(read_folder.classes, ["cat", "dog"]);
        assert_eq!(read_folder.input, Shape::Image { height: 2, width: 3, channels: 3 });
        assert_eq!(read_folder.train.labels(), [0, 1]);
        assert_eq!(read_folder.test.labels(), [1]);
        let Records::Bytes(pixels) = &read_folder.train.records else { panic!("bytes") };
        assert_eq!(pixels[..6], [1, 2, 3, 1, 2, 3]);
        assert!(pixels[18..].iter().all(|value| value.abs_diff(200) < 4), "{pixels:?}");
        let small = Form { size: Some([1, 1]), channels: Some(1), test_fraction: None };
        assert_eq!(read(root, small).unwrap().train.records.len(), 2);
    }

    #[test]
    fn a_hash_divides_what_the_folders_do_not() {
        let folder = tempfile::tempdir().unwrap();
        for index in 0..60u8 {
            let class = if index % 2 == 0 { "even" } else { "odd" };
            place(folder.path(), &format!("{class}/{index}.png"), &portable(1, 1, [index; 3]));
        }
        let read_folder = read(folder.path(), Form { test_fraction: Some(0.3), ..Form::default() }).unwrap();
        assert_eq!(read_folder.train.len() + read_folder.test.len(), 60);
        assert!((6..32).contains(&read_folder.test.len()), "{}", read_folder.test.len());
    }

    #[test]
    fn what_is_wrong_is_named_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let refused = |form: Form, parts: &[&str]| {
            let message = read(root, form).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        };
        refused(Form::default(), &["one folder for each class"]);
        place(root, "a/1.png", &portable(3, 2, [1, 2, 3]));
        place(root, "b/1.png", &portable(4, 2, [1, 2, 3]));
        refused(Form::default(), &["b/1.png", "2 by 4 pixels", "size = [32, 32]"]);
        refused(Form { channels: Some(2), ..Form::default() }, &["1 (grey) or 3 (colour)"]);
        place(root, "b/1.png", b"no image");
        refused(Form::default(), &["b/1.png", "save it again"]);
        place(root, "b/1.txt", b"");
        std::fs::remove_file(root.join("b/1.png")).unwrap();
        refused(Form::default(), &["b/1.txt", "move it out"]);
    }
}
