//! Lengths and epsilons that papers print, from recipes.

use muffle::data::Visibility;
use muffle::recipes;
use muffle::train::{DataShape, Plan, Recipe, TargetShape};
use muffle_accounting::reshuffling::Reshuffling;
use muffle_accounting::{Accountant, zcdp};
use muffle_nn::Shape;

/// A plan on a published set of this many records.
fn plan(records: usize, batch_size: u64, settings: &[String]) -> Plan {
    let text = format!(
        "data = \"none\"\nmodel = {{ layers = [{{ type = \"dense\", features = 3 }}, {{ type = \"relu\" }}, \
         {{ type = \"dense\", features = 2 }}] }}\nbatch_size = {batch_size}\nlearning_rate = 0.05\n\
         clip = {{ kind = \"flat\", threshold = 4 }}\nsampler = \"reshuffled\""
    );
    let data = DataShape {
        input: Shape::Vector(4),
        targets: TargetShape::Classes(2),
        records,
        visibility: Visibility::Public,
        split_by_hash: false,
        texts: None,
    };
    Plan::new(Recipe::parse("test", &text, settings).unwrap(), &data).unwrap()
}

fn settings(settings: &[&str]) -> Vec<String> {
    settings.iter().map(ToString::to_string).collect()
}

/// Yu et al. 2019 for MNIST: σ₀ = 10, ρ = 0.78125, batch 600, 60 principal components that they do not charge. The recipe
/// states ρ by the paper's own conversion.
#[test]
fn the_decays_of_yu_et_al_stop_after_the_epochs_they_print() {
    let epsilon = zcdp::classical_epsilon(0.78125, 1e-5);
    assert!((epsilon - 6.77941).abs() < 1e-5);
    for (schedule, noise, epochs) in [
        ("{kind=\"time\",initial=1,rate=0.05}", 10, 38),
        ("{kind=\"step\",initial=1,factor=0.6,period=10}", 10, 31),
        ("{kind=\"exponential\",initial=1,rate=0.01}", 10, 71),
        ("{kind=\"polynomial\",initial=1,end=0.2,power=3,period=100}", 10, 44),
        ("{kind=\"constant\",value=1}", 8, 100),
    ] {
        let mut all = settings(&[
            "method=dp-sgd-decay",
            "mode=as-published",
            "principal_components={dimensions=4,noise_multiplier=16}",
        ]);
        all.push(format!("noise_schedule={schedule}"));
        all.push(format!("noise_multiplier={noise}"));
        // A hundred epochs at σ = 8 spend the whole budget: room for the last bit.
        all.push(format!("epsilon={}", epsilon * (1.0 + 1e-12)));
        let plan = plan(60_000, 600, &all);
        assert_eq!(plan.steps, epochs * 100, "{schedule}");
        assert!(plan.claimed().unwrap() <= epsilon * (1.0 + 1e-12));
    }
}

/// The same from the recipes that come with the program.
#[test]
fn the_recipes_of_the_decays_stop_there_too() {
    let data = DataShape {
        input: Shape::image(1, 28, 28),
        targets: TargetShape::Classes(10),
        records: 60_000,
        visibility: Visibility::Public,
        split_by_hash: false,
        texts: None,
    };
    for (schedule, epochs) in [("time", 38), ("step", 31), ("exponential", 71), ("polynomial", 44)] {
        let name = format!("shen-2021-table-2-{schedule}");
        let length = |mode: &str| {
            let recipe = recipes::find(&name, &settings(&[&format!("mode={mode}")])).unwrap();
            Plan::new(Recipe::of(&recipe).unwrap(), &data).unwrap().steps
        };
        assert_eq!(length("as-published"), 100 * epochs, "{name}");
        // Exact prices of epochs allow more of them, though the components are paid for.
        assert!(length("sound") > 100 * epochs, "{name}: {}", length("sound"));
    }
}

/// Li et al. 2024, Table 2: fifteen epsilons at the epochs at which an accuracy was reached, all by zCDP of reshuffled
/// epochs. For DP-AdamILG and DP-SGD(decay) they are claims of the published form; ADADP is priced by the same accountant.
#[test]
fn the_epsilons_of_li_et_al_come_out_of_recipes() {
    let (small, large) = ((10.0, 0.05, 600), (6.0, 0.001, 200));
    // Data, records, schedule and batch; then epochs and epsilon of DP-AdamILG, ADADP, DP-SGD(decay).
    let table = [
        ("MNIST", 60_000, small, [(12, 2.238), (33, 3.703), (39, 6.885)]),
        ("Fashion-MNIST", 60_000, small, [(10, 1.948), (12, 2.172), (40, 7.091)]),
        ("SVHN", 73_257, large, [(5, 1.862), (64, 5.299), (89, 9.227)]),
        ("CIFAR-10", 50_000, large, [(7, 2.220), (39, 4.051), (81, 8.705)]),
        ("CIFAR-100", 50_000, large, [(8, 2.382), (37, 3.938), (75, 8.305)]),
    ];
    for (data, records, (noise, rate, batch_size), [adam, adadp, decay]) in table {
        let decaying = format!("noise_schedule={{kind=\"time\",initial=1,rate={rate}}}");
        for (method, (epochs, printed)) in [("dp-adam-ilg", adam), ("dp-sgd-decay", decay)] {
            let mut all = settings(&["mode=as-published", &format!("method={method}"), &decaying]);
            all.push(format!("noise_multiplier={noise}"));
            all.push(format!("epochs={epochs}"));
            // The least limit whose floor of the noise is out of the way of all of them.
            all.extend((method == "dp-adam-ilg").then(|| "parameters.epsilon_limit=0.815".to_string()));
            let claimed = plan(records, batch_size, &all).claimed().unwrap();
            assert!((claimed - printed).abs() <= 6e-4, "{data}, {method}: {claimed} for {printed}");
        }
        let (epochs, printed) = adadp;
        let all = settings(&["method=adadp", "noise_multiplier=8", &format!("epochs={epochs}")]);
        let plan = plan(records, batch_size, &all);
        let cost = plan.total_cost().unwrap();
        let price = Reshuffling.epsilon(&cost, plan.adjacency, 1e-5).unwrap().epsilon;
        assert!((price - printed).abs() <= 6e-4, "{data}, adadp: {price} for {printed}");
    }
}

/// With a floor the noise of Li et al. falls no further: at ρ = 0.78125 and an ε_Lim of next to one, MNIST lasts 46 epochs in place of 38.
#[test]
fn a_floor_of_the_noise_makes_a_run_longer() {
    let length = |more: &str| {
        let own =
            ["mode=as-published", "method=dp-adam-ilg", "noise_schedule={kind=\"time\",initial=1,rate=0.05}"];
        let budget = ["noise_multiplier=10", "epsilon=6.7795", more];
        plan(60_000, 600, &settings(&[&own[..], &budget].concat())).steps / 100
    };
    assert_eq!((length("parameters.epsilon_limit=0"), length("parameters.epsilon_limit=0.9999")), (38, 46));
}
