//! Does ARCHITECTURE.md draw the arrows that the manifests have?

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::tree::{File, Tree};

const PAGE: &str = "ARCHITECTURE.md";

/// Rules that hold the house up, since an arrow that is only drawn is soon forgotten: a crate, those that it must not use, and why.
const NEVER: [(&str, &str, &str); 8] = [
    (
        "study",
        "host engine sim lab serve attribute merge report validation",
        "what thinks knows targets, not what measures and not what is told",
    ),
    (
        "report",
        "host engine attribute sim lab serve target study validation",
        "what is told is plain data, whatever made it",
    ),
    (
        "target",
        "host engine sim lab serve stats doubt workload attribute merge study report",
        "the traits of targets know none of them, and nothing but words",
    ),
    (
        "sim",
        "host engine lab serve attribute study report",
        "a simulation knows nothing of this machine, nor of who asks",
    ),
    (
        "engine",
        "sim lab serve study report",
        "what asks the kernel knows no other target, and nobody who asks",
    ),
    (
        "lab",
        "engine sim serve study report",
        "the machine knows neither what runs jobs in it nor drives, which others bring",
    ),
    ("doubt", "host engine sim lab target study report", "a doubt is judged from what is given"),
    ("merge", "model host engine sim lab target study report", "it is a library that others use alone"),
];

/// Number of crates, and of arrows between them.
pub(crate) fn house(tree: &Tree) -> (usize, usize) {
    let crates: Vec<_> = tree.files.iter().filter(|file| crate_of(file).is_some()).collect();
    (crates.len(), crates.iter().map(|file| used(file).len()).sum())
}

/// Arrows that must not be.
pub(crate) fn never(tree: &Tree) -> Vec<Finding> {
    let crates: Vec<_> =
        tree.files.iter().filter_map(|file| Some((file, crate_of(file)?, used(file)))).collect();
    let mut findings = Vec::new();
    for (file, name, used) in &crates {
        for (_, never, why) in NEVER.iter().filter(|row| row.0 == *name) {
            let found = never.split(' ').filter(|to| used.contains(to));
            let remedy = "take what is needed as an argument, or move it down";
            findings.extend(found.map(|to| file.finding(1, format!("`{name}` uses `{to}`: {why}"), remedy)));
        }
    }
    findings
}

/// Each crate has a row in the page's table, `| crate | question | uses | ..`, and its third cell names the crates of ours that it uses.
pub(crate) fn not_as_drawn(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else { return Vec::new() };
    let judged = |file: &File| {
        let (name, used) = (crate_of(file)?, used(file));
        let Some((line, drawn)) = row(page, name) else {
            let wrong = format!("the crate `{name}` has no row");
            return Some(page.finding(1, wrong, "add one to the table of crates"));
        };
        let said = used.iter().map(|used| format!("`{used}`")).collect::<Vec<_>>().join(" ");
        let wrong = format!("`{name}` is drawn with other arrows than its Cargo.toml has");
        let remedy =
            format!("write {}, or take the dependency out", if said.is_empty() { "-" } else { &said });
        (drawn != used).then(|| page.finding(line, wrong, remedy))
    };
    tree.files.iter().filter_map(judged).collect()
}

/// `engine` of `crates/engine/Cargo.toml`.
fn crate_of(file: &File) -> Option<&str> {
    file.path.to_str()?.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")
}

/// Our own crates among the dependencies; what only tests use is no arrow.
fn used(manifest: &File) -> BTreeSet<&str> {
    let lines = manifest.text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split(['.', ' ', '=']).next());
    let ours = names.filter(|name| *name == "iostack" || name.starts_with("iostack-"));
    ours.map(|name| name.strip_prefix("iostack-").unwrap_or(name)).collect()
}

/// The line of a crate's row, and the names in its third cell.
fn row<'a>(page: &'a File, name: &str) -> Option<(usize, BTreeSet<&'a str>)> {
    let begin = format!("| `{name}` |");
    let (text, line) = page.text.lines().zip(1..).find(|(text, _)| text.starts_with(&begin))?;
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
    fn an_arrow_that_must_not_be_is_found_with_its_reason() {
        let manifest = |used: &str| format!("[package]\n\n[dependencies]\niostack-{used}.workspace = true\n");
        let found = |from: &str, used: &str| {
            let path = format!("crates/{from}/Cargo.toml");
            let tree = Tree::made_up(&[(path.as_str(), &*manifest(used))]);
            never(&tree).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let said = found("study", "lab");
        assert!(said.contains("`study` uses `lab`: what thinks knows targets"), "{said}");
        assert_eq!(found("study", "target"), "");
        assert_eq!(found("iostack", "lab"), "");
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
