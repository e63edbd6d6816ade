//! The calculator: a form, and what the accountant says.

use super::Page;
use super::figure::figures;
use super::notice::{notice, section};
use crate::calculation::Answer;
use crate::html::{Element, el};
use crate::numbers::{epsilon, number};

/// Name, what it is, and an example.
const FIELDS: [(&str, &str, &str); 5] = [
    ("noise", "noise multiplier: deviation of the noise over the clipping threshold", "1.1"),
    ("steps", "number of steps", "1000"),
    ("rate", "sample rate: batch size over number of records", "0.01"),
    ("epsilon", "epsilon to keep to", "3"),
    ("delta", "delta: probability with which the guarantee may fail", "1e-5"),
];

/// The page: what was asked by name, and what came of it; nothing before the first question.
pub fn calculator(asked: &dyn Fn(&str) -> Option<String>, answer: Option<&Result<Answer, String>>) -> Page {
    let lead = "Noise, steps, rate, epsilon: give three, and the one that is left empty is found, by the same accountant (pld) that \
                runs are held to. Poisson samples, one record more or less.";
    let field = |(name, about, example): (&'static str, &'static str, &'static str)| {
        let usual = if name == "delta" { "1e-5" } else { "" };
        let value = asked(name).unwrap_or_else(|| usual.to_string());
        let input = el("input").attr("type", "text").attr("inputmode", "decimal").attr("autocomplete", "off");
        let input =
            input.attr("id", name).attr("name", name).attr("value", value).attr("placeholder", example);
        let input = input.attr("aria-describedby", format!("{name}-about"));
        el("div")
            .add(el("label").attr("for", name).text(name))
            .add(input)
            .add(el("small").attr("id", format!("{name}-about")).text(about))
    };
    let form = el("form")
        .class("calculator")
        .attr("method", "get")
        .attr("action", "/calculator")
        .all(FIELDS.map(field))
        .add(el("button").attr("type", "submit").text("Calculate"));
    let mut parts = vec![el("h1").text("Calculator"), el("p").class("lead").text(lead), form];
    match answer {
        None => parts.push(
            el("p")
                .class("quiet")
                .text("For example noise 1.1, steps 1000, rate 0.01, with epsilon left empty."),
        ),
        Some(Err(reason)) => parts.push(notice("bad", "No answer.", reason).attr("role", "alert")),
        Some(Ok(answer)) => parts.push(answered(answer)),
    }
    Page::still("calculator", parts)
}

fn answered(answer: &Answer) -> Element {
    // Rounded to the private side: more noise, a smaller rate, a larger epsilon.
    let value = match answer.found {
        "noise" => format!("{:.6}", (answer.noise * 1e6).ceil() / 1e6),
        "steps" => answer.steps.to_string(),
        "rate" => number_down(answer.rate),
        _ => epsilon(answer.epsilon),
    };
    let found = el("p").class("found").attr("role", "status").text(answer.found).text(" ");
    let found = found.add(el("output").attr("id", "found").attr("data-value", &value).text(&value));
    let sentence = format!(
        "{} steps with noise {} on samples of rate {} cost epsilon {}.",
        crate::numbers::count(answer.steps),
        number(answer.noise),
        number(answer.rate),
        epsilon(answer.epsilon)
    );
    section("Answer", [found, el("p").text(sentence), figures(&answer.panels)])
}

/// Six significant digits, never above the value.
fn number_down(value: f64) -> String {
    let scale = 10_f64.powi(5 - value.log10().floor() as i32);
    format!("{}", (value * scale).floor() / scale)
}
