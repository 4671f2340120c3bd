//! May we ship every dependency? Each crate's licence expression must hold with the licences we accept.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::chore::Finished;
use crate::process;
use crate::tree::Tree;

/// Licences that ask for no more than keeping their text.
const ACCEPTED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// What our own crates must say.
const OURS: &str = "MIT OR Apache-2.0";

/// Reads the licence of every crate in the lock file.
pub(crate) fn look(tree: &Tree) -> Result<Finished> {
    let words = ["metadata", "--format-version", "1"];
    let metadata: Value =
        serde_json::from_str(&process::text(process::cargo().args(words).current_dir(&tree.root))?)
            .context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let refused: Vec<String> = packages.iter().filter_map(objection).collect();
    if refused.is_empty() {
        return Ok(Finished::Passed(format!("{} crates", packages.len())));
    }
    Ok(Finished::Refused {
        summary: "we may not ship these crates; find another, or add the licence to ACCEPTED with a reason"
            .to_owned(),
        details: refused.join("\n"),
    })
}

/// Why not this package; `None` when it may be shipped.
fn objection(package: &Value) -> Option<String> {
    let name = package["name"].as_str().unwrap_or("?");
    let licence = package["license"].as_str().unwrap_or("");
    let fine = if package["source"].is_null() { licence == OURS } else { holds(licence) };
    (!fine).then(|| format!("  {name} {}: `{licence}`", package["version"].as_str().unwrap_or("?")))
}

/// True when the SPDX expression can be met with what we accept. The old `MIT/Apache-2.0` means OR.
fn holds(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest) && rest.is_empty()
}

/// `a OR b OR c`; takes all of it even when the first holds.
fn any_of(rest: &mut &[&str]) -> bool {
    let mut met = all_of(rest);
    while let ["OR", after @ ..] = *rest {
        *rest = after;
        met |= all_of(rest);
    }
    met
}

/// `a AND b AND c`.
fn all_of(rest: &mut &[&str]) -> bool {
    let mut met = one_of(rest);
    while let ["AND", after @ ..] = *rest {
        *rest = after;
        met &= one_of(rest);
    }
    met
}

/// One licence, with its exception, or an expression in brackets.
fn one_of(rest: &mut &[&str]) -> bool {
    match *rest {
        ["(", after @ ..] => {
            *rest = after;
            let met = any_of(rest);
            let [")", after @ ..] = *rest else { return false };
            *rest = after;
            met
        }
        [licence, "WITH", exception, after @ ..] => {
            *rest = after;
            ACCEPTED.contains(&format!("{licence} WITH {exception}").as_str())
        }
        [licence, after @ ..] => {
            *rest = after;
            ACCEPTED.contains(licence)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_holds_when_a_choice_is_accepted() {
        let good = [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "MIT OR GPL-3.0 AND ISC",
        ];
        for expression in good {
            assert!(holds(expression), "{expression}");
        }
    }

    #[test]
    fn what_binds_us_further_is_refused() {
        let bad = [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT (",
            "(MIT",
            "MIT GPL-3.0",
            "GPL-3.0 WITH MIT",
            "(MIT OR ISC) AND MPL-2.0",
        ];
        for expression in bad {
            assert!(!holds(expression), "{expression}");
        }
    }

    #[test]
    fn our_own_crates_carry_our_own_licence() {
        let package = |licence: &str, source: Value| serde_json::json!({"name": "a", "license": licence, "source": source});
        assert_eq!(objection(&package(OURS, Value::Null)), None);
        assert!(objection(&package("MIT", Value::Null)).is_some());
        assert_eq!(objection(&package("MIT", "registry".into())), None);
    }
}
