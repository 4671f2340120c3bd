//! Is every file used? A `.rs` no `mod` reaches, an asset or a script nobody names, is dead.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::finding::Finding;
use crate::mask::{mask, words};
use crate::process;
use crate::tree::{File, Tree};

/// The first file of every target of the workspace, and of that of the fuzzer, from the root.
pub(crate) fn target_roots(tree: &Tree) -> Result<BTreeSet<PathBuf>> {
    let mut roots = BTreeSet::new();
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let packages = process::packages(&tree.root, &["--no-deps", "--manifest-path", manifest])?;
        let targets = packages.iter().filter_map(|package| package["targets"].as_array()).flatten();
        let paths = targets
            .filter_map(|target| Path::new(target["src_path"].as_str()?).strip_prefix(&tree.root).ok());
        roots.extend(paths.map(Path::to_owned));
    }
    Ok(roots)
}

/// Rust files that no chain of `mod` from `roots` reaches.
pub(crate) fn dead_modules(tree: &Tree, roots: &BTreeSet<PathBuf>) -> Vec<Finding> {
    let mut reached = BTreeSet::new();
    let mut ahead: Vec<PathBuf> = roots.iter().cloned().collect();
    while let Some(path) = ahead.pop() {
        let Some(file) = tree.rust().find(|file| file.path == path) else { continue };
        if reached.insert(path.clone()) {
            let holds_children = roots.contains(&path) || file.name() == "mod.rs";
            ahead.extend(children(file, holds_children));
        }
    }
    let dead = tree.rust().filter(|file| !reached.contains(&file.path) && !is_included(tree, file));
    dead.map(|file| {
        file.finding(1, "no `mod` reaches this file", "remove it, or name it in its parent module")
    })
    .collect()
}

/// The files that `mod name;` in `file` may mean.
fn children(file: &File, holds_children: bool) -> Vec<PathBuf> {
    let masked = mask(&file.text);
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let own = if holds_children { folder.to_owned() } else { file.path.with_extension("") };
    let mut found = Vec::new();
    for at in words(&masked, "mod") {
        let Some(end) = masked[at..].find([';', '{']).map(|end| at + end) else { continue };
        if masked.as_bytes()[end] == b';' {
            let name = masked[at + 3..end].trim();
            found.push(own.join(format!("{name}.rs")));
            found.push(own.join(name).join("mod.rs"));
            found.extend(path_attribute(&file.text, &masked, at).map(|path| folder.join(path)));
        }
    }
    found
}

/// `x.rs` of a `#[path = "x.rs"]` on the item at `at`.
fn path_attribute<'a>(text: &'a str, masked: &str, at: usize) -> Option<&'a str> {
    let item = masked[..at].rfind([';', '}']).map_or(0, |end| end + 1);
    let attribute = item + words(&masked[item..at], "path").next()?;
    text[attribute..at].split('"').nth(1)
}

/// True when some other Rust file takes it in by `include!`.
fn is_included(tree: &Tree, file: &File) -> bool {
    let call = format!("{}\")", file.name());
    tree.rust().any(|other| other.text.lines().any(|line| line.contains("include!(") && line.contains(&call)))
}

/// Files beside Rust sources that no Rust file of the crate names.
pub(crate) fn dead_assets(tree: &Tree) -> Vec<Finding> {
    let beside = tree.files.iter().filter(|file| {
        file.is_in("src") && !file.is_data() && file.extension() != "rs" && file.name() != "README.md"
    });
    let dead = beside.filter(|file| {
        let sources = file.path.ancestors().find(|folder| folder.ends_with("src")).unwrap_or(&file.path);
        !tree.rust().any(|other| other.path.starts_with(sources) && other.text.contains(file.name()))
    });
    dead.map(|file| file.finding(1, "no Rust file of this crate names this file", "remove it, or include it"))
        .collect()
}

/// Scripts whose name stands in no other file.
pub(crate) fn dead_scripts(tree: &Tree) -> Vec<Finding> {
    let scripts = tree.files.iter().filter(|file| {
        matches!(file.extension(), "sh" | "py" | "pl") && !file.is_data() && !file.path.starts_with("python")
    });
    let dead = scripts.filter(|script| {
        !tree.files.iter().any(|file| file.path != script.path && file.text.contains(script.name()))
    });
    dead.map(|script| {
        script.finding(1, "no other file names this script", "call it from a chore, or remove it")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(findings: &[Finding]) -> Vec<&str> {
        findings.iter().filter_map(|finding| finding.file.to_str()).collect()
    }

    #[test]
    fn a_module_nobody_names_is_dead() {
        let tree = Tree::made_up(&[
            (
                "c/src/lib.rs",
                "pub mod a;\n// mod dead;\nmod b { fn f() {} }\n#[path = \"odd name.rs\"]\nmod odd;\n",
            ),
            ("c/src/a.rs", "mod deep;\n"),
            ("c/src/a/deep.rs", "mod deeper;\n"),
            ("c/src/a/deep/deeper/mod.rs", "mod leaf;\n"),
            ("c/src/a/deep/deeper/leaf.rs", "const TABLE: &str = include!(\"table.rs\");\n"),
            ("c/src/a/deep/deeper/table.rs", "1\n"),
            ("c/src/odd name.rs", ""),
            ("c/src/dead.rs", ""),
            ("c/src/deep.rs", ""),
        ]);
        let roots = BTreeSet::from([PathBuf::from("c/src/lib.rs")]);
        assert_eq!(names(&dead_modules(&tree, &roots)), ["c/src/dead.rs", "c/src/deep.rs"]);
    }

    #[test]
    fn assets_and_scripts_must_be_named() {
        let tree = Tree::made_up(&[
            ("c/src/lib.rs", "const JS: &str = include_str!(\"page.js\");\n"),
            ("c/src/page.js", ""),
            ("c/src/old.js", ""),
            ("d/src/lib.rs", "// old.js\n"),
            ("scripts/used.sh", ""),
            ("scripts/unused.sh", "# unused.sh\n"),
            ("Makefile", "all:\n\tscripts/used.sh\n"),
        ]);
        assert_eq!(names(&dead_assets(&tree)), ["c/src/old.js"]);
        assert_eq!(names(&dead_scripts(&tree)), ["scripts/unused.sh"]);
    }
}
