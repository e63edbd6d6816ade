//! Data: records in memory, where they come from, and how a network reads them.
//!
//! Nothing here computes a statistic over private records for the program's own use: scaling uses published constants
//! or ranges the user declares, categories and classes are declared too, and a record falls into the training or the
//! test split by a hash of itself, whatever the other records are.
//!
//! ```
//! use muffle_data::{Search, load};
//! use muffle_nn::Examples;
//!
//! let dataset = load("mnist", &Search::new(None))?;
//! let batch = dataset.train().select(vec![7, 11, 13]);
//! let mut input = vec![0.0; dataset.input().len()];
//! batch.read(0, &mut input);
//! assert_eq!(batch.len(), 3);
//! # Ok::<(), muffle_data::DataError>(())
//! ```
//!
//! Features, all off by default: `parquet` and `images` read those files, `fetch` downloads published sets, `tokenizers` reads
//! texts by tokenizers of Hugging Face. Without one, what needs it is an error that names it.

pub mod augment;
pub mod checksum;
pub mod column;
pub mod dataset;
mod download;
pub mod entry;
pub mod error;
pub mod fetch;
pub mod format;
pub mod generated;
pub mod leaves;
pub mod limits;
pub mod locate;
pub mod made_up;
#[cfg(test)]
mod mutation;
pub mod open;
pub mod own;
pub mod picture;
pub mod registry;
pub mod scaling;
pub mod schema;
pub mod sets;
pub mod source;
pub mod targets;
pub mod task;
pub mod written;

pub use augment::{Augmentation, Views};
pub use dataset::{Dataset, Records, Split, View, Visibility};
pub use error::{DataError, Result};
pub use locate::Search;
pub use scaling::Scaling;
pub use schema::Schema;
pub use source::{Source, load};
pub use targets::Targets;
pub use task::{Quantity, Task};
