//! Does ARCHITECTURE.md draw the arrows that the manifests have?

use std::collections::BTreeSet;
use std::path::Path;

use crate::finding::Finding;
use crate::tree::{File, Tree};

const PAGE: &str = "ARCHITECTURE.md";

/// Each crate has a row in the page's table, `| crate | question | uses | ..`, and its third cell names the crates of ours that it uses.
pub(crate) fn not_as_drawn(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else { return Vec::new() };
    let crates = tree.files.iter().filter_map(|file| Some((crate_of(file)?, used(file))));
    let mut findings = Vec::new();
    let mut known = BTreeSet::new();
    for (name, used) in crates {
        known.insert(name);
        let Some((line, drawn)) = row(page, name) else {
            findings.push(Finding::new(
                Path::new(PAGE),
                1,
                format!("the crate `{name}` has no row"),
                "add one to the table of crates",
            ));
            continue;
        };
        if drawn != used {
            let said = used.iter().map(|used| format!("`{used}`")).collect::<Vec<_>>().join(" ");
            findings.push(Finding::new(
                Path::new(PAGE),
                line,
                format!("`{name}` is drawn with other arrows than its Cargo.toml has"),
                format!("write {}, or take the dependency out", if said.is_empty() { "-" } else { &said }),
            ));
        }
    }
    findings
}

/// `engine` of `crates/engine/Cargo.toml`.
fn crate_of(file: &File) -> Option<&str> {
    file.path.to_str()?.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")
}

/// Our own crates among the dependencies; what only tests use is no arrow.
fn used(manifest: &File) -> BTreeSet<&str> {
    let lines = manifest.text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let ours =
        lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.strip_prefix("iostack-"));
    ours.filter_map(|rest| rest.split(['.', ' ', '=']).next()).collect()
}

/// The line of a crate's row, and the names in its third cell.
fn row<'a>(page: &'a File, name: &str) -> Option<(usize, BTreeSet<&'a str>)> {
    let begin = format!("| `{name}` |");
    let (line, text) = page
        .text
        .lines()
        .zip(1..)
        .map(|(text, line)| (line, text))
        .find(|(_, text)| text.starts_with(&begin))?;
    let cell = text.split('|').nth(3)?;
    Some((line, cell.split('`').skip(1).step_by(2).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(row: &str) -> Vec<String> {
        let manifest = "[package]\nname = \"iostack-engine\"\n\n[dependencies]\niostack-host.workspace = true\n\
                        iostack-model = { workspace = true }\nlibc.workspace = true\n\n[dev-dependencies]\n\
                        iostack-sim.workspace = true\n";
        let tree = Tree::made_up(&[("ARCHITECTURE.md", row), ("crates/engine/Cargo.toml", manifest)]);
        not_as_drawn(&tree).into_iter().map(|finding| finding.wrong + "; " + &finding.remedy).collect()
    }

    #[test]
    fn an_arrow_too_many_or_too_few_is_found() {
        assert!(found("| `engine` | how? | `model` `host` | `run` |").is_empty());
        let expected = "`engine` is drawn with other arrows than its Cargo.toml has; write `host` `model`, or take the dependency out";
        assert_eq!(found("| `engine` | how? | `model` | `run` |"), [expected]);
        assert_eq!(found("| `engine` | how? | `model` `host` `sim` | `run` |"), [expected]);
        assert_eq!(found("| `host` | what? | - | |").len(), 1, "no row");
    }
}
