//! Transforms of two to five complex numbers, written out: few of their factors take a multiplication.

use super::fourier::{Complex, LANES};

/// A transform of so many numbers. A trait and not a function that is passed on: only then its body becomes a part of loops that are
/// compiled for wide vectors.
pub(super) trait Butterfly<const RADIX: usize> {
    fn transform(terms: [Complex; RADIX]) -> [Complex; RADIX];
}

/// The transforms of two to five numbers.
pub(super) struct WrittenOut;

#[inline(always)]
fn each(one: &Complex, other: &Complex, combine: impl Fn(f32, f32) -> f32) -> Complex {
    let mut result = [[0.0; LANES]; 2];
    for part in 0..2 {
        for lane in 0..LANES {
            result[part][lane] = combine(one[part][lane], other[part][lane]);
        }
    }
    result
}

#[inline(always)]
fn sum(one: &Complex, other: &Complex) -> Complex {
    each(one, other, |one, other| one + other)
}

#[inline(always)]
fn difference(one: &Complex, other: &Complex) -> Complex {
    each(one, other, |one, other| one - other)
}

/// one + factor·other.
#[inline(always)]
fn with(one: &Complex, factor: f32, other: &Complex) -> Complex {
    each(one, other, |one, other| one + factor * other)
}

/// one - i·other and one + i·other.
#[inline(always)]
fn turned(one: &Complex, other: &Complex) -> [Complex; 2] {
    let [real, imaginary] = *other;
    let turned = [imaginary.map(|value| -value), real];
    [difference(one, &turned), sum(one, &turned)]
}

impl Butterfly<2> for WrittenOut {
    #[inline(always)]
    fn transform([a, b]: [Complex; 2]) -> [Complex; 2] {
        [sum(&a, &b), difference(&a, &b)]
    }
}

impl Butterfly<3> for WrittenOut {
    #[inline(always)]
    fn transform([a, b, c]: [Complex; 3]) -> [Complex; 3] {
        // Half the root of three.
        const SINE: f32 = 0.866_025_4;
        let both = sum(&b, &c);
        let apart = difference(&b, &c).map(|part| part.map(|value| SINE * value));
        let [one, two] = turned(&with(&a, -0.5, &both), &apart);
        [sum(&a, &both), one, two]
    }
}

impl Butterfly<4> for WrittenOut {
    #[inline(always)]
    fn transform([a, b, c, d]: [Complex; 4]) -> [Complex; 4] {
        let (even, odd) = (sum(&a, &c), sum(&b, &d));
        let [one, three] = turned(&difference(&a, &c), &difference(&b, &d));
        [sum(&even, &odd), one, difference(&even, &odd), three]
    }
}

impl Butterfly<5> for WrittenOut {
    #[inline(always)]
    fn transform([a, b, c, d, e]: [Complex; 5]) -> [Complex; 5] {
        // Cosines and sines of a fifth of a turn and of two fifths.
        const COSINES: [f32; 2] = [0.309_017, -0.809_017];
        const SINES: [f32; 2] = [0.951_056_5, 0.587_785_25];
        let (outer, inner) = (sum(&b, &e), sum(&c, &d));
        let (outer_apart, inner_apart) = (difference(&b, &e), difference(&c, &d));
        let near = with(&with(&a, COSINES[0], &outer), COSINES[1], &inner);
        let far = with(&with(&a, COSINES[1], &outer), COSINES[0], &inner);
        let scaled = |factor: f32, value: &Complex| value.map(|part| part.map(|value| factor * value));
        let near_apart = with(&scaled(SINES[0], &outer_apart), SINES[1], &inner_apart);
        let far_apart = with(&scaled(SINES[1], &outer_apart), -SINES[0], &inner_apart);
        let ([one, four], [two, three]) = (turned(&near, &near_apart), turned(&far, &far_apart));
        [sum(&sum(&a, &outer), &inner), one, two, three, four]
    }
}
