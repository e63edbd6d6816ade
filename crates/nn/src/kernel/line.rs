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
