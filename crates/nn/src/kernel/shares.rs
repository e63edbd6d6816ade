//! How a sum shares out relevance among its terms.

/// Relevance over the value it belongs to, the value moved away from zero by `stabiliser`; zero counts as positive, and where
/// the sum of both is zero nothing is shared out.
///
/// A term takes this times itself.
pub fn ratio(relevance: f32, value: f32, stabiliser: f32) -> f32 {
    let stabilised = if value < 0.0 { value - stabiliser } else { value + stabiliser };
    if stabilised == 0.0 { 0.0 } else { relevance / stabilised }
}

/// Adds to the relevance of each input of `matrix · input`, a row for each sum, what its terms take of the sums' ratios.
pub fn add_shares(matrix: &[f32], ratios: &[f32], input: &[f32], relevance: &mut [f32]) {
    for (row, ratio) in matrix.chunks_exact(input.len()).zip(ratios) {
        for ((relevance, weight), input) in relevance.iter_mut().zip(row).zip(input) {
            *relevance += ratio * (weight * input);
        }
    }
}
