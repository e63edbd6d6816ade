//! The transforms of the Winograd schemes in one dimension.

use crate::kernel::instructions::Vector;

/// A scheme F(outputs, taps) in one dimension: `OUTPUTS` neighbouring results of a filter with `TAPS` taps, from the
/// `TILE = OUTPUTS + TAPS - 1` inputs that they touch, with only `TILE` multiplications. Filter, inputs and results are
/// taken for polynomials and multiplied by way of their values at `TILE` points, the last of which is infinity:
/// results = output(weight(filter) ∘ input(inputs)).
///
/// # Source
/// Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks", 2016, arXiv:1509.09308, equation 6, where the
/// matrices of `input`, `weight` and `output` are Bᵀ, G and Aᵀ.
pub(super) trait Scheme<const TILE: usize, const OUTPUTS: usize, const TAPS: usize> {
    fn input<V: Vector>(inputs: [V; TILE]) -> [V; TILE];
    fn weight<V: Vector>(filter: [V; TAPS]) -> [V; TILE];
    fn output<V: Vector>(products: [V; TILE]) -> [V; OUTPUTS];
    /// The transpose of `output`.
    fn upstream<V: Vector>(gradient: [V; OUTPUTS]) -> [V; TILE];
    /// The transpose of `weight`.
    fn gradient<V: Vector>(products: [V; TILE]) -> [V; TAPS];
}

/// F(2, 3), at the points 0, 1 and -1.
pub(super) struct TwoByThree;

impl Scheme<4, 2, 3> for TwoByThree {
    #[inline(always)]
    fn input<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
        [a.subtract(c), b.add(c), c.subtract(b), b.subtract(d)]
    }

    #[inline(always)]
    fn weight<V: Vector>([a, b, c]: [V; 3]) -> [V; 4] {
        let half = V::splat(0.5);
        let (even, odd) = (a.add(c).multiply(half), b.multiply(half));
        [a, even.add(odd), even.subtract(odd), c]
    }

    #[inline(always)]
    fn output<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 2] {
        [a.add(b).add(c), b.subtract(c).subtract(d)]
    }

    #[inline(always)]
    fn upstream<V: Vector>([a, b]: [V; 2]) -> [V; 4] {
        [a, a.add(b), a.subtract(b), V::zero().subtract(b)]
    }

    #[inline(always)]
    fn gradient<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 3] {
        let half = V::splat(0.5);
        let (even, odd) = (b.add(c).multiply(half), b.subtract(c).multiply(half));
        [a.add(even), odd, even.add(d)]
    }
}

/// The points of the schemes with tiles of 6, beside 0 and infinity: ±`NEAR` and ±`FAR`. These have half the rounding
/// error of the customary ±1 and ±2, or ±1/2 and ±1. Of a pair of opposite points, even and odd powers are summed once.
const NEAR: f32 = 0.625;
const FAR: f32 = 1.5;
/// Their squares.
const NEAR2: f32 = NEAR * NEAR;
const FAR2: f32 = FAR * FAR;
/// What Lagrange's interpolation divides by, inverted, for the points 0, ±`NEAR` and ±`FAR`.
const CENTRE_WEIGHT: f32 = 1.0 / (NEAR2 * FAR2);
const NEAR_WEIGHT: f32 = 0.5 / (NEAR2 * (NEAR2 - FAR2));
const FAR_WEIGHT: f32 = 0.5 / (FAR2 * (FAR2 - NEAR2));

/// The values at zero, at ±`NEAR` and ±`FAR`, and at infinity, those between from sums of even and of odd powers.
#[inline(always)]
fn with_points<V: Vector>(
    centre: V,
    [near_even, near_odd]: [V; 2],
    [far_even, far_odd]: [V; 2],
    infinity: V,
) -> [V; 6] {
    [
        centre,
        near_even.accumulate(near_odd, V::splat(NEAR)),
        near_even.accumulate(near_odd, V::splat(-NEAR)),
        far_even.accumulate(far_odd, V::splat(FAR)),
        far_even.accumulate(far_odd, V::splat(-FAR)),
        infinity,
    ]
}

#[inline(always)]
fn input_of_six<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 6] {
    let (sum, product) = (V::splat(-(NEAR2 + FAR2)), V::splat(NEAR2 * FAR2));
    let (near, far) = (V::splat(-NEAR2), V::splat(-FAR2));
    let (near_even, near_odd) = (e.accumulate(c, far), d.accumulate(b, far));
    let (far_even, far_odd) = (e.accumulate(c, near), d.accumulate(b, near));
    let (centre, infinity) =
        (e.accumulate(c, sum).accumulate(a, product), f.accumulate(d, sum).accumulate(b, product));
    with_points(centre, [near_even, near_odd], [far_even, far_odd], infinity)
}

/// F(2, 5).
pub(super) struct TwoByFive;

impl Scheme<6, 2, 5> for TwoByFive {
    #[inline(always)]
    fn input<V: Vector>(inputs: [V; 6]) -> [V; 6] {
        input_of_six(inputs)
    }

    #[inline(always)]
    fn weight<V: Vector>([a, b, c, d, e]: [V; 5]) -> [V; 6] {
        let (near, far) = (V::splat(NEAR2), V::splat(FAR2));
        let near_weight = V::splat(NEAR_WEIGHT);
        let near_even = a.accumulate(c.accumulate(e, near), near).multiply(near_weight);
        let near_odd = b.accumulate(d, near).multiply(near_weight);
        let far_weight = V::splat(FAR_WEIGHT);
        let far_even = a.accumulate(c.accumulate(e, far), far).multiply(far_weight);
        let far_odd = b.accumulate(d, far).multiply(far_weight);
        with_points(a.multiply(V::splat(CENTRE_WEIGHT)), [near_even, near_odd], [far_even, far_odd], e)
    }

    #[inline(always)]
    fn output<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 2] {
        let (near, far) = (b.subtract(c), d.subtract(e));
        [a.add(b.add(c)).add(d.add(e)), f.accumulate(near, V::splat(NEAR)).accumulate(far, V::splat(FAR))]
    }

    #[inline(always)]
    fn upstream<V: Vector>([a, b]: [V; 2]) -> [V; 6] {
        with_points(a, [a, b], [a, b], b)
    }

    #[inline(always)]
    fn gradient<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 5] {
        let (near, far) = (V::splat(NEAR2), V::splat(FAR2));
        let near_even = b.add(c).multiply(V::splat(NEAR_WEIGHT));
        let near_odd = b.subtract(c).multiply(V::splat(NEAR_WEIGHT * NEAR));
        let far_even = d.add(e).multiply(V::splat(FAR_WEIGHT));
        let far_odd = d.subtract(e).multiply(V::splat(FAR_WEIGHT * FAR));
        [
            near_even.add(far_even).accumulate(a, V::splat(CENTRE_WEIGHT)),
            near_odd.add(far_odd),
            near_even.multiply(near).accumulate(far_even, far),
            near_odd.multiply(near).accumulate(far_odd, far),
            f.accumulate(near_even, V::splat(NEAR2 * NEAR2)).accumulate(far_even, V::splat(FAR2 * FAR2)),
        ]
    }
}

/// F(3, 4).
pub(super) struct ThreeByFour;

impl Scheme<6, 3, 4> for ThreeByFour {
    #[inline(always)]
    fn input<V: Vector>(inputs: [V; 6]) -> [V; 6] {
        input_of_six(inputs)
    }

    #[inline(always)]
    fn weight<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 6] {
        let (near, far) = (V::splat(NEAR2), V::splat(FAR2));
        let near_weight = V::splat(NEAR_WEIGHT);
        let near_even = a.accumulate(c, near).multiply(near_weight);
        let near_odd = b.accumulate(d, near).multiply(near_weight);
        let far_weight = V::splat(FAR_WEIGHT);
        let far_even = a.accumulate(c, far).multiply(far_weight);
        let far_odd = b.accumulate(d, far).multiply(far_weight);
        with_points(a.multiply(V::splat(CENTRE_WEIGHT)), [near_even, near_odd], [far_even, far_odd], d)
    }

    #[inline(always)]
    fn output<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 3] {
        let (near_even, far_even) = (b.add(c), d.add(e));
        let (near, far) = (b.subtract(c), d.subtract(e));
        [
            a.add(near_even).add(far_even),
            near.multiply(V::splat(NEAR)).accumulate(far, V::splat(FAR)),
            f.accumulate(near_even, V::splat(NEAR2)).accumulate(far_even, V::splat(FAR2)),
        ]
    }

    #[inline(always)]
    fn upstream<V: Vector>([a, b, c]: [V; 3]) -> [V; 6] {
        let near_even = a.accumulate(c, V::splat(NEAR2));
        let far_even = a.accumulate(c, V::splat(FAR2));
        with_points(a, [near_even, b], [far_even, b], c)
    }

    #[inline(always)]
    fn gradient<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 4] {
        let (near, far) = (V::splat(NEAR2), V::splat(FAR2));
        let near_even = b.add(c).multiply(V::splat(NEAR_WEIGHT));
        let near_odd = b.subtract(c).multiply(V::splat(NEAR_WEIGHT * NEAR));
        let far_even = d.add(e).multiply(V::splat(FAR_WEIGHT));
        let far_odd = d.subtract(e).multiply(V::splat(FAR_WEIGHT * FAR));
        [
            near_even.add(far_even).accumulate(a, V::splat(CENTRE_WEIGHT)),
            near_odd.add(far_odd),
            near_even.multiply(near).accumulate(far_even, far),
            f.accumulate(near_odd, near).accumulate(far_odd, far),
        ]
    }
}

/// F(4, 3).
pub(super) struct FourByThree;

impl Scheme<6, 4, 3> for FourByThree {
    #[inline(always)]
    fn input<V: Vector>(inputs: [V; 6]) -> [V; 6] {
        input_of_six(inputs)
    }

    #[inline(always)]
    fn weight<V: Vector>([a, b, c]: [V; 3]) -> [V; 6] {
        let near_weight = V::splat(NEAR_WEIGHT);
        let near_even = a.accumulate(c, V::splat(NEAR2)).multiply(near_weight);
        let near_odd = b.multiply(near_weight);
        let far_weight = V::splat(FAR_WEIGHT);
        let far_even = a.accumulate(c, V::splat(FAR2)).multiply(far_weight);
        let far_odd = b.multiply(far_weight);
        with_points(a.multiply(V::splat(CENTRE_WEIGHT)), [near_even, near_odd], [far_even, far_odd], c)
    }

    #[inline(always)]
    fn output<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 4] {
        let (near_even, far_even) = (b.add(c), d.add(e));
        let (near, far) = (b.subtract(c), d.subtract(e));
        [
            a.add(near_even).add(far_even),
            near.multiply(V::splat(NEAR)).accumulate(far, V::splat(FAR)),
            near_even.multiply(V::splat(NEAR2)).accumulate(far_even, V::splat(FAR2)),
            f.accumulate(near, V::splat(NEAR2 * NEAR)).accumulate(far, V::splat(FAR2 * FAR)),
        ]
    }

    #[inline(always)]
    fn upstream<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 6] {
        let near_even = a.accumulate(c, V::splat(NEAR2));
        let near_odd = b.accumulate(d, V::splat(NEAR2));
        let far_even = a.accumulate(c, V::splat(FAR2));
        let far_odd = b.accumulate(d, V::splat(FAR2));
        with_points(a, [near_even, near_odd], [far_even, far_odd], d)
    }

    #[inline(always)]
    fn gradient<V: Vector>([a, b, c, d, e, f]: [V; 6]) -> [V; 3] {
        let near_even = b.add(c).multiply(V::splat(NEAR_WEIGHT));
        let far_even = d.add(e).multiply(V::splat(FAR_WEIGHT));
        let (near, far) = (b.subtract(c), d.subtract(e));
        [
            near_even.add(far_even).accumulate(a, V::splat(CENTRE_WEIGHT)),
            near.multiply(V::splat(NEAR_WEIGHT * NEAR)).accumulate(far, V::splat(FAR_WEIGHT * FAR)),
            f.accumulate(near_even, V::splat(NEAR2)).accumulate(far_even, V::splat(FAR2)),
        ]
    }
}
