//! Dates and times as numbers: days since the beginning of 1970.

use serde::{Deserialize, Serialize};

/// A moment: days since 1970-01-01, with the time of day as a fraction. In files it is an ISO date or time.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub struct Day(pub f64);

/// A date as a text, or as TOML has dates of its own.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a date, such as 2024-02-29")]
enum Written {
    Text(String),
    Date(toml::value::Datetime),
}

impl TryFrom<Written> for Day {
    type Error = String;

    fn try_from(written: Written) -> Result<Day, String> {
        match written {
            Written::Text(text) => Day::try_from(text),
            Written::Date(date) => Day::try_from(date.to_string()),
        }
    }
}

impl TryFrom<String> for Day {
    type Error = String;

    fn try_from(text: String) -> Result<Day, String> {
        let day = iso(&text).ok_or_else(|| {
            format!("{text:?} is no date; write it as 2024-12-31, or with a time as 2024-12-31T23:59")
        })?;
        Ok(Day(day))
    }
}

impl From<Day> for String {
    fn from(Day(days): Day) -> String {
        let (year, month, day) = civil(days.floor() as i64);
        let seconds = ((days - days.floor()) * 86_400.0).round() as u32;
        let date = format!("{year:04}-{month:02}-{day:02}");
        match seconds {
            0 => date,
            _ => format!("{date}T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
        }
    }
}

/// Reads `2024-12-31`, with `T` or a space and `23:59`, `23:59:58` or `23:59:58.5` behind it, and `Z` or an offset such as
/// `+01:00` behind that.
pub fn iso(text: &str) -> Option<f64> {
    let (date, rest) = read("%Y-%m-%d", text)?;
    let Some(time) = rest.strip_prefix(['T', 't', ' ']) else { return rest.is_empty().then_some(date) };
    let (time, rest) = read("%H:%M:%S", time).or_else(|| read("%H:%M", time))?;
    Some(date + time - offset(rest)?)
}

/// The part of a day by which a clock is ahead.
fn offset(text: &str) -> Option<f64> {
    let sign = match text.as_bytes() {
        [] | [b'Z' | b'z'] => return Some(0.0),
        [b'+', ..] => 1.0,
        [b'-', ..] => -1.0,
        _ => return None,
    };
    let clock = &text[1..];
    let (ahead, rest) = read("%H:%M", clock).or_else(|| read("%H%M", clock)).or_else(|| read("%H", clock))?;
    rest.is_empty().then_some(sign * ahead)
}

/// Reads a date by a pattern of `%Y`, `%m`, `%d`, `%H`, `%M` and `%S`; everything else stands for itself.
pub fn formatted(pattern: &str, text: &str) -> Option<f64> {
    read(pattern, text).and_then(|(days, rest)| rest.is_empty().then_some(days))
}

/// Checks that a pattern says what day it is.
pub fn check(pattern: &str) -> Result<(), String> {
    let mut asked = Vec::new();
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        if sign == '%' {
            asked.push(signs.next().unwrap_or('%'));
        }
    }
    match asked.iter().find(|letter| !"YmdHMS".contains(**letter)) {
        Some(letter) => Err(format!("`%{letter}` is not known; there are %Y, %m, %d, %H, %M and %S")),
        None if !['Y', 'm', 'd'].iter().all(|letter| asked.contains(letter)) => {
            Err("a date needs %Y, %m and %d, as in \"%d.%m.%Y\"".to_string())
        }
        None => Ok(()),
    }
}

/// The moment at the beginning of a text, and what is left of the text. Parts that the pattern does not have are those of
/// 1970-01-01.
fn read<'t>(pattern: &str, text: &'t str) -> Option<(f64, &'t str)> {
    let (mut date, mut seconds) = ([1970, 1, 1], 0.0);
    let (mut signs, mut rest) = (pattern.chars(), text);
    while let Some(sign) = signs.next() {
        if sign != '%' {
            rest = rest.strip_prefix(sign)?;
            continue;
        }
        let letter = signs.next()?;
        let (most, largest) = match letter {
            'Y' => (4, 9999),
            'm' => (2, 12),
            'd' => (2, 31),
            'H' => (2, 24),
            // Sixty for a leap second.
            'M' => (2, 59),
            'S' => (2, 60),
            _ => return None,
        };
        let digits = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let number: u32 = rest[..digits].parse().ok().filter(|number| *number <= largest)?;
        rest = &rest[digits..];
        match letter {
            'Y' => date[0] = i64::from(number),
            'm' => date[1] = i64::from(number),
            'd' => date[2] = i64::from(number),
            'H' => seconds += 3600.0 * f64::from(number),
            'M' => seconds += 60.0 * f64::from(number),
            _ => {
                seconds += f64::from(number);
                if let Some(after) = rest.strip_prefix('.') {
                    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
                    seconds += rest[..digits + 1].parse::<f64>().ok()?;
                    rest = &after[digits..];
                }
            }
        }
    }
    let days = days(date)?;
    (seconds <= 86_400.0).then_some((days as f64 + seconds / 86_400.0, rest))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
///
/// # Source
/// Hinnant 2014, "chrono-compatible low-level date algorithms", `days_from_civil`.
fn days([year, month, day]: [i64; 3]) -> Option<i64> {
    // Years begin in March, so that the odd month comes last.
    let from_march = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (from_march.div_euclid(400), from_march.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    // The 31st of February is not a day.
    (month >= 1 && civil(days) == (year, month, day)).then_some(days)
}

/// The date that so many days lead to; `civil_from_days` of the same source.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let place = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * place + 2) / 5 + 1, (place + 2) % 12 + 1);
    (years + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_since_1970() {
        // As Python's `datetime` counts them.
        let known = [
            ("1970-01-01", 0.0),
            ("2000-02-29", 11_016.0),
            ("2024-12-31", 20_088.0),
            ("1899-12-30", -25_569.0),
            ("1970-01-02T12:00", 1.5),
            ("1970-01-02 06:00:00", 1.25),
            ("1970-01-02T01:00:00.0+01:00", 1.0),
            ("1970-01-01T23:00-0100", 1.0),
            ("1970-01-01T00:00:00Z", 0.0),
        ];
        for (text, expected) in known {
            assert_eq!(iso(text), Some(expected), "{text}");
        }
        for text in
            ["", "2023-02-29", "2024-13-01", "2024-00-01", "31.12.2024", "2024-12-31x", "1970-01-01T25:00"]
        {
            assert_eq!(iso(text), None, "{text}");
        }
    }

    #[test]
    fn a_pattern_reads_what_it_says() {
        assert_eq!(formatted("%d.%m.%Y", "31.12.2024"), iso("2024-12-31"));
        assert_eq!(formatted("%m/%d/%Y %H:%M", "2/9/2001 6:00"), iso("2001-02-09T06:00"));
        assert_eq!(formatted("%d.%m.%Y", "31-12-2024"), None);
        assert_eq!(check("%Y%m%d"), Ok(()));
        assert!(check("%d.%m").unwrap_err().contains("needs %Y"));
        assert!(check("%d %b %Y").unwrap_err().contains("`%b` is not known"));
        assert!(check("%Y-%m-%d%").is_err());
    }

    #[test]
    fn a_day_is_written_as_it_is_read() {
        for text in ["1583-01-01", "2000-02-29", "2024-12-31", "1969-12-31T23:59:58"] {
            assert_eq!(String::from(Day::try_from(text.to_string()).unwrap()), text);
        }
        assert!(Day::try_from("soon".to_string()).unwrap_err().contains("2024-12-31"));
    }
}
