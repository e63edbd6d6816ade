//! Drawings as pixels. Every shape is a set of points within a distance of a line, so that one rule smooths all edges.

use super::drawing::{Anchor, DASH, Drawing, FONT_SIZE, Ink, Shape};
use super::font;
use muffle_nn::Shape as Size;

/// Pixels for each unit of a drawing.
const SCALE: f64 = 2.0;
/// Width of the strokes of letters.
const PEN: f64 = 1.0;

type Point = (f64, f64);

/// As a PNG, on white paper.
pub fn png(drawing: &Drawing) -> Vec<u8> {
    let [width, height] = [drawing.width, drawing.height].map(|side| (SCALE * side).ceil().max(1.0) as usize);
    let mut canvas = Canvas { width, height, pixels: vec![255; 3 * width * height] };
    drawing.shapes.iter().for_each(|shape| canvas.draw(shape));
    muffle::picture::png(Size::image(3, height, width), &[&canvas.pixels])
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Path { points, ink, width } => {
                let pieces = if ink.is_dashed() { dashes(points) } else { vec![points.clone()] };
                pieces.iter().for_each(|piece| self.path(piece, *width, ink.colour()));
            }
            Shape::Dot { at, radius, ink, .. } if *radius > 0.0 => {
                self.segment(*at, *at, *radius, ink.colour())
            }
            Shape::Dot { .. } => {}
            Shape::Box { from, to, ink, .. } => {
                let rows = ((to.1 - from.1) / PEN).ceil().max(1.0) as usize;
                for row in 0..rows {
                    let height = from.1 + (row as f64 + 0.5) * PEN;
                    self.segment((from.0, height), (to.0, height), 0.5 * PEN, ink.colour());
                }
            }
            Shape::Text { at, anchor, content } => {
                let (strokes, width) = font::strokes(content, FONT_SIZE);
                let left = match anchor {
                    Anchor::Start => at.0,
                    Anchor::Middle => at.0 - 0.5 * width,
                    Anchor::End => at.0 - width,
                };
                for stroke in strokes {
                    let points: Vec<Point> = stroke.iter().map(|(x, y)| (left + x, at.1 + y)).collect();
                    self.path(&points, PEN, Ink::Axis.colour());
                }
            }
        }
    }

    fn path(&mut self, points: &[Point], width: f64, colour: [u8; 3]) {
        for pair in points.windows(2) {
            self.segment(pair[0], pair[1], 0.5 * width, colour);
        }
    }

    /// Covers what lies within a distance of a piece of a line, at its edge by the share of the pixel.
    fn segment(&mut self, from: Point, to: Point, distance: f64, colour: [u8; 3]) {
        let [from, to] = [from, to].map(|(x, y)| (SCALE * x, SCALE * y));
        let distance = SCALE * distance;
        let reach = distance + 1.0;
        let range = |one: f64, other: f64, end: usize| {
            let first = (one.min(other) - reach).floor().clamp(0.0, end as f64) as usize;
            let last = (one.max(other) + reach).ceil().clamp(0.0, end as f64) as usize;
            first..last
        };
        for row in range(from.1, to.1, self.height) {
            for column in range(from.0, to.0, self.width) {
                let away = away((column as f64 + 0.5, row as f64 + 0.5), from, to);
                let share = (distance - away + 0.5).clamp(0.0, 1.0);
                let place = 3 * (row * self.width + column);
                for (pixel, part) in self.pixels[place..place + 3].iter_mut().zip(colour) {
                    *pixel = (f64::from(*pixel) * (1.0 - share) + f64::from(part) * share).round() as u8;
                }
            }
        }
    }
}

/// How far a point is from a piece of a line.
fn away(point: Point, from: Point, to: Point) -> f64 {
    let (along, beside) = ((to.0 - from.0, to.1 - from.1), (point.0 - from.0, point.1 - from.1));
    let square = along.0 * along.0 + along.1 * along.1;
    let share = if square > 0.0 { (along.0 * beside.0 + along.1 * beside.1) / square } else { 0.0 };
    let share = share.clamp(0.0, 1.0);
    (beside.0 - share * along.0).hypot(beside.1 - share * along.1)
}

/// A line cut into dashes.
fn dashes(points: &[Point]) -> Vec<Vec<Point>> {
    let (mut pieces, mut left, mut drawn) = (Vec::new(), DASH[0], true);
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let at = |place: f64| {
            let share = place / length.max(f64::MIN_POSITIVE);
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        };
        let mut place = 0.0;
        while place < length {
            let end = (place + left).min(length);
            if drawn {
                pieces.push(vec![at(place), at(end)]);
            }
            left -= end - place;
            place = end;
            if left <= 0.0 {
                drawn = !drawn;
                left = DASH[usize::from(!drawn)];
            }
        }
    }
    pieces
}
