//! Neighbouring tensors that get the same noise.

/// Stretches of the parameter vector, each with the standard deviation of its noise.
pub(super) struct Runs {
    /// End of the stretch, and the deviation inside.
    runs: Vec<(usize, f32)>,
}

impl Runs {
    /// From the deviation and the length of every tensor.
    pub fn of(deviations: impl Iterator<Item = f32>, lens: &[usize]) -> Runs {
        let mut runs: Vec<(usize, f32)> = Vec::new();
        let mut end = 0;
        for (deviation, len) in deviations.zip(lens) {
            end += len;
            match runs.last_mut() {
                Some(last) if last.1 == deviation => last.0 = end,
                _ => runs.push((end, deviation)),
            }
        }
        Runs { runs }
    }

    /// Hands over a slice that starts at coordinate `first`, part by part: coordinate, deviation, values.
    pub fn within(&self, first: usize, mut values: &mut [f32], work: impl Fn(u64, f32, &mut [f32])) {
        let mut coordinate = first;
        let begin = self.runs.partition_point(|(end, _)| *end <= first);
        for (end, deviation) in &self.runs[begin..] {
            if values.is_empty() {
                return;
            }
            let (now, later) = values.split_at_mut((end - coordinate).min(values.len()));
            work(coordinate as u64, *deviation, now);
            (coordinate, values) = (*end, later);
        }
        assert!(values.is_empty(), "every coordinate belongs to a tensor");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn any_slice_meets_the_deviation_of_each_coordinate() {
        let (lens, deviations) = ([3usize, 1, 4, 2], [1.0, 1.0, 2.0, 3.0]);
        let runs = Runs::of(deviations.into_iter(), &lens);
        assert_eq!(runs.runs, [(4, 1.0), (8, 2.0), (10, 3.0)]);
        let expected = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0];
        for begin in 0..10 {
            for end in begin..=10 {
                let mut values = vec![0.0; end - begin];
                let seen = Mutex::new(Vec::new());
                runs.within(begin, &mut values, |coordinate, deviation, values| {
                    values.fill(deviation);
                    seen.lock().unwrap().push((coordinate as usize, values.len()));
                });
                assert_eq!(values, expected[begin..end]);
                let mut next = begin;
                for (coordinate, len) in seen.into_inner().unwrap() {
                    assert_eq!(coordinate, next);
                    next += len;
                }
            }
        }
    }
}
