//! Text of any encoding as UTF-8, byte for byte as it streams by.

use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind, Read, Result};

/// How the characters of a text file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// One to four bytes a character.
    #[serde(rename = "utf-8")]
    Utf8,
    /// Two bytes or four, the smaller part first.
    #[serde(rename = "utf-16le")]
    Utf16Little,
    /// Two bytes or four, the larger part first.
    #[serde(rename = "utf-16be")]
    Utf16Big,
    /// One byte a character, as spreadsheets in western Europe write them; Latin-1 is a part of it.
    #[serde(rename = "windows-1252")]
    Windows,
}

/// What bytes 0x80 to 0x9f mean in windows-1252, where Latin-1 has no letters.
///
/// # Source
/// WHATWG, "Encoding Standard", index windows-1252.
const WINDOWS: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// The same text in UTF-8, without its byte-order mark. The mark goes before what is stated; with neither it is UTF-8.
pub fn utf8<'r>(
    mut stream: impl Read + Send + 'r,
    stated: Option<Encoding>,
) -> Result<Box<dyn Read + Send + 'r>> {
    let mut start = Vec::new();
    stream.by_ref().take(3).read_to_end(&mut start)?;
    let (encoding, mark) = match start[..] {
        [0xef, 0xbb, 0xbf] => (Encoding::Utf8, 3),
        [0xff, 0xfe, ..] => (Encoding::Utf16Little, 2),
        [0xfe, 0xff, ..] => (Encoding::Utf16Big, 2),
        _ => (stated.unwrap_or(Encoding::Utf8), 0),
    };
    start.drain(..mark);
    let stream = std::io::Cursor::new(start).chain(stream);
    Ok(match encoding {
        Encoding::Utf8 => Box::new(stream),
        _ => Box::new(Translated { stream, encoding, raw: Vec::new(), text: Vec::new(), place: 0 }),
    })
}

/// A stream in another encoding, read as UTF-8.
struct Translated<R> {
    stream: R,
    encoding: Encoding,
    /// Bytes of a character whose others are still to come.
    raw: Vec<u8>,
    /// Translated, of which the bytes before `place` are given out.
    text: Vec<u8>,
    place: usize,
}

impl<R: Read> Translated<R> {
    /// Translates the next bytes of the stream; none are left at its end.
    fn refill(&mut self) -> Result<()> {
        let mut text = String::new();
        while text.is_empty() {
            if self.stream.by_ref().take(1 << 16).read_to_end(&mut self.raw)? == 0 {
                if !self.raw.is_empty() {
                    return Err(Error::new(
                        ErrorKind::InvalidData,
                        "the text ends within a character of UTF-16",
                    ));
                }
                break;
            }
            let used = match self.encoding {
                Encoding::Windows => {
                    text.extend(self.raw.iter().map(|byte| match byte {
                        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
                        _ => char::from(*byte),
                    }));
                    self.raw.len()
                }
                _ => self.sixteen(&mut text)?,
            };
            self.raw.drain(..used);
        }
        (self.text, self.place) = (text.into_bytes(), 0);
        Ok(())
    }

    /// Translates whole characters of UTF-16 and says how many bytes they were.
    fn sixteen(&self, text: &mut String) -> Result<usize> {
        let pairs = self.raw.as_chunks::<2>().0;
        let unit = |pair: &[u8; 2]| match self.encoding {
            Encoding::Utf16Big => u16::from_be_bytes(*pair),
            _ => u16::from_le_bytes(*pair),
        };
        // Half of a pair at the end waits for the other half.
        let waits = pairs.last().is_some_and(|pair| (0xd800..0xdc00).contains(&unit(pair)));
        let whole = &pairs[..pairs.len() - usize::from(waits)];
        for character in char::decode_utf16(whole.iter().map(unit)) {
            text.push(character.map_err(|_| {
                Error::new(ErrorKind::InvalidData, "half a character of UTF-16 without its other half")
            })?);
        }
        Ok(2 * whole.len())
    }
}

impl<R: Read> Read for Translated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.place == self.text.len() {
            self.refill()?;
        }
        let count = (&self.text[self.place..]).read(buffer)?;
        self.place += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survives;

    fn read(bytes: &[u8], stated: Option<Encoding>) -> Result<String> {
        let mut text = String::new();
        utf8(bytes, stated)?.read_to_string(&mut text)?;
        Ok(text)
    }

    fn sixteen(text: &str, mark: bool, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mark = mark.then_some(0xfeff);
        mark.into_iter().chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "name;größe\n\u{1f600};1\n".repeat(20_000);
        assert_eq!(read(text.as_bytes(), None).unwrap(), text);
        assert_eq!(read(&[b"\xef\xbb\xbf", text.as_bytes()].concat(), None).unwrap(), text);
        assert_eq!(read(&sixteen(&text, true, u16::to_le_bytes), None).unwrap(), text);
        assert_eq!(read(&sixteen(&text, true, u16::to_be_bytes), Some(Encoding::Utf8)).unwrap(), text);
        assert_eq!(
            read(&sixteen(&text, false, u16::to_le_bytes), Some(Encoding::Utf16Little)).unwrap(),
            text
        );
        assert_eq!(read(&sixteen(&text, false, u16::to_be_bytes), Some(Encoding::Utf16Big)).unwrap(), text);
        assert_eq!(read(b"gr\xf6\xdfe \x80\x93", Some(Encoding::Windows)).unwrap(), "größe €“");
        assert_eq!(read(b"", None).unwrap(), "");
    }

    #[test]
    fn half_characters_are_errors() {
        let half = |bytes: &[u8]| read(bytes, None).unwrap_err().to_string();
        assert!(half(b"\xff\xfea\0b").contains("ends within"));
        assert!(half(b"\xff\xfe\x00\xd8").contains("ends within"));
        assert!(half(b"\xff\xfe\x00\xd8a\0").contains("other half"));
        survives(&sixteen("a;b\n\u{1f600}", true, u16::to_le_bytes), |bytes| drop(read(bytes, None)));
    }
}
