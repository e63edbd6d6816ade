//! The search for the best Rényi order.
//!
//! With K convex in α (it is a cumulant generating function), both conversions have the form
//! `(convex function of α)/(α − 1)`: the classical numerator adds a constant, the improved one adds
//! `(α−1) ln(α−1) − α ln α`, whose second derivative `1/(α−1) − 1/α` is positive. So epsilon is quasi-convex in
//! the order, and a walk downhill followed by golden sections finds the minimum over *all* real orders. A fixed
//! grid misses it: for q = 0.1, σ = 0.6 and 10,000 steps the usual grids are off by a factor of two.

/// Orders above this are not tried: integer-order sums have as many terms as the order.
const LARGEST_ORDER: f64 = 16_384.0;
/// Distance of the smallest order from one.
const SMALLEST_EXCESS: f64 = 1e-7;
/// Golden sections stop when the bracket of ln(α − 1) is this narrow; the error in epsilon is its square.
const LOG_TOLERANCE: f64 = 2e-4;

/// Minimises `epsilon` over orders greater than one. `rho` is a guess of RDP(α)/α where the search starts.
/// Returns the order and its epsilon.
///
/// # Guarantee
/// Whatever order is returned, its epsilon is the value of the bound at that order: a search that stops early is
/// loose, never wrong.
pub fn best_order(epsilon: impl Fn(f64) -> f64, delta: f64, rho: f64) -> (f64, f64) {
    let (lowest, highest) = (SMALLEST_EXCESS.ln(), (LARGEST_ORDER - 1.0).ln());
    let start = ((1.0 / delta).ln() / rho.max(f64::MIN_POSITIVE)).sqrt();
    let start = if start.is_nan() {
        0.0
    } else {
        start.ln().clamp(lowest, highest)
    };
    let at = |log_excess: f64| epsilon(1.0 + log_excess.exp());

    let mut step = 0.7;
    let mut middle = (start, at(start));
    let mut left = probe(&at, middle.0 - step, lowest, highest);
    let mut right = probe(&at, middle.0 + step, lowest, highest);
    // Walk downhill, with growing strides, until the middle is the lowest of three.
    while right.1 < middle.1 && right.0 > middle.0 {
        step *= 1.4;
        (left, middle, right) = (middle, right, probe(&at, right.0 + step, lowest, highest));
    }
    // Infinite values lie at orders that are too large: go down through them.
    while (left.1 < middle.1 || middle.1.is_infinite()) && left.0 < middle.0 {
        step *= 1.4;
        (left, middle, right) = (probe(&at, left.0 - step, lowest, highest), left, middle);
    }
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    let (mut low, mut high) = (left.0, right.0);
    while high - low > LOG_TOLERANCE && middle.1 > 0.0 {
        let candidate = if middle.0 - low > high - middle.0 {
            middle.0 - GOLDEN * (middle.0 - low)
        } else {
            middle.0 + GOLDEN * (high - middle.0)
        };
        let value = at(candidate);
        if value < middle.1 {
            if candidate < middle.0 {
                high = middle.0
            } else {
                low = middle.0
            }
            middle = (candidate, value);
        } else if candidate < middle.0 {
            low = candidate;
        } else {
            high = candidate;
        }
    }
    (1.0 + middle.0.exp(), middle.1)
}

fn probe(at: &impl Fn(f64) -> f64, position: f64, lowest: f64, highest: f64) -> (f64, f64) {
    let position = position.clamp(lowest, highest);
    (position, at(position))
}
