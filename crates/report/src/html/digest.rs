//! Which script and style may the page run?
//!
//! The page forbids everything but its own script and style, named by their SHA-256 in a content security policy (CSP
//! level 3, section 2.3.1). So even text that slipped past the escaping could not run.

use base64::prelude::{BASE64_STANDARD, Engine};
use sha2::{Digest, Sha256};

/// `sha256-...` of a text, as a content security policy writes it.
pub(super) fn source_hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests_come_out() {
        // FIPS 180-4 examples and the empty message, in base64.
        assert_eq!(source_hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(source_hash("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}
