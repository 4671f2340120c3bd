//! What rustfmt and clippy cannot see: lengths, dead files, stray marks, dependencies without a reason.
//!
//! One file per family of rules; a rule is a pure function from the tree to findings, and the families are listed in
//! `RULES`. Length of functions, `unwrap` and `todo!` are clippy's business (root `Cargo.toml`, `clippy.toml`).

pub(crate) mod arrows;
mod dependencies;
mod length;
mod reach;
mod rust;
mod text;

use anyhow::Result;

use crate::chore::Finished;
use crate::finding::Finding;
use crate::tree::Tree;

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    text::whitespace,
    text::marks,
    length::too_long,
    rust::first_line,
    rust::long_functions,
    rust::unsafe_outside_sys,
    rust::attributes_that_allow,
    reach::dead_assets,
    reach::dead_scripts,
    dependencies::without_reason,
    dependencies::unused,
    arrows::not_as_drawn,
    arrows::never,
];

/// Applies every rule.
pub(crate) fn look(tree: &Tree) -> Result<Finished> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.extend(reach::dead_modules(tree, &reach::target_roots(tree)?));
    findings.sort();
    if !findings.is_empty() {
        return Ok(Finished::Failed(findings));
    }
    let long = length::worth_splitting(tree);
    let note = if long.is_empty() { String::new() } else { format!("; over 500 lines: {}", long.join(", ")) };
    Ok(Finished::Passed(format!("{} files{note}", tree.files.len())))
}
