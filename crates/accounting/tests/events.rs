//! Events as data: JSON, compression, nesting.

use muffle_accounting::{Accountant, Adjacency, Assignment, Event, rdp::Rdp};

#[test]
fn json_round_trip() {
    let event = Event::compose([
        Event::gaussian(16.0),
        Event::laplace(2.0).poisson_sampled(0.5),
        Event::RandomisedResponse { categories: 10, epsilon: 2.0 },
        Event::PureDp { epsilon: 0.1 },
        Event::ApproximateDp { epsilon: 0.1, delta: 1e-7 },
        Event::gaussian(1.0).fixed_size_sampled(0.01).repeated(100),
        Event::gaussian(1.0).partitioned_epoch(Assignment::BallsAndBins).repeated(3),
        Event::Claimed { source: "a paper".into(), epsilon: 1.0, delta: 1e-5 },
        Event::NonPrivate,
    ]);
    let text = serde_json::to_string(&event).unwrap();
    assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    let step = r#"{"kind":"repeat","count":10000,"event":{"kind":"poisson_sampled","sample_rate":0.01,"event":{"kind":"gaussian","noise_multiplier":1.0}}}"#;
    let parsed: Event = serde_json::from_str(step).unwrap();
    assert_eq!(parsed, Event::gaussian(1.0).poisson_sampled(0.01).repeated(10_000));
    assert_eq!(serde_json::to_string(&parsed).unwrap(), step);
}

/// Ledgers of earlier versions say it in other words.
#[test]
fn samples_of_fixed_size_have_an_old_name_too() {
    let event = Event::gaussian(1.0).fixed_size_sampled(0.01);
    let text = serde_json::to_string(&event).unwrap();
    assert!(text.contains("\"fixed_size_sampled\""), "{text}");
    let old = text.replace("fixed_size_sampled", "sampled_without_replacement");
    assert_eq!(serde_json::from_str::<Event>(&old).unwrap(), event);
}

#[test]
fn unknown_kinds_and_fields_are_refused() {
    let error = serde_json::from_str::<Event>(r#"{"kind":"exponential","scale":1}"#).unwrap_err().to_string();
    assert!(error.contains("exponential") && error.contains("gaussian"), "{error}");
    assert!(serde_json::from_str::<Event>(r#"{"kind":"gaussian","noise_multiplier":1,"clip":2}"#).is_err());
}

#[test]
fn a_million_steps_are_one_line() {
    let step = Event::gaussian(1.0).poisson_sampled(0.01);
    let mut ledger = Event::compose([]);
    for _ in 0..1_000_000 {
        ledger.append(step.clone());
    }
    ledger.append(Event::gaussian(2.0));
    assert_eq!(ledger, Event::Compose { events: vec![step.repeated(1_000_000), Event::gaussian(2.0)] });
}

#[test]
fn gaussian_releases_on_one_sample_are_one_release() {
    let both = Event::compose([Event::gaussian(2.0), Event::gaussian(2.0)]).poisson_sampled(0.01);
    let one = Event::gaussian(2.0_f64.sqrt()).poisson_sampled(0.01);
    let price = |event: Event| Rdp.epsilon(&event.repeated(100), Adjacency::AddRemove, 1e-5).unwrap().epsilon;
    assert!((price(both) / price(one) - 1.0).abs() < 1e-9);
    let mixed = Event::compose([Event::gaussian(2.0), Event::laplace(2.0)]).poisson_sampled(0.01);
    let error = Rdp.epsilon(&mixed, Adjacency::AddRemove, 1e-5).unwrap_err().to_string();
    assert!(error.contains("poisson_sampled"), "{error}");
}
