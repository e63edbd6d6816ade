//! Where records of a text end, without parsing them.

use memchr::{memchr, memchr3};

/// Whole records at the beginning of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Where the last of them ends.
    pub end: usize,
    /// How many there are; empty lines are none.
    pub records: u64,
}

/// Finds the whole records of a text that begins with one, at most so many. A line end within quotes ends nothing, and a quote means something at
/// the beginning of a cell only: as the `csv` crate reads it.
pub fn cut(text: &[u8], delimiter: u8, most: u64) -> Cut {
    let (mut cut, mut place) = (Cut::default(), 0);
    while let Some(found) = memchr3(b'\n', b'\r', b'"', &text[place..]) {
        let at = place + found;
        if text[at] != b'"' {
            cut = Cut { end: at + 1, records: cut.records + u64::from(at > cut.end) };
            place = at + 1;
            if cut.records == most {
                break;
            }
        } else if at == cut.end || text[at - 1] == delimiter {
            let Some(after) = closed(text, at + 1) else { break };
            place = after;
        } else {
            place = at + 1;
        }
    }
    cut
}

/// The place behind the quote that closes a cell; two quotes in a row are one that it contains.
fn closed(text: &[u8], mut place: usize) -> Option<usize> {
    loop {
        let after = place + memchr(b'"', text.get(place..)?)? + 1;
        if text.get(after) != Some(&b'"') {
            return Some(after);
        }
        place = after + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use csv::{ReaderBuilder, StringRecord};
    use proptest::prelude::*;

    fn records(text: &[u8]) -> Vec<StringRecord> {
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
        reader.records().map(|record| record.unwrap()).collect()
    }

    #[test]
    fn line_ends_within_quotes_end_nothing() {
        assert_eq!(cut(b"a,b\n1,2\n3", b',', u64::MAX), Cut { end: 8, records: 2 });
        assert_eq!(cut(b"\"a\n\",b\r\n\r\n1,\"2\n", b',', u64::MAX), Cut { end: 10, records: 1 });
        assert_eq!(cut(b"5\" pipe\nx", b',', u64::MAX), Cut { end: 8, records: 1 });
        assert_eq!(cut(b"\"say \"\"no\"\"\n\"\n", b',', u64::MAX), Cut { end: 14, records: 1 });
        assert_eq!(cut(b"", b',', u64::MAX), Cut::default());
        assert_eq!(cut(b"\n\na\nb\n", b',', 1), Cut { end: 4, records: 1 });
    }

    proptest! {
        /// Wherever a text happens to be cut, its records are those of the whole.
        #[test]
        fn parts_have_the_records_of_the_whole(letters in prop::collection::vec(0..6usize, 0..60)) {
            let text: Vec<u8> = letters.iter().map(|letter| b"a,\"\n\r "[*letter]).collect();
            let Cut { end, records: count } = cut(&text, b',', u64::MAX);
            let (first, rest) = (records(&text[..end]), records(&text[end..]));
            prop_assert_eq!(first.len() as u64, count);
            prop_assert_eq!([first, rest].concat(), records(&text));
        }
    }
}
