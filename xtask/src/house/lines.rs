//! How many lines and words are there? Lines of Rust without blanks and comments, as cloc counts them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::mask::{closing, mask};
use crate::tree::{File, Tree};

/// Lines of code of one crate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Lines {
    /// All lines, tests included.
    pub(super) all: usize,
    /// Lines that are part of what users get.
    pub(super) shipped: usize,
}

/// Crates that only developers use.
const FOR_US: [&str; 3] = ["testkit", "xtask", "fuzz"];

/// Pages that a program writes (docs/README.md says which).
const GENERATED: [&str; 8] = [
    "docs/caveats.md",
    "docs/commands.md",
    "docs/lab-experiments.md",
    "docs/lab-results.md",
    "docs/options.md",
    "docs/repro.md",
    "docs/sheets.md",
    "docs/validation.md",
];

/// The lines of each crate.
pub(super) fn by_crate(tree: &Tree) -> BTreeMap<String, Lines> {
    let mut sums = BTreeMap::<String, Lines>::new();
    for file in tree.rust() {
        let mut folders = file.path.iter().filter_map(|part| part.to_str()).filter(|part| *part != "crates");
        let name = folders.next().unwrap_or("");
        let (all, tests) = (code(&file.text), tests(file, name));
        let sum = sums.entry(name.to_owned()).or_default();
        sum.all += all;
        sum.shipped += all - tests;
    }
    sums
}

/// Lines that are neither blank nor only a comment.
fn code(text: &str) -> usize {
    let mut inside = false;
    let is_code = |line: &&str| {
        let line = line.trim();
        if inside || line.starts_with("/*") {
            inside = !line.contains("*/");
            return false;
        }
        !line.is_empty() && !line.starts_with("//")
    };
    text.lines().filter(is_code).count()
}

/// Lines of code that only tests need: whole files of them, or the module at a file's end.
fn tests(file: &File, name: &str) -> usize {
    let stem = file.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    let in_tests = ["tests", "examples", "benches", "fixture"].iter().any(|folder| file.is_in(folder));
    if FOR_US.contains(&name) || in_tests || stem == "tests" || stem.ends_with("_tests") {
        return code(&file.text);
    }
    let masked = mask(&file.text);
    let modules = masked.match_indices("#[cfg(test)]\nmod ").filter_map(|(at, _)| {
        let open = at + masked[at..].find(['{', ';'])?;
        (masked.as_bytes()[open] == b'{').then(|| code(&file.text[at..closing(&masked, open)]))
    });
    modules.sum()
}

/// Words of README.md and of the pages in `docs/`, of those written by hand or by a program; what stands in fenced blocks is not counted.
pub(super) fn words(tree: &Tree, generated: bool) -> usize {
    let is_page = |file: &&File| {
        file.extension() == "md" && (file.path.starts_with("docs") || file.path == Path::new("README.md"))
    };
    let mut wanted: Vec<&File> = tree.files.iter().filter(is_page).collect();
    wanted.retain(|file| GENERATED.iter().any(|page| Path::new(page) == file.path) == generated);
    let prose = |file: &&File| {
        file.text.split("```").step_by(2).map(|part| part.split_whitespace().count()).sum::<usize>()
    };
    wanted.iter().map(prose).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_comments_are_no_code_and_tests_are_not_shipped() {
        let text = "//! What?\n\nuse x; // why\n/* a\nb\n*/\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n    // no\n    fn g() {}\n}\n";
        let tree = Tree::made_up(&[("crates/a/src/x.rs", text), ("crates/a/tests/y.rs", "fn h() {}\n")]);
        assert_eq!(by_crate(&tree)["a"], Lines { all: 7, shipped: 2 });
        let tree = Tree::made_up(&[("xtask/src/x.rs", "fn f() {}\n")]);
        assert_eq!(by_crate(&tree)["xtask"], Lines { all: 1, shipped: 0 });
    }

    #[test]
    fn words_of_pages_are_counted_outside_of_code() {
        let tree =
            Tree::made_up(&[("docs/a.md", "one two\n```sh\nthree\n```\nfour"), ("docs/repro.md", "five")]);
        assert_eq!((words(&tree, false), words(&tree, true)), (3, 1));
    }
}
