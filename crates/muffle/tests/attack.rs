//! Attacks find what a model gives away, and nothing where there is nothing.

use muffle::attack::Trainings;
use muffle::attack::attribute::{AttributeInference, infer_attribute};
use muffle::attack::extraction::{STEPS, extract};
use muffle::attack::inversion::invert;
use muffle::attack::likelihood_ratio::by_likelihood_ratio;
use muffle::attack::membership::{Suspects, by_gradient_norm, by_loss};
use muffle::attack::poisoning::{Poison, poison};
use muffle::attack::white_box::by_hidden_layers;
use muffle::data::column::Column;
use muffle::data::{Dataset, Records, Scaling, Split, Visibility};
use muffle::noise::{Key, Purpose, Stream, Uniform};
use muffle::train::{DataShape, Evaluator, Plan, Recipe, train_in_memory};
use muffle_nn::Shape;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const RECORDS: usize = 100;
const WIDTH: usize = 20;

/// Four standard deviations of the area of a useless score with 100 members and 100 others: √(201/12)/100 is 0.041. Such a
/// score is further from a half with probability below 1e-4.
const CHANCE: f64 = 0.164;

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

/// Random inputs with random labels: nothing to learn but the records themselves.
fn noise(seed: u64) -> Dataset {
    let mut uniform = Uniform::new(&Key::from_seed(seed), Stream::new(Purpose::Data, 0));
    let mut split = || {
        Split::classified(
            Records::Floats((0..RECORDS * WIDTH).map(|_| 2.0 * uniform.unit() as f32 - 1.0).collect()),
            (0..RECORDS).map(|_| uniform.below(2) as u32).collect(),
        )
    };
    let classes = vec!["no".to_string(), "yes".to_string()];
    let (train, test) = (split(), split());
    let scaling = Scaling::identity("as is");
    Dataset::new("noise", Shape::Vector(WIDTH), classes, scaling, Visibility::Public, train, test).unwrap()
}

fn recipe(settings: &[&str]) -> Recipe {
    let text = r#"
        data = "noise"
        model = { layers = [{ type = "dense", features = 32 }, { type = "tanh" }, { type = "dense", features = 2 }] }
        private = false
        steps = 300
        batch_size = 50
        learning_rate = 1.0
        clip = { kind = "flat", threshold = 1.0 }
        threads = 1
    "#;
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Recipe::parse("test", text, &settings).unwrap()
}

fn plan(dataset: &Dataset, settings: &[&str]) -> Plan {
    Plan::new(recipe(settings), &DataShape::of(dataset)).unwrap()
}

fn model(plan: &Plan, dataset: &Dataset) -> Vec<f32> {
    train_in_memory(plan, dataset, Key::from_seed(5), &never(), &|| {}).unwrap().unwrap()
}

fn areas(plan: &Plan, parameters: &[f32], suspects: &Suspects) -> [f64; 3] {
    let mut evaluator = Evaluator::new(plan.network.clone(), Some(1)).unwrap();
    let loss = by_loss(&mut evaluator, parameters, suspects).unwrap();
    let gradient = by_gradient_norm(plan.network.clone(), parameters, suspects, Some(1)).unwrap();
    // Scores half of the suspects, so that useless ones are off by √2 times as much.
    let hidden = by_hidden_layers(&plan.network, parameters, suspects, Some(1), 1).unwrap();
    [loss.area(), gradient.area(), 0.5 + (hidden.area() - 0.5) / 2f64.sqrt()]
}

#[test]
fn an_overfitted_model_gives_its_records_away() {
    let dataset = noise(1);
    let plan = plan(&dataset, &[]);
    let suspects = Suspects::draw(&dataset, 0.0, 2 * RECORDS, 0).unwrap();
    assert_eq!(suspects.each(), RECORDS);
    for area in areas(&plan, &model(&plan, &dataset), &suspects) {
        assert!(area > 0.5 + CHANCE, "{area}");
    }
}

#[test]
fn a_model_of_other_records_gives_nothing_away() {
    let (dataset, other) = (noise(1), noise(2));
    let plan = plan(&dataset, &[]);
    for area in areas(&plan, &model(&plan, &other), &Suspects::draw(&dataset, 0.0, 2 * RECORDS, 0).unwrap()) {
        assert!((area - 0.5).abs() < CHANCE, "{area}");
    }
}

#[test]
fn records_held_out_are_no_members() {
    let dataset = noise(1);
    let recipe = recipe(&[
        "validation={period=1,checks=1,gain=0.1,factor=0.5,records={kind=\"held-out\",share=0.5,epsilon=0.1}}",
    ]);
    let suspects = Suspects::draw(&dataset, recipe.training.held_out(), usize::MAX, 0).unwrap();
    assert!(Suspects::draw(&dataset, 0.0, 1, 0).unwrap_err().to_string().contains("at least two"));
    assert!(suspects.each() < 70 && suspects.each() > 30, "about half of 100: {}", suspects.each());
}

#[test]
fn shadow_models_expose_an_overfitted_model_and_noise_hides_it() {
    let dataset = noise(1);
    let suspects = Suspects::draw(&dataset, 0.0, 2 * RECORDS, 0).unwrap();
    let (steps, never) = (AtomicU64::new(0), never());
    let count = || {
        steps.fetch_add(1, Ordering::Relaxed);
    };
    let trainings = Trainings { workers: 2, seed: 9, stop: &never, after_step: &count };
    let attack = |settings: &[&str]| {
        let plan = plan(&dataset, settings);
        let parameters = model(&plan, &dataset);
        by_likelihood_ratio(&plan, &dataset, &suspects, &parameters, 8, &trainings).unwrap().unwrap()
    };
    let plain = attack(&["steps=100"]);
    assert_eq!(steps.swap(0, Ordering::Relaxed), 8 * 100);
    assert!(plain.area() > 0.5 + CHANCE, "{}", plain.area());
    let private = attack(&["private=true", "epsilon=0.1", "steps=10"]);
    assert!((private.area() - 0.5).abs() < CHANCE, "{}", private.area());
}

#[test]
fn an_odd_number_of_shadow_models_and_a_stop_are_understood() {
    let dataset = noise(1);
    let (plan, suspects) = (plan(&dataset, &[]), Suspects::draw(&dataset, 0.0, 2 * RECORDS, 0).unwrap());
    let parameters = vec![0.0; plan.network.parameter_len()];
    let attack = |count: usize, stop: bool| {
        let trainings = Trainings { workers: 1, seed: 9, stop: &AtomicBool::new(stop), after_step: &|| {} };
        by_likelihood_ratio(&plan, &dataset, &suspects, &parameters, count, &trainings)
    };
    assert!(attack(5, false).unwrap_err().to_string().contains("even and at least 4"));
    assert_eq!(attack(4, true).unwrap(), None);
}

/// The model to copy says yes if the sum of the inputs is positive.
#[test]
fn a_copy_agrees_more_the_more_it_asks() {
    let dataset = noise(3);
    let labelled = |split: &Split| {
        let Records::Floats(values) = &split.records else { panic!("values are floats") };
        let sums = values.chunks_exact(WIDTH).map(|record| record.iter().sum::<f32>());
        Split::classified(split.records.clone(), sums.map(|sum| u32::from(sum > 0.0)).collect())
    };
    let (train, test) = (labelled(dataset.train().split()), labelled(dataset.test().split()));
    // More records to ask about and to judge by.
    let test = (4..12).fold(test, |all, seed| all.followed_by(labelled(noise(seed).train().split())));
    let dataset = dataset.with_splits(train, test).unwrap();
    let plan = plan(&dataset, &[]);
    let (parameters, steps, never) = (model(&plan, &dataset), AtomicU64::new(0), never());
    let count = || {
        steps.fetch_add(1, Ordering::Relaxed);
    };
    let trainings = Trainings { workers: 2, seed: 1, stop: &never, after_step: &count };
    let copies = |queries: &[usize]| extract(&plan.description, &parameters, &dataset, queries, &trainings);
    let found = copies(&[4, 450]).unwrap().unwrap();
    assert_eq!((found.judged_on, steps.load(Ordering::Relaxed)), (450, 2 * STEPS));
    let (few, many) = (found.surrogates[0].agreement, found.surrogates[1].agreement);
    // Shares of 450 records have standard deviations below 0.024.
    assert!(many > few + 0.1 && many > found.most_frequent + 0.1, "{found:?}");
    assert!(copies(&[451]).unwrap_err().to_string().contains("1 to 450"));
    assert!(copies(&[0]).is_err());
}

/// Class 0 is bright on the left, class 1 on the right.
#[test]
fn inversion_finds_what_a_class_looks_like() {
    let image = |class: u32| (0..16).map(move |place| if (place % 4 < 2) == (class == 0) { 220 } else { 30 });
    let labels: Vec<u32> = (0..40).map(|record| record % 2).collect();
    let records = Records::Bytes(labels.iter().flat_map(|class| image(*class)).collect());
    let split = Split::classified(records, labels);
    let classes = vec!["left".to_string(), "right".to_string()];
    let (shape, scaling) = (Shape::image(1, 4, 4), Scaling::times(1.0 / 255.0, "to one"));
    let dataset =
        Dataset::new("sides", shape, classes, scaling, Visibility::Public, split.clone(), split).unwrap();
    let layers = "model={layers=[{type=\"flatten\"},{type=\"dense\",features=2}]}";
    let plan = plan(&dataset, &["batch_size=20", "steps=20", "learning_rate=0.1", layers]);
    let parameters = model(&plan, &dataset);
    for (class, prior) in [(0, None), (1, None), (0, Some(3)), (1, Some(3))] {
        let found = invert(&plan.network, &parameters, &dataset, class, 50, prior).unwrap();
        assert!(found.after > found.before && found.after > 0.6, "{} to {}", found.before, found.after);
        assert!(found.likeness > 0.5, "{}", found.likeness);
    }
    let refused = |dataset: &Dataset, class: usize| {
        invert(&plan.network, &parameters, dataset, class, 1, Some(3)).unwrap_err().to_string()
    };
    assert!(refused(&dataset, 2).contains("left, right"));
    assert!(refused(&noise(1), 0).contains("no images"));
}

/// Of a model that knows four images of each class by heart, the attack finds those four, more than what other images of the class have in
/// common: its directions come from the others.
#[test]
fn inversion_finds_the_records_that_a_model_knows_by_heart() {
    let mut uniform = Uniform::new(&Key::from_seed(11), Stream::new(Purpose::Data, 0));
    let mut split = |records: u32| {
        let labels: Vec<u32> = (0..records).map(|record| record % 4).collect();
        // A quarter that is a little brighter for the class, and much that is the record's own.
        let pixels = labels.iter().flat_map(|class| (0..36).map(move |place| place % 4 == *class));
        let pixels = pixels.map(|own| if own { 20 } else { 0 } + uniform.below(200) as u8).collect();
        Split::classified(Records::Bytes(pixels), labels)
    };
    let (train, test) = (split(16), split(200));
    let classes = (0..4).map(|class| class.to_string()).collect();
    let (shape, scaling) = (Shape::image(1, 6, 6), Scaling::times(1.0 / 255.0, "to one"));
    let dataset = Dataset::new("few", shape, classes, scaling, Visibility::Public, train, test).unwrap();
    let layers = "model={layers=[{type=\"flatten\"},{type=\"dense\",features=4}]}";
    let plan = plan(&dataset, &["batch_size=16", "steps=300", "learning_rate=1", layers]);
    let parameters = model(&plan, &dataset);
    let found =
        (0..4).map(|class| invert(&plan.network, &parameters, &dataset, class, 200, Some(20)).unwrap());
    let (own, elsewhere): (Vec<f64>, Vec<f64>) =
        found.map(|found| (found.likeness, found.likeness_elsewhere)).unzip();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / 4.0;
    assert!(mean(&own) > mean(&elsewhere) + 0.1, "{own:?} and {elsewhere:?}");
}

/// Four columns of five categories; the class of a record is for `class` to say.
fn table(seed: u64, class: &dyn Fn(usize, &mut Uniform) -> u32) -> Dataset {
    let mut uniform = Uniform::new(&Key::from_seed(seed), Stream::new(Purpose::Data, 1));
    let mut split = || {
        let (mut inputs, mut labels) = (vec![0.0; RECORDS * WIDTH], Vec::new());
        for record in inputs.chunks_exact_mut(WIDTH) {
            let values: Vec<usize> = (0..4).map(|_| uniform.below(5) as usize).collect();
            values.iter().enumerate().for_each(|(column, value)| record[5 * column + value] = 1.0);
            labels.push(class(values[1], &mut uniform));
        }
        Split::classified(Records::Floats(inputs), labels)
    };
    let (train, test) = (split(), split());
    let columns = ["city", "job", "car", "pet"];
    let columns = columns.map(|name| Column::categories(name, &["a", "b", "c", "d", "e"])).to_vec();
    noise(seed).with_splits(train, test).unwrap().with_columns(columns)
}

fn attribute(dataset: &Dataset, column: &str) -> AttributeInference {
    let plan = plan(dataset, &["steps=1000"]);
    let suspects = Suspects::draw(dataset, 0.0, 2 * RECORDS, 0).unwrap();
    let mut evaluator = Evaluator::new(plan.network.clone(), Some(1)).unwrap();
    infer_attribute(&mut evaluator, &model(&plan, dataset), &suspects, column).unwrap()
}

/// Of a hundred guesses by chance, one in five right, 37 or more are with probability 1e-4.
const BY_CHANCE: u64 = 37;

#[test]
fn a_column_is_inferred_of_records_that_a_model_knows_by_heart() {
    let found = attribute(&table(1, &|_, uniform| uniform.below(2) as u32), "pet");
    assert!(found.members.right > BY_CHANCE && found.others.right < BY_CHANCE, "{found:?}");
    assert_eq!((found.members.records, found.most_frequent.records), (100, 100));
    let [low, high] = found.members.interval();
    assert!(low < found.members.rate() && found.members.rate() < high);
}

/// Class 1 is for job b alone: whoever has it is known to have that job, member or not.
#[test]
fn what_holds_of_everybody_is_inferred_of_everybody() {
    let dataset = table(2, &|job, _| u32::from(job == 1));
    let found = attribute(&dataset, "job");
    let right =
        |view: &muffle::data::View| view.split().labels().iter().filter(|label| **label == 1).count() as u64;
    assert!(found.members.right >= right(&dataset.train()), "{found:?}");
    assert!(found.others.right >= right(&dataset.test()), "{found:?}");
    let other = attribute(&dataset, "pet");
    assert!(other.members.right < BY_CHANCE && other.others.right < BY_CHANCE, "{other:?}");
}

#[test]
fn columns_that_cannot_be_inferred_are_refused() {
    let refused = |dataset: &Dataset, column: &str| {
        let plan = plan(dataset, &[]);
        let suspects = Suspects::draw(dataset, 0.0, 2, 0).unwrap();
        let mut evaluator = Evaluator::new(plan.network.clone(), Some(1)).unwrap();
        let parameters = vec![0.0; plan.network.parameter_len()];
        infer_attribute(&mut evaluator, &parameters, &suspects, column).unwrap_err().to_string()
    };
    assert!(refused(&noise(1), "pet").contains("no columns with categories"));
    assert!(refused(&table(1, &|_, _| 0), "age").contains("city, job, car, pet"));
}

#[test]
fn wrong_labels_cost_accuracy_and_none_cost_nothing() {
    let dataset = table(3, &|job, _| u32::from(job < 3));
    let plan = plan(&dataset, &["steps=100"]);
    let never = never();
    let trainings = Trainings { workers: 2, seed: 5, stop: &never, after_step: &|| {} };
    let attack = |fractions: &[f64]| poison(&plan, &dataset, Poison::Labels, fractions, &trainings);
    let found = attack(&[0.0, 1.0]).unwrap().unwrap();
    let mut evaluator = Evaluator::new(plan.network.clone(), Some(1)).unwrap();
    let clean = evaluator.evaluate(&model(&plan, &dataset), &dataset.test()).unwrap().accuracy.unwrap();
    assert_eq!((found[0].fraction, found[0].accuracy), (0.0, clean));
    // With every label wrong a model learns the opposite.
    assert!(clean > 0.9 && found[1].accuracy < 0.1, "{found:?}");
    assert!(attack(&[1.5]).unwrap_err().to_string().contains("between 0 and 1"));
}
