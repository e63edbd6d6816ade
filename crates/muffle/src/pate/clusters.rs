//! Typical records: those in the middle of clusters.

use crate::data::View;
use crate::noise::Uniform;
use muffle_nn::Examples;
use rayon::prelude::*;

/// How often means and members are found anew; more changes little.
const ROUNDS: usize = 8;

/// Values that are multiplied side by side.
const LANES: usize = 16;

/// Positions of `count` records, each the nearest to the mean of one of as many clusters of a view.
///
/// # Source
/// Lloyd 1982, "Least squares quantization in PCM", from records at random.
pub(super) fn typical(view: &View, count: usize, uniform: &mut Uniform) -> Vec<usize> {
    let width = view.dataset().input().len();
    // Rows are filled up with zeros, so that they are made of whole lanes.
    let row = width.next_multiple_of(LANES);
    let mut values = vec![0.0; view.len() * row];
    values
        .par_chunks_mut(row)
        .enumerate()
        .for_each(|(record, values)| view.read(record, &mut values[..width]));
    let mut positions: Vec<usize> = (0..view.len()).collect();
    uniform.shuffle(&mut positions);
    let mut means: Vec<f32> =
        positions[..count].iter().flat_map(|&at| &values[at * row..][..row]).copied().collect();
    let mut members = assign(&values, &means, row);
    for _ in 0..ROUNDS {
        means = means_of(&values, &members, &means, row);
        members = assign(&values, &means, row);
    }
    let mut nearest: Vec<Option<(f32, usize)>> = vec![None; count];
    for (record, (cluster, distance)) in members.iter().enumerate() {
        let best = &mut nearest[*cluster];
        if best.is_none_or(|(least, _)| *distance < least) {
            *best = Some((*distance, record));
        }
    }
    // A cluster that has lost all its records gives way to one that no cluster has chosen.
    let mut chosen = vec![false; view.len()];
    nearest.iter().flatten().for_each(|(_, record)| chosen[*record] = true);
    let mut others = positions.into_iter().filter(|&at| !chosen[at]);
    let fill = |best: Option<(f32, usize)>| best.map_or_else(|| others.next(), |(_, record)| Some(record));
    nearest.into_iter().filter_map(fill).collect()
}

/// The nearest mean of every record, and how far it is, up to what is the same for all means.
fn assign(values: &[f32], means: &[f32], row: usize) -> Vec<(usize, f32)> {
    let halves: Vec<f32> = means.chunks_exact(row).map(|mean| 0.5 * product(mean, mean)).collect();
    let find = |record: &[f32]| {
        let distances = means.chunks_exact(row).zip(&halves).map(|(mean, half)| half - product(record, mean));
        let (cluster, least) =
            distances.enumerate().min_by(|left, right| left.1.total_cmp(&right.1)).expect("a mean");
        (cluster, least + 0.5 * product(record, record))
    };
    values.par_chunks_exact(row).map(find).collect()
}

/// The means of clusters; that of an empty one stays where it was.
fn means_of(values: &[f32], members: &[(usize, f32)], before: &[f32], row: usize) -> Vec<f32> {
    let mut sums = vec![0.0; before.len()];
    let mut counts = vec![0u32; before.len() / row];
    for (record, (cluster, _)) in values.chunks_exact(row).zip(members) {
        counts[*cluster] += 1;
        sums[cluster * row..][..row].iter_mut().zip(record).for_each(|(sum, value)| *sum += value);
    }
    for (cluster, count) in counts.into_iter().enumerate() {
        let mean = &mut sums[cluster * row..][..row];
        match count {
            0 => mean.copy_from_slice(&before[cluster * row..][..row]),
            count => mean.iter_mut().for_each(|sum| *sum /= count as f32),
        }
    }
    sums
}

/// The inner product of two rows of whole lanes.
fn product(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (left, right) in left.chunks_exact(LANES).zip(right.chunks_exact(LANES)) {
        (0..LANES).for_each(|lane| sums[lane] += left[lane] * right[lane]);
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Records, Scaling, Split, Visibility};
    use crate::noise::{Key, Purpose, Stream};
    use muffle_nn::Shape;

    fn numbers(values: &[f32]) -> Dataset {
        let split = || Split::classified(Records::Floats(values.to_vec()), vec![0; values.len()]);
        let (classes, scaling) = (vec!["a".to_string(), "b".to_string()], Scaling::identity("as is"));
        Dataset::new("n", Shape::Vector(1), classes, scaling, Visibility::Public, split(), split()).unwrap()
    }

    fn chosen(values: &[f32], count: usize) -> Vec<usize> {
        let mut uniform = Uniform::new(&Key::from_seed(1), Stream::new(Purpose::Sampling, 0));
        let mut chosen = typical(&numbers(values).train(), count, &mut uniform);
        chosen.sort_unstable();
        chosen
    }

    #[test]
    fn the_middle_of_each_cluster_is_chosen() {
        // Two clusters around 1 and 10, with their middles at positions 1 and 4.
        assert_eq!(chosen(&[0.8, 1.0, 1.2, 9.0, 10.0, 11.0], 2), [1, 4]);
    }

    #[test]
    fn as_many_different_records_are_chosen_as_are_asked_for() {
        // Equal records leave clusters empty.
        assert_eq!(chosen(&[3.0; 5], 4).len(), 4);
        assert_eq!(chosen(&[1.0, 2.0, 3.0], 3), [0, 1, 2]);
    }
}
