//! For tests: a parser must survive any bytes, in little memory.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Calls the parser on every short truncation and on many mutations of a good file; a panic fails the test.
pub fn survives(good: &[u8], parse: impl Fn(&[u8])) {
    survives_cases(good, 3000, parse);
}

/// The same with a number of mutations, for parsers that take longer.
pub fn survives_cases(good: &[u8], cases: u32, parse: impl Fn(&[u8])) {
    parse(good);
    for length in 0..good.len().min(200) {
        parse(&good[..length]);
    }
    let mutation = (any::<proptest::sample::Index>(), any::<u8>(), 0u8..5);
    let mutations = proptest::collection::vec(mutation, 1..6);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&mutations, |mutations| {
            let mut bytes = good.to_vec();
            for (place, value, kind) in mutations {
                if bytes.is_empty() {
                    break;
                }
                let place = place.index(bytes.len());
                match kind {
                    0 => bytes[place] = value,
                    1 => bytes[place] ^= 1 << (value % 8),
                    2 => bytes.truncate(place),
                    3 => bytes.insert(place, value),
                    // Sizes grow most when a whole word is set.
                    _ => bytes[place..].iter_mut().take(4).for_each(|byte| *byte = 0xff),
                }
            }
            parse(&bytes);
            Ok(())
        })
        .unwrap();
    modest();
}

/// Small files may not make a parser take much memory, whatever they promise.
fn modest() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    // All tests of the crate share the process; together they need a fraction of this.
    assert!(peak.is_none_or(|kibibytes| kibibytes < 1 << 20), "{peak:?} KiB");
}
