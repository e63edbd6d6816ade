//! Numbers for people.

pub use muffle_page::numbers::epsilon as in_words;

/// An epsilon with what it rests on: a proof, a proof on condition, a claim, or nothing.
pub fn figure_in_words(proved: Option<f64>, if_seed_is_secret: Option<f64>, claimed: Option<f64>) -> String {
    match (proved, if_seed_is_secret, claimed) {
        (Some(epsilon), ..) => in_words(epsilon),
        (None, Some(epsilon), _) => format!("not proved ({} if the seed is secret)", in_words(epsilon)),
        (None, None, Some(claim)) => format!("not proved (claimed: {})", in_words(claim)),
        (None, None, None) => "infinite (not private)".to_string(),
    }
}

/// What to say of a delta that is too large for so many records: a guarantee that may fail with this probability for each of them is
/// none for one.
pub fn delta_warning(delta: f64, records: u64) -> Option<String> {
    let limit = 1.0 / records as f64;
    (delta >= limit).then(|| {
        format!(
            "delta = {delta} is not below one over the {records} records: publishing one of them at random would be as \
             private; set delta below {limit:e}"
        )
    })
}

/// A time in words.
pub fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 99.5 => format!("{seconds:.0} s"),
        _ if seconds < 5940.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// With a capital letter at the front.
pub fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}
