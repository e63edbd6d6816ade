//! Line plots: one description, drawn as SVG for files and pages or as PNG.
//!
//! Two axes, a few lines, points and intervals need no plotting library. A [`Panel`] is plain data, so that a command can leave its
//! plots beside its results, and whoever shows them draws the same.

mod axis;
pub mod curves;
mod drawing;
mod font;
mod layout;
mod raster;
mod svg;

pub use drawing::{Anchor, Drawing, Ink, Shape};
pub use layout::draw;
pub use raster::png;
pub use svg::{file, inline};

use muffle::atomic_file;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One set of axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Panel {
    /// Above the axes.
    pub title: String,
    /// Below the horizontal axis.
    pub x_label: String,
    /// Above the vertical axis.
    pub y_label: String,
    /// Whether the horizontal axis is in decades.
    pub x_logarithmic: bool,
    /// Whether the vertical axis is in decades.
    pub y_logarithmic: bool,
    /// Whether the horizontal axis begins at the smallest value instead of zero.
    pub x_close_up: bool,
    /// Whether the vertical axis begins at the smallest value instead of zero.
    pub y_close_up: bool,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// Named points in data coordinates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// In the legend.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
    /// Vertical bars: a place, a lower and an upper end.
    pub bars: Vec<(f64, f64, f64)>,
    /// Whether the points stand alone, without a line through them.
    pub scattered: bool,
}

impl Panel {
    /// The same without what has no place on a page, which JSON could not hold either.
    pub fn finite(mut self) -> Panel {
        for line in &mut self.lines {
            line.points.retain(|(x, y)| x.is_finite() && y.is_finite());
            line.bars.retain(|(x, low, high)| x.is_finite() && low.is_finite() && high.is_finite());
        }
        self
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.points.is_empty())
    }
}

/// Writes panels side by side to the file that `--plot` named: PNG by its ending, SVG otherwise.
pub fn write(path: &Path, panels: &[Panel]) -> Result<(), String> {
    let drawing = draw(panels);
    let written = match path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png")) {
        true => atomic_file::write(path, png(&drawing)),
        false => atomic_file::write(path, file(&drawing)),
    };
    written.map_err(|error| format!("--plot {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> Panel {
        Panel {
            title: "accuracy <of> & all".into(),
            x_label: "steps".into(),
            y_label: "accuracy %".into(),
            lines: vec![
                Line {
                    name: "one".into(),
                    points: vec![(0.0, 10.0), (60.0, 40.0), (100.0, 90.0)],
                    ..Line::default()
                },
                Line {
                    name: "two".into(),
                    points: vec![(50.0, 20.0)],
                    bars: vec![(50.0, 15.0, 25.0)],
                    scattered: true,
                },
            ],
            ..Panel::default()
        }
    }

    #[test]
    fn a_drawing_has_numbers_to_point_at_and_no_markup_of_its_labels() {
        let text = file(&draw(&[panel()]));
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{text}");
        assert!(text.contains("accuracy &lt;of&gt; &amp; all"), "{text}");
        assert!(text.contains("<title>two: steps 50, accuracy % 20, interval 15 to 25</title>"), "{text}");
        assert_eq!(text.matches("<polyline").count(), 2, "the frame and one line: {text}");
    }

    #[test]
    fn the_same_drawing_as_pixels_has_its_colours_in_place() {
        let drawing = draw(&[panel()]);
        let bytes = png(&drawing);
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let size = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((size.width, size.height), (2 * drawing.width as u32, 2 * drawing.height as u32));
        let dot = drawing.shapes.iter().find_map(|shape| match shape {
            Shape::Dot { at, ink: Ink::Series(1), .. } => Some(*at),
            _ => None,
        });
        let (x, y) = dot.unwrap();
        let place = 3 * ((2.0 * y) as usize * size.width as usize + (2.0 * x) as usize);
        assert_eq!(pixels[place..place + 3], [0xd5, 0x5e, 0x00], "the middle of the second line's point");
        assert_eq!(pixels[..3], [255, 255, 255], "paper in the corner");
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let mut panel = panel();
        panel.lines[0].points.push((f64::NAN, 1.0));
        panel.lines[0].points.push((3.0, f64::INFINITY));
        let text = serde_json::to_string(&panel.clone().finite()).unwrap();
        assert_eq!(serde_json::from_str::<Panel>(&text).unwrap().lines[0].points.len(), 3);
        assert!(!file(&draw(&[panel, Panel::default()])).contains("NaN"));
    }
}
