//! Memory that starts on a cache line.

use aligned_vec::{AVec, ConstAlign};

/// Values whose first lies at the start of a cache line.
pub type Buffer = AVec<f32, ConstAlign<64>>;

/// A buffer of zeros.
pub fn buffer(len: usize) -> Buffer {
    AVec::from_iter(64, std::iter::repeat_n(0.0, len))
}
