//! Does every dependency say what it saves us, stand in one place, and get used?

use std::path::Path;

use crate::finding::Finding;
use crate::mask::{mask, words};
use crate::tree::{File, Tree};

const ROOT: &str = "Cargo.toml";

/// A dependency as a manifest names it.
struct Named<'a> {
    name: &'a str,
    line: usize,
    definition: &'a str,
    line_above: &'a str,
}

/// Entries of the tables whose header `is_wanted`. Manifests here are written one entry a line; `cargo` itself checks
/// the rest of the grammar.
fn entries(manifest: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<Named<'_>> {
    let mut found = Vec::new();
    let (mut wanted, mut line_above) = (false, "");
    for (index, text) in manifest.lines().enumerate() {
        if let Some(header) = text.trim().strip_prefix('[') {
            wanted = is_wanted(header.trim_end_matches(']'));
        } else if let Some((key, _)) = text.split_once('=').filter(|_| wanted && !text.starts_with('#')) {
            let name = key.trim().split('.').next().unwrap_or_default();
            found.push(Named { name, line: index + 1, definition: text, line_above });
        }
        line_above = text;
    }
    found
}

fn shared(tree: &Tree) -> Vec<Named<'_>> {
    tree.file(ROOT)
        .map_or_else(Vec::new, |root| entries(&root.text, |header| header == "workspace.dependencies"))
}

fn members(tree: &Tree) -> impl Iterator<Item = &File> {
    // A workspace of its own, such as `fuzz`, answers for itself.
    let is_member = |file: &&File| !file.text.lines().any(|line| line == "[workspace]");
    tree.files
        .iter()
        .filter(|file| file.name() == ROOT && file.path != Path::new(ROOT) && !file.is_data())
        .filter(is_member)
}

fn own(manifest: &File) -> Vec<Named<'_>> {
    entries(&manifest.text, |header| header.ends_with("dependencies"))
}

/// Shared ones carry a comment; crates take only shared ones.
pub(crate) fn without_reason(tree: &Tree) -> Vec<Finding> {
    let silent = shared(tree).into_iter().filter(|named| {
        let is_ours = named.definition.contains("path = \"crates/");
        // `serde_json` below `serde`: one reason serves a family.
        let is_family = named.line_above.split(' ').next().is_some_and(|above| {
            named.name.strip_prefix(above).is_some_and(|rest| rest.starts_with(['_', '-']))
        });
        !is_ours && !is_family && !named.line_above.trim_start().starts_with('#')
    });
    let mut findings: Vec<Finding> = silent
        .map(|named| {
            let wrong = format!("`{}` does not say what it saves us", named.name);
            Finding::new(Path::new(ROOT), named.line, wrong, "add a comment above it, or do without it")
        })
        .collect();
    for manifest in members(tree) {
        for named in own(manifest).iter().filter(|named| !named.definition.contains("workspace = true")) {
            let wrong = format!("`{}` is named outside the workspace's list", named.name);
            let remedy =
                "put it, with its reason, in the root Cargo.toml and write `name.workspace = true` here";
            findings.push(manifest.finding(named.line, wrong, remedy));
        }
    }
    findings
}

/// Shared ones no crate takes, and those a crate takes and never mentions.
pub(crate) fn unused(tree: &Tree) -> Vec<Finding> {
    let taken: Vec<&str> = members(tree).flat_map(own).map(|named| named.name).collect();
    let mut findings: Vec<Finding> = shared(tree)
        .into_iter()
        .filter(|named| !taken.contains(&named.name))
        .map(|named| {
            Finding::new(Path::new(ROOT), named.line, format!("no crate takes `{}`", named.name), "remove it")
        })
        .collect();
    for manifest in members(tree) {
        let folder = manifest.path.parent().unwrap_or(Path::new(""));
        let code: Vec<String> =
            tree.rust().filter(|file| file.path.starts_with(folder)).map(|file| mask(&file.text)).collect();
        for named in own(manifest) {
            let word = named.name.replace('-', "_");
            if !code.iter().any(|text| words(text, &word).next().is_some()) {
                let wrong = format!("`{}` is taken and never used", named.name);
                findings.push(manifest.finding(named.line, wrong, "remove it"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(root: &str, member: &str, code: &str) -> Tree {
        Tree::made_up(&[("Cargo.toml", root), ("crates/a/Cargo.toml", member), ("crates/a/src/lib.rs", code)])
    }

    fn wrongs(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.wrong.as_str()).collect()
    }

    #[test]
    fn a_dependency_needs_a_reason_and_one_place() {
        let root = "[workspace.dependencies]\nown = { path = \"crates/own\" }\n# Saves work.\ngood = \"1\"\ngood_json = \"1\"\nbad = \"1\"\n";
        let member = "[dependencies]\ngood.workspace = true\nalone = \"1\"\n[features]\nx = []\n";
        assert_eq!(
            wrongs(&without_reason(&tree(root, member, ""))),
            ["`bad` does not say what it saves us", "`alone` is named outside the workspace's list"]
        );
    }

    #[test]
    fn a_dependency_must_be_used() {
        let root = "[workspace.dependencies]\n# Saves work.\nio-uring = \"1\"\n# Saves work.\nidle = \"1\"\n# Saves work.\nlost = \"1\"\n";
        let member = "[dev-dependencies]\nio-uring.workspace = true\nidle = { workspace = true }\n";
        let findings = unused(&tree(root, member, "use io_uring::IoUring; // idle\n"));
        assert_eq!(wrongs(&findings), ["no crate takes `lost`", "`idle` is taken and never used"]);
    }
}
