//! The files that mutations start from.

use crate::random::Random;
use crate::target::{LONGEST, Target};
use std::collections::HashSet;

/// Most files that are kept beside the seeds.
const MOST: usize = 256;

/// How often an accepted file is kept although nothing about it is new, so that changes add up.
const ACCEPTED: usize = 32;

/// Seeds, and what became of them that ended in new words.
pub struct Corpus {
    seeds: Vec<Vec<u8>>,
    kept: Vec<Vec<u8>>,
    outcomes: HashSet<u64>,
}

impl Corpus {
    /// The seeds of a target.
    pub fn new(target: &Target) -> Corpus {
        Corpus { seeds: (target.seeds)(), kept: Vec::new(), outcomes: HashSet::new() }
    }

    /// How many outcomes there were.
    pub fn outcomes(&self) -> usize {
        self.outcomes.len()
    }

    fn pick(&self, random: &mut Random) -> &[u8] {
        let files = if self.kept.is_empty() || random.once_in(2) { &self.seeds } else { &self.kept };
        &files[random.below(files.len())]
    }

    /// The next damaged file: mostly one mutation, sometimes several.
    pub fn next(&self, random: &mut Random, target: &Target) -> Vec<u8> {
        let mut input = self.pick(random).to_vec();
        loop {
            let other = self.pick(random);
            input = (target.mutate)(random, &input, other);
            input.truncate(LONGEST);
            if !random.once_in(2) {
                return input;
            }
        }
    }

    /// Keeps a file that ended in a new way, or now and then one that was accepted.
    pub fn consider(&mut self, random: &mut Random, input: &[u8], outcome: u64, accepted: bool) {
        let is_new = self.outcomes.insert(outcome);
        let is_lucky = !is_new && accepted && random.once_in(ACCEPTED);
        if !(is_new || is_lucky) {
            return;
        }
        match self.kept.len() < MOST {
            true => self.kept.push(input.to_vec()),
            false => self.kept[random.below(MOST)] = input.to_vec(),
        }
    }
}
