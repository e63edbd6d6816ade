//! What a run says of its pace tells nothing of how many records it drew.

mod points;

use muffle::ledger::Ledger;
use muffle::noise::Key;
use muffle::run::{Purse, Trainer};
use muffle::train::{DataShape, GradientTrainer, Plan, Recipe};
use points::dataset;

#[test]
fn the_pace_is_that_of_expected_batches() {
    let text = r#"
        data = "points"
        model = { layers = [{ type = "dense", features = 2 }] }
        noise_multiplier = 1
        steps = 9
        batch_size = 40
        learning_rate = 0.5
        clip = { kind = "flat", threshold = 1.0 }
        threads = 1
    "#;
    let plan = Plan::new(Recipe::parse("test", text, &[]).unwrap(), &DataShape::of(&dataset())).unwrap();
    let mut trainer = GradientTrainer::new(&plan, &dataset(), Key::from_seed(4)).unwrap();
    let mut purse = Purse::new(Ledger::in_memory(), None).unwrap();
    for steps in 1..=9 {
        purse.pay_and_do(&mut trainer, 1).unwrap();
        assert_eq!(trainer.work().expected, 40 * steps);
    }
}
