//! Messages that are safe to show: what they quote may be long, or hold control characters.

use std::fmt::Write;

/// Most characters of a line, and most lines.
const LINE: usize = 600;
const LINES: usize = 30;

/// The message with control characters written out, and with the middle of what is too long left out: the beginning says where
/// it is, the end what to do.
pub fn printable(message: &str) -> String {
    let mut lines: Vec<String> = message.lines().map(line).collect();
    if lines.len() > LINES {
        let left_out = lines.len() - LINES;
        let end = LINES / 2;
        lines.splice(end..end + left_out, [format!("[{left_out} lines left out]")]);
    }
    lines.join("\n")
}

fn line(text: &str) -> String {
    let length = text.chars().count();
    let mut shown = String::new();
    for (place, character) in text.chars().enumerate() {
        match place {
            _ if length <= LINE || place < LINE / 2 || place >= length - LINE / 2 => match character {
                '\t' => shown.push(character),
                _ if hidden(character) => {
                    write!(shown, "{}", character.escape_unicode()).expect("memory is there")
                }
                _ => shown.push(character),
            },
            _ if place == LINE / 2 => {
                write!(shown, " [{} characters left out] ", length - LINE / 2 * 2).expect("memory is there");
            }
            _ => {}
        }
    }
    shown
}

/// What moves the cursor, rings a bell, or turns the direction of writing.
fn hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_stay_as_they_are() {
        let message = "a.csv, line 3: \u{fc}ber 1 \u{2264} 2;\n\tmend it";
        assert_eq!(printable(message), message);
    }

    #[test]
    fn long_lines_keep_place_and_remedy() {
        let shown = printable(&format!("a.csv, line 3: \"{}\" is no number; mend it", "x".repeat(100_000)));
        assert!(
            shown.starts_with("a.csv, line 3: \"xx") && shown.ends_with("is no number; mend it"),
            "{shown}"
        );
        assert!(shown.len() < 700 && shown.contains(" characters left out] "), "{shown}");
        let shown = printable(&"line\n".repeat(1000));
        assert_eq!(shown.lines().count(), LINES + 1);
        assert!(shown.contains("[970 lines left out]"), "{shown}");
    }

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        assert_eq!(printable("a\u{1b}[31mb\u{7}c\rd\u{202e}"), "a\\u{1b}[31mb\\u{7}c\\u{d}d\\u{202e}");
    }
}
