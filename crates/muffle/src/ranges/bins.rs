//! A public grid over all numbers: a quarter of a power of two each.

/// The smallest power of two that has bins; what is nearer to zero counts as zero.
const LEAST: i32 = -20;
/// The power of two where the grid ends; what is larger counts to the last bin.
const MOST: i32 = 40;
/// Bins of a power of two.
pub const QUARTERS: usize = 4;
/// Bins of one sign.
const SIDE: usize = (MOST - LEAST) as usize * QUARTERS;
/// All bins: those of negative numbers, of zero, of positive numbers, in the order of the numbers.
pub const BINS: usize = 2 * SIDE + 1;

/// The bin of a finite number.
pub fn bin(number: f64) -> usize {
    let size = number.abs().min(2f64.powi(MOST)).max(f64::MIN_POSITIVE);
    // The exponent of a normal number in its bits: exact, where a logarithm rounds.
    let power = (size.to_bits() >> 52) as i32 - 1023;
    if power < LEAST {
        return SIDE;
    }
    let quarter = ((size / 2f64.powi(power) - 1.0) * QUARTERS as f64) as usize;
    let place = ((power - LEAST) as usize * QUARTERS + quarter).min(SIDE - 1);
    if number < 0.0 { SIDE - 1 - place } else { SIDE + 1 + place }
}

/// Where the bins of one sign begin, counted from zero.
fn edge(place: usize) -> f64 {
    let (power, quarter) = (place / QUARTERS, place % QUARTERS);
    2f64.powi(LEAST + power as i32) * (1.0 + quarter as f64 / QUARTERS as f64)
}

/// The smallest number of a bin; that of zero is zero.
pub fn low(bin: usize) -> f64 {
    match bin {
        SIDE => 0.0,
        _ if bin < SIDE => -edge(SIDE - bin),
        _ => edge(bin - SIDE - 1),
    }
}

/// The largest number of a bin; that of zero is zero.
pub fn high(bin: usize) -> f64 {
    // The grid is its own mirror image.
    0.0 - low(BINS - 1 - bin)
}

/// Powers of two, in the order of the numbers, as ranges of bins; zero is one of its own.
pub fn powers() -> impl DoubleEndedIterator<Item = std::ops::Range<usize>> {
    let side = |first: usize| (first..first + SIDE).step_by(QUARTERS).map(|bin| bin..bin + QUARTERS);
    side(0).chain(std::iter::once(SIDE..SIDE + 1)).chain(side(SIDE + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_in_its_bin() {
        for number in [1.0, 1.25, 1.9999, 3.5, 1e-6, 7e11, 0.1, 120.0, 1023.9] {
            for number in [number, -number] {
                let bin = bin(number);
                assert!(low(bin) <= number && number <= high(bin), "{number}: {} to {}", low(bin), high(bin));
            }
        }
        assert_eq!((low(bin(5.0)), high(bin(5.0))), (5.0, 6.0));
        assert_eq!((low(bin(-5.5)), high(bin(-5.5))), (-6.0, -5.0));
        for nothing in [0.0, -0.0, 1e-9, -1e-300] {
            assert_eq!(bin(nothing), SIDE);
        }
        assert_eq!((bin(f64::MAX), bin(-f64::MAX)), (BINS - 1, 0));
    }

    #[test]
    fn bins_follow_one_another() {
        assert!((1..BINS).all(|bin| high(bin - 1) <= low(bin) && low(bin) <= high(bin)));
        let bins: Vec<usize> = powers().flatten().collect();
        assert_eq!(bins, (0..BINS).collect::<Vec<_>>());
    }
}
