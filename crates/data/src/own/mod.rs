//! The user's own data: tables, arrays and folders of images, each with a small description.

pub mod csv;
mod decoder;
pub mod description;
pub mod images;
pub mod npz;
pub mod parquet;
pub mod partition;
pub mod table;

pub use description::{Description, load};
