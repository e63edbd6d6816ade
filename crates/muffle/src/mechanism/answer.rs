//! A count between two steps.

use super::{Mechanism, event};
use crate::noise::{LaplaceNoise, Purpose, Stream};
use muffle_accounting::Event;

impl Mechanism {
    /// A number of records with Laplace noise of scale `noise_multiplier`. Between two steps there may be one.
    ///
    /// # Source
    /// Dwork, McSherry, Nissim and Smith 2006, "Calibrating noise to sensitivity in private data analysis".
    ///
    /// # Guarantee
    /// One record more or less changes the number by one at most: one Laplace mechanism with the given noise multiplier. A
    /// multiplier of zero adds nothing, and its event is [`Event::NonPrivate`].
    pub fn release_number(&self, records: u64, noise_multiplier: f64) -> (f32, Event) {
        let stream = Stream::new(Purpose::ValidationNoise, self.next_step);
        let mut answer = [records as f32];
        LaplaceNoise::new(&self.key, stream).add(0, noise_multiplier as f32, &mut answer);
        (answer[0], event(noise_multiplier, Event::laplace))
    }
}
