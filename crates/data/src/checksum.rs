//! Contents are recognised by the md5 their publishers give. It tells damage and mix-ups, not forgery.

use md5::{Digest, Md5};
use std::fmt::Write;

/// The md5 of some bytes in hexadecimal.
pub fn md5_hex(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn md5_is_that_of_the_standard() {
        // RFC 1321, appendix A.5.
        assert_eq!(super::md5_hex(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    }
}
