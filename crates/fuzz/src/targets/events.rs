//! Events to be priced, as JSON.

use super::{said, seeds, text};
use crate::mutate::text as text_mutation;
use crate::target::{Memory, Target};
use muffle_accounting::{Composition, Event};

pub static EVENTS: Target = Target {
    name: "events",
    door: "Event",
    seeds: || seeds(&EVENTS_SEEDS),
    mutate: text_mutation::mutate,
    parse: |input| {
        let event: Event = serde_json::from_str(text(input)?).map_err(said)?;
        flattened(&event)
    },
    memory: Memory { fixed: 1 << 16, each: 256 },
};

/// Checks an event and lists what it is made of, as every accountant does first.
pub fn flattened(event: &Event) -> Result<(), String> {
    event.validate().map_err(said)?;
    Composition::of(event).map(drop).map_err(said)
}

const EVENTS_SEEDS: [&str; 4] = [
    r#"{"kind":"compose","events":[{"kind":"repeat","count":9,"event":{"kind":"poisson_sampled","sample_rate":0.1,"event":{"kind":"gaussian","noise_multiplier":0.8}}},{"kind":"non_private"}]}"#,
    r#"{"kind":"partitioned_epoch","assignment":"balls_and_bins","event":{"kind":"laplace","noise_multiplier":2.5}}"#,
    r#"{"kind":"fixed_size_sampled","sample_rate":0.5,"event":{"kind":"compose","events":[{"kind":"gaussian","noise_multiplier":1},{"kind":"gaussian","noise_multiplier":3}]}}"#,
    r#"{"kind":"compose","events":[{"kind":"randomised_response","categories":3,"epsilon":1.5},{"kind":"pure_dp","epsilon":0.1},{"kind":"approximate_dp","epsilon":1,"delta":1e-6},{"kind":"claimed","source":"a paper","epsilon":2,"delta":0}]}"#,
];
