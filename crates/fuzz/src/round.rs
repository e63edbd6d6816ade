//! One round of a target: many inputs, each tried once.

use crate::corpus::Corpus;
use crate::findings::Findings;
use crate::random::Random;
use crate::tally::Tally;
use crate::target::{SECONDS, Target};
use crate::{allocator, outcome, panics, watch};
use std::io;
use std::time::Instant;

/// Above this an input is tried again before it is called slow: the machine may have been busy elsewhere.
const NOTICEABLE: f64 = 0.001;

/// Inputs between two looks at the clock.
const GLANCE: u64 = 256;

/// What became of one input.
pub struct Trial {
    /// What the parser said, or the panic that it ended in.
    pub said: Result<Result<(), String>, String>,
    /// Most bytes in use beyond those before.
    pub peak: usize,
    /// How long it took.
    pub seconds: f64,
    /// Panics inside that became errors.
    pub caught: u64,
}

impl Trial {
    /// Gives a parser an input.
    pub fn new(target: &Target, input: &[u8]) -> Trial {
        let (before, start) = (panics::count(), Instant::now());
        let (said, peak) = allocator::measured(|| panics::caught(|| (target.parse)(input)));
        let seconds = start.elapsed().as_secs_f64();
        let caught = panics::count() - before - u64::from(said.is_err());
        Trial { said, peak, seconds, caught }
    }

    /// What is wrong with it, if anything is.
    pub fn mistake(&self, target: &Target, input: &[u8]) -> Option<String> {
        let limit = target.memory.limit(input.len());
        match &self.said {
            Err(panic) => Some(panic.clone()),
            _ if self.peak > limit => {
                Some(format!("took {} bytes for {}, {limit} are allowed", self.peak, input.len()))
            }
            _ if self.seconds > SECONDS => Some(format!("took {:.3} seconds", self.seconds)),
            _ => None,
        }
    }
}

/// Tries so many inputs, which follow from seed, target and round; fewer if the time is over.
pub fn round(
    target: &Target,
    mut tally: Tally,
    inputs: u64,
    until: Option<Instant>,
    findings: &mut Findings,
) -> io::Result<Tally> {
    let stream = target.name.bytes().fold(tally.seed, |mixed, byte| mix(mixed, u64::from(byte)));
    let mut random = Random::new(mix(stream, tally.round));
    let mut corpus = Corpus::new(target);
    let start = Instant::now();
    while tally.inputs < inputs {
        if tally.inputs.is_multiple_of(GLANCE) && until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        let input = corpus.next(&mut random, target);
        watch::begin();
        findings.begin(&input)?;
        let mut trial = Trial::new(target, &input);
        if trial.seconds > tally.slowest.max(NOTICEABLE) {
            let again = [(); 2].map(|()| Trial::new(target, &input).seconds);
            trial.seconds = again.into_iter().fold(trial.seconds, f64::min);
        }
        if let Some(mistake) = trial.mistake(target, &input) {
            tally.mistakes += 1;
            findings.keep(target.name, &mistake, &input)?;
        }
        tally.inputs += 1;
        tally.caught += trial.caught;
        tally.peak = tally.peak.max(trial.peak);
        tally.slowest = tally.slowest.max(trial.seconds);
        if let Ok(said) = &trial.said {
            tally.accepted += u64::from(said.is_ok());
            let kind = said.as_ref().map_or_else(|error| outcome::kind(error), |()| 0);
            corpus.consider(&mut random, &input, kind, said.is_ok());
        }
    }
    tally.outcomes = corpus.outcomes() as u64;
    tally.seconds = start.elapsed().as_secs_f64();
    Ok(tally)
}

fn mix(seed: u64, with: u64) -> u64 {
    Random::new(seed ^ with.wrapping_mul(0xff51_afd7_ed55_8ccd)).number()
}
