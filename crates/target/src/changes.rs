//! Changes of a target's numbers, as they are typed.

use anyhow::{Result, bail};

/// A change, for errors.
pub const EXAMPLE: &str = "flash.over_provisioning=28%";

/// `KEY=VALUE`, split. An error shows `example`.
pub fn changes(set: &[String], example: &str) -> Result<Vec<(String, String)>> {
    let split = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => bail!("`--set {text}` is no change; write it like --set {example}"),
    };
    set.iter().map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_without_a_value_is_refused_as_typed() {
        let error = changes(&["flash.read".to_owned()], EXAMPLE).expect_err("no value").to_string();
        assert!(error.contains("`--set flash.read` is no change"), "{error}");
    }
}
