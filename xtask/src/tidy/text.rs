//! Rules for any text file: white space, and marks that must not stay.

use crate::finding::Finding;
use crate::tree::{File, Tree};

/// Extensions whose format needs tabs, or that another program wrote.
const TABS_BELONG: &[&str] = &["c", "h", "S", "mk", "tsv", "lock", "svg"];

/// Words that say "not done", split so that this file does not contain them.
const UNDONE: &[&str] =
    &[concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X:"), concat!("to", "do!(")];

/// Places of one machine, split likewise.
const PLACES: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/roo", "t/"), concat!("/tmp/", "target-"), concat!("/tmp/", "bash_")];

/// Tabs, trailing spaces, carriage returns, and how the file ends.
pub(crate) fn whitespace(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter(|file| !file.is_data()).flat_map(whitespace_of).collect()
}

fn whitespace_of(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |line: usize, wrong: &str, remedy: &str| {
        findings.push(file.finding(line, wrong, remedy));
    };
    let tabs_belong = file.name() == "Makefile" || TABS_BELONG.contains(&file.extension());
    for (line, text) in file.text.split('\n').enumerate().map(|(index, text)| (index + 1, text)) {
        if text.ends_with('\r') {
            add(line, "carriage return", "end lines with a newline only");
        } else if text.ends_with([' ', '\t']) {
            add(line, "white space at the end of the line", "remove it");
        }
        if !tabs_belong && text.contains('\t') {
            add(line, "tab", "indent with spaces; write \\t in a literal");
        }
    }
    let last = file.text.split('\n').count();
    if file.text.ends_with("\n\n") {
        add(last - 1, "empty line at the end of the file", "remove it");
    } else if !file.text.is_empty() && !file.text.ends_with('\n') {
        add(last, "the last line has no end", "end the file with a newline");
    }
    findings
}

/// Marks of unfinished work, and paths that exist on one machine only.
pub(crate) fn marks(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| !file.is_data()) {
        for (index, text) in file.text.lines().enumerate() {
            if let Some(mark) = UNDONE.iter().find(|mark| contains_word(text, mark)) {
                let wrong = format!("`{mark}` is left");
                findings.push(file.finding(index + 1, wrong, "do it, or open an issue and remove the mark"));
            }
            if let Some(place) = PLACES.iter().find(|place| contains_word(text, place)) {
                let wrong = format!("`{place}` exists on one machine only");
                findings.push(file.finding(index + 1, wrong, "use a path relative to the repository"));
            }
        }
    }
    findings
}

/// True when `word` is in `text` and does not merely continue a longer word or path.
fn contains_word(text: &str, word: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let continues = |letter: char| is_word(letter) || matches!(letter, '.' | '-' | '/');
    let ends_open = word.ends_with(is_word);
    text.match_indices(word).any(|(at, _)| {
        let is_tail = text[..at].chars().next_back().is_some_and(continues);
        let is_head = ends_open && text[at + word.len()..].chars().next().is_some_and(is_word);
        !is_tail && !is_head
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(findings: &[Finding]) -> Vec<(usize, &str)> {
        findings.iter().map(|finding| (finding.line, finding.wrong.as_str())).collect()
    }

    #[test]
    fn white_space_slips_are_told_with_their_line() {
        let tree = Tree::made_up(&[("a.rs", "ok\nend \n\tx\n\n")]);
        assert_eq!(
            wrongs(&whitespace(&tree)),
            [(2, "white space at the end of the line"), (3, "tab"), (4, "empty line at the end of the file")]
        );
        let tree = Tree::made_up(&[("a.rs", "x\r\ny")]);
        assert_eq!(wrongs(&whitespace(&tree)), [(1, "carriage return"), (2, "the last line has no end")]);
    }

    #[test]
    fn makefiles_may_have_tabs_and_captured_data_may_have_anything() {
        let tree = Tree::made_up(&[("Makefile", "a:\n\tb\n"), ("tests/data/fio.txt", "x \t \n\n")]);
        assert_eq!(whitespace(&tree), []);
    }

    #[test]
    fn marks_and_places_are_refused_but_not_words_like_them() {
        let place = PLACES[0];
        let text = format!(
            "// {} later\n// a{}b\nlet path = \"{place}x\";\nlet fine = \"frame{place}x\";\n",
            UNDONE[0], UNDONE[1]
        );
        let lines: Vec<usize> =
            marks(&Tree::made_up(&[("a.rs", &text)])).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 3]);
    }
}
