//! Where short texts end in a sequence: how many of its steps are real, and how many only fill it up.

use std::sync::Arc;

/// A window that slides over steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slide {
    /// Steps under the window.
    pub kernel: usize,
    /// Step of the window.
    pub stride: usize,
    /// Steps of zeros before and after.
    pub padding: usize,
}

impl Slide {
    /// The window for so many steps, which is no longer than they are with what stands before and after.
    pub fn cut(self, steps: usize) -> Slide {
        Slide { kernel: self.kernel.min(steps + 2 * self.padding), ..self }
    }

    /// Positions of the window over so many steps, at least one.
    pub fn positions(self, steps: usize) -> usize {
        (steps + 2 * self.padding - self.cut(steps).kernel) / self.stride + 1
    }
}

/// How many steps of a sequence are real, as a function of how many tokens a text has; or nothing, if all are.
///
/// Tokens stand at the beginning, and so do the steps made of them: what is real is always the first steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends(Option<Text>);

/// Texts on their way through a network.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Text {
    /// The token that fills up short ones.
    padding: usize,
    /// The windows they have passed, the last first.
    windows: Option<Arc<Passed>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Passed {
    slide: Slide,
    before: Option<Arc<Passed>>,
}

impl Passed {
    fn steps(&self, tokens: usize) -> usize {
        self.slide.positions(self.before.as_ref().map_or(tokens, |before| before.steps(tokens)))
    }
}

impl Ends {
    /// The ends of texts that are filled up with this token.
    pub fn of_tokens(padding: usize) -> Ends {
        Ends(Some(Text { padding, windows: None }))
    }

    /// Where texts end behind a window.
    pub fn behind(&self, slide: Slide) -> Ends {
        let keeps = slide.stride == 1 && slide.kernel == 2 * slide.padding + 1;
        match self.0.clone() {
            Some(Text { padding, windows }) if !keeps => {
                Ends(Some(Text { padding, windows: Some(Arc::new(Passed { slide, before: windows })) }))
            }
            text => Ends(text),
        }
    }

    /// Whether texts may end before the last step.
    pub fn are_known(&self) -> bool {
        self.0.is_some()
    }

    /// The token that fills up short texts.
    pub fn padding(&self) -> Option<usize> {
        self.0.as_ref().map(|text| text.padding)
    }

    /// How many of an example's `steps` are real, of examples with these numbers of tokens; all if nobody has counted them.
    pub fn of(&self, tokens: &[u32], example: usize, steps: usize) -> usize {
        let (Some(text), Some(&tokens)) = (&self.0, tokens.get(example)) else { return steps };
        let tokens = tokens as usize;
        text.windows.as_ref().map_or(tokens, |passed| passed.steps(tokens)).min(steps)
    }
}

/// Tokens of a text without what fills it up at its end. A text of nothing else is one such token long.
pub fn tokens(text: &[f32], padding: usize) -> u32 {
    let last = text.iter().rposition(|&token| token != padding as f32);
    last.map_or(1, |last| last as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::{Ends, Slide, tokens};

    #[test]
    fn what_fills_up_is_not_counted() {
        assert_eq!(tokens(&[3.0, 0.0, 4.0, 0.0, 0.0], 0), 3);
        assert_eq!(tokens(&[3.0, 0.0, 4.0], 0), 3);
        assert_eq!(tokens(&[0.0, 0.0], 0), 1);
        assert_eq!(tokens(&[0.0, 0.0, 7.0], 7), 2);
    }

    #[test]
    fn windows_end_where_they_would_for_the_text_alone() {
        let ends = Ends::of_tokens(0);
        let behind = ends.behind(Slide { kernel: 3, stride: 2, padding: 1 });
        // (5 + 2 - 3) / 2 + 1, of at most 5 steps.
        assert_eq!(behind.of(&[5, 10, 1], 0, 5), 3);
        assert_eq!(behind.of(&[5, 10, 1], 1, 5), 5);
        assert_eq!(behind.of(&[5, 10, 1], 2, 5), 1);
        // A window longer than the text is there once.
        assert_eq!(ends.behind(Slide { kernel: 4, stride: 1, padding: 0 }).of(&[2], 0, 7), 1);
        assert_eq!(ends.behind(Slide { kernel: 5, stride: 1, padding: 2 }), ends, "as many steps as before");
        assert_eq!(behind.padding(), Some(0));
        assert_eq!(Ends::default().of(&[2], 0, 7), 7);
    }
}
