//! May we ship every dependency? Each crate's licence expression must hold with the licences that deny.toml allows.
//!
//! cargo-deny asks the same, and more, where it is installed; this look needs nothing but cargo.

use anyhow::{Context, Result};
use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::chore::Finished;
use crate::process;
use crate::tree::Tree;

/// Licence that our own crates must say.
const OURS: &str = "MIT OR Apache-2.0";

/// Reads the licence of every crate in the lock file.
pub(crate) fn look(tree: &Tree) -> Result<Finished> {
    let deny = tree.file("deny.toml").context("deny.toml is missing")?;
    let allowed = &deny.text.parse::<toml::Table>().context("deny.toml")?["licenses"]["allow"];
    let allowed: Vec<&str> =
        allowed.as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
    let packages = process::packages(&tree.root, &[])?;
    let refused: Vec<String> = packages.iter().filter_map(|package| objection(package, &allowed)).collect();
    if refused.is_empty() {
        return Ok(Finished::Passed(format!("{} crates", packages.len())));
    }
    let summary = "we may not ship these crates; find another, or add the licence to deny.toml with a reason";
    Ok(Finished::refused(summary, refused.join("\n")))
}

/// Objection to a package; `None` when it may be shipped.
fn objection(package: &Value, allowed: &[&str]) -> Option<String> {
    let text = |key: &str| package[key].as_str().unwrap_or("");
    let licence = text("license");
    let fine = if package["source"].is_null() { licence == OURS } else { holds(licence, allowed) };
    (!fine).then(|| format!("  {} {}: `{licence}`", text("name"), text("version")))
}

/// True when the SPDX expression can be met with what is allowed. The old `MIT/Apache-2.0` means OR.
fn holds(expression: &str, allowed: &[&str]) -> bool {
    Expression::parse_mode(expression, ParseMode::LAX)
        .is_ok_and(|parsed| parsed.evaluate(|asked| allowed.contains(&asked.to_string().as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: [&str; 3] = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];

    #[test]
    fn an_expression_holds_when_one_of_its_choices_is_allowed() {
        let good = [
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
            "MIT OR GPL-3.0 AND ISC",
        ];
        let bad =
            ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "(MIT OR ISC) AND MPL-2.0", "MIT WITH LLVM-exception"];
        for (expression, expected) in
            good.map(|one| (one, true)).into_iter().chain(bad.map(|one| (one, false)))
        {
            assert_eq!(holds(expression, &ALLOWED), expected, "{expression}");
        }
    }

    #[test]
    fn our_own_crates_carry_our_own_licence() {
        let package = |licence: &str, source: Value| serde_json::json!({"name": "a", "license": licence, "source": source});
        assert_eq!(objection(&package(OURS, Value::Null), &ALLOWED), None);
        assert!(objection(&package("MIT", Value::Null), &ALLOWED).is_some());
        assert_eq!(objection(&package("MIT", "registry".into()), &ALLOWED), None);
    }
}
