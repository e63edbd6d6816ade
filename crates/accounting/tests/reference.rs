//! Agreement with two public libraries on a grid of settings (see the first line of the data file).

use muffle_accounting::{Accountant, Adjacency, Event, pld::Pld, rdp::Rdp};

struct Row {
    event: Event,
    delta: f64,
    renyi: f64,
    loss_distribution: f64,
    label: String,
}

fn rows() -> Vec<Row> {
    let text = include_str!("data/accountants.csv");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name: &str| {
        header
            .iter()
            .position(|column| *column == name)
            .expect("a known column")
    };
    let columns = [
        "q",
        "sigma",
        "steps",
        "delta",
        "dp_accounting_rdp",
        "dp_accounting_pld",
        "opacus_rdp",
    ]
    .map(column);
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let [q, sigma, steps, delta, first, loss_distribution, second] =
                columns.map(|place| cells[place].parse::<f64>().expect("a number"));
            Row {
                event: Event::gaussian(sigma).poisson_sampled(q).repeated(steps as u64),
                delta,
                renyi: first.min(second),
                loss_distribution,
                label: format!("q {q} sigma {sigma} steps {steps}"),
            }
        })
        .collect()
}

#[test]
fn pld_matches_the_reference_from_above() {
    let rows = rows();
    assert_eq!(rows.len(), 36);
    for row in rows {
        let start = std::time::Instant::now();
        let price = Pld.epsilon(&row.event, Adjacency::AddRemove, row.delta).unwrap();
        let time = start.elapsed();
        let lower = price.lower.unwrap();
        println!(
            "{}: reference {:.6} bracket {:.6} {:.6} ({:+.2e}) {:?}",
            row.label,
            row.loss_distribution,
            lower,
            price.epsilon,
            price.epsilon / row.loss_distribution - 1.0,
            time
        );
        let allowed = (0.005 * row.loss_distribution).max(0.003);
        assert!(price.epsilon <= row.loss_distribution + allowed, "{}", row.label);
        assert!(
            price.epsilon >= lower && price.epsilon - lower <= (0.005 * lower).max(0.002),
            "{}",
            row.label
        );
        // The reference is itself an upper bound, so only its distance from our lower end is limited.
        assert!(lower <= row.loss_distribution, "{}", row.label);
    }
}

#[test]
fn rdp_is_never_above_the_better_library() {
    for row in rows() {
        let start = std::time::Instant::now();
        let price = Rdp.epsilon(&row.event, Adjacency::AddRemove, row.delta).unwrap();
        println!(
            "{}: better {:.6} ours {:.6} {:?}",
            row.label,
            row.renyi,
            price.epsilon,
            start.elapsed()
        );
        assert!(price.epsilon <= row.renyi * 1.001, "{}", row.label);
        assert!(price.epsilon >= row.loss_distribution * 0.999, "{}", row.label);
    }
}
