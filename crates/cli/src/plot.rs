//! Line plots as SVG. Two axes and a few polylines need no plotting library.

use crate::run_arguments::RunArguments;
use muffle::atomic_file;
use muffle_accounting::{Accountant, Adjacency, Event, pld, pld::Pld, rdp::Rdp};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// One set of axes.
#[derive(Default)]
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

/// A named polyline in data coordinates.
#[derive(Default)]
pub struct Line {
    /// In the legend.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
    /// Vertical bars: a place, a lower and an upper end.
    pub bars: Vec<(f64, f64, f64)>,
}

/// Colours that stay apart for colour-blind readers (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
/// After the last colour they begin again, dashed.
const DASHES: &str = " stroke-dasharray=\"6 3\"";
/// Size of a panel.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 340.0;

/// Epsilon of the first 1, …, `steps` steps, by pld and rdp.
pub fn epsilon_against_steps(
    run: &RunArguments,
    noise: f64,
    rate: f64,
    steps: u64,
) -> Result<Panel, Box<dyn Error>> {
    let points = 13;
    let mut lines: Vec<Line> = Vec::new();
    for accountant in [&Pld as &dyn Accountant, &Rdp] {
        let mut line = Line { name: accountant.name().into(), ..Line::default() };
        for place in 0..points {
            let share = f64::from(place) / f64::from(points - 1);
            let count = (steps as f64).powf(share).round().max(1.0) as u64;
            if let Ok(price) =
                accountant.epsilon(&run.event(noise, rate, count), run.adjacency(), run.delta())
            {
                line.points.push((count as f64, price.epsilon));
            }
        }
        if !line.points.is_empty() {
            lines.push(line);
        }
    }
    Ok(Panel {
        title: format!("epsilon at delta {}", run.delta()),
        x_label: "steps".into(),
        y_label: "epsilon".into(),
        x_logarithmic: true,
        lines,
        ..Panel::default()
    })
}

/// The certified upper bound on delta from epsilon zero to where it falls below `smallest`.
pub fn delta_against_epsilon(
    event: &Event,
    adjacency: Adjacency,
    smallest: f64,
) -> Result<Panel, Box<dyn Error>> {
    let end = Pld.epsilon(event, adjacency, 0.1 * smallest)?.epsilon.max(1e-3);
    let mut points = Vec::new();
    for place in 0..=24 {
        let epsilon = end * f64::from(place) / 24.0;
        points.push((epsilon, pld::delta(event, adjacency, epsilon)?.1));
    }
    Ok(Panel {
        title: "privacy curve".into(),
        x_label: "epsilon".into(),
        y_label: "delta".into(),
        y_logarithmic: true,
        lines: vec![Line { name: "pld".into(), points, ..Line::default() }],
        ..Panel::default()
    })
}

/// Writes panels to the file that `--plot` named.
pub fn write(path: &Path, panels: &[Panel]) -> Result<(), Box<dyn Error>> {
    let written = atomic_file::write(path, draw(panels));
    Ok(written.map_err(|error| format!("--plot {}: {error}", path.display()))?)
}

/// All panels side by side.
pub fn draw(panels: &[Panel]) -> String {
    let width = WIDTH * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" width=\"{width}\" \
         height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (place, panel) in panels.iter().enumerate() {
        panel.draw(&mut svg, place as f64 * WIDTH);
    }
    svg.push_str("</svg>\n");
    svg
}

/// One axis: the range of the data and where it lies on the page.
struct Axis {
    logarithmic: bool,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn new(
        values: impl Iterator<Item = f64>,
        logarithmic: bool,
        close_up: bool,
        start: f64,
        end: f64,
    ) -> Axis {
        let scale = |value: f64| if logarithmic { value.log10() } else { value };
        let (mut low, mut high) = values
            .map(scale)
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if logarithmic {
            (low, high) = (low.floor(), high.ceil());
        } else if close_up {
            let margin = 0.05 * (high - low);
            (low, high) = (low - margin, high + margin);
        } else {
            low = low.min(0.0);
        }
        if low.is_nan() || high.is_nan() || low >= high {
            high = low + 1.0;
        }
        Axis { logarithmic, low, high, start, end }
    }

    /// Where a value lies on the page; nothing for values a logarithm cannot show.
    fn place(&self, value: f64) -> Option<f64> {
        let value = if self.logarithmic { value.log10() } else { value };
        value
            .is_finite()
            .then(|| self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start))
    }

    /// Round values to label: decades, or multiples of 1, 2 or 5 times a power of ten.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let every = ((self.high - self.low) / 6.0).ceil().max(1.0) as usize;
            return (self.low as i32..=self.high as i32)
                .step_by(every)
                .map(|power| 10_f64.powi(power))
                .collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|multiple| multiple as f64 * step).collect()
    }
}

impl Panel {
    fn draw(&self, svg: &mut String, left: f64) {
        let all = || self.lines.iter().flat_map(|line| line.points.iter());
        let ends = self.lines.iter().flat_map(|line| &line.bars).flat_map(|bar| [bar.1, bar.2]);
        let heights = all().map(|point| point.1).chain(ends);
        let (begin, end) = (left + 70.0, left + WIDTH - 20.0);
        let x = Axis::new(all().map(|point| point.0), self.x_logarithmic, self.x_close_up, begin, end);
        let y = Axis::new(heights, self.y_logarithmic, self.y_close_up, HEIGHT - 50.0, 40.0);
        let mut text = |at: (f64, f64), anchor: &str, content: &str| {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{content}</text>",
                at.0,
                at.1,
                content = content.replace('&', "&amp;").replace('<', "&lt;")
            );
        };
        text((0.5 * (x.start + x.end), 22.0), "middle", &self.title);
        text((0.5 * (x.start + x.end), HEIGHT - 12.0), "middle", &self.x_label);
        text((left + 10.0, 32.0), "start", &self.y_label);
        for tick in x.ticks() {
            text((x.place(tick).unwrap_or(x.start), HEIGHT - 32.0), "middle", &label(tick));
        }
        for tick in y.ticks() {
            text((x.start - 6.0, y.place(tick).unwrap_or(y.start) + 4.0), "end", &label(tick));
        }
        // Rising lines of a close-up leave the lower right free.
        let (key, anchor, top) = match self.y_close_up {
            true => (x.end - 24.0, "end", y.start - 16.0 * self.lines.len() as f64),
            false => (x.start + 6.0, "start", 52.0),
        };
        let name_at = if self.y_close_up { key - 4.0 } else { key + 22.0 };
        for (place, line) in self.lines.iter().enumerate() {
            text((name_at, top + 4.0 + 16.0 * place as f64), anchor, &line.name);
        }
        for tick in y.ticks() {
            let height = y.place(tick).unwrap_or(y.start);
            let _ = writeln!(
                svg,
                "<line x1=\"{:.1}\" y1=\"{height:.1}\" x2=\"{:.1}\" y2=\"{height:.1}\" stroke=\"#dddddd\"/>",
                x.start, x.end
            );
        }
        let _ = writeln!(
            svg,
            "<polyline points=\"{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\" fill=\"none\" stroke=\"black\"/>",
            x.start, y.end, x.start, y.start, x.end, y.start
        );
        for (place, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[place % COLOURS.len()];
            let dashes = if place < COLOURS.len() { "" } else { DASHES };
            let height = top + 16.0 * place as f64;
            let _ = writeln!(
                svg,
                "<line x1=\"{:.1}\" y1=\"{height:.1}\" x2=\"{:.1}\" y2=\"{height:.1}\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
                key,
                key + 18.0
            );
            let points: Vec<String> = line
                .points
                .iter()
                .filter_map(|point| Some(format!("{:.1},{:.1}", x.place(point.0)?, y.place(point.1)?)))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
                points.join(" ")
            );
            for &(at, low, high) in &line.bars {
                let (Some(at), Some(low), Some(high)) = (x.place(at), y.place(low), y.place(high)) else {
                    continue;
                };
                let _ = writeln!(
                    svg,
                    "<path d=\"M{at:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h6M{:.1} {high:.1}h6\" stroke=\"{colour}\"/>",
                    at - 3.0,
                    at - 3.0
                );
            }
        }
    }
}

/// A tick label without noise digits.
fn label(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        format!("{value:.0e}")
    } else {
        format!("{}", (value * 1e6).round() / 1e6)
    }
}
