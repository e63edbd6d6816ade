//! Whether the declaration of a column says one thing.

use super::{Column, date, quoted};

/// Most buckets that categories may be hashed to.
const MOST_BUCKETS: usize = 1 << 16;

impl Column {
    /// Checks that the declaration says one thing.
    pub fn check(&self) -> std::result::Result<(), String> {
        let wrong = |reason: String| Err(format!("column `{}`{reason}", self.name));
        let kinds = [
            self.range.is_some(),
            self.standard.is_some(),
            self.dates.is_some(),
            self.categories.is_some(),
            self.hash.is_some(),
            self.tokens.is_some(),
        ];
        match kinds.iter().filter(|given| **given).count() {
            0 => wrong(
                " declares nothing; a number needs `range = [low, high]` (or `standard = [mean, deviation]` from a public \
                 source), a date needs `dates = [first, last]`, a category needs `categories = [...]` or `hash = 64`, a text \
                 needs `tokens`: they are not computed from the records, because that would spend privacy"
                    .to_string(),
            ),
            1 => self.check_kind().and_then(|()| self.check_extras()).or_else(|reason| wrong(format!(": {reason}"))),
            _ => wrong(
                ": give one of `range`, `standard`, `dates`, `categories`, `hash` and `tokens`".to_string(),
            ),
        }
    }

    /// Checks what the column is.
    fn check_kind(&self) -> std::result::Result<(), String> {
        if let Some([low, high]) = self.range
            && !(low < high && low.is_finite() && high.is_finite())
        {
            return Err(format!("range {low} to {high} is empty or not finite"));
        }
        if let Some([mean, deviation]) = self.standard
            && !(mean.is_finite() && deviation.is_finite() && deviation > 0.0)
        {
            return Err("`standard` wants a mean and a positive deviation".to_string());
        }
        if let Some([first, last]) = self.dates
            && first >= last
        {
            return Err("`dates` wants the first before the last".to_string());
        }
        if let Some(categories) = &self.categories {
            let mut sorted: Vec<&String> = categories.iter().collect();
            sorted.sort();
            sorted.dedup();
            if categories.is_empty() || sorted.len() < categories.len() {
                return Err("categories must be given, each once".to_string());
            }
            if categories.len() == 1 && categories[0] == "?" {
                return Err(
                    "`categories` are still to be filled in: declare all that there may be".to_string()
                );
            }
            if let Some(never) = categories.iter().find(|category| self.means_missing(category)) {
                return Err(format!(
                    "category {} is also in `missing_values`: take it out of one of both",
                    quoted(never)
                ));
            }
        }
        match (self.hash, &self.tokens) {
            (Some(buckets), _) if !(2..=MOST_BUCKETS).contains(&buckets) => {
                Err(format!("`hash` wants 2 to {MOST_BUCKETS} buckets"))
            }
            (_, Some(tokens)) => tokens.check(),
            _ => Ok(()),
        }
    }

    /// Checks what is said beside that.
    fn check_extras(&self) -> std::result::Result<(), String> {
        let number = self.is_number() || self.dates.is_some();
        let meant = [
            ("logarithmic", self.logarithmic, self.range.is_some(), "numbers with a `range`"),
            ("missing", self.missing.is_some(), self.is_number(), "numbers"),
            ("other", self.other, self.categories.is_some(), "`categories`"),
            ("date_format", self.date_format.is_some(), self.dates.is_some(), "`dates`"),
            ("indicator", self.indicator, self.tokens.is_none() || number, "numbers and categories"),
        ];
        if let Some((key, .., whose)) = meant.iter().find(|(_, given, allowed, _)| *given && !allowed) {
            return Err(format!("`{key}` is for {whose}"));
        }
        if self.missing.is_some_and(|value| !value.is_finite()) {
            return Err("`missing` is not finite".to_string());
        }
        self.date_format.as_deref().map_or(Ok(()), |pattern| {
            date::check(pattern).map_err(|reason| format!("date_format {}: {reason}", quoted(pattern)))
        })
    }
}
