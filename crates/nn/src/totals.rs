//! What the groups of a step come to.

use crate::quanta::{PIECE, Quanta, take_rounded};
use std::ops::Range;
use std::sync::Mutex;

/// Coordinates under one lock: few enough that threads seldom wait for each other.
pub(crate) const CHUNK: usize = 1 << 14;

/// The totals of as many coordinates, or nothing as long as nobody has added to them.
pub(crate) type Chunk = Mutex<Vec<f64>>;

/// Whole numbers of [fine](crate::quanta::FINE) quanta, to which all threads add what they have of the groups: in any order, since
/// whole numbers add without error.
#[derive(Clone, Copy)]
pub(crate) struct Totals<'a> {
    quanta: &'a Quanta,
    chunks: &'a [Chunk],
    len: usize,
}

impl<'a> Totals<'a> {
    /// Nothing yet for so many coordinates, in memory that is kept from step to step.
    pub fn new(quanta: &'a Quanta, len: usize, chunks: &'a mut Vec<Chunk>) -> Totals<'a> {
        chunks.resize_with(len.div_ceil(CHUNK), Chunk::default);
        for chunk in chunks.iter_mut() {
            chunk.get_mut().expect("nobody fails while adding").clear();
        }
        Totals { quanta, chunks, len }
    }

    /// Adds the sums of a part of a group over some coordinates, and leaves zeros in their place.
    pub fn take(&self, coordinates: Range<usize>, sums: &mut [f32]) {
        let (mut begin, mut rest, mut here) = (coordinates.start, sums, Here::new());
        while begin < coordinates.end {
            let end = coordinates.end.min((begin / CHUNK + 1) * CHUNK);
            let (now, later) = rest.split_at_mut(end - begin);
            let mut chunk = self.chunks[begin / CHUNK].lock().expect("nobody fails while adding");
            if chunk.is_empty() {
                // Here, where the threads share the work, and the zeros are used next.
                chunk.resize(CHUNK.min(self.len - begin / CHUNK * CHUNK), 0.0);
            }
            let totals = &mut chunk[begin % CHUNK..][..now.len()];
            for (piece, (totals, sums)) in totals.chunks_mut(PIECE).zip(now.chunks_mut(PIECE)).enumerate() {
                here.go_to(self.quanta, begin + piece * PIECE, sums.len());
                take_rounded(totals, sums, here.inverses());
            }
            (begin, rest) = (end, later);
        }
    }
}

/// The quanta of a few coordinates.
pub(crate) struct Here {
    quanta: [f64; PIECE],
    inverses: [f64; PIECE],
    len: usize,
    /// The quantum that stands everywhere, if one does.
    same: Option<f64>,
}

impl Here {
    /// Nowhere yet.
    pub fn new() -> Here {
        Here { quanta: [0.0; PIECE], inverses: [0.0; PIECE], len: 0, same: None }
    }

    /// Takes those of the coordinates from `first` on.
    pub fn go_to(&mut self, quanta: &Quanta, first: usize, len: usize) {
        self.len = len;
        let same = quanta.same(first, len);
        if let Some(quantum) = same {
            if self.same != same {
                self.quanta.fill(quantum);
                self.inverses.fill(1.0 / quantum);
            }
        } else {
            quanta.write(first, &mut self.quanta[..len], &mut self.inverses[..len]);
        }
        self.same = same;
    }

    /// One for each coordinate.
    pub fn quanta(&self) -> &[f64] {
        &self.quanta[..self.len]
    }

    /// Their inverses.
    pub fn inverses(&self) -> &[f64] {
        &self.inverses[..self.len]
    }
}
