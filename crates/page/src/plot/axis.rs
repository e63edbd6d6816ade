//! One axis: the range of the data, and where it lies on the page.

/// Values farther from zero have no place: the distance of two of them may be no number.
const FARTHEST: f64 = 1e300;
/// Ends of an axis are at least so far apart, as a part of how far they are from zero: labels between them differ.
const CLOSEST: f64 = 1e-12;

/// An axis.
pub struct Axis {
    logarithmic: bool,
    low: f64,
    high: f64,
    /// Where it begins on the page.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
}

impl Axis {
    /// For values, in decades or not, from zero or from close below the smallest.
    pub fn new(
        values: impl Iterator<Item = f64>,
        logarithmic: bool,
        close_up: bool,
        (start, end): (f64, f64),
    ) -> Axis {
        let (mut low, mut high) = values
            .filter_map(|value| scaled(value, logarithmic))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if logarithmic {
            (low, high) = (low.floor(), high.ceil());
        } else if close_up {
            let margin = 0.05 * (high - low);
            (low, high) = (low - margin, high + margin);
        } else {
            low = low.min(0.0);
        }
        let size = low.abs().max(high.abs());
        if high - low < f64::MIN_POSITIVE.max(CLOSEST * size) {
            high = low + (2.0 * CLOSEST * size).max(1.0);
        }
        Axis { logarithmic, low, high, start, end }
    }

    /// Where a value lies on the page; nothing for values a logarithm cannot show.
    pub fn place(&self, value: f64) -> Option<f64> {
        let part = (scaled(value, self.logarithmic)? - self.low) / (self.high - self.low);
        Some(self.start + part * (self.end - self.start))
    }

    /// Round values to label: decades, or multiples of 1, 2 or 5 times a power of ten.
    pub fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let every = ((self.high - self.low) / 6.0).ceil().max(1.0) as usize;
            return (self.low as i32..=self.high as i32)
                .step_by(every)
                .map(|power| 10_f64.powi(power))
                .collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|multiple| multiple as f64 * step).collect()
    }
}

/// A value as an axis shows it, if it has a place there.
fn scaled(value: f64, logarithmic: bool) -> Option<f64> {
    let value = if logarithmic { value.log10() } else { value };
    (value.abs() <= FARTHEST).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_numbers_has_a_few_labels_within_reach() {
        let values = [
            0.0,
            5e-324,
            1e-320,
            1e-9,
            1.0,
            1.0 + 1e-15,
            1e17,
            1e17 + 16.0,
            1e300,
            1e308,
            f64::INFINITY,
            f64::NAN,
        ];
        let signed = values.iter().flat_map(|value| [*value, -value]);
        let pairs = signed.flat_map(|first| values.map(|second| (first, second)));
        for ((first, second), (logarithmic, close_up)) in
            pairs.flat_map(|pair| [(false, false), (false, true), (true, false)].map(|axis| (pair, axis)))
        {
            let axis = Axis::new([first, second].into_iter(), logarithmic, close_up, (0.0, 100.0));
            let ticks = axis.ticks();
            assert!((1..=12).contains(&ticks.len()), "{first} {second}: {ticks:?}");
            for value in [first, second].into_iter().chain(ticks) {
                let place = axis.place(value);
                assert!(
                    place.is_none_or(|place| (-1.0..=101.0).contains(&place)),
                    "{first} {second} {value}: {place:?}"
                );
            }
        }
    }
}
