//! Arrays of a known shape, with targets or without.

use super::npz::{self, Form, Layout};
use crate::dataset::{Records, Split};
use crate::error::{DataError, Result};
use crate::format::npy::Array;
use crate::limits;
use crate::open;
use crate::schema::{Schema, Stored};
use crate::targets::Targets;
use std::io::Cursor;
use std::path::Path;
use zip::ZipArchive;

/// Reads the array `x` of an archive, or `x_test`, or the only one.
pub fn read(path: &Path, schema: &Schema) -> Result<Split> {
    let file = path.display().to_string();
    let bytes = open::read(path, limits::MAXIMUM_BYTES)?;
    let mut archive = Archive::open(&file, &bytes)?;
    let names = archive.names();
    let name = match &names[..] {
        [only] => only,
        _ if !has(&names, "x") && has(&names, "x_test") => "x_test",
        _ => "x",
    };
    archive.split(schema, name, None)
}

/// Reads both splits of an archive with their targets, or `x` and `y`, which are both of them then.
pub fn read_with_targets(path: &Path, schema: &Schema) -> Result<(Split, Split)> {
    let file = path.display().to_string();
    let bytes = open::read(path, limits::MAXIMUM_BYTES)?;
    let mut archive = Archive::open(&file, &bytes)?;
    let names = archive.names();
    if has(&names, "x_train") && has(&names, "x_test") {
        let train = archive.split(schema, "x_train", Some("y_train"))?;
        return Ok((train, archive.split(schema, "x_test", Some("y_test"))?));
    }
    let all = archive.split(schema, "x", Some("y"))?;
    Ok((all.clone(), all))
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

/// An archive, of which no more is inflated than is allowed.
struct Archive<'a> {
    file: &'a str,
    zip: ZipArchive<Cursor<&'a [u8]>>,
    budget: u64,
}

impl<'a> Archive<'a> {
    fn open(file: &'a str, bytes: &'a [u8]) -> Result<Archive<'a>> {
        Ok(Archive { file, zip: npz::archive(file, bytes)?, budget: limits::MAXIMUM_BYTES })
    }

    /// Names of the first arrays.
    fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().take(20).flatten();
        names.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_string()).collect()
    }

    fn array(&mut self, name: &str) -> Result<Array> {
        npz::member(self.file, &mut self.zip, name, &mut self.budget)
            .map_err(|error| error.remedy("save with numpy.savez(file, x=...), and y=... for targets"))
    }

    fn split(&mut self, schema: &Schema, x: &str, y: Option<&str>) -> Result<Split> {
        let (file, values) = (self.file, self.array(x)?);
        let wrong = |reason: String| DataError::malformed(file, format!("array `{x}`"), reason);
        let layout = layout(&values.sizes, schema).ok_or_else(|| {
            wrong(format!("sizes {:?}, the model reads records of shape {}", values.sizes, schema.shape()))
                .remedy("reshape the array: records first, then the sizes of one record")
        })?;
        let count = values.sizes[0];
        let targets = match y {
            Some(y) => npz::targets(file, y, self.array(y)?, count, Some(&schema.task))?,
            None => Targets::None(count),
        };
        let form = Form { layout, vocabulary: schema.vocabulary };
        let records = npz::records(file, x, values, schema.shape(), form)?;
        let wanted = match (schema.stored, &records) {
            (Stored::Bytes, Records::Floats(_)) => "bytes from 0 to 255 (numpy.uint8)",
            (Stored::Floats, Records::Bytes(_)) => "floats (numpy.float32)",
            _ => return Ok(Split { records, targets }),
        };
        let about = schema.scaling.about();
        Err(wrong(format!("the model was trained on {wanted}, scaled by: {about}"))
            .remedy("convert the array"))
    }
}

/// The order of the sizes of an array that holds records of the schema's shape.
fn layout(sizes: &[usize], schema: &Schema) -> Option<Layout> {
    let fits = |layout: &Layout| npz::record_shape(sizes, *layout) == Some(schema.shape());
    [Layout::ChannelsLast, Layout::ChannelsFirst].into_iter().find(fits)
}
