//! Is a file one idea? Over 500 lines it is worth a second thought, over 800 it is refused.

use crate::finding::Finding;
use crate::tree::{File, Tree};

const WORTH_SPLITTING: usize = 500;
const LIMIT: usize = 800;

/// Files that people write and read; data, locks and prose may be long.
const WRITTEN: &[&str] = &["rs", "py", "sh", "c", "h", "js", "css"];

/// Files over the limit.
pub(crate) fn too_long(tree: &Tree) -> Vec<Finding> {
    longer_than(tree, LIMIT)
        .map(|(file, lines)| {
            let wrong = format!("{lines} lines, more than {LIMIT}");
            file.finding(LIMIT + 1, wrong, "split it where the idea changes")
        })
        .collect()
}

/// `path (lines)` of those that are getting long.
pub(crate) fn worth_splitting(tree: &Tree) -> Vec<String> {
    longer_than(tree, WORTH_SPLITTING)
        .map(|(file, lines)| format!("{} ({lines})", file.path.display()))
        .collect()
}

fn longer_than(tree: &Tree, limit: usize) -> impl Iterator<Item = (&File, usize)> {
    let written = tree.files.iter().filter(|file| WRITTEN.contains(&file.extension()) && !file.is_data());
    written.map(|file| (file, file.text.lines().count())).filter(move |&(_, lines)| lines > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_inclusive() {
        let (at_limit, over) = ("x\n".repeat(LIMIT), "x\n".repeat(LIMIT + 1));
        let tree = Tree::made_up(&[("a.rs", &at_limit), ("b.rs", &over), ("c.json", &over)]);
        assert_eq!(
            too_long(&tree).iter().map(|finding| finding.file.to_str()).collect::<Vec<_>>(),
            [Some("b.rs")]
        );
        assert_eq!(worth_splitting(&tree), ["a.rs (800)", "b.rs (801)"]);
    }
}
