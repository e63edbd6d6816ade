//! Drawings as SVG: as a file of their own, or within a page, whose style then has the say.

use super::drawing::{Anchor, DASH, Drawing, FONT_SIZE, Ink, Shape};
use crate::escape::{escaped, push};
use std::fmt::Write;

/// How far from a point it can be pointed at.
const REACH: f64 = 7.0;

/// As a file, on white paper.
pub fn file(drawing: &Drawing) -> String {
    let Drawing { width, height, .. } = drawing;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"{FONT_SIZE}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    shapes(&mut svg, drawing);
    svg.push_str("</svg>\n");
    svg
}

/// Within a page, with a text for whoever does not see it.
pub fn inline(drawing: &Drawing, label: &str) -> String {
    let Drawing { width, height, .. } = drawing;
    let mut svg =
        format!("<svg class=\"drawing\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"");
    push(&mut svg, label);
    svg.push_str("\">\n");
    shapes(&mut svg, drawing);
    svg.push_str("</svg>");
    svg
}

fn shapes(svg: &mut String, drawing: &Drawing) {
    for shape in &drawing.shapes {
        draw(svg, shape);
    }
}

fn draw(svg: &mut String, shape: &Shape) {
    match shape {
        Shape::Path { points, ink, width } => {
            let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let dashes = match ink.is_dashed() {
                true => format!(" stroke-dasharray=\"{} {}\"", DASH[0], DASH[1]),
                false => String::new(),
            };
            // What has two ends is a line; what has more is a polyline.
            if let [from, to] = &points[..] {
                let [from, to] = [from, to].map(|point| point.split_once(',').unwrap_or_default());
                let _ = writeln!(
                    svg,
                    "<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{width}\"{dashes}/>",
                    class(*ink),
                    from.0,
                    from.1,
                    to.0,
                    to.1,
                    colour(*ink)
                );
            } else {
                let _ = writeln!(
                    svg,
                    "<polyline class=\"{}\" points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}/>",
                    class(*ink),
                    points.join(" "),
                    colour(*ink)
                );
            }
        }
        Shape::Dot { at: (x, y), radius, ink, title } => {
            let circle = |radius: f64, class: &str, fill: &str, inner: &str| {
                format!(
                    "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\">{inner}</circle>\n"
                )
            };
            if *radius > 0.0 {
                svg.push_str(&circle(*radius, &format!("{} dot", class(*ink)), &colour(*ink), ""));
            }
            if !title.is_empty() {
                let title = format!("<title>{}</title>", escaped(title));
                svg.push_str(&circle(REACH, "hit", "transparent", &title));
            }
        }
        Shape::Box { from, to, ink, title } => {
            let title = match title.is_empty() {
                true => String::new(),
                false => format!("<title>{}</title>", escaped(title)),
            };
            let _ = writeln!(
                svg,
                "<rect class=\"{} box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\">{title}</rect>",
                class(*ink),
                from.0,
                from.1,
                (to.0 - from.0).max(0.0),
                (to.1 - from.1).max(0.0),
                colour(*ink)
            );
        }
        Shape::Text { at, anchor, content } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let content = escaped(content);
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{content}</text>",
                at.0, at.1
            );
        }
    }
}

fn class(ink: Ink) -> String {
    match ink {
        Ink::Grid => "grid".into(),
        Ink::Axis => "axis".into(),
        Ink::Series(place) => format!("s{}", place % super::drawing::COLOURS.len()),
    }
}

fn colour(ink: Ink) -> String {
    let [red, green, blue] = ink.colour();
    format!("#{red:02x}{green:02x}{blue:02x}")
}
