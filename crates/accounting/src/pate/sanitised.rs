//! The data-dependent price of Gaussian votes, made fit for publication: smooth sensitivity and noise, at a price of its own.

use super::GaussianVotes;
use crate::event::Event;
use crate::rdp::conversion::improved;

/// A release of the Rényi divergence of all answers at one order, with Gaussian noise scaled by a smooth bound on its sensitivity.
///
/// # Source
/// Papernot et al. 2018, appendix B, after Nissim, Raskhodnikova and Smith 2007, "Smooth sensitivity and sampling in private data
/// analysis".
///
/// The divergence of an answer is a function of the bound q on the probability of another winner, and grows with it. With m classes write
/// q = (m − 1)/2·erfc(z). A teacher that changes its mind moves every distance to the winner by two at most, so every argument of erfc
/// in q by 1/σ. The function erfc(erfc⁻¹(y) − 1/σ) is concave in y (it is the power of a test between two normal distributions),
/// so by Jensen's inequality z moves by 1/σ at most, whatever the single distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sanitised {
    /// The votes it is about.
    pub votes: GaussianVotes,
    /// Classes, at least two.
    pub classes: usize,
    /// The order of the divergence, fixed in advance.
    pub order: f64,
    /// β: how fast the bound on the sensitivity may change from neighbour to neighbour, by e^β.
    pub smoothness: f64,
    /// Standard deviation of the noise, as a multiple of the bound.
    pub noise_multiplier: f64,
}

/// Cells of z for each step of one teacher.
const CELLS: f64 = 4.0;
/// Beyond this z every probability is below what a number can hold.
const FARTHEST: f64 = 27.0;
/// Divergences below this are made of rounding, and need not grow.
const ROUNDING: f64 = 1e-12;
/// Below this z every probability is one.
const NEAREST: f64 = -6.0;

impl Sanitised {
    /// What is released before noise: the divergence of all answers. **Not private.**
    pub fn divergence<'a>(&self, queries: impl IntoIterator<Item = &'a [u64]>) -> f64 {
        queries.into_iter().map(|votes| self.at(self.place(votes))).sum()
    }

    /// A smooth bound on how far one record moves the divergence of all answers. **Not private**: it scales the noise.
    ///
    /// # Guarantee
    /// It is at least what one teacher can move the divergence by, and from neighbour to neighbour it changes by a factor of e^β at
    /// most. For: the axis of z is cut into cells, the same for all data; within a cell and one step around it the divergence changes
    /// by no more than from end to end, since it is monotone. At distance d the cells within d steps of z are in reach; those of a
    /// neighbour are among them at distance d + 1.
    pub fn sensitivity<'a>(&self, queries: impl IntoIterator<Item = &'a [u64]>) -> f64 {
        let step = 1.0 / self.votes.deviation;
        let width = step / CELLS;
        let count = ((FARTHEST - NEAREST) / width).ceil() as usize + 1;
        let change = |cell: usize| {
            let left = NEAREST + cell as f64 * width;
            (self.at(left - step) - self.at(left + width + step)).max(0.0) + ROUNDING
        };
        let changes: Vec<f64> = (0..count).map(change).collect();
        let distances = ((FARTHEST - NEAREST) / step).ceil() as usize + 1;
        let mut sums = vec![0.0; distances + 1];
        for votes in queries {
            let cell =
                ((self.place(votes) - NEAREST) / width).floor().clamp(0.0, (count - 1) as f64) as usize;
            let (mut first, mut last, mut largest) = (cell, cell, changes[cell]);
            for (distance, sum) in sums.iter_mut().enumerate() {
                let reach = distance * CELLS as usize + 1;
                let (from, to) = (cell.saturating_sub(reach), (cell + reach).min(count - 1));
                largest =
                    changes[from..first].iter().chain(&changes[last..=to]).copied().fold(largest, f64::max);
                (first, last) = (from, to);
                *sum += largest;
            }
        }
        let fading = |(distance, sum): (usize, &f64)| (-self.smoothness * distance as f64).exp() * sum;
        sums.iter().enumerate().map(fading).fold(0.0, f64::max)
    }

    /// Rényi divergence of the noisy release itself at an order; infinite from 1/(1 − e^(−2β)) on.
    ///
    /// # Guarantee
    /// Neighbours have N(f, s²σ²) and N(f', s'²σ²) with |f − f'| ≤ min(s, s') and s = s'e^t, |t| ≤ β. Their divergence at order α is
    /// α(f − f')²/(2σ²w) + [½·ln(w/s'²) − (1 − α)t]/(1 − α) with w = (1 − α)s² + αs'²: the first part grows with t, the second is
    /// zero at t = 0 and grows away from it, so each is largest at an end.
    pub fn price(&self, order: f64) -> f64 {
        let scale = |t: f64| (1.0 - order) * (2.0 * t).exp() + order;
        if order <= 1.0 || scale(self.smoothness) <= 0.0 {
            return f64::INFINITY;
        }
        let mean = order / (2.0 * self.noise_multiplier.powi(2) * scale(self.smoothness));
        let spread = |t: f64| 0.5 * scale(t).ln() / (1.0 - order) - t;
        mean + spread(self.smoothness).max(spread(-self.smoothness))
    }

    /// What the release costs, at a delta of its own.
    pub fn event(&self, delta: f64) -> Event {
        // Orders up to where the divergence is infinite.
        let limit = 1.0 / -(-2.0 * self.smoothness).exp_m1();
        let orders = (1..1000).map(|part| 1.0 + (limit - 1.0) * f64::from(part) / 1000.0);
        let epsilon = |order: f64| improved((order - 1.0) * self.price(order), order, delta);
        Event::ApproximateDp { epsilon: orders.map(epsilon).fold(f64::INFINITY, f64::min), delta }
    }

    /// z of the votes of a query.
    fn place(&self, votes: &[u64]) -> f64 {
        let probability = self.votes.change_probability(votes).max(f64::MIN_POSITIVE);
        let (mut low, mut high) = (NEAREST, FARTHEST);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            *(if self.probability(middle) > probability { &mut low } else { &mut high }) = middle;
        }
        high
    }

    fn probability(&self, z: f64) -> f64 {
        (self.classes - 1) as f64 / 2.0 * libm::erfc(z)
    }

    /// The divergence at a place: what no query exceeds where nothing is known of the votes.
    fn at(&self, z: f64) -> f64 {
        self.votes.divergence_at(self.probability(z), self.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sanitised() -> Sanitised {
        let votes = GaussianVotes { deviation: 40.0 };
        Sanitised { votes, classes: 3, order: 14.0, smoothness: 0.02, noise_multiplier: 9.0 }
    }

    /// All ways in which one of 250 teachers can change its mind.
    fn neighbours(votes: [u64; 3]) -> Vec<[u64; 3]> {
        let pairs = (0..3).flat_map(|from| (0..3).map(move |to| (from, to)));
        let changed = |(from, to): (usize, usize)| {
            let mut other = votes;
            (other[from] > 0).then(|| {
                other[from] -= 1;
                other[to] += 1;
                other
            })
        };
        pairs.filter_map(changed).collect()
    }

    #[test]
    fn the_divergence_grows_with_the_probability_of_another_winner() {
        let release = sanitised();
        for order in [2.0, 5.0, 14.0, 40.0] {
            let release = Sanitised { order, ..release };
            let places = (0..6600).map(|place| NEAREST + f64::from(place) * 0.005);
            let values: Vec<f64> = places.map(|z| release.at(z)).collect();
            assert!(
                values.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-9) + 0.01 * ROUNDING),
                "{order}"
            );
        }
    }

    #[test]
    fn the_bound_holds_and_is_smooth_for_every_change_of_a_mind() {
        let release = sanitised();
        for leader in [90, 100, 125, 150, 170, 185, 200, 215, 230, 249] {
            let votes = [leader, (250 - leader) * 2 / 3, 250 - leader - (250 - leader) * 2 / 3];
            let all = |votes: &[u64; 3]| [*votes, *votes, [240, 5, 5]];
            let (before, bound) = {
                let queries = all(&votes);
                let queries = || queries.iter().map(|votes| &votes[..]);
                (release.divergence(queries()), release.sensitivity(queries()))
            };
            for other in neighbours(votes) {
                let queries = all(&other);
                let queries = || queries.iter().map(|votes| &votes[..]);
                let moved = (release.divergence(queries()) - before).abs();
                assert!(moved <= bound, "{votes:?} {other:?}: {moved} {bound}");
                let ratio = release.sensitivity(queries()) / bound;
                assert!(ratio.ln().abs() <= release.smoothness + 1e-9, "{votes:?} {other:?}: {ratio}");
            }
        }
    }

    #[test]
    fn the_price_is_that_of_a_gaussian_where_nothing_has_to_be_smooth() {
        let release = Sanitised { smoothness: 1e-9, ..sanitised() };
        assert!((release.price(5.0) - 5.0 / (2.0 * 81.0)).abs() < 1e-6);
        // A smoother bound on the scale costs more, and orders end.
        assert!(sanitised().price(5.0) > release.price(5.0));
        assert_eq!(sanitised().price(30.0), f64::INFINITY);
        let Event::ApproximateDp { epsilon, delta } = sanitised().event(1e-6) else { panic!("an (ε, δ)") };
        assert!(delta == 1e-6 && epsilon > 0.4 && epsilon < 2.0, "{epsilon}");
    }
}
