//! Numbers for people, the same everywhere.

use muffle::run::clock::utc;

/// Four decimals, never below the value: a figure that is quoted should hold. Infinity in words.
pub fn epsilon(value: f64) -> String {
    if value.is_finite() { format!("{:.4}", (value * 1e4).ceil() / 1e4) } else { "infinite".into() }
}

/// A lower bound: four decimals, never above the value.
pub fn at_least(value: f64) -> String {
    format!("{:.4}", (value * 1e4).floor() / 1e4)
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// A whole number, in groups of three digits.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Any other number: five significant digits, without those that say nothing.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "not a number".into();
    }
    if value != 0.0 && !(1e-4..1e9).contains(&value.abs()) {
        let text = format!("{value:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    if value.fract() == 0.0 && value >= 0.0 {
        return count(value as u64);
    }
    if value >= 1e4 {
        return count(value.round() as u64);
    }
    let decimals = (4 - value.abs().log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// A number on an axis, without noise digits.
pub fn tick(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        format!("{value:.0e}")
    } else {
        format!("{}", (value * 1e6).round() / 1e6)
    }
}

/// A time in seconds since 1970, to the minute.
pub fn moment(seconds: u64) -> String {
    utc(seconds).get(..16).unwrap_or_default().replace('T', " ")
}

/// The size of a file.
pub fn bytes(size: u64) -> String {
    match size {
        0..1_000 => format!("{size} bytes"),
        1_000..1_000_000 => format!("{:.0} kB", size as f64 / 1e3),
        _ => format!("{:.1} MB", size as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_one_way() {
        assert_eq!((epsilon(2.99991), at_least(1.23459)), ("3.0000".into(), "1.2345".into()));
        assert_eq!(epsilon(f64::INFINITY), "infinite");
        assert_eq!(
            (count(999), count(60_000), count(1_234_567)),
            ("999".into(), "60,000".into(), "1,234,567".into())
        );
        assert_eq!(
            (number(0.00123456), number(1e-5), number(1.10), number(256.0)),
            ("0.0012346".into(), "1e-5".into(), "1.1".into(), "256".into())
        );
        assert_eq!((percent(0.97459), bytes(123_456)), ("97.46 %".into(), "123 kB".into()));
    }
}
