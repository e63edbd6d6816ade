//! How much a file may ask for. Sizes in headers are checked against these, and against the length of the file,
//! before anything is allocated.

/// Most bytes of one file of the user's own, after decompression.
pub const MAXIMUM_BYTES: u64 = 8 << 30;

/// Most values in one split: 8 GiB as `f32`.
pub const MAXIMUM_VALUES: u64 = 2 << 30;

/// Most values in one record: far above any image that a network here can take.
pub const MAXIMUM_RECORD: usize = 1 << 24;

/// Most pixels in a row or a column of an image.
pub const MAXIMUM_SIDE: usize = 16_384;

/// Most classes of a data set.
pub const MAXIMUM_CLASSES: usize = 1 << 16;

/// Most bytes that deflate can make of one: no honest header declares more.
pub const DEFLATE_RATIO: u64 = 1032;

/// Most memory the xz decoder may ask for, in KiB: twice the dictionary of `xz -9`.
pub const XZ_KIBIBYTES: u32 = 128 << 10;
