//! What does `--step "KEY=VALUE,KEY=VALUE"` mean?

use anyhow::{bail, ensure};

/// A change, for errors.
pub(crate) const EXAMPLE: &str = "flash.channels=16";

/// Key and value of each change of one step. A comma within a value stays: what follows it has no `=`.
pub(crate) fn changes(flag: &str, text: &str) -> anyhow::Result<Vec<(String, String)>> {
    let mut changes: Vec<(String, String)> = Vec::new();
    for piece in text.split(',') {
        match (piece.split_once('='), changes.last_mut()) {
            (Some((key, value)), _) => changes.push((spelt(key), value.trim().to_owned())),
            (None, Some((_, value))) => {
                value.push(',');
                value.push_str(piece.trim());
            }
            (None, None) => bail!("`{flag} {text}` is no change; write it like {flag} {EXAMPLE}"),
        }
    }
    for (key, value) in &changes {
        ensure!(
            !key.is_empty() && !value.is_empty(),
            "`{flag} {text}` is no change; write it like {flag} {EXAMPLE}"
        );
    }
    let twice = changes
        .iter()
        .enumerate()
        .find(|(at, (key, _))| changes[..*at].iter().any(|(other, _)| other == key));
    match twice {
        Some((_, (key, _))) => bail!("`{flag} {text}` changes `{key}` twice"),
        None => Ok(changes),
    }
}

/// A flag's spelling of an option is as good as its name.
fn spelt(key: &str) -> String {
    let key = key.trim();
    if key.contains('.') { key.to_owned() } else { key.trim_start_matches('-').replace('-', "_") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_apart_by_their_keys() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            changes("--step", "flash.read=30us, block_sizes=4k/60:64k/40,zoned,--queue-depth=8")
                .expect("sound"),
            [pair("flash.read", "30us"), pair("block_sizes", "4k/60:64k/40,zoned"), pair("queue_depth", "8")]
        );
    }

    #[test]
    fn what_is_no_change_is_refused_as_typed() {
        for (text, said) in [
            ("flash.read", "is no change"),
            ("", "is no change"),
            ("=3", "is no change"),
            ("a.b=", "is no change"),
            ("a.b=1,a.b=2", "changes `a.b` twice"),
        ] {
            let error = changes("--step", text).expect_err(text).to_string();
            assert!(error.contains(said) && error.contains(text), "{error}");
        }
    }
}
