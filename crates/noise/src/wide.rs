//! Numbers of twice the precision, as unevaluated sums of two, for the few draws that double precision cannot decide.
//!
//! # Source
//!
//! Dekker 1971, "A floating-point technique for extending the available precision"; Knuth, TAOCP 2, 4.2.2, for the sum.

use std::ops::{Add, Mul, Neg, Sub};

/// `high + low`, where `low` is at most half a unit in the last place of `high`: about 106 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wide {
    pub high: f64,
    pub low: f64,
}

/// 2π.
const TURN: Wide = Wide { high: std::f64::consts::TAU, low: 2.449_293_598_294_706_4e-16 };
/// ln 2.
const LN_2: Wide = Wide { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
/// Terms of the series for the exponential, sine and cosine: the first left out is below 2⁻¹¹⁰ for arguments within ±0.8.
const TERMS: u32 = 28;

impl Wide {
    pub const ZERO: Wide = Wide { high: 0.0, low: 0.0 };

    /// Exactly `left + right`.
    fn sum(left: f64, right: f64) -> Wide {
        let high = left + right;
        let part = high - left;
        Wide { high, low: (left - (high - part)) + (right - part) }
    }

    /// Exactly `left · right`, unless it underflows.
    fn product(left: f64, right: f64) -> Wide {
        let high = left * right;
        Wide { high, low: left.mul_add(right, -high) }
    }

    /// The fraction of 1 whose binary digits these words are, first word first, and half a digit behind the last.
    pub fn fraction(words: &[u32]) -> Wide {
        let mut value = Wide::ZERO;
        let mut unit = 1.0;
        for word in words {
            unit /= 4_294_967_296.0;
            value = value + Wide::from(f64::from(*word) * unit);
        }
        value + Wide::from(0.5 * unit)
    }

    fn divided_by(self, divisor: f64) -> Wide {
        let high = self.high / divisor;
        let rest = self - Wide::product(high, divisor);
        Wide::sum(high, rest.high / divisor)
    }

    pub fn square_root(self) -> Wide {
        if self.high <= 0.0 {
            return Wide::ZERO;
        }
        // One step of Newton's method from the root in double precision.
        let root = self.high.sqrt();
        let rest = self - Wide::product(root, root);
        Wide::sum(root, rest.high / (2.0 * root))
    }

    /// e to this power, by its series around the nearest multiple of ln 2.
    fn exponential(self) -> Wide {
        let power = (self.high / LN_2.high).round();
        let rest = self - LN_2 * Wide::from(power);
        let mut sum = Wide::from(1.0);
        let mut term = Wide::from(1.0);
        for number in 1..TERMS {
            term = (term * rest).divided_by(f64::from(number));
            sum = sum + term;
        }
        let scale = power.exp2();
        Wide { high: sum.high * scale, low: sum.low * scale }
    }

    /// The logarithm, by Newton's method from that in double precision.
    pub fn logarithm(self) -> Wide {
        let near = libm::log(self.high);
        // self · e^−near = 1 + t with t below 2⁻⁴⁵, so that t³/3 is below what matters.
        let t = self * Wide::from(-near).exponential() - Wide::from(1.0);
        Wide::from(near) + t - Wide::from(0.5 * t.high * t.high)
    }

    /// Cosine and sine of so much of a turn, at most an eighth.
    pub fn circle(self) -> (Wide, Wide) {
        let angle = self * TURN;
        let mut term = Wide::from(1.0);
        let (mut cosine, mut sine) = (term, Wide::ZERO);
        for number in 1..TERMS {
            term = (term * angle).divided_by(f64::from(number));
            let signed = if number % 4 < 2 { term } else { -term };
            if number % 2 == 0 { cosine = cosine + signed } else { sine = sine + signed }
        }
        (cosine, sine)
    }

    /// The nearest integer.
    pub fn nearest(self) -> f64 {
        let near = self.high.round_ties_even();
        // The low part decides only where the high one lies in the middle between two integers.
        match self.high - near {
            0.5 if self.low > 0.0 => near + 1.0,
            -0.5 if self.low < 0.0 => near - 1.0,
            _ => near,
        }
    }
}

impl From<f64> for Wide {
    fn from(high: f64) -> Wide {
        Wide { high, low: 0.0 }
    }
}

impl Add for Wide {
    type Output = Wide;

    fn add(self, other: Wide) -> Wide {
        let high = Wide::sum(self.high, other.high);
        let low = Wide::sum(self.low, other.low);
        let first = Wide::sum(high.high, high.low + low.high);
        Wide::sum(first.high, first.low + low.low)
    }
}

impl Neg for Wide {
    type Output = Wide;

    fn neg(self) -> Wide {
        Wide { high: -self.high, low: -self.low }
    }
}

impl Sub for Wide {
    type Output = Wide;

    fn sub(self, other: Wide) -> Wide {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Wide;

    fn mul(self, other: Wide) -> Wide {
        let high = Wide::product(self.high, other.high);
        Wide::sum(high.high, high.low + self.high.mul_add(other.low, self.low * other.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within 2⁻⁹⁸, relative to the larger of the value and `size`.
    fn near(value: Wide, expected: Wide, size: f64) {
        let difference = (value - expected).high.abs();
        assert!(difference <= size * 2f64.powi(-98), "{value:?} for {expected:?}: {difference:e}");
    }

    /// Digits from tables to forty places.
    #[test]
    fn known_values() {
        // ln 3 and √2.
        let logarithm = Wide::from(3.0).logarithm();
        near(logarithm, Wide { high: 1.098_612_288_668_109_8, low: -9.071_297_235_001_53e-17 }, 1.0);
        near(Wide::from(2.0).logarithm(), LN_2, 1.0);
        let root = Wide::from(2.0).square_root();
        near(root, Wide { high: std::f64::consts::SQRT_2, low: -9.667_293_313_452_913e-17 }, 1.0);
        let (cosine, sine) = Wide::from(0.125).circle();
        near(cosine, Wide { high: root.high / 2.0, low: root.low / 2.0 }, 1.0);
        near(sine, cosine, 1.0);
    }

    /// Identities that hold for all numbers.
    #[test]
    fn identities() {
        for step in 1..200 {
            let x = Wide::from(f64::from(step) / 211.0).divided_by(3.0);
            near(x.logarithm().exponential(), x, 1.0);
            near(x.square_root() * x.square_root(), x, 1.0);
            let small = Wide::from(2f64.powi(-step));
            near(small.logarithm(), -(LN_2 * Wide::from(f64::from(step))), f64::from(step));
            let (cosine, sine) = (x - Wide::from(0.16)).divided_by(2.0).circle();
            near(cosine * cosine + sine * sine, Wide::from(1.0), 1.0);
        }
    }

    #[test]
    fn fractions_and_nearest_integers() {
        assert_eq!(Wide::fraction(&[1 << 31]).high, 0.5 + 2f64.powi(-33));
        let third = Wide::fraction(&[0x5555_5555; 5]) * Wide::from(3.0);
        assert!((third - Wide::from(1.0)).high.abs() < 2f64.powi(-100));
        assert_eq!(Wide { high: 2.5, low: 1e-20 }.nearest(), 3.0);
        assert_eq!(Wide { high: 2.5, low: -1e-20 }.nearest(), 2.0);
        assert_eq!(Wide { high: 3.5, low: -1e-20 }.nearest(), 3.0);
        assert_eq!(Wide { high: -7.2, low: 0.0 }.nearest(), -7.0);
    }
}
