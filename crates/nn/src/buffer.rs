//! Memory that starts on a cache line.

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};
use std::ops::{Deref, DerefMut};

/// Values in one line of the cache.
const LINE: usize = 16;

/// One line of the cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

// SAFETY: sixteen floats fill the 64 bytes without padding, and all zeros is a value of each.
unsafe impl Zeroable for Line {}
// SAFETY: as above; any bits are a float, and the type is `Copy`, `'static` and `repr(C)`.
unsafe impl Pod for Line {}

/// Values whose first lies at the start of a cache line.
pub struct Buffer {
    lines: Vec<Line>,
    len: usize,
}

/// A buffer of zeros.
pub fn buffer(len: usize) -> Buffer {
    Buffer { lines: vec![Line::zeroed(); len.div_ceil(LINE)], len }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &cast_slice(&self.lines)[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut cast_slice_mut(&mut self.lines)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::buffer;

    #[test]
    fn a_buffer_has_its_length_and_starts_on_a_line() {
        for len in [0, 1, 15, 16, 17, 1000] {
            let mut values = buffer(len);
            assert_eq!(values.len(), len);
            assert!(values.iter().all(|value| *value == 0.0));
            assert_eq!(values.as_ptr() as usize % 64, 0);
            values.fill(1.0);
            assert_eq!(values.iter().sum::<f32>(), len as f32);
        }
    }
}
