//! Records that report themselves with noise, before anybody else sees them.

use super::grid::Grid;
use super::{Mechanism, scale_of};
use crate::ledger::Receipt;
use crate::noise::{IntegerNoise, Uniform};
use muffle_accounting::Event;
use muffle_nn::{Examples, Target};

/// What every record reports: free to use from then on (R9).
pub struct Reported {
    inputs: Vec<f32>,
    classes: Vec<u32>,
}

/// How records report.
pub struct Reporting<'a> {
    /// Where inputs lie: they are cut to it.
    pub range: [f64; 2],
    /// The share of each input in the precision, one on average.
    pub shares: &'a [f64],
    /// Number of classes.
    pub classes: u32,
    /// What a class costs.
    pub label_epsilon: f64,
}

impl Reporting<'_> {
    /// What a report releases.
    pub fn event(noise_multiplier: f64, classes: u32, label_epsilon: f64) -> Event {
        let labels = Event::RandomisedResponse { categories: classes, epsilon: label_epsilon };
        Event::compose([Event::laplace(noise_multiplier), labels])
    }
}

impl Mechanism {
    /// Every record with noise on its inputs, and with its class or, by chance, another one.
    ///
    /// With shares β of d inputs, those of a record are u = β(x − middle)/(d·half the range), of L1 norm 1 at most, and get Laplace
    /// noise of scale σ: in its own units, an input has noise of scale σ·d·half the range/β.
    ///
    /// # Source
    /// Warner 1965 for classes; Dwork et al. 2006 for inputs.
    ///
    /// # Guarantee
    /// A report is a Laplace mechanism of multiplier σ and a randomised response on one record alone, whatever its values are; one that is
    /// not finite reports as the middle of the range does. There is one report for each record: the guarantee is for `replace_one`
    /// and `zero_out`.
    ///
    /// # Panics
    /// If the receipt is for something else, or there is not one share for every input.
    pub fn reported(
        &self,
        records: &dyn Examples,
        noise_multiplier: f64,
        reporting: &Reporting,
        receipt: Receipt,
    ) -> Reported {
        let Reporting { range: [low, high], shares, classes, label_epsilon } = *reporting;
        let mut uniform = Uniform::new(&self.key, receipt.beside());
        let (stream, _) = receipt.redeem(&Reporting::event(noise_multiplier, classes, label_epsilon));
        let (width, middle) = (shares.len(), 0.5 * (low + high));
        let grid = Grid::l1(1.0, width);
        let scale = scale_of(noise_multiplier, grid.widening) / grid.quantum;
        let noise = IntegerNoise::laplace(&self.key, stream, scale);
        let units: Vec<f64> = shares.iter().map(|share| width as f64 * 0.5 * (high - low) / share).collect();
        let mut reported = Reported { inputs: vec![0.0; records.len() * width], classes: Vec::new() };
        let mut report = vec![0.0; width];
        for (record, inputs) in reported.inputs.chunks_exact_mut(width).enumerate() {
            records.read(record, inputs);
            for ((report, input), unit) in report.iter_mut().zip(&*inputs).zip(&units) {
                let input = f64::from(*input);
                let moved = if input.is_finite() { input.clamp(low, high) - middle } else { 0.0 };
                *report = grid.round(moved / unit);
            }
            noise.add((record * width) as u64, &mut report);
            for ((input, report), unit) in inputs.iter_mut().zip(&report).zip(&units) {
                *input = (middle + report * grid.quantum * unit) as f32;
            }
            let class = match records.target(record) {
                Target::Class(class) if class < classes => class,
                _ => 0,
            };
            reported.classes.push(response(class, classes, label_epsilon, &mut uniform));
        }
        reported
    }
}

/// The class with probability e^ε/(e^ε + m − 1), and any other one else.
fn response(class: u32, classes: u32, epsilon: f64, uniform: &mut Uniform) -> u32 {
    let truth = 1.0 / (1.0 + f64::from(classes - 1) * (-epsilon).exp());
    match uniform.chance(truth) {
        true => class,
        false => uniform.wrong_class(class, classes as usize),
    }
}

impl Examples for Reported {
    fn len(&self) -> usize {
        self.classes.len()
    }

    fn read(&self, index: usize, input: &mut [f32]) {
        input.copy_from_slice(&self.inputs[index * input.len()..][..input.len()]);
    }

    fn target(&self, index: usize) -> Target<'_> {
        Target::Class(self.classes[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Access, Ledger, Purpose};
    use crate::noise::{Key, Purpose as Streams, Stream};
    use muffle_nn::Batch;

    const REPORTS: Purpose = Purpose::new("reports");

    fn reported(records: &Batch, noise_multiplier: f64, shares: &[f64]) -> Reported {
        let reporting = Reporting { range: [-1.0, 3.0], shares, classes: 4, label_epsilon: 2.0 };
        let event = Reporting::event(noise_multiplier, 4, 2.0);
        let receipt = Ledger::in_memory().pay_one(Access::all(REPORTS, 0, event)).unwrap();
        Mechanism::new(Key::from_seed(2), 1.0).reported(records, noise_multiplier, &reporting, receipt)
    }

    /// Noise of next to nothing leaves inputs where they are, cut to their range; what is no number is in the middle of it.
    #[test]
    fn inputs_are_cut_to_their_range() {
        let found = reported(&Batch::new(vec![0.5, 9.0, -7.0, f32::NAN], vec![1, 2]), 1e-6, &[1.5, 0.5]);
        assert!(
            found
                .inputs
                .iter()
                .zip([0.5, 3.0, -1.0, 1.0])
                .all(|(found, wanted)| (found - wanted).abs() < 1e-3)
        );
    }

    /// Two inputs of shares 1.5 and ½ have noise of scale σ·2·2/β: its mean size, over 4,000 records, is that within a tenth, which is six
    /// deviations.
    #[test]
    fn noise_by_share() {
        let records = Batch::new(vec![1.0; 8000], vec![0; 4000]);
        let found = reported(&records, 0.25, &[1.5, 0.5]);
        for (place, share) in [1.5, 0.5].into_iter().enumerate() {
            let sizes =
                found.inputs.iter().skip(place).step_by(2).map(|value| f64::from((value - 1.0).abs()));
            let (mean, scale) = (sizes.sum::<f64>() / 4000.0, 0.25 * 4.0 / share);
            assert!((mean / scale - 1.0).abs() < 0.1, "{mean} {scale}");
        }
    }

    /// Of 20,000 answers at ε = 2 of four classes a share of e²/(e² + 3) = 0.711 is true, and each lie has 0.096: within five deviations.
    #[test]
    fn answers_have_the_probabilities_of_randomised_response() {
        let mut uniform = Uniform::new(&Key::from_seed(1), Stream::new(Streams::Audit, 0));
        let mut counts = [0.0f64; 4];
        (0..20_000).for_each(|_| counts[response(2, 4, 2.0, &mut uniform) as usize] += 1.0 / 20_000.0);
        for (class, count) in counts.into_iter().enumerate() {
            let expected = if class == 2 { 0.711_235 } else { 0.096_255 };
            assert!((count - expected).abs() < 0.017, "{class}: {count}");
        }
    }
}
