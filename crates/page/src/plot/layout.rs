//! From panels to shapes.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing, Ink, Shape};
use super::{Line, Panel};
use crate::numbers::{number, tick};

/// Size of a panel without its legend.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 310.0;
/// What is left free around the axes: left, right, top, bottom.
const MARGINS: [f64; 4] = [70.0, 20.0, 44.0, 50.0];
/// One row of the legend.
const ROW: f64 = 18.0;
/// A sample of a line in the legend, and the width of a letter beside it.
const SAMPLE: f64 = 18.0;
const LETTER: f64 = 6.4;
/// Points beyond this number are not marked one by one; they can still be pointed at.
const MARKED: usize = 30;
/// Letters of a name that are said again for every point: a file of long names and many points would fill the memory.
const SAID: usize = 80;

/// A place on the page, or in the data.
type Point = (f64, f64);

/// All panels side by side.
pub fn draw(panels: &[Panel]) -> Drawing {
    let legends: Vec<Vec<(f64, f64)>> = panels.iter().map(legend_places).collect();
    let rows = legends.iter().flatten().map(|place| place.1).fold(0.0, f64::max);
    let rows = if legends.iter().all(Vec::is_empty) { 0.0 } else { rows + ROW };
    let mut drawing =
        Drawing { width: WIDTH * panels.len() as f64, height: HEIGHT + rows, shapes: Vec::new() };
    for (place, (panel, legend)) in panels.iter().zip(&legends).enumerate() {
        panel.draw(&mut drawing.shapes, place as f64 * WIDTH, legend);
    }
    drawing
}

/// Where the names of lines stand in the legend, from its upper left; a single line without a name needs none.
fn legend_places(panel: &Panel) -> Vec<(f64, f64)> {
    if panel.lines.iter().all(|line| line.name.is_empty()) {
        return Vec::new();
    }
    let (mut x, mut y) = (0.0, 0.0);
    let room = WIDTH - MARGINS[0];
    let place = |line: &Line| {
        let width = SAMPLE + 6.0 + LETTER * line.name.chars().count() as f64 + 16.0;
        if x > 0.0 && x + width > room {
            (x, y) = (0.0, y + ROW);
        }
        let at = (x, y);
        x += width;
        at
    };
    panel.lines.iter().map(place).collect()
}

impl Panel {
    fn draw(&self, shapes: &mut Vec<Shape>, left: f64, legend: &[(f64, f64)]) {
        let all = || self.lines.iter().flat_map(|line| line.points.iter());
        let ends = self.lines.iter().flat_map(|line| &line.bars).flat_map(|bar| [bar.1, bar.2]);
        let heights = all().map(|point| point.1).chain(ends);
        let [before, behind, above, below] = MARGINS;
        let across = (left + before, left + WIDTH - behind);
        let x = Axis::new(all().map(|point| point.0), self.x_logarithmic, self.x_close_up, across);
        let y = Axis::new(heights, self.y_logarithmic, self.y_close_up, (HEIGHT - below, above));
        self.frame(shapes, &x, &y, left);
        for (place, line) in self.lines.iter().enumerate() {
            let ink = Ink::Series(place);
            self.bars(shapes, line, ink, &x, &y);
            self.line(shapes, line, ink, &x, &y);
            if let Some((right, down)) = legend.get(place) {
                let (start, height) = (left + 30.0 + right, HEIGHT + down);
                match line.scattered {
                    true => shapes.push(Shape::Dot {
                        at: (start + 0.5 * SAMPLE, height),
                        radius: 4.0,
                        ink,
                        title: String::new(),
                    }),
                    false => {
                        let points = vec![(start, height), (start + SAMPLE, height)];
                        shapes.push(Shape::Path { points, ink, width: 2.0 });
                    }
                }
                text(shapes, (start + SAMPLE + 6.0, height + 4.0), Anchor::Start, &line.name);
            }
        }
    }

    /// Axes with their labels.
    fn frame(&self, shapes: &mut Vec<Shape>, x: &Axis, y: &Axis, left: f64) {
        let middle = 0.5 * (x.start + x.end);
        text(shapes, (middle, 18.0), Anchor::Middle, &self.title);
        text(shapes, (middle, HEIGHT - 14.0), Anchor::Middle, &self.x_label);
        text(shapes, (left + 10.0, 34.0), Anchor::Start, &self.y_label);
        for tick_value in x.ticks() {
            let at = (x.place(tick_value).unwrap_or(x.start), y.start + 16.0);
            text(shapes, at, Anchor::Middle, &tick(tick_value));
        }
        for tick_value in y.ticks() {
            let height = y.place(tick_value).unwrap_or(y.start);
            text(shapes, (x.start - 6.0, height + 4.0), Anchor::End, &tick(tick_value));
            let points = vec![(x.start, height), (x.end, height)];
            shapes.push(Shape::Path { points, ink: Ink::Grid, width: 1.0 });
        }
        let corners = vec![(x.start, y.end), (x.start, y.start), (x.end, y.start)];
        shapes.push(Shape::Path { points: corners, ink: Ink::Axis, width: 1.0 });
    }

    fn line(&self, shapes: &mut Vec<Shape>, line: &Line, ink: Ink, x: &Axis, y: &Axis) {
        let place = |point: Point| Some(((x.place(point.0)?, y.place(point.1)?), point));
        let placed: Vec<(Point, Point)> = line.points.iter().copied().filter_map(place).collect();
        if !line.scattered && !placed.is_empty() {
            let points = placed.iter().map(|(at, _)| *at).collect();
            shapes.push(Shape::Path { points, ink, width: 2.0 });
        }
        let radius = match (line.scattered, placed.len() <= MARKED) {
            (true, _) => 4.5,
            (false, true) => 2.5,
            (false, false) => 0.0,
        };
        for (at, point) in placed {
            shapes.push(Shape::Dot { at, radius, ink, title: self.point_in_words(line, point) });
        }
    }

    fn bars(&self, shapes: &mut Vec<Shape>, line: &Line, ink: Ink, x: &Axis, y: &Axis) {
        for &(at, low, high) in &line.bars {
            let (Some(at), Some(low), Some(high)) = (x.place(at), y.place(low), y.place(high)) else {
                continue;
            };
            for points in [
                vec![(at, low), (at, high)],
                vec![(at - 3.0, low), (at + 3.0, low)],
                vec![(at - 3.0, high), (at + 3.0, high)],
            ] {
                shapes.push(Shape::Path { points, ink, width: 1.0 });
            }
        }
    }

    /// What a point says when it is pointed at.
    fn point_in_words(&self, line: &Line, (x, y): (f64, f64)) -> String {
        let name = if line.name.is_empty() { String::new() } else { format!("{:.SAID$}: ", line.name) };
        let interval = line.bars.iter().find(|bar| bar.0 == x && bar.1 <= y && y <= bar.2);
        let interval = interval
            .map_or(String::new(), |bar| format!(", interval {} to {}", number(bar.1), number(bar.2)));
        let (x_label, y_label) = (&self.x_label, &self.y_label);
        format!("{name}{x_label:.SAID$} {}, {y_label:.SAID$} {}{interval}", number(x), number(y))
    }
}

fn text(shapes: &mut Vec<Shape>, at: (f64, f64), anchor: Anchor, content: &str) {
    if !content.is_empty() {
        shapes.push(Shape::Text { at, anchor, content: content.to_string() });
    }
}
