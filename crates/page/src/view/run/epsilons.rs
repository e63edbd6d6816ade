//! The three epsilons: claimed, proved, measured, as a picture and in words.

use super::super::notice::section;
use crate::html::{Element, el};
use crate::numbers::{at_least, count, epsilon, number, percent};
use crate::plot::{Anchor, Drawing, Ink, Shape, inline};
use muffle::methods::Mode;
use muffle::run::Certificate;

/// Widths of the names, of the scale, and of the figures beside it.
const NAMES: f64 = 100.0;
const SCALE: f64 = 170.0;
const FIGURES: f64 = 120.0;
const ROW: f64 = 30.0;

/// One bar of the picture: its name, where it begins and ends, its colour and its figure.
struct Bar {
    name: &'static str,
    from: f64,
    to: f64,
    ink: Ink,
    figure: String,
}

/// The section.
pub fn epsilons(certificate: &Certificate) -> Element {
    let condition = match certificate.proved.epsilon {
        Some(_) => "Whether",
        None => "If the seed is secret and was drawn at random, whether",
    };
    let lead = match certificate.conditional_epsilon() {
        Some(proved) => format!(
            "{condition} one record was used or not changes the probability of anything that can be seen by a factor of at most {}, \
             except with probability {}.",
            number(proved.exp()),
            number(certificate.delta)
        ),
        None => "Nothing is proved about how much one record shows.".to_string(),
    };
    let picture =
        el("div").class("paper wide").markup(&inline(&draw(&bars(certificate)), &label(certificate)));
    section("Three epsilons", [el("p").class("lead").text(lead), picture, meanings(certificate)])
}

fn bars(certificate: &Certificate) -> Vec<Bar> {
    let proved = certificate.conditional_epsilon();
    let mut bars = Vec::new();
    if let Some(measured) = certificate.measured {
        let figure = format!("at least {}", at_least(measured));
        bars.push(Bar { name: "measured", from: 0.0, to: measured, ink: Ink::Series(2), figure });
    }
    if let Some(proved) = proved {
        let figure = format!("at most {}", epsilon(proved));
        // That of a run with a seed is no proof, and says so wherever it stands.
        let name = if certificate.proved.epsilon.is_some() { "proved" } else { "if seed secret" };
        bars.push(Bar { name, from: 0.0, to: proved, ink: Ink::Series(0), figure });
        let low = certificate.measured.unwrap_or(0.0);
        if low < proved {
            let figure = "in this range".to_string();
            bars.push(Bar { name: "what is true", from: low, to: proved, ink: Ink::Series(5), figure });
        }
    }
    if let Some(claimed) = certificate.claimed {
        let figure = format!("{}, no proof", epsilon(claimed));
        bars.push(Bar { name: "claimed", from: 0.0, to: claimed, ink: Ink::Series(1), figure });
    }
    bars
}

fn draw(bars: &[Bar]) -> Drawing {
    let most = bars.iter().map(|bar| bar.to).fold(0.0, f64::max).max(1e-9);
    let x = |value: f64| NAMES + SCALE * value / most;
    let height = ROW * bars.len() as f64 + 12.0;
    let ends = vec![(NAMES, 4.0), (NAMES, height - 4.0)];
    let mut shapes = vec![Shape::Path { points: ends, ink: Ink::Axis, width: 1.0 }];
    for (place, bar) in bars.iter().enumerate() {
        let top = ROW * place as f64 + 10.0;
        let text = |x, anchor, content: &str| Shape::Text {
            at: (x, top + 14.0),
            anchor,
            content: content.to_string(),
        };
        shapes.push(text(NAMES - 10.0, Anchor::End, bar.name));
        let title = format!("{}: {}", bar.name, bar.figure);
        shapes.push(Shape::Box {
            from: (x(bar.from), top),
            to: (x(bar.to), top + 18.0),
            ink: bar.ink,
            title,
        });
        shapes.push(text(x(bar.to) + 8.0, Anchor::Start, &bar.figure));
    }
    Drawing { width: NAMES + SCALE + FIGURES, height, shapes }
}

fn label(certificate: &Certificate) -> String {
    let bars = bars(certificate);
    let said: Vec<String> = bars.iter().map(|bar| format!("{} {}", bar.name, bar.figure)).collect();
    if said.is_empty() { "No epsilon is proved, measured or claimed.".into() } else { said.join(", ") }
}

/// What each of them means.
fn meanings(certificate: &Certificate) -> Element {
    let proved = &certificate.proved;
    let mut text = match proved.epsilon {
        Some(value) => format!(
            "At most {}, at delta {}, {}, by the accountant {}, whatever an attacker knows or does. What has to hold: {}",
            epsilon(value),
            number(proved.delta),
            certificate.adjacency,
            proved.accountant,
            proved.assumption
        ),
        None => format!("None: {}.", proved.assumption.trim_end_matches('.')),
    };
    if let Some(secret) = &certificate.proved_if_seed_is_secret {
        let value = secret.epsilon.map_or("none".to_string(), epsilon);
        text += &format!(" On condition it is {value}: {}", secret.assumption);
    }
    if let Some(blind) = &certificate.proved_if_stopped_without_looking {
        let value = blind.epsilon.map_or("none".to_string(), epsilon);
        text += &format!(" Of the steps that were taken it is {value}, if {}", blind.assumption);
    }
    let measured = match &certificate.audit {
        Some(audit) => format!(
            "At least {}, with confidence {}: of {} coins that decided about {} planted records an attack on the finished model \
             guessed {} right. The truth may be higher. These counts are not protected: they are for the holder of the records.",
            at_least(audit.epsilon),
            percent(audit.confidence),
            count(audit.guesses),
            count(audit.canaries),
            count(audit.correct)
        ),
        None => "Nothing was measured: `muffle audit run` trains a recipe with planted records and attacks the result.".into(),
    };
    let claimed = match certificate.claimed {
        None if certificate.mode == Mode::AsPublished => {
            "Nothing: there is no epsilon in print for what was run.".into()
        }
        Some(value) => format!(
            "{}, by the argument of the paper of {}, which does not hold.",
            epsilon(value),
            certificate.method
        ),
        None => "Nothing is claimed beyond what is proved.".into(),
    };
    let pair = |name: &str, text: String| el("div").add(el("dt").text(name)).add(el("dd").text(text));
    el("dl")
        .class("meanings")
        .add(pair("proved", text))
        .add(pair("measured", measured))
        .add(pair("claimed", claimed))
}
