//! Methods that are a clip rule and nothing else.

use super::{BuildResult, Method, Release, Step};
use crate::clip::Clip;
use crate::mechanism::clip;
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
        let (clipped, unprotected) =
            clip(step.engine, step.parameters, step.examples, step.loss, step.seed, &*rule)?;
        let (gradient, event) = step.mechanism.release(clipped, step.noise_multiplier);
        Ok(Release { gradient, event, unprotected })
    }
}
