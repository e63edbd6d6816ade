//! Damage to Parquet files: the footer changes and keeps its length right.

use super::{BLIND, bytes};
use crate::random::Random;

/// Bytes behind the footer: its length, and the name of the format.
const END: usize = 8;

/// Changes the footer, or the pages before it.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let (Some((pages, footer)), false) = (parts(input), random.once_in(BLIND)) else {
        return bytes::mutate(random, input, other);
    };
    let theirs = parts(other).map_or(other, |(_, footer)| footer);
    match random.once_in(2) {
        true => file(pages, &bytes::mutate(random, footer, theirs)),
        false => file(&bytes::mutate(random, pages, other), footer),
    }
}

fn file(pages: &[u8], footer: &[u8]) -> Vec<u8> {
    [pages, footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

fn parts(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, end) = file.split_at_checked(file.len().checked_sub(END)?)?;
    let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize;
    rest.split_at_checked(rest.len().checked_sub(length)?)
}
