//! Sums over groups of records, rounded to a grid and added up exactly.

use super::Engine;
use crate::quanta::{PIECE, Quanta, add_widened, coarsen, narrow, round, widen};
use crate::totals::{CHUNK, Here};
use rayon::prelude::*;

/// Changes whole numbers of quanta into others: takes the first coordinate, and the numbers.
pub type Settle<'a> = dyn Fn(usize, &mut [f64]) + Sync + 'a;

impl Engine {
    /// From the next step on, sums of groups of records are rounded to a grid and added up exactly, for a caller that goes on with
    /// [`Engine::settle`].
    ///
    /// # Guarantee
    /// With one record more, the sums of all groups but one are the same to the bit: what a record is made of does not depend on
    /// where it stands, and the group of a record on nothing but its [identity](crate::Examples::identity).
    pub fn round_sums_to(&mut self, quanta: Quanta) {
        self.quanta = Some(quanta);
    }

    /// Adds up the groups of the last step: `work(first, totals)` for every stretch that starts at coordinate `first` changes whole
    /// numbers of quanta. What they are worth, times a factor, is then in [`Engine::gradient`]. Later steps are plain again.
    ///
    /// # Panics
    /// If no grid was asked for.
    pub fn settle(&mut self, factor: f64, work: &Settle) {
        let quanta = self.quanta.take().expect("a grid was asked for");
        let (first, others) = self.workers.split_first_mut().expect("at least one thread");
        let totals = if self.has_totals { &self.totals[..] } else { &[] };
        self.pool.install(|| {
            first.gradient.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
                let totals = totals.get(index).map(|chunk| chunk.lock().expect("nobody fails while adding"));
                let (mut sums, mut here) = ([0.0; PIECE], Here::new());
                for (piece, values) in chunk.chunks_mut(PIECE).enumerate() {
                    let begin = index * CHUNK + piece * PIECE;
                    here.go_to(&quanta, begin, values.len());
                    let sums = &mut sums[..values.len()];
                    if let Some(totals) = &totals {
                        match totals.is_empty() {
                            true => sums.fill(0.0),
                            false => coarsen(sums, &totals[piece * PIECE..][..values.len()]),
                        }
                    } else {
                        widen(sums, values);
                        for other in others.iter() {
                            add_widened(sums, &other.gradient[begin..begin + values.len()]);
                        }
                        round(sums, here.inverses());
                    }
                    work(begin, sums);
                    narrow(values, sums, here.quanta(), factor);
                }
            });
        });
        self.apart = false;
    }
}
