//! Structures in Thrift's compact protocol, walked through before the decoder of Parquet takes them at their word.
//!
//! That decoder goes by the numbers of fields and does not look at their kinds, and an element of a list of truths takes it no byte: what it
//! makes of a damaged file has little to do with what the file says. A structure that has the kinds it should have is read by both alike.
//!
//! # Source
//! Apache Thrift, "Thrift Compact protocol encoding".

use std::io::{Error, Read, Result, copy, sink};

/// How deep structures and lists may lie inside each other; footers need less.
const DEEPEST: usize = 16;

/// What a field should be.
pub enum Shape {
    /// A whole number.
    Number,
    /// A whole number that the visitor sees under this name.
    Noted(&'static str),
    /// A byte.
    Byte,
    /// Double precision.
    Double,
    /// True or false.
    Truth,
    /// Text or bytes.
    Text,
    /// Elements of one kind.
    List(&'static Shape),
    /// Fields 1, 2, 3, and so on.
    Structure(&'static [Shape]),
    /// There is no such field, or it is nobody's business: skipped as what it says it is.
    Other,
}

/// A reader that keeps nothing.
pub struct Walk<R> {
    stream: R,
}

impl<R: Read> Walk<R> {
    /// Begins where the stream stands.
    pub fn over(stream: R) -> Walk<R> {
        Walk { stream }
    }

    /// The next byte, or nothing at the end.
    pub fn next(&mut self) -> Result<Option<u8>> {
        let mut byte = [0];
        Ok((self.stream.read(&mut byte)? == 1).then_some(byte[0]))
    }

    fn byte(&mut self) -> Result<u8> {
        self.next()?.ok_or_else(|| Error::other("the file ends"))
    }

    /// Passes over some bytes.
    pub fn skip(&mut self, bytes: u64) -> Result<()> {
        match copy(&mut self.stream.by_ref().take(bytes), &mut sink())? {
            skipped if skipped == bytes => Ok(()),
            _ => Err(Error::other("the file ends")),
        }
    }

    fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::other("a number of more than ten bytes"))
    }

    fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// How many elements of which kind a list has.
    fn list(&mut self) -> Result<(u64, u8)> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.number()? } else { u64::from(byte >> 4) };
        Ok((count, byte & 15))
    }

    /// All fields of a structure whose first byte was read; `visit` sees the numbers that are noted.
    ///
    /// # Errors
    /// If a field is not what it should be, or the file ends before it.
    pub fn structure(
        &mut self,
        first: u8,
        fields: &[Shape],
        visit: &mut dyn FnMut(&'static str, i64),
    ) -> Result<()> {
        self.fields(first, fields, 0, visit)
    }

    fn fields(
        &mut self,
        first: u8,
        fields: &[Shape],
        depth: usize,
        visit: &mut dyn FnMut(&'static str, i64),
    ) -> Result<()> {
        let (mut byte, mut field) = (first, 0i64);
        while byte != 0 {
            field = match byte >> 4 {
                0 => self.signed()?,
                further => field.saturating_add(i64::from(further)),
            };
            let known = usize::try_from(field).ok().and_then(|field| fields.get(field.checked_sub(1)?));
            match (known.unwrap_or(&Shape::Other), byte & 15) {
                // Truth is in the kind of a field.
                (Shape::Truth | Shape::Other, 1 | 2) => {}
                (shape, kind) => self.value(shape, kind, depth, visit)?,
            }
            byte = self.byte()?;
        }
        Ok(())
    }

    fn value(
        &mut self,
        shape: &Shape,
        kind: u8,
        depth: usize,
        visit: &mut dyn FnMut(&'static str, i64),
    ) -> Result<()> {
        if depth > DEEPEST {
            return Err(Error::other("structures too deep inside each other"));
        }
        match (shape, kind) {
            (Shape::Noted(name), 4..=6) => visit(name, self.signed()?),
            (Shape::Number | Shape::Other, 4..=6) => drop(self.number()?),
            (Shape::Byte | Shape::Other, 3) => self.skip(1)?,
            (Shape::Double | Shape::Other, 7) => self.skip(8)?,
            (Shape::Text | Shape::Other, 8) => {
                let length = self.number()?;
                self.skip(length)?;
            }
            (Shape::List(element), 9) => self.elements(element, depth, visit)?,
            (Shape::Other, 9 | 10) => self.elements(&Shape::Other, depth, visit)?,
            (Shape::Structure(fields), 12) => {
                let first = self.byte()?;
                self.fields(first, fields, depth + 1, visit)?;
            }
            (Shape::Other, 12) => {
                let first = self.byte()?;
                self.fields(first, &[], depth + 1, visit)?;
            }
            (_, kind) => {
                return Err(Error::other(format!("a value of kind {kind} where there should be another")));
            }
        }
        Ok(())
    }

    fn elements(
        &mut self,
        element: &Shape,
        depth: usize,
        visit: &mut dyn FnMut(&'static str, i64),
    ) -> Result<()> {
        let (count, kind) = self.list()?;
        (0..count).try_for_each(|_| self.value(element, kind, depth + 1, visit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Shape::{List, Noted, Number, Structure, Text};

    static FIELDS: [Shape; 4] = [Number, List(&Structure(&[Text, Noted("parts")])), Text, Noted("all")];

    fn seen(bytes: &[u8]) -> std::result::Result<Vec<(&'static str, i64)>, String> {
        let mut seen = Vec::new();
        let mut walk = Walk::over(&bytes[1..]);
        let walked = walk.structure(bytes[0], &FIELDS, &mut |name, number| seen.push((name, number)));
        walked.map(|()| seen).map_err(|error| error.to_string())
    }

    #[test]
    fn noted_numbers_are_seen_wherever_they_are() {
        // 1: 5; 2: two structures, the second with 3 parts; 4: −1; 9, unknown: a list of two bytes.
        let bytes = [0x15, 10, 0x19, 0x2c, 0x18, 1, b'a', 0, 0x25, 6, 0, 0x25, 1, 0x59, 0x23, 7, 7, 0];
        assert_eq!(seen(&bytes), Ok(vec![("parts", 3), ("all", -1)]));
    }

    #[test]
    fn other_kinds_and_lists_that_end_before_their_time_are_refused() {
        // Field 1 is a text, field 2 a list of numbers; an unknown field is a list of truths, or of 200 bytes.
        for bytes in
            [&[0x18, 1, b'a', 0][..], &[0x29, 0x15, 0, 0], &[0x79, 0x11, 1, 0], &[0x79, 0xf3, 0xc8, 1, 7, 0]]
        {
            assert!(seen(bytes).is_err(), "{bytes:?}");
        }
        assert_eq!(seen(&[0x29, 0x00, 0]), Ok(vec![]));
    }
}
