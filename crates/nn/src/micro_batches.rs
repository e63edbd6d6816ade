//! How a thread's records fall into micro-batches.
//!
//! A micro-batch runs through the network whatever groups its records belong to: they do not see each other. Only the sums of their
//! gradients are kept apart. So that the sum of a group does not depend on other groups, what is summed in one go is a piece that follows
//! from the group alone, and pieces are put together to fill a micro-batch.

use crate::groups::{Share, share};
use std::ops::Range;

/// Records of a part of a group that fit into a micro-batch, and follow each other there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    /// Place of the first in the batch.
    pub first: usize,
    /// Their places in the micro-batch; the first piece of one begins at zero.
    pub records: Range<usize>,
    /// Whether the thread begins with them: its sums hold nothing yet.
    pub is_first: bool,
    /// Whether the part ends with them.
    pub is_last: bool,
}

/// Splits every part into the fewest pieces of at most `most` records, of nearly equal size; micro-batches hold one piece, or if
/// `packed` as many as fit.
pub(crate) fn pieces(records: &Share, most: usize, packed: bool) -> Vec<Piece> {
    let parts = || records.parts.iter().filter(|part| !part.is_empty());
    let mut pieces = Vec::with_capacity(parts().map(|part| part.len().div_ceil(most)).sum());
    let mut filled = 0;
    for part in parts() {
        let count = part.len().div_ceil(most);
        for number in 0..count {
            let own = share(part.len(), count, number);
            let begin = if packed && filled + own.len() <= most { filled } else { 0 };
            filled = begin + own.len();
            let (is_first, is_last) = (pieces.is_empty(), number + 1 == count);
            pieces.push(Piece { first: part.start + own.start, records: begin..filled, is_first, is_last });
        }
    }
    pieces
}

/// The pieces of each micro-batch.
pub(crate) fn micro_batches(pieces: &[Piece]) -> impl Iterator<Item = &[Piece]> {
    pieces.chunk_by(|_, next| next.records.start > 0)
}

/// The records of a micro-batch, by their places in the batch.
pub(crate) fn records_of(micro_batch: &[Piece]) -> Range<usize> {
    let first = micro_batch[0].first;
    first..first + micro_batch[micro_batch.len() - 1].records.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_from_their_parts_and_fill_micro_batches() {
        let parts = vec![10..13, 13..13, 13..30, 30..31, 31..36];
        let share_of_thread = Share { records: 10..36, parts: parts.clone() };
        for (most, packed) in (1..30).flat_map(|most| [(most, false), (most, true)]) {
            let found = pieces(&share_of_thread, most, packed);
            let (mut place, mut begins, mut ends) = (10, Vec::new(), Vec::new());
            for micro_batch in micro_batches(&found) {
                assert_eq!(records_of(micro_batch).start, place);
                assert!(records_of(micro_batch).len() <= most && (packed || micro_batch.len() == 1));
                for piece in micro_batch {
                    assert_eq!(
                        (piece.first, records_of(micro_batch).start + piece.records.start),
                        (place, place)
                    );
                    begins.extend(piece.is_first.then_some(place));
                    place += piece.records.len();
                    ends.extend(piece.is_last.then_some(place));
                }
                assert_eq!(records_of(micro_batch).end, place);
            }
            assert_eq!((place, begins, ends), (36, vec![10], vec![13, 30, 31, 36]));
            let expected = parts.iter().flat_map(|part| {
                let count = part.len().div_ceil(most);
                (0..count).map(move |number| share(part.len(), count, number).len())
            });
            assert!(found.iter().map(|piece| piece.records.len()).eq(expected), "{most} at a time");
        }
        assert_eq!(micro_batches(&pieces(&share_of_thread, 9, true)).count(), 4);
    }
}
