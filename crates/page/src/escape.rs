//! Text that stays text in HTML and SVG.

use std::fmt::{self, Display, Write};

/// What is written through it has no meaning to a browser.
pub struct Escaped<'a>(pub &'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // No character of XML; a browser would refuse a drawing with one.
                letter if letter.is_control() && !"\n\t".contains(letter) => self.0.push('\u{fffd}'),
                letter => self.0.push(letter),
            }
        }
        Ok(())
    }
}

/// Appends a value as text.
pub fn push(target: &mut String, value: impl Display) {
    let _ = write!(Escaped(target), "{value}");
}

/// A value as text.
pub fn escaped(value: impl Display) -> String {
    let mut text = String::new();
    push(&mut text, value);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_browser_would_act_on() {
        assert_eq!(escaped("<script>\"&'\u{0}"), "&lt;script&gt;&quot;&amp;&#39;\u{fffd}");
        assert_eq!(escaped(1.5), "1.5");
    }
}
