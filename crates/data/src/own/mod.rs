//! The user's own data: tables, arrays and folders of images, each with a small description.

mod arrays;
pub mod csv;
#[cfg(feature = "images")]
pub mod decoder;
pub mod describe;
pub mod description;
pub mod draft;
pub mod encoding;
pub mod files;
pub mod images;
mod known;
mod load;
pub mod npz;
pub mod npz_table;
mod origin;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "parquet")]
mod parquet_footer;
#[cfg(feature = "parquet")]
mod parquet_pages;
#[cfg(feature = "parquet")]
mod parquet_zstd;
pub mod partition;
pub mod row;
pub mod rows;
mod sample;
pub mod stream;
mod table;
#[cfg(feature = "parquet")]
mod thrift;
#[cfg(feature = "images")]
mod tiff;

pub use description::Description;
pub use draft::Draft;
pub use images::is_flat;
pub use known::load_for;
pub use load::load;
pub use origin::Origin;

/// Refuses every image.
#[cfg(not(feature = "images"))]
mod decoder {
    use crate::error::{DataError, Result};
    use crate::picture::Picture;

    pub(super) fn picture(file: &str, _: &[u8]) -> Result<Picture> {
        Err(DataError::Feature { what: file.to_string(), feature: "images" })
    }
}

/// Refuses every table in columns.
#[cfg(not(feature = "parquet"))]
mod parquet {
    use super::row::{Row, Wanted};
    use crate::error::{DataError, Result};
    use std::path::Path;

    pub(super) fn header(path: &Path) -> Result<Vec<String>> {
        Err(DataError::Feature { what: path.display().to_string(), feature: "parquet" })
    }

    pub(super) fn rows(path: &Path, _: &[Wanted], _: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
        Err(DataError::Feature { what: path.display().to_string(), feature: "parquet" })
    }
}
