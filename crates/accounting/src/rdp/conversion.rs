//! From Rényi to approximate differential privacy.
//!
//! All functions take the log moment `K = (α − 1) · RDP(α)` rather than the divergence itself, because near
//! α = 1 the divergence is a quotient of two small numbers.

/// ε = RDP + ln(1/δ)/(α − 1).
///
/// # Source
/// Mironov 2017, Proposition 3.
pub fn classical(log_moment: f64, order: f64, delta: f64) -> f64 {
    ((log_moment - delta.ln()) / (order - 1.0)).max(0.0)
}

/// ε = RDP + ln(1 − 1/α) − (ln δ + ln α)/(α − 1).
///
/// # Source
/// Canonne, Kamath and Steinke 2020, Proposition 12; Balle et al. 2020, Theorem 21.
pub fn improved(log_moment: f64, order: f64, delta: f64) -> f64 {
    let excess = order - 1.0;
    ((log_moment - delta.ln() - order.ln()) / excess + (excess / order).ln()).max(0.0)
}
