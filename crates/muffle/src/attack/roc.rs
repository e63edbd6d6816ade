//! How well a score tells members from others, at every threshold.

use crate::bounds::{lower_rate, upper_rate};

/// The curve of a score that is high for members: what share of them is found, and what share of the others is accused.
#[derive(Clone, Debug, PartialEq)]
pub struct Roc {
    /// Members and others with at least each threshold, from the highest threshold down; equal scores stay together.
    counts: Vec<(u64, u64)>,
    members: u64,
    others: u64,
}

/// How many members are found at a false-positive rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The false-positive rate that is not exceeded.
    pub false_positive_rate: f64,
    /// Members found.
    pub found: u64,
    /// Of so many.
    pub members: u64,
    /// Share of them.
    pub true_positive_rate: f64,
}

impl Rate {
    /// Ends of the interval of Clopper and Pearson for the true-positive rate, at a confidence of 95 %: of the threshold as it
    /// is, whose false-positive rate is known from a sample too.
    pub fn interval(&self) -> [f64; 2] {
        [lower_rate(self.found, self.members, 0.025), upper_rate(self.found, self.members, 0.025)]
    }
}

impl Roc {
    /// Of the scores of members and of others. A score that is not a number says nothing for membership.
    ///
    /// # Panics
    /// If there are no members, or no others.
    pub fn new(members: &[f64], others: &[f64]) -> Roc {
        assert!(!members.is_empty() && !others.is_empty(), "a curve needs members and others");
        let known = |score: &f64| if score.is_nan() { f64::NEG_INFINITY } else { *score };
        let mut scores: Vec<(f64, bool)> = members.iter().map(|score| (known(score), true)).collect();
        scores.extend(others.iter().map(|score| (known(score), false)));
        scores.sort_by(|one, other| other.0.total_cmp(&one.0));
        let (mut counts, mut found, mut accused) = (Vec::new(), 0, 0);
        for equal in scores.chunk_by(|one, other| one.0 == other.0) {
            let inside = equal.iter().filter(|score| score.1).count();
            found += inside as u64;
            accused += (equal.len() - inside) as u64;
            counts.push((found, accused));
        }
        Roc { counts, members: found, others: accused }
    }

    /// The probability that a member has a higher score than one of the others, equal scores counting a half.
    pub fn area(&self) -> f64 {
        let (mut twice, mut last) = (0.0, (0, 0));
        for &(found, accused) in &self.counts {
            twice += (accused - last.1) as f64 * (found + last.0) as f64;
            last = (found, accused);
        }
        0.5 * twice / (self.members as f64 * self.others as f64)
    }

    /// Standard error of the area, as a sample of members and others.
    ///
    /// # Source
    /// Hanley and McNeil 1982, "The meaning and use of the area under a receiver operating characteristic (ROC) curve",
    /// with their approximation by exponential distributions.
    pub fn area_error(&self) -> f64 {
        let (area, members, others) = (self.area(), self.members as f64, self.others as f64);
        let two_members = area / (2.0 - area) - area * area;
        let two_others = 2.0 * area * area / (1.0 + area) - area * area;
        let own = area * (1.0 - area);
        ((own + (members - 1.0) * two_members + (others - 1.0) * two_others) / (members * others)).sqrt()
    }

    /// The most members that a threshold finds while it accuses at most this share of the others.
    pub fn at(&self, false_positive_rate: f64) -> Rate {
        let allowed =
            |&&(_, accused): &&(u64, u64)| accused as f64 <= false_positive_rate * self.others as f64;
        let found = self.counts.iter().take_while(allowed).last().map_or(0, |&(found, _)| found);
        let true_positive_rate = found as f64 / self.members as f64;
        Rate { false_positive_rate, found, members: self.members, true_positive_rate }
    }

    /// False-positive and true-positive rates, from the first accusation to everybody.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let rates = |&(found, accused): &(u64, u64)| {
            (accused as f64 / self.others as f64, found as f64 / self.members as f64)
        };
        self.counts.iter().map(rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_by_hand() {
        let roc = Roc::new(&[5.0, 3.0, 3.0, 1.0], &[4.0, 3.0, 0.0, 0.0]);
        let points: Vec<(f64, f64)> = roc.points().collect();
        assert_eq!(points, [(0.0, 0.25), (0.25, 0.25), (0.5, 0.75), (0.5, 1.0), (1.0, 1.0)]);
        // Pairs in which the member is higher: 4; 2 and a half; 2 and a half; 2; of sixteen.
        assert_eq!(roc.area(), 11.0 / 16.0);
        let found = |rate: f64| roc.at(rate).found;
        assert_eq!((found(0.0), found(0.25), found(0.49), found(0.5), found(1.0)), (1, 1, 1, 4, 4));
        assert_eq!(roc.at(0.5).true_positive_rate, 1.0);
    }

    #[test]
    fn perfect_and_useless_scores() {
        let perfect = Roc::new(&[2.0, 3.0], &[0.0, 1.0]);
        assert_eq!((perfect.area(), perfect.area_error(), perfect.at(0.0).found), (1.0, 0.0, 2));
        let equal = Roc::new(&[1.0; 3], &[1.0; 5]);
        assert_eq!((equal.area(), equal.at(0.9).found, equal.at(1.0).found), (0.5, 0, 3));
        assert_eq!(Roc::new(&[0.0], &[1.0]).area(), 0.0);
    }

    #[test]
    fn what_is_not_a_number_is_the_least_suspicious() {
        let roc = Roc::new(&[f64::NAN, f64::INFINITY], &[0.0, f64::NEG_INFINITY]);
        assert_eq!((roc.at(0.0).found, roc.area()), (1, 0.625));
    }

    /// The error of a useless score with n members and others is √((2n + 1)/12)/n but for terms of order 1/n² (Mann and
    /// Whitney 1947): 0.0408 at n = 100.
    #[test]
    fn the_error_of_a_useless_score_is_that_of_ranks() {
        let scores: Vec<f64> = (0..200).map(f64::from).collect();
        let (members, others): (Vec<f64>, Vec<f64>) =
            scores.iter().partition(|score| matches!(**score as u32 % 4, 0 | 3));
        let roc = Roc::new(&members, &others);
        assert_eq!(roc.area(), 0.5);
        assert!((roc.area_error() - 0.0408).abs() < 4e-4, "{}", roc.area_error());
    }
}
