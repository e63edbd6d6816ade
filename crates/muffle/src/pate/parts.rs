//! Which teacher learns from which record.

use crate::data::View;
use crate::train::validation::content_hash;

/// Splits records among so many teachers: the positions of each.
///
/// # Guarantee
/// The teacher of a record depends on its values and its label alone, so one record more or less changes the part of one teacher
/// and no other. Equal records have the same teacher. A part may be empty.
pub fn split(records: &View, teachers: usize) -> Vec<Vec<usize>> {
    let mut parts = vec![Vec::new(); teachers];
    for record in 0..records.split().len() {
        let digest = content_hash(records, record);
        // Other bytes than those that hold records out, so that the two are independent.
        let word = u64::from_le_bytes(std::array::from_fn(|byte| digest[8 + byte]));
        parts[((u128::from(word) * teachers as u128) >> 64) as usize].push(record);
    }
    parts
}
