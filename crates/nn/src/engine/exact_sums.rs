//! Sums over groups of records, rounded to a grid and added up exactly.

use super::{CHUNK, Engine};
use crate::quanta::{PIECE, Quanta, add_rounded, add_widened, narrow};
use rayon::prelude::*;

/// Turns whole numbers of quanta into values: takes the first coordinate, the quanta, and the numbers.
pub type Settle<'a> = dyn Fn(usize, &[f64], &mut [f64]) + Sync + 'a;

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

    /// Adds up the groups of the last step: `work(first, quanta, totals)` for every stretch that starts at coordinate `first` turns
    /// whole numbers of quanta into values, which are then in [`Engine::gradient`]. Later steps are plain again.
    ///
    /// # Panics
    /// If no grid was asked for.
    pub fn settle(&mut self, work: &Settle) {
        let quanta = self.quanta.take().expect("a grid was asked for");
        let (earlier, (first, others)) =
            (&self.totals, self.workers.split_first_mut().expect("at least one thread"));
        self.pool.install(|| {
            first.gradient.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
                let (mut quanta_here, mut totals) = ([0.0; PIECE], [0.0; PIECE]);
                for (piece, values) in chunk.chunks_mut(PIECE).enumerate() {
                    let begin = index * CHUNK + piece * PIECE;
                    let place = begin..begin + values.len();
                    let (own_quanta, totals) =
                        (&mut quanta_here[..values.len()], &mut totals[..values.len()]);
                    match earlier.get(place.clone()) {
                        Some(earlier) => totals.copy_from_slice(earlier),
                        None => totals.fill(0.0),
                    }
                    quanta.write(begin, own_quanta);
                    let others = others.iter().map(|other| &other.gradient[place.clone()]);
                    add_sums([&*values].into_iter().chain(others), own_quanta, totals);
                    work(begin, own_quanta, totals);
                    narrow(values, totals);
                }
            });
        });
        self.totals.clear();
        self.apart = false;
    }

    /// Adds the sums of a group to those of the groups before it.
    pub(super) fn add_to_totals(&mut self) {
        let quanta = self.quanta.take().expect("groups are added up on a grid");
        let len = self.network.parameter_len();
        let mut totals = std::mem::take(&mut self.totals);
        totals.resize(len, 0.0);
        let workers = &self.workers;
        self.pool.install(|| {
            totals.par_chunks_mut(CHUNK).enumerate().for_each(|(index, chunk)| {
                let mut quanta_here = [0.0; PIECE];
                for (piece, totals) in chunk.chunks_mut(PIECE).enumerate() {
                    let begin = index * CHUNK + piece * PIECE;
                    let own_quanta = &mut quanta_here[..totals.len()];
                    quanta.write(begin, own_quanta);
                    let place = begin..begin + totals.len();
                    let sums = workers.iter().map(|worker| &worker.gradient[place.clone()]);
                    add_sums(sums, own_quanta, totals);
                }
            });
        });
        (self.totals, self.quanta) = (totals, Some(quanta));
    }
}

/// Adds the sum over all threads to totals, rounded to whole quanta.
fn add_sums<'a>(sums: impl Iterator<Item = &'a [f32]>, quanta: &[f64], totals: &mut [f64]) {
    let (mut inverses, mut sum) = ([0.0; PIECE], [0.0; PIECE]);
    let (inverses, sum) = (&mut inverses[..quanta.len()], &mut sum[..quanta.len()]);
    inverses.iter_mut().zip(quanta).for_each(|(inverse, quantum)| *inverse = 1.0 / quantum);
    sums.for_each(|part| add_widened(sum, part));
    add_rounded(totals, sum, inverses);
}
