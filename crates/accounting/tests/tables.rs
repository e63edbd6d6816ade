//! Printed figures: the vectors of the formulas and the tables of two papers.

use muffle_accounting::pate::LaplaceVotes;
use muffle_accounting::{Adjacency, Assignment, Event, accountant};

const DELTA: f64 = 1e-5;

fn poisson(q: f64, sigma: f64, steps: u64) -> Event {
    Event::gaussian(sigma).poisson_sampled(q).repeated(steps)
}

fn epsilon(name: &str, event: &Event, adjacency: Adjacency) -> f64 {
    accountant::by_name(name).unwrap().epsilon(event, adjacency, DELTA).unwrap().epsilon
}

fn assert_close(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value - expected).abs() <= tolerance, "{what}: {value}, expected {expected}");
}

/// Shen and Zhong 2021, Table 1: q = 0.01, 400 epochs (40,000 steps), noise multiplier 6.
#[test]
fn shen_zhong_2021_table_1() {
    let sampled = poisson(0.01, 6.0, 40_000);
    let shuffled = Event::gaussian(6.0).partitioned_epoch(Assignment::Reshuffled).repeated(400);
    assert_close(
        epsilon("strong_composition", &sampled, Adjacency::AddRemove),
        34.37,
        5e-3,
        "strong composition",
    );
    assert_close(epsilon("moments", &sampled, Adjacency::AddRemove), 1.6705, 5e-5, "moments");
    assert_close(
        epsilon("zcdp_random_sampling", &sampled, Adjacency::AddRemove),
        2.3732,
        5e-5,
        "random sampling",
    );
    assert_close(epsilon("zcdp_reshuffling", &shuffled, Adjacency::ZeroOut), 21.551, 5e-4, "reshuffling");
    // What the same runs really cost.
    assert_close(epsilon("pld", &sampled, Adjacency::AddRemove), 1.283, 1.5e-3, "pld");
    assert_close(epsilon("gdp", &shuffled, Adjacency::ZeroOut), 19.13, 5e-3, "gdp");
    assert!(epsilon("rdp", &sampled, Adjacency::AddRemove) <= 1.400);
}

/// Li, Liang, Jiang and Zhang 2024, Table 2: fifteen epsilons after so many epochs.
#[test]
fn li_2024_table_2() {
    let decaying = |start: f64, rate: f64, epochs: u32| {
        Event::compose((0..epochs).map(|epoch| {
            Event::gaussian(start / (1.0 + rate * f64::from(epoch))).partitioned_epoch(Assignment::Reshuffled)
        }))
    };
    let constant =
        |epochs: u64| Event::gaussian(8.0).partitioned_epoch(Assignment::Reshuffled).repeated(epochs);
    let small = |epochs| decaying(10.0, 0.05, epochs);
    let large = |epochs| decaying(6.0, 0.001, epochs);
    let rows = [
        ("MNIST DP-AdamILG", small(12), 2.2380),
        ("MNIST ADADP", constant(33), 3.7035),
        ("MNIST decay", small(39), 6.8852),
        ("FMNIST DP-AdamILG", small(10), 1.9476),
        ("FMNIST ADADP", constant(12), 2.1716),
        ("FMNIST decay", small(40), 7.0913),
        ("SVHN DP-AdamILG", large(5), 1.8616),
        ("SVHN ADADP", constant(64), 5.2985),
        ("SVHN decay", large(89), 9.2273),
        ("CIFAR-10 DP-AdamILG", large(7), 2.2201),
        ("CIFAR-10 ADADP", constant(39), 4.0505),
        ("CIFAR-10 decay", large(81), 8.7050),
        ("CIFAR-100 DP-AdamILG", large(8), 2.3819),
        ("CIFAR-100 ADADP", constant(37), 3.9376),
        ("CIFAR-100 decay", large(75), 8.3046),
    ];
    for (row, event, expected) in rows {
        assert_close(epsilon("zcdp_reshuffling", &event, Adjacency::ZeroOut), expected, 6e-5, row);
    }
}

/// Epsilons of four training runs by all accountants that apply.
#[test]
fn training_runs() {
    let rows = [
        (0.01, 6.0, 40_000, [1.6705, 1.6705, 1.3999, 1.2829, 1.2809]),
        (0.01, 4.0, 10_000, [1.2586, 1.2586, 1.0355, 0.9469, 0.9424]),
        (256.0 / 60_000.0, 1.1, 14_062, [3.0091, 3.0083, 2.5966, 2.3818, 2.3243]),
        (0.01, 2.0, 80_000, [8.4101, 8.4019, 7.6603, 7.1143, 7.0930]),
    ];
    for (q, sigma, steps, [moments, classical, improved, pld, limit]) in rows {
        let event = poisson(q, sigma, steps);
        let at = |name| epsilon(name, &event, Adjacency::AddRemove);
        assert_close(at("moments"), moments, 6e-5, "moments");
        assert_close(at("gdp_clt"), limit, 6e-5, "central limit");
        // The printed values use a fixed grid of orders; all real orders can only be lower, and not by much.
        for (name, printed) in [("rdp_classical", classical), ("rdp", improved)] {
            let value = at(name);
            assert!(value <= printed + 6e-5 && value >= 0.998 * printed, "{name} {value} {printed}");
        }
        // Three significant digits are printed for the loss distribution.
        assert_close(at("pld"), pld, 2e-3 * pld, "pld");
    }
}

/// Replacement of one record on Poisson samples, and samples of fixed size.
#[test]
fn replace_one() {
    for (q, sigma, steps, expected) in
        [(0.01, 2.0, 1000, 1.2052), (0.01, 1.0, 1000, 2.8434), (0.1, 2.0, 100, 4.3681)]
    {
        let event = poisson(q, sigma, steps);
        let price =
            accountant::by_name("pld").unwrap().epsilon(&event, Adjacency::ReplaceOne, DELTA).unwrap();
        assert!(price.lower.unwrap() <= expected + 1e-4, "{price:?}");
        assert_close(price.epsilon, expected, 2e-3 * expected, "pld");
        assert!(price.epsilon <= epsilon("rdp", &event, Adjacency::ReplaceOne));
    }
    let epochs = Event::gaussian(8.0).partitioned_epoch(Assignment::Reshuffled).repeated(100);
    assert_close(epsilon("zcdp_reshuffling", &epochs, Adjacency::ZeroOut), 6.78, 5e-3, "claim");
    assert_close(epsilon("gdp", &epochs, Adjacency::ZeroOut), 5.68, 5e-3, "exact, zero_out");
    assert_close(epsilon("gdp", &epochs, Adjacency::ReplaceOne), 13.21, 5e-3, "exact, replace_one");
}

/// The loss distribution of samples of fixed size: at one step the closed form for multiplier σ/2, for many
/// steps below the Rényi bound.
#[test]
fn fixed_size() {
    let event = |sigma: f64, steps: u64| Event::gaussian(sigma).fixed_size_sampled(0.01).repeated(steps);
    for (sigma, steps) in [(4.0, 1000), (2.0, 100), (8.0, 40_000)] {
        let run = event(sigma, steps);
        let price = accountant::by_name("pld").unwrap().epsilon(&run, Adjacency::ReplaceOne, DELTA).unwrap();
        assert!(price.epsilon < 0.95 * epsilon("rdp", &run, Adjacency::ReplaceOne), "{price:?}");
        // Poisson sampling with half the noise is cheaper: its two directions are not both paid at once.
        let poisson = accountant::by_name("pld").unwrap().epsilon(
            &poisson(0.01, 0.5 * sigma, steps),
            Adjacency::AddRemove,
            DELTA,
        );
        assert!(price.epsilon >= poisson.unwrap().lower.unwrap());
        assert_eq!(price.epsilon, epsilon("pld", &run, Adjacency::ZeroOut));
    }
    let one =
        accountant::by_name("pld").unwrap().epsilon(&event(1.0, 1), Adjacency::ReplaceOne, DELTA).unwrap();
    let same = accountant::by_name("pld")
        .unwrap()
        .epsilon(&poisson(0.01, 0.5, 1), Adjacency::AddRemove, DELTA)
        .unwrap();
    assert!(one.lower.unwrap() <= same.epsilon && same.lower.unwrap() <= one.epsilon, "{one:?} {same:?}");
}

/// Two published training settings (DPNAS), classical conversion.
#[test]
fn dpnas_settings() {
    for (q, sigma, steps, expected) in [(2048.0 / 60_000.0, 2.15, 1171, 3.017), (0.04096, 2.0664, 732, 3.022)]
    {
        assert_close(
            epsilon("rdp_classical", &poisson(q, sigma, steps), Adjacency::AddRemove),
            expected,
            2e-3,
            "DPNAS",
        );
    }
}

/// The votes of Papernot et al. 2017 with γ = 0.05: probabilities, moments and totals of 100 queries.
#[test]
fn votes_of_teachers() {
    let mechanism = LaplaceVotes { inverse_scale: 0.05 };
    let agreed: &[u64] = &[240, 2, 1, 1, 1, 1, 1, 1, 1, 1];
    let split: &[u64] = &[160, 60, 30, 0, 0, 0, 0, 0, 0, 0];
    assert_close(mechanism.change_probability(agreed), 2.03809e-4, 5e-10, "agreed");
    assert_close(mechanism.change_probability(split), 0.0208568, 5e-8, "split");
    assert_close(mechanism.log_moment_given(agreed, 8), 4.2118e-4, 5e-9, "eighth moment");
    let hundred = |votes| std::iter::repeat_n(votes, 100);
    assert_close(mechanism.epsilon_given(hundred(agreed), DELTA), 0.2915, 5e-5, "100 agreed");
    assert_close(mechanism.epsilon_given(hundred(split), DELTA), 1.3926, 5e-5, "100 split");
    assert_close(mechanism.epsilon(100, DELTA), 5.3026, 5e-5, "100 of any votes");
    assert_close(mechanism.epsilon(1000, DELTA), 20.76, 5e-3, "1000 of any votes");
    assert!(mechanism.epsilon_given([&[][..]], DELTA).is_finite());
}

/// GNMax with σ = 40, 1,000 queries: each changes two counts by one, an L2 distance of √2.
#[test]
fn gaussian_votes_of_teachers() {
    let queries = Event::gaussian(40.0 / 2.0f64.sqrt()).repeated(1000);
    assert_close(epsilon("gdp", &queries, Adjacency::AddRemove), 4.983, 5e-4, "gdp");
    let improved = epsilon("rdp", &queries, Adjacency::AddRemove);
    assert!((5.378 * 0.998..=5.3785).contains(&improved), "{improved}");
    let classical = epsilon("rdp_classical", &queries, Adjacency::AddRemove);
    assert!((5.990 * 0.998..=5.9905).contains(&classical), "{classical}");
}
