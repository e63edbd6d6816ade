//! What every accountant must do, run over all of them.

use muffle_accounting::{Accountant, AccountingError, Adjacency, Assignment, Event, Standing, accountant};

/// Events of every kind, each with noise `sigma`.
fn examples(sigma: f64) -> Vec<Event> {
    let epsilon = 1.0 / sigma;
    vec![
        Event::gaussian(sigma),
        Event::laplace(sigma),
        Event::RandomisedResponse { categories: 2, epsilon },
        Event::RandomisedResponse { categories: 10, epsilon },
        Event::PureDp { epsilon },
        Event::ApproximateDp { epsilon, delta: 1e-8 },
        Event::gaussian(sigma).poisson_sampled(0.01),
        Event::laplace(sigma).poisson_sampled(0.1),
        Event::PureDp { epsilon }.poisson_sampled(0.1),
        Event::gaussian(sigma).fixed_size_sampled(0.01),
        Event::gaussian(sigma).partitioned_epoch(Assignment::Reshuffled),
        Event::gaussian(sigma).partitioned_epoch(Assignment::BallsAndBins),
        Event::laplace(sigma).partitioned_epoch(Assignment::BallsAndBins),
    ]
}

/// All prices that exist, with their accountant.
fn each(visit: impl Fn(&dyn Accountant, &Event, usize, Adjacency)) {
    for accountant in accountant::all() {
        for adjacency in Adjacency::ALL {
            for (place, event) in examples(2.0).into_iter().enumerate() {
                match accountant.epsilon(&event.clone().repeated(20), adjacency, 1e-5) {
                    Ok(_) => visit(accountant, &event, place, adjacency),
                    Err(AccountingError::Refused { accountant: name, mechanism, remedy, .. }) => {
                        assert_eq!(name, accountant.name());
                        assert!(!mechanism.is_empty() && !remedy.is_empty());
                    }
                    Err(other) => panic!("{}: {other}", accountant.name()),
                }
            }
        }
    }
}

fn price(accountant: &dyn Accountant, event: &Event, adjacency: Adjacency, delta: f64) -> f64 {
    let price = accountant.epsilon(event, adjacency, delta).unwrap();
    assert!(!price.epsilon.is_nan() && price.epsilon >= 0.0, "{}: {price:?}", accountant.name());
    if price.epsilon.is_infinite() {
        assert!(price.note.is_some(), "{}: infinite without a reason", accountant.name());
    }
    if let Some(lower) = price.lower {
        assert!(lower >= 0.0 && lower <= price.epsilon, "{}: {price:?}", accountant.name());
    }
    price.epsilon
}

/// Grids differ between neighbouring questions, so brackets may overlap by their width.
fn at_most(small: f64, large: f64) -> bool {
    small <= large + (0.005 * large).max(0.002)
}

#[test]
fn repetition_is_composition() {
    each(|accountant, event, _, adjacency| {
        let repeated = price(accountant, &event.clone().repeated(20), adjacency, 1e-5);
        let copies = price(accountant, &Event::Compose { events: vec![event.clone(); 20] }, adjacency, 1e-5);
        let nested = price(accountant, &event.clone().repeated(4).repeated(5), adjacency, 1e-5);
        assert_eq!(repeated, copies, "{}", accountant.name());
        assert_eq!(repeated, nested, "{}", accountant.name());
    });
}

#[test]
fn order_does_not_matter() {
    each(|accountant, event, place, adjacency| {
        let other = examples(3.0).remove(place);
        let forwards = Event::compose([event.clone(), other.clone(), event.clone().repeated(7)]);
        let backwards = Event::compose([event.clone().repeated(7), event.clone(), other]);
        match accountant.epsilon(&forwards, adjacency, 1e-5) {
            Ok(price) => assert_eq!(price, accountant.epsilon(&backwards, adjacency, 1e-5).unwrap()),
            Err(error) => assert!(matches!(error, AccountingError::Refused { .. }), "{error}"),
        }
    });
}

#[test]
fn more_steps_cost_more_and_more_noise_or_delta_less() {
    each(|accountant, event, place, adjacency| {
        let name = accountant.name();
        let base = price(accountant, &event.clone().repeated(20), adjacency, 1e-5);
        assert!(
            at_most(base, price(accountant, &event.clone().repeated(40), adjacency, 1e-5)),
            "{name} steps"
        );
        assert!(
            at_most(price(accountant, &event.clone().repeated(20), adjacency, 1e-3), base),
            "{name} delta"
        );
        let quieter = examples(4.0).remove(place).repeated(20);
        if let Ok(price) = accountant.epsilon(&quieter, adjacency, 1e-5) {
            assert!(at_most(price.epsilon, base), "{name} noise");
        }
    });
}

#[test]
fn no_proof_is_below_the_certified_lower_bound() {
    let pld = accountant::by_name("pld").unwrap();
    each(|accountant, event, _, adjacency| {
        let run = event.clone().repeated(20);
        if let (Standing::Proof, Ok(exact)) = (accountant.standing(), pld.epsilon(&run, adjacency, 1e-5)) {
            let epsilon = price(accountant, &run, adjacency, 1e-5);
            assert!(
                epsilon >= exact.lower.unwrap() * (1.0 - 1e-9),
                "{} {event:?} {adjacency}",
                accountant.name()
            );
        }
    });
}

#[test]
fn claims_and_unprotected_access_are_infinite_everywhere() {
    let claim = Event::Claimed { source: "a paper, Table 2".into(), epsilon: 0.5, delta: 1e-5 };
    for accountant in accountant::all() {
        for event in [claim.clone(), Event::NonPrivate, Event::NonPrivate.poisson_sampled(0.1)] {
            let run = Event::compose([Event::gaussian(5.0).poisson_sampled(0.01), event]);
            let price = accountant.epsilon(&run, Adjacency::AddRemove, 1e-5).unwrap();
            assert!(price.epsilon.is_infinite() && price.note.is_some(), "{}", accountant.name());
        }
    }
}

#[test]
fn nothing_costs_nothing() {
    for accountant in accountant::all() {
        let price = accountant.epsilon(&Event::compose([]), Adjacency::AddRemove, 1e-5).unwrap();
        assert_eq!(price.epsilon, 0.0);
    }
}

#[test]
fn bad_parameters_are_named() {
    let bad = [
        (Event::gaussian(0.0), "noise_multiplier"),
        (Event::gaussian(-1.0), "noise_multiplier"),
        (Event::laplace(f64::NAN), "noise_multiplier"),
        (Event::gaussian(1.0).poisson_sampled(1.5), "sample_rate"),
        (Event::gaussian(1.0).poisson_sampled(0.0), "sample_rate"),
        (Event::RandomisedResponse { categories: 1, epsilon: 1.0 }, "categories"),
        (Event::PureDp { epsilon: -1.0 }, "epsilon"),
        (Event::ApproximateDp { epsilon: 1.0, delta: 1.0 }, "delta"),
        (Event::gaussian(1.0).repeated(0), "count"),
    ];
    for accountant in accountant::all() {
        for (event, argument) in &bad {
            let error = accountant.epsilon(event, Adjacency::AddRemove, 1e-5).unwrap_err();
            assert!(error.to_string().contains(argument), "{error}");
        }
        for delta in [0.0, 1.0, -1e-5, 2.0, f64::NAN] {
            let error = accountant.epsilon(&Event::gaussian(1.0), Adjacency::AddRemove, delta).unwrap_err();
            assert!(error.to_string().contains("delta"), "{error}");
        }
    }
}

#[test]
fn shuffled_batches_are_never_priced_as_poisson() {
    let shuffled = Event::gaussian(2.0).partitioned_epoch(Assignment::Reshuffled).repeated(10);
    for accountant in accountant::all() {
        assert!(accountant.epsilon(&shuffled, Adjacency::AddRemove, 1e-5).is_err(), "{}", accountant.name());
        if let Ok(price) = accountant.epsilon(&shuffled, Adjacency::ZeroOut, 1e-5) {
            // Ten epochs of noise 2 are exactly 1.58-GDP, however large the batches are.
            let exact = muffle_accounting::gdp::epsilon(10.0_f64.sqrt() / 2.0, 1e-5);
            assert!(price.epsilon >= exact * (1.0 - 1e-9), "{}", accountant.name());
        }
    }
}
