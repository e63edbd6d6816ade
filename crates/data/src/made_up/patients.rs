//! A hospital's table.

use super::{Dice, Order};

/// One line for each patient, and a header.
pub fn table(order: &Order) -> String {
    let mut text = String::from("patient;admitted;age;sex;ward;pressure;glucose;smoker;remark");
    text += if order.labelled { ";readmitted\n" } else { "\n" };
    for record in 0..order.records {
        line(order, record, &mut text);
    }
    text
}

fn line(order: &Order, record: usize, text: &mut String) {
    let dice = &mut order.dice(record);
    let age = dice.normal(58.0, 16.0).clamp(18.0, 99.0).round();
    let smoker = dice.happens(0.25);
    let pressure = dice.normal(118.0 + 0.25 * (age - 58.0), 12.0).clamp(80.0, 220.0);
    let glucose = dice.normal(102.0, 22.0).clamp(50.0, 400.0);
    let (year, month, day) = (2024, 1 + dice.between(0.0, 12.0) as u32, 1 + dice.between(0.0, 28.0) as u32);
    let risk = 0.055 * (age - 58.0)
        + 0.045 * (glucose - 102.0)
        + 0.03 * (pressure - 118.0)
        + if smoker { 1.1 } else { 0.0 };
    let readmitted = dice.happens(1.0 / (1.0 + (3.1 - risk).exp()));
    let number = |value: f64| format!("{value:.1}").replace('.', ",");
    let cells = [
        format!("P{:06}", record + 1),
        format!("{year}-{month:02}-{day:02}"),
        or_missing(dice, 0.02, format!("{age}")),
        dice.one_of(&["f", "m"]).to_string(),
        format!("W{:03}", (dice.unit() * dice.unit() * 400.0) as u32),
        number(pressure),
        or_missing(dice, 0.1, number(glucose)),
        if smoker { "yes" } else { "no" }.to_string(),
        remark(dice),
    ];
    *text += &cells.join(";");
    if order.labelled {
        *text += if readmitted { ";yes" } else { ";no" };
    }
    *text += "\n";
}

fn or_missing(dice: &mut Dice, probability: f64, cell: String) -> String {
    if dice.happens(probability) { dice.one_of(&["NA", ""]).to_string() } else { cell }
}

/// Free text, some of it over two lines and with the separator in it.
fn remark(dice: &mut Dice) -> String {
    match dice.unit() {
        share if share < 0.9 => String::new(),
        share if share < 0.95 => "\"seen twice; stable\"".to_string(),
        _ => "\"asked to call\nthe ward\"".to_string(),
    }
}
