//! A folder of images, cut into jobs.

use super::{Chunk, Ids, Job, Options, Stream, Texts};
use crate::error::Result;
use crate::own::images;
use crate::schema::Schema;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Images of one job.
const IMAGES: usize = 32;

/// The images of these files, resized to what the model reads.
pub(super) fn stream(
    files: Vec<PathBuf>,
    (size, channels): ([usize; 2], usize),
    schema: &Schema,
    options: &Options,
) -> Stream<'static> {
    let (files, scaling) = (Arc::new(files), Arc::new(schema.scaling.clone()));
    let (width, options) = (schema.shape().len(), options.clone());
    let jobs = (0..files.len()).step_by(IMAGES).map(move |first| {
        let (files, scaling, options) = (files.clone(), scaling.clone(), options.clone());
        Ok(Box::new(move || {
            let (mut names, mut inputs) = (Texts::default(), Vec::new());
            let mut chunk = Chunk::new(Ids::Texts(Texts::default()), width);
            for file in &files[first..(first + IMAGES).min(files.len())] {
                match pixels(file, size, channels) {
                    Ok(pixels) => {
                        let start = inputs.len();
                        inputs.resize(start + width, 0.0);
                        scaling.apply(&pixels, &mut inputs[start..]);
                        names.push(&file.file_name().unwrap_or_default().to_string_lossy());
                    }
                    Err(error) => chunk.skip(error, &options)?,
                }
            }
            Ok(Chunk { ids: Ids::Texts(names), inputs, ..chunk })
        }) as Job<'static>)
    });
    Stream { id: "file".to_string(), named: true, jobs: Box::new(jobs) }
}

fn pixels(file: &Path, size: [usize; 2], channels: usize) -> Result<Vec<u8>> {
    images::form(&file.display().to_string(), images::decode_file(file)?, size, true, channels)
}
