//! One row of the table of attacks.

/// An attack of the literature.
#[derive(Debug)]
pub struct Entry {
    /// What it is called in reports.
    pub name: &'static str,
    /// How to ask for it: `muffle attack COMMAND`. Attacks with one question share a command.
    pub command: &'static str,
    /// Who published it, where.
    pub paper: &'static str,
    /// When.
    pub year: u16,
    /// What it finds out, as a question.
    pub question: &'static str,
    /// What the attacker needs: sees, holds and knows.
    pub needs: &'static str,
    /// How the attacker goes about it.
    pub steps: &'static str,
    /// What its figure means, and what it does not.
    pub figure: &'static str,
}
