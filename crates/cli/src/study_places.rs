//! Numbers that hold for a part of a study: a length for a network, a rate for a network with an optimizer.

/// A number of steps, for one network or for all that have none of their own.
#[derive(Clone)]
pub struct Length {
    pub model: Option<String>,
    pub steps: u64,
}

/// Reads `N` or `MODEL=N`.
pub fn length(text: &str) -> Result<Length, String> {
    let (model, number) = match text.rsplit_once('=') {
        Some((model, number)) => (Some(model.to_string()), number),
        None => (None, text),
    };
    match number.parse() {
        Ok(steps) if steps > 0 => Ok(Length { model, steps }),
        _ => Err(format!("{number} is no number of steps; give one above zero, alone or behind MODEL=")),
    }
}

/// A learning rate, and where it holds.
#[derive(Clone)]
pub struct Rate {
    pub model: String,
    pub optimizer: String,
    pub order: Option<String>,
    pub value: f64,
}

impl Rate {
    /// Whether it holds for runs of this network with this optimizer in this order.
    pub fn holds(&self, model: &str, optimizer: &str, order: &str) -> bool {
        let ordered = self.order.as_ref().is_none_or(|own| own == order);
        self.model == model && self.optimizer == optimizer && ordered
    }

    /// As it is written on the command line, without its value.
    pub fn place(&self) -> String {
        let order = self.order.iter().map(|order| format!("/{order}")).collect::<String>();
        format!("{}/{}{order}", self.model, self.optimizer)
    }
}

/// Reads `MODEL/OPTIMIZER=RATE` or `MODEL/OPTIMIZER/ORDER=RATE`. Words are known from the right: a model may be a path.
pub fn rate(text: &str, optimizers: &[&str], orders: &[&str]) -> Result<Rate, String> {
    let (place, value) = text.rsplit_once('=').ok_or("give MODEL/OPTIMIZER=RATE, such as lstm-rows/sgd=1")?;
    let value: f64 = value.parse().map_err(|_| format!("{value} is no number"))?;
    if !(value > 0.0 && value.is_finite()) {
        return Err(format!("{value} is no rate; give one above zero"));
    }
    let (rest, order) = match place.rsplit_once('/') {
        Some((rest, word)) if orders.contains(&word) => (rest, Some(word.to_string())),
        _ => (place, None),
    };
    match rest.rsplit_once('/') {
        Some((model, optimizer)) if optimizers.contains(&optimizer) => {
            Ok(Rate { model: model.to_string(), optimizer: optimizer.to_string(), order, value })
        }
        _ => Err(format!(
            "{place} does not end in an optimizer ({}), or in one with an order behind it ({})",
            optimizers.join(", "),
            orders.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_may_be_a_path() {
        let read = |text| rate(text, &["sgd", "adam"], &["AC", "plain"]);
        let found = read("nets/linear.toml/adam/AC=0.02").unwrap();
        assert_eq!((found.place().as_str(), found.value), ("nets/linear.toml/adam/AC", 0.02));
        assert!(
            found.holds("nets/linear.toml", "adam", "AC")
                && !found.holds("nets/linear.toml", "adam", "plain")
        );
        assert!(read("nets/linear.toml/sgd=1").unwrap().holds("nets/linear.toml", "sgd", "plain"));
        for text in
            ["lstm-rows=1", "lstm-rows/sgd/NO=1", "lstm-rows/lion=1", "lstm-rows/sgd=0", "lstm-rows/sgd"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lengths_are_for_one_network_or_for_all() {
        let read = |text| length(text).map(|it| (it.model, it.steps));
        assert_eq!(read("300"), Ok((None, 300)));
        assert_eq!(read("lstm-rows=1500"), Ok((Some("lstm-rows".to_string()), 1500)));
        assert!(read("lstm-rows=").is_err() && read("0").is_err());
    }
}
