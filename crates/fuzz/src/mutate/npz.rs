//! Damage to archives of arrays: arrays change inside, and the archive around them is made anew with its checksums.

use super::deflate::{inflated, stored};
use super::{BLIND, bytes, text};
use crate::random::Random;

/// Bytes before the name of a member.
const LOCAL: usize = 30;

/// Bytes before the text of an array's header, in version 1.
const PREAMBLE: usize = 10;

/// A member of an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: Vec<u8>,
    /// Its content.
    pub content: Vec<u8>,
    /// Whether it is compressed.
    pub deflated: bool,
}

/// Changes, repeats, exchanges or removes an array.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut members = members(input);
    if members.is_empty() || random.once_in(BLIND) {
        return bytes::mutate(random, input, other);
    }
    let place = random.below(members.len());
    match random.below(12) {
        0 => members.insert(place, members[place].clone()),
        1 => drop(members.remove(place)),
        2 => members[place].content = members[random.below(place + 1)].content.clone(),
        3 => members[place].name = bytes::mutate(random, &members[place].name, b"x_train.npy"),
        4 => members[place].deflated = !members[place].deflated,
        _ => members[place].content = array(random, &members[place].content, other),
    }
    archive(&members)
}

/// Changes the header of an array as text and keeps its length right, or the values.
fn array(random: &mut Random, content: &[u8], other: &[u8]) -> Vec<u8> {
    let length = content.get(8..PREAMBLE).map(|length| usize::from(length[0]) + 256 * usize::from(length[1]));
    let parts = length.and_then(|length| content[PREAMBLE..].split_at_checked(length));
    match parts {
        Some((header, values)) if !random.once_in(3) => {
            let header = text::mutate(random, header, header);
            let length = (header.len() as u16).to_le_bytes();
            [&content[..8], &length, &header, values].concat()
        }
        _ => bytes::mutate(random, content, other),
    }
}

/// An archive of these members.
///
/// # Source
/// PKWARE, ".ZIP File Format Specification", sections 4.3.7, 4.3.12 and 4.3.16.
pub fn archive(members: &[Member]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for Member { name, content, deflated } in members {
        let stored = if *deflated { stored(content) } else { content.clone() };
        let mut sum = flate2::Crc::new();
        sum.update(content);
        let mut common = vec![20, 0, 0, 0, if *deflated { 8 } else { 0 }, 0, 0, 0, 0x21, 0];
        common.extend(sum.sum().to_le_bytes());
        common.extend((stored.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let offset = file.len() as u32;
        file.extend([b"PK\x03\x04", &common[..], name, &stored].concat());
        directory
            .extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &offset.to_le_bytes(), name].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let sizes = [(directory.len() as u32).to_le_bytes(), (file.len() as u32).to_le_bytes()].concat();
    [&file[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &sizes, &[0, 0]].concat()
}

/// The members of an archive, as far as their local headers can be read one after the other.
fn members(file: &[u8]) -> Vec<Member> {
    let (mut rest, mut members) = (file, Vec::new());
    while rest.starts_with(b"PK\x03\x04") && rest.len() >= LOCAL {
        let word = |place: usize| usize::from(u16::from_le_bytes([rest[place], rest[place + 1]]));
        let (deflated, stored) = (word(8) == 8, word(18) + (word(20) << 16));
        let (name, extra) = (word(26), word(28));
        let Some((name, behind)) = rest[LOCAL..].split_at_checked(name) else { break };
        let Some(behind) = behind.get(extra..) else { break };
        let Some((stored, behind)) = behind.split_at_checked(stored) else { break };
        let content = if deflated { inflated(stored) } else { stored.to_vec() };
        members.push(Member { name: name.to_vec(), content, deflated });
        rest = behind;
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_as_they_are_written() {
        let member = |name: &str, deflated| Member { name: name.into(), content: vec![7; 50], deflated };
        let written = [member("a", false), member("b.npy", true)];
        assert_eq!(members(&archive(&written)), written);
    }
}
