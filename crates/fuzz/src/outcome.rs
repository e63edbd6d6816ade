//! Which inputs are of one kind: those that end in the same words.

/// Most words of a message that count.
const WORDS: usize = 14;

/// A number for what became of an input. Messages have the same that differ in their numbers and signs, in what they quote, or in
/// the excerpt of the file that they show.
///
/// # Source
/// Fowler, Noll, Vo, "The FNV non-cryptographic hash algorithm" (FNV-1a).
pub fn kind(message: &str) -> u64 {
    let excerpt = |line: &&str| !line.contains('|');
    let own = message.lines().filter(excerpt).flat_map(|line| line.split(['`', '"']).step_by(2));
    let is_word = |word: &&str| word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let words = own.flat_map(str::split_whitespace).filter(is_word);
    words
        .take(WORDS)
        .flat_map(str::bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_names_do_not_matter() {
        assert_eq!(kind("line 3: unknown key `a`"), kind("line 17: unknown key `bc`"));
        assert_eq!(kind("at line 1\n  | x = \n  | ^"), kind("at line 2\n  | yy\n"));
        assert_eq!(kind("magic number 0x0801, not this"), kind("magic number 0x08ff, not this"));
        assert_ne!(kind("line 3: unknown key `a`"), kind("line 3: unknown type `a`"));
    }
}
