//! Short texts.

use super::{Dice, Order};

const OPENINGS: [&str; 6] =
    ["patient reports", "seen today for", "phoned about", "follow-up of", "asks about", "referred with"];
const URGENT: [&str; 6] = [
    "severe chest pain",
    "sudden shortness of breath",
    "loss of vision in one eye",
    "heavy bleeding after surgery",
    "a high fever and a stiff neck",
    "weakness on the left side",
];
const ROUTINE: [&str; 6] = [
    "a repeat prescription",
    "mild back pain for a year",
    "the result of a blood test",
    "a cough that is getting better",
    "travel vaccinations",
    "an itchy rash on the hand",
];
const ENDINGS: [&str; 5] = ["", " since this morning", ", no other symptoms", ", please advise", " again"];

/// One line for each note, and a header.
pub fn table(order: &Order) -> String {
    let mut text = String::from(if order.labelled { "note,text,urgency\n" } else { "note,text\n" });
    for record in 0..order.records {
        let dice = &mut order.dice(record);
        let urgent = dice.happens(0.3);
        text += &format!("{},\"{}\"", record + 1, sentence(dice, urgent));
        if order.labelled {
            text += if urgent { ",urgent" } else { ",routine" };
        }
        text += "\n";
    }
    text
}

/// A few notes say what one would not expect of their class.
fn sentence(dice: &mut Dice, urgent: bool) -> String {
    let expected = !dice.happens(0.03);
    let complaint = dice.one_of(if urgent == expected { &URGENT } else { &ROUTINE });
    format!("{} {complaint}{}", dice.one_of(&OPENINGS), dice.one_of(&ENDINGS))
}
