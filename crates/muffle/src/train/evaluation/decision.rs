//! From outputs to a class.

/// How a class is chosen: the most likely one, or the second of two where its probability reaches a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decision {
    threshold: Option<f64>,
}

impl Decision {
    /// For the second of two classes from this probability on; `None` for the most likely of any number of classes.
    pub fn new(threshold: Option<f64>) -> Decision {
        Decision { threshold }
    }

    /// The threshold, if there is one.
    pub fn threshold(&self) -> Option<f64> {
        self.threshold
    }

    /// The class that outputs stand for.
    pub fn class(&self, outputs: &[f32]) -> usize {
        match (self.threshold, outputs) {
            (Some(threshold), [first, second]) => usize::from(probability(second - first) >= threshold),
            _ => predicted(outputs),
        }
    }
}

/// The class with the largest output, the first among equals.
pub fn predicted(outputs: &[f32]) -> usize {
    let better = |best: usize, class: usize| if outputs[class] > outputs[best] { class } else { best };
    (0..outputs.len()).fold(0, better)
}

/// The probability that a margin stands for.
pub(in crate::train) fn probability(margin: f32) -> f64 {
    1.0 / (1.0 + (-f64::from(margin)).exp())
}

/// How far each class is ahead of all others together: the logarithm of its odds.
pub(super) fn margins(outputs: &[f32]) -> Vec<f32> {
    // Of two classes the difference itself, so that equal differences stay equal.
    if let [first, second] = outputs {
        return vec![first - second, second - first];
    }
    let best = predicted(outputs);
    let power = |output: f32| (f64::from(output) - f64::from(outputs[best])).exp();
    let behind: f64 = outputs
        .iter()
        .enumerate()
        .filter(|(class, _)| *class != best)
        .map(|(_, output)| power(*output))
        .sum();
    let margin = |(class, &output): (usize, &f32)| {
        // All but the best leave at least one to the others, so nothing cancels.
        let others = if class == best { behind } else { 1.0 + behind - power(output) };
        (f64::from(output) - f64::from(outputs[best]) - others.ln()) as f32
    };
    outputs.iter().enumerate().map(margin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of odds one to three the second class has three quarters.
    #[test]
    fn a_threshold_decides_between_two_classes_only() {
        let outputs = [0.0, 3f32.ln()];
        for (threshold, class) in [(None, 1), (Some(0.74), 1), (Some(0.76), 0)] {
            assert_eq!(Decision::new(threshold).class(&outputs), class, "{threshold:?}");
        }
        assert_eq!(Decision::new(Some(0.1)).class(&[2.0, 1.0, 0.0]), 0);
        assert_eq!((predicted(&[1.0, 1.0]), Decision::new(Some(0.5)).class(&[f32::NAN, 0.0])), (0, 0));
    }

    #[test]
    fn margins_are_logarithms_of_odds() {
        assert_eq!(margins(&[1.0, 3.5]), [-2.5, 2.5]);
        let outputs = [0.5f32.ln(), 0.3f32.ln(), 0.2f32.ln()];
        let expected = [1.0, 3.0 / 7.0, 0.25].map(f64::ln);
        for (margin, expected) in margins(&outputs).into_iter().zip(expected) {
            assert!((f64::from(margin) - expected).abs() < 1e-6, "{margin} {expected}");
        }
        // Far apart: nothing is lost, and nothing overflows.
        assert_eq!(margins(&[500.0, 0.0, -500.0])[0], 500.0);
        assert!(margins(&[f32::NAN, 0.0, 1.0]).iter().any(|margin| margin.is_nan()));
    }
}
