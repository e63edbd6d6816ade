//! One axis: the range of the data, and where it lies on the page.

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
        let scale = |value: f64| if logarithmic { value.log10() } else { value };
        let (mut low, mut high) = values
            .map(scale)
            .filter(|value| value.is_finite())
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
        if low >= high {
            high = low + 1.0;
        }
        Axis { logarithmic, low, high, start, end }
    }

    /// Where a value lies on the page; nothing for values a logarithm cannot show.
    pub fn place(&self, value: f64) -> Option<f64> {
        let value = if self.logarithmic { value.log10() } else { value };
        value
            .is_finite()
            .then(|| self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start))
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
