//! The unit of memory of the blocked layouts: sixteen neighbouring channels in one cache line.

/// Channels in a [`Line`].
pub const LANES: usize = 16;

/// Sixteen numbers on a cache line of their own, so that no vector load ever straddles two lines.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line(pub [f32; LANES]);

/// How many lines hold `channels` channels; the last one is filled up with zeros.
pub(crate) const fn panels(channels: usize) -> usize {
    channels.div_ceil(LANES)
}

/// How far apart two blocks of `lines` lines start that are read or written in step: an odd distance, since powers of
/// two would map all of them onto the same few places of the cache.
pub(crate) const fn apart(lines: usize) -> usize {
    lines | 1
}

/// The numbers in `lines`.
pub(crate) fn flat(lines: &[Line]) -> &[f32] {
    // SAFETY: a line is an array of as many numbers, without padding, and a number needs less alignment than a line.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * LANES) }
}

/// The numbers in `lines`.
pub(crate) fn flat_mut(lines: &mut [Line]) -> &mut [f32] {
    // SAFETY: as in `flat`, and the lines stay borrowed as long as the numbers.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * LANES) }
}

/// The lines of a slice that starts on a cache line and holds whole lines.
///
/// # Panics
/// If it does not.
pub fn lines(values: &[f32]) -> &[Line] {
    // SAFETY: a line is an array of numbers without padding, and any bits are numbers.
    let (before, lines, after) = unsafe { values.align_to::<Line>() };
    assert!(before.is_empty() && after.is_empty(), "whole cache lines");
    lines
}

/// The lines of a slice that starts on a cache line and holds whole lines.
///
/// # Panics
/// If it does not.
pub fn lines_mut(values: &mut [f32]) -> &mut [Line] {
    // SAFETY: as in `lines`, and the numbers stay borrowed as long as the lines.
    let (before, lines, after) = unsafe { values.align_to_mut::<Line>() };
    assert!(before.is_empty() && after.is_empty(), "whole cache lines");
    lines
}
