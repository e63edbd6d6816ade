//! Methods that are a clip rule and nothing else.

use super::{BuildResult, Method, Release, Step};
use crate::clip::Clip;
use crate::mechanism;
use muffle_accounting::Event;

/// Makes the rule for a factor on its thresholds.
type Rule = Box<dyn Fn(f64) -> Box<dyn Clip>>;

/// A clip rule with Gaussian noise.
pub(super) struct OneRule {
    rule: Rule,
}

impl OneRule {
    pub(super) fn build(rule: impl Fn(f64) -> Box<dyn Clip> + 'static) -> BuildResult {
        Ok(Box::new(OneRule { rule: Box::new(rule) }))
    }
}

impl Method for OneRule {
    fn event(&self, noise_multiplier: f64) -> Event {
        Event::gaussian(noise_multiplier)
    }

    fn release<'a>(&mut self, step: Step<'a, '_>) -> muffle_nn::Result<Release<'a>> {
        let rule = (self.rule)(step.clip_factor);
        let (bounded, unprotected) = step.gradients.bounded(mechanism::Rule::Norms(&*rule))?;
        let gradient = step.mechanism.release(bounded, step.noise_multiplier, step.receipt);
        Ok(Release { gradient, unprotected })
    }
}
