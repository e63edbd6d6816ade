use super::*;
use muffle_accounting::Accountant;
use muffle_accounting::pld::Pld;

const DATA: DataShape = DataShape {
    input: Shape::Vector(4),
    targets: TargetShape::Classes(2),
    records: 1000,
    visibility: Visibility::Public,
    split_by_hash: false,
    texts: None,
};

fn plan_on(data: &DataShape, settings: &[&str]) -> Result<Plan> {
    let text = r#"
        data = "none"
        model = { layers = [{ type = "dense", features = 2 }] }
        batch_size = 50
        learning_rate = 0.5
        clip = { kind = "flat", threshold = 1.0 }
    "#;
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Plan::new(Recipe::parse("test", text, &settings)?, data)
}

fn plan(settings: &[&str]) -> Result<Plan> {
    plan_on(&DATA, settings)
}

fn price(plan: &Plan) -> f64 {
    let event = plan.total_cost().unwrap();
    Pld.epsilon(&event, plan.adjacency, plan.recipe.run.delta).unwrap().epsilon
}

#[test]
fn any_two_of_epsilon_noise_and_length_give_the_third() {
    let noise = plan(&["epsilon=2", "epochs=10"]).unwrap();
    assert_eq!(noise.steps, 200);
    assert!(price(&noise) <= 2.0 && price(&noise) > 1.99);
    let setting = format!("noise_multiplier={}", noise.noise_multiplier);
    assert_eq!(plan(&["epsilon=2", &setting]).unwrap().steps, 200);
    assert!(plan(&["steps=200", &setting]).unwrap().recipe.run.epsilon.is_none());
    let limit = plan(&["epsilon=1", "steps=200", &setting]).err().unwrap().to_string();
    assert!(limit.contains("above the limit epsilon = 1"), "{limit}");
}

#[test]
fn every_sampler_is_calibrated_to_its_own_price() {
    for sampler in ["poisson", "fixed-size", "reshuffled", "balls-and-bins"] {
        let plan = plan(&["epsilon=2", "epochs=3", &format!("sampler={sampler}")]).unwrap();
        assert!(price(&plan) <= 2.0 && price(&plan) > 1.98, "{sampler}: {}", price(&plan));
    }
}

#[test]
fn schedules_and_principal_components_are_part_of_the_price() {
    let settings = ["epsilon=2", "epochs=4", "noise_schedule={kind=\"exponential\",initial=1,rate=0.3}"];
    let scheduled = plan(&settings).unwrap();
    assert!(scheduled.noise_multiplier_at(60) < 0.5 * scheduled.noise_multiplier_at(0));
    assert!(price(&scheduled) <= 2.0 && price(&scheduled) > 1.99);
    let with = "principal_components={dimensions=4,noise_multiplier=2}";
    let prepared = plan(&["epsilon=2", "epochs=4", with]).unwrap();
    let without = plan(&["epsilon=2", "epochs=4"]).unwrap();
    assert!(prepared.noise_multiplier > 1.1 * without.noise_multiplier);
    assert!(price(&prepared) <= 2.0);
}

/// Ten epochs of twenty steps: in the middle half of the way from one to a tenth is gone, whatever counts as time.
#[test]
fn schedules_without_an_end_of_their_own_end_with_the_run() {
    let line = "clip_schedule={kind=\"polynomial\",initial=1,end=0.1,power=1}";
    for length in [
        &["epochs=10", "epsilon=2"][..],
        &["steps=200", "epsilon=2"],
        &["steps=200", "epsilon=2", "schedule_unit=step"],
    ] {
        let plan = plan(&[&[line], length].concat()).unwrap();
        for (step, expected) in [(0, 1.0), (100, 0.55), (200, 0.1)] {
            let found = plan.clip_factor(step).unwrap();
            assert!((found - expected).abs() < 1e-9, "{length:?} at {step}: {found}");
        }
    }
    let message = plan(&[line, "epsilon=2", "noise_multiplier=1"]).err().unwrap().to_string();
    assert!(message.contains("clip_schedule") && message.contains("give a period"), "{message}");
}

#[test]
fn private_records_need_a_public_number() {
    let own = DataShape { visibility: Visibility::Private, ..DATA };
    let message = plan_on(&own, &["epsilon=2", "epochs=3"]).err().unwrap().to_string();
    assert!(message.contains("records is missing"), "{message}");
    let plan = plan_on(&own, &["epsilon=2", "epochs=3", "records=2000"]).unwrap();
    assert_eq!(plan.sample_rate, 0.025);
}

#[test]
fn counts_that_leave_no_noise_to_the_gradient_are_refused() {
    for method in ["icgc", "quantile-clip"] {
        let settings = |batch_size: &str| {
            let method = format!("method={method}");
            plan(&["noise_multiplier=1", "steps=3", &method, &format!("batch_size={batch_size}")])
        };
        let message = settings("4").err().unwrap().to_string();
        assert!(message.contains("parameters.count_noise"), "{message}");
        assert!(settings("50").is_ok());
    }
}

#[test]
fn what_does_not_fit_is_refused_with_both_sides() {
    for (setting, part) in [
        ("model={layers=[{type=\"dense\",features=3}]}", "3 outputs, the data has 2 classes"),
        ("model=cnn-small", "shape [1, 28, 28], the data has [4]"),
        ("batch_size=2000", "more than the 1000 records"),
        ("clip={kind=\"grouped\",groups=[{tensors=[\"0.weight\"],threshold=1}]}", "`0.bias` is in no group"),
        ("epsilon=", "set epsilon"),
        ("epochs=", "the length is missing"),
        ("principal_components={dimensions=4,noise_multiplier=0.1}", "leaves no room"),
    ] {
        let message = plan(&["epsilon=2", "epochs=3", setting]).err().unwrap().to_string();
        assert!(message.contains(part), "{setting}: {message}");
    }
}

/// What no step could work with is refused before there is one.
#[test]
fn numbers_that_no_step_could_use_are_refused() {
    for (settings, part) in [
        (&["noise_multiplier=1e300"][..], "noise_multiplier times noise_schedule is 1e300"),
        (&["noise_multiplier=1e-300"], "noise_multiplier times noise_schedule is 1e-300"),
        (&["noise_multiplier=1e-20"], "noise_multiplier = 0 for training that is not private"),
        (&["noise_multiplier=1e8", "clip.threshold=1e25"], "noise_multiplier times the clip threshold"),
        (&["learning_rate=nan"], "learning_rate is NaN"),
        (&["learning_rate=inf"], "learning_rate is inf"),
        (&["learning_rate=-0.1"], "learning_rate is -1e-1"),
        (&["learning_rate=1e200"], "learning_rate is 1e200"),
        (
            &["schedule_unit=step", "learning_rate={kind=\"time\",initial=1,rate=-0.5}"],
            "learning_rate is inf at step 2",
        ),
        (
            &["schedule_unit=step", "noise_schedule={kind=\"exponential\",initial=1,rate=nan}"],
            "noise_schedule is NaN",
        ),
        (
            &["schedule_unit=step", "noise_schedule={kind=\"step\",initial=1,factor=0,period=2}"],
            "is 0e0 at step 2",
        ),
        (&["schedule_unit=step", "clip_schedule={kind=\"step\",initial=1,factor=0,period=2}"], "0 at step 2"),
        (
            &["schedule_unit=step", "clip_schedule={kind=\"step\",initial=1,factor=1e40,period=2}"],
            "threshold is 1e40",
        ),
    ] {
        let usual = ["noise_multiplier=1", "steps=5"];
        let settings: Vec<&str> = usual.iter().chain(settings).copied().collect();
        let message = plan(&settings).err().unwrap_or_else(|| panic!("{settings:?} passed")).to_string();
        assert!(message.contains(part), "{settings:?}: {message}");
    }
    let message = plan(&["noise_multiplier=1", "epochs=1e300"]).err().unwrap().to_string();
    assert!(message.contains("set fewer epochs"), "{message}");
    // The front door for programs settles the same plans, and checks what every run has.
    let mut recipe = plan(&["noise_multiplier=1", "steps=5"]).unwrap().recipe;
    recipe.run.epsilon = Some(f64::NAN);
    let message = Recipe::new(recipe.run, recipe.training).err().unwrap().to_string();
    assert!(message.contains("epsilon = NaN"), "{message}");
}

#[test]
fn a_network_reads_the_tokens_of_the_data() {
    let data = |vocabulary: u32, padding: u32| DataShape {
        input: Shape::Vector(9),
        texts: Some(Texts { vocabulary: Some(vocabulary), padding }),
        ..DATA
    };
    let model = r#"model={layers=[{type="embedding",tokens=257,features=3,padding=256},{type="gru",features=4},{type="dense",features=2}]}"#;
    let error = |data: DataShape| {
        plan_on(&data, &["epsilon=2", "epochs=10", model]).err().map(|error| error.to_string())
    };
    assert_eq!(error(data(257, 256)), None);
    assert!(error(data(300, 256)).unwrap().contains("`tokens = 300`"));
    assert!(error(data(257, 0)).unwrap().contains("`padding = 0`"));
}
