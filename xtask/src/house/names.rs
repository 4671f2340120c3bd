//! Can items be found and understood? Docs of half a sentence, names that stand many times.

use std::collections::BTreeMap;

use crate::tree::Tree;

/// Counts over all Rust files.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Names {
    /// Docs of two words or less.
    pub(super) short: usize,
    /// Docs that begin with a question word or a preposition.
    pub(super) halves: usize,
    /// Functions named `of`.
    pub(super) fn_of: usize,
    /// Types imported under another name.
    pub(super) renames: usize,
    /// Type names that are defined four times or more.
    pub(super) common: Vec<String>,
}

/// Beginnings that leave the subject out.
const HALVES: &str = "what why how whether when where which who whose of for in on at by with without from to as than that if until \
                      while before after between among under over into per about";

/// Counts the names and the docs of all items.
pub(super) fn count(tree: &Tree) -> Names {
    let mut names = Names::default();
    let mut types = BTreeMap::<String, usize>::new();
    for file in tree.rust() {
        let mut doc = Vec::new();
        for line in file.text.lines().map(str::trim) {
            if let Some(words) = line.strip_prefix("///") {
                doc.extend(words.split_whitespace());
            } else if !line.starts_with("#[") {
                names.judge(&doc);
                doc.clear();
                names.renames += usize::from(is_rename(line));
                let words: Vec<&str> =
                    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
                if is_item(line) {
                    names.fn_of += usize::from(words.windows(2).any(|pair| pair == ["fn", "of"]));
                    let at = words.iter().position(|word| ["struct", "enum", "trait", "type"].contains(word));
                    let name = at.and_then(|at| words.get(at + 1)).filter(|name| !name.is_empty());
                    if let Some(name) = name {
                        *types.entry((*name).to_owned()).or_default() += 1;
                    }
                }
            }
        }
    }
    names.common = types.into_iter().filter(|(_, count)| *count >= 4).map(|(name, _)| name).collect();
    names
}

impl Names {
    fn judge(&mut self, doc: &[&str]) {
        let Some(first) = doc.first() else { return };
        let first = first.trim_end_matches([',', '.']).to_lowercase();
        if doc.len() <= 2 {
            self.short += 1;
        } else if HALVES.split_whitespace().any(|word| word == first) {
            self.halves += 1;
        }
    }
}

/// True for a line that begins a function or a type.
fn is_item(line: &str) -> bool {
    let bare = line.strip_prefix("pub").map_or(line, |rest| {
        rest.strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map_or(rest, |(_, rest)| rest)
            .trim_start()
    });
    ["struct ", "enum ", "trait ", "type ", "fn ", "const fn "].iter().any(|word| bare.starts_with(word))
}

/// True for `use a::Stage as Where`; an import that is not named at all is none.
fn is_rename(line: &str) -> bool {
    let is_type = |word: &str| word.starts_with(|letter: char| letter.is_ascii_uppercase());
    let imports = line.starts_with("use ") || line.starts_with("pub use ");
    imports
        && line.match_indices(" as ").any(|(at, _)| {
            let before = line[..at].rsplit([':', '{', ' ', ',']).next().unwrap_or("");
            is_type(before) && is_type(&line[at + 4..])
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doc_names_its_subject_and_a_name_stands_rarely() {
        let text = "use a::{Stage as Where, B as _};\n/// Its name.\n#[serde]\nname: String,\n/// Of a disk.\npub fn of(x: u8) {}\n\
                    /// Tag of the request.\npub(crate) struct Tag;\n/// What it is like, as of now.\nenum Tag {}\ntype Tag = u8;\ntrait Tag {}\n";
        let names = count(&Tree::made_up(&[("a.rs", text)]));
        let expected = Names { short: 1, halves: 2, fn_of: 1, renames: 1, common: vec!["Tag".to_owned()] };
        assert_eq!(names, expected);
    }
}
