//! Letters as strokes, so that words are drawn as lines are.
//!
//! # Source
//! The Hershey font "Roman simplex": assets/simplex-licence.txt.

/// Printable characters of ASCII in their order, one a line: two letters for the left and right edge, then pairs for the points of
/// its strokes. The letter `R` is zero; a space and an `R` lift the pen.
static GLYPHS: &str = include_str!("../../assets/simplex.txt");

/// From the base line to the top of capitals, and the base line itself, in units of the font.
const CAPITAL: f64 = 21.0;
const BASE: f64 = 9.0;
/// Height of capitals over the size of a font.
const SHARE: f64 = 0.72;

/// What is drawn where the font has no letter.
const UNKNOWN: char = '?';

/// The strokes of a text whose first letter stands at (0, 0), and how wide it is.
pub fn strokes(text: &str, size: f64) -> (Vec<Vec<(f64, f64)>>, f64) {
    let scale = SHARE * size / CAPITAL;
    let (mut strokes, mut right) = (Vec::new(), 0.0);
    for letter in text.chars() {
        let Some((edges, points)) = glyph(letter).and_then(|glyph| glyph.split_at_checked(2)) else {
            continue;
        };
        let [start, end] = [edges[0], edges[1]].map(unit);
        for stroke in points.chunks_exact(2).collect::<Vec<_>>().split(|pair| **pair == *b" R") {
            let place =
                |pair: &&[u8]| (right + (unit(pair[0]) - start) * scale, (unit(pair[1]) - BASE) * scale);
            strokes.push(stroke.iter().map(place).collect());
        }
        right += (end - start) * scale;
    }
    (strokes, right)
}

fn glyph(letter: char) -> Option<&'static [u8]> {
    let place = |letter: char| (letter as usize).checked_sub(' ' as usize);
    let line = |place: usize| GLYPHS.lines().nth(place);
    let known = place(letter).and_then(line).or_else(|| place(UNKNOWN).and_then(line));
    known.map(str::as_bytes)
}

fn unit(letter: u8) -> f64 {
    f64::from(letter) - f64::from(b'R')
}
