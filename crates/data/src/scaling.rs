//! From stored values to network inputs by constants that are known without looking at the private records.

use serde::{Deserialize, Serialize};

/// A multiplier and an addend for each channel (or one for all), fixed before the records are read.
///
/// # Guarantee
/// No constructor takes records: a scaling cannot hold a statistic of private data. A mean over private records would
/// be a release that has to be paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    channels: Vec<(f32, f32)>,
    about: String,
}

impl Scaling {
    /// Values stay as they are.
    pub fn identity(about: &str) -> Scaling {
        Scaling { channels: vec![(1.0, 0.0)], about: about.to_string() }
    }

    /// Values times a constant.
    pub fn times(factor: f64, about: &str) -> Scaling {
        Scaling { channels: vec![(factor as f32, 0.0)], about: about.to_string() }
    }

    /// `(value / divisor - mean) / deviation` with published constants, one pair for each channel.
    pub fn standard(divisor: f64, channels: &[(f64, f64)], source: &str) -> Scaling {
        let about = match channels {
            [(mean, deviation)] => format!("(value / {divisor} - {mean}) / {deviation}; {source}"),
            _ => {
                let means: Vec<_> = channels.iter().map(|channel| channel.0).collect();
                let deviations: Vec<_> = channels.iter().map(|channel| channel.1).collect();
                format!("(value / {divisor} - {means:?}) / {deviations:?} for each channel; {source}")
            }
        };
        let channels = channels
            .iter()
            .map(|(mean, deviation)| ((1.0 / (divisor * deviation)) as f32, (-mean / deviation) as f32))
            .collect();
        Scaling { channels, about }
    }

    /// A declared range becomes -1 to 1.
    pub fn range(low: f64, high: f64) -> Scaling {
        let multiply = 2.0 / (high - low);
        Scaling {
            channels: vec![(multiply as f32, (-1.0 - low * multiply) as f32)],
            about: format!("the declared range {low} to {high} becomes -1 to 1"),
        }
    }

    /// The formula and where its constants come from.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Whether inputs are the same, whatever is said about it.
    pub fn agrees(&self, other: &Scaling) -> bool {
        self.channels == other.channels
    }

    /// The input a stored value becomes in a channel.
    pub fn value(&self, channel: usize, value: f32) -> f32 {
        let (multiply, add) = self.channels[channel % self.channels.len()];
        value * multiply + add
    }

    /// The stored value that becomes an input in a channel.
    pub fn stored(&self, channel: usize, input: f32) -> f32 {
        let (multiply, add) = self.channels[channel % self.channels.len()];
        (input - add) / multiply
    }

    /// Scales one record whose channels lie side by side.
    pub fn apply<T: Copy + Into<f32>>(&self, stored: &[T], input: &mut [f32]) {
        assert_eq!(stored.len(), input.len(), "a record of {} values for {}", stored.len(), input.len());
        // One channel apart: that loop vectorises.
        if let [(multiply, add)] = self.channels[..] {
            for (input, value) in input.iter_mut().zip(stored) {
                *input = (*value).into() * multiply + add;
            }
            return;
        }
        // Colour apart: the compiler unrolls a pixel of known width.
        if let [red, green, blue] = self.channels[..] {
            let pixels = input.as_chunks_mut::<3>().0.iter_mut().zip(stored.as_chunks::<3>().0);
            for (input, value) in pixels {
                input[0] = value[0].into() * red.0 + red.1;
                input[1] = value[1].into() * green.0 + green.1;
                input[2] = value[2].into() * blue.0 + blue.1;
            }
            return;
        }
        let width = self.channels.len();
        for (input, stored) in input.chunks_exact_mut(width).zip(stored.chunks_exact(width)) {
            for ((input, value), (multiply, add)) in input.iter_mut().zip(stored).zip(&self.channels) {
                *input = (*value).into() * multiply + add;
            }
        }
    }

    /// Whether the constants fit records with so many channels.
    pub(crate) fn fits(&self, channels: usize) -> bool {
        !self.channels.is_empty() && (self.channels.len() == 1 || self.channels.len() == channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_constants_give_the_usual_inputs() {
        // torchvision's Normalize((0.1307,), (0.3081,)): black is -0.4242, white 2.8215.
        let scaling = Scaling::standard(255.0, &[(0.1307, 0.3081)], "published");
        let mut input = [0.0; 2];
        scaling.apply(&[0u8, 255], &mut input);
        assert!((input[0] + 0.4242).abs() < 1e-4 && (input[1] - 2.8215).abs() < 1e-4, "{input:?}");
        assert_eq!(scaling.value(0, 255.0), input[1]);
    }

    #[test]
    fn each_channel_has_its_own_constants() {
        let scaling = Scaling::standard(1.0, &[(0.0, 1.0), (10.0, 2.0)], "");
        let mut input = [0.0; 4];
        scaling.apply(&[3.0f32, 14.0, 5.0, 10.0], &mut input);
        assert_eq!(input, [3.0, 2.0, 5.0, 0.0]);
        let colour = Scaling::standard(1.0, &[(0.0, 1.0), (10.0, 2.0), (1.0, 0.5)], "");
        let mut input = [0.0; 6];
        colour.apply(&[3u8, 14, 2, 5, 10, 1], &mut input);
        assert_eq!(input, [3.0, 2.0, 2.0, 5.0, 0.0, 0.0]);
    }

    #[test]
    fn a_range_becomes_minus_one_to_one() {
        let scaling = Scaling::range(0.0, 16.0);
        assert_eq!([0.0, 8.0, 16.0].map(|value| scaling.value(0, value)), [-1.0, 0.0, 1.0]);
    }
}
