//! Damage to TOML, JSON and tables as text: whole words are exchanged, numbers go to extremes, lists grow deep.

use super::{BLIND, bytes};
use crate::random::Random;
use std::ops::Range;

/// Numbers, and what stands where one should.
const NUMBERS: [&str; 30] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "10",
    "0.5",
    "-0.0",
    "1e-320",
    "1e-9",
    "1e308",
    "-1e308",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "255",
    "65536",
    "16777217",
    "2147483647",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "0x7fffffffffffffff",
    "true",
];

/// What opens a level in these formats.
const OPENINGS: [&str; 5] = ["[", "{\"a\":", "{a=", "[[", "a."];

/// Exchanges, removes, repeats or invents words.
pub fn mutate(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let words = words(input);
    if words.is_empty() || random.once_in(BLIND) {
        return bytes::mutate(random, input, other);
    }
    let word = random.pick(&words).clone();
    match random.below(9) {
        0..3 => {
            let numbers: Vec<&Range<usize>> =
                words.iter().filter(|word| is_number(&input[word.start..word.end])).collect();
            let number = if numbers.is_empty() { word } else { (*random.pick(&numbers)).clone() };
            replaced(input, number, random.pick(&NUMBERS).as_bytes())
        }
        3 => {
            let theirs = self::words(other);
            let theirs = if theirs.is_empty() { &[][..] } else { &other[random.pick(&theirs).clone()] };
            replaced(input, word, theirs)
        }
        4 => replaced(input, word, &input[random.pick(&words).clone()]),
        5 => replaced(input, word, b""),
        6 => {
            let end = random.pick(&words).end.max(word.start);
            replaced(input, end..end, &input[word.start..end])
        }
        7 => line(random, input, other),
        _ => {
            let levels = *random.pick(&[1, 2, 60, 130, 400]);
            replaced(input, word.start..word.start, random.pick(&OPENINGS).repeat(levels).as_bytes())
        }
    }
}

/// Repeats, removes or borrows a line.
fn line(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mine: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    let theirs: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
    let place = random.below(mine.len());
    let mut lines = mine.clone();
    match random.below(4) {
        0 => drop(lines.remove(place)),
        1 => lines.insert(place, mine[random.below(mine.len())]),
        2 => lines.swap(place, random.below(mine.len())),
        _ if theirs.is_empty() => {}
        _ => lines.insert(place, theirs[random.below(theirs.len())]),
    }
    lines.concat()
}

fn replaced(input: &[u8], place: Range<usize>, by: &[u8]) -> Vec<u8> {
    [&input[..place.start], by, &input[place.end..]].concat()
}

fn is_number(word: &[u8]) -> bool {
    word[0].is_ascii_digit() || (word.len() > 1 && word[0] == b'-' && word[1].is_ascii_digit())
}

/// The places of all words: names and numbers, quoted texts, single signs.
fn words(text: &[u8]) -> Vec<Range<usize>> {
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(byte);
    let (mut words, mut start) = (Vec::new(), 0);
    while start < text.len() {
        let rest = &text[start..];
        let length = match rest[0] {
            b'"' => rest[1..].iter().position(|byte| *byte == b'"').map_or(rest.len(), |end| end + 2),
            byte if in_word(&byte) => rest.iter().position(|byte| !in_word(byte)).unwrap_or(rest.len()),
            _ => 1,
        };
        if !rest[0].is_ascii_whitespace() {
            words.push(start..start + length);
        }
        start += length;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_names_numbers_texts_and_signs() {
        let text = b"a_1 = [-2.5, \"b c\"]\n";
        let found: Vec<&[u8]> = words(text).into_iter().map(|word| &text[word]).collect();
        let expected: [&[u8]; 7] = [b"a_1", b"=", b"[", b"-2.5", b",", b"\"b c\"", b"]"];
        assert_eq!(found, expected);
        assert_eq!(words(b"\"open"), vec![Range { start: 0, end: 5 }]);
    }
}
