//! Which files import each other in a circle? Files of one crate, by the `crate::` and `super::` in their `use` lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::Tree;

/// Files that each file names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Groups of files, each of which reaches each other; a module and the files below it are one, as it names them by `mod`.
pub(super) fn all(tree: &Tree) -> Vec<Vec<String>> {
    let graph = graph(tree);
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|from| (from, reached(&graph, from))).collect();
    let mut circles = BTreeSet::new();
    for (from, all) in &reach {
        let circle: Vec<String> =
            all.iter().filter(|to| reach[**to].contains(from)).map(|to| (*to).clone()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reached<'a>(graph: &'a Graph, from: &String) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut ahead = vec![from];
    while let Some(next) = ahead.pop() {
        for to in &graph[next] {
            if graph.contains_key(to) {
                let (to, _) = graph.get_key_value(to).expect("it contains it");
                if seen.insert(to) {
                    ahead.push(to);
                }
            }
        }
    }
    seen
}

/// Modules `crate/a/b` and those that they import, but for their parents and children, whose names are only a path.
fn graph(tree: &Tree) -> Graph {
    let of_crate = |path: &str| {
        Some(path.strip_prefix("crates/")?.split_once("/src/")).flatten().map(|(name, rest)| {
            let module = rest.trim_end_matches(".rs").trim_end_matches("mod").trim_end_matches('/');
            if module == "lib" || module == "main" { name.to_owned() } else { format!("{name}/{module}") }
        })
    };
    let files: Vec<(String, &str)> = tree
        .rust()
        .filter(|file| {
            !file.path.ends_with("tests.rs") && !file.path.to_string_lossy().ends_with("_tests.rs")
        })
        .filter_map(|file| Some((of_crate(file.path.to_str()?)?, file.text.as_str())))
        .collect();
    let known: BTreeSet<&str> = files.iter().map(|(module, _)| module.as_str()).collect();
    let imports = |module: &str, text: &str| -> BTreeSet<String> {
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
        let lines = code.split(';').filter_map(|part| {
            let at = part.rfind("use ")?;
            Some(part[at + 4..].trim())
        });
        lines.flat_map(|path| resolved(module, path, &known)).filter(|to| !is_kin(module, to)).collect()
    };
    files.iter().map(|(module, text)| (module.clone(), imports(module, text))).collect()
}

/// True for a module and one above or below it.
fn is_kin(one: &str, other: &str) -> bool {
    let above =
        |up: &str, low: &str| low == up || low.strip_prefix(up).is_some_and(|rest| rest.starts_with('/'));
    above(one, other) || above(other, one)
}

/// The modules that a path names: the longest beginning of it that is a file, for each name in its braces.
fn resolved(module: &str, path: &str, known: &BTreeSet<&str>) -> Vec<String> {
    let mut base: Vec<&str> = module.split('/').collect();
    let rest = if let Some(rest) = path.strip_prefix("crate::") {
        base.truncate(1);
        rest
    } else if path.starts_with("super::") {
        let mut rest = path;
        while let Some(less) = rest.strip_prefix("super::") {
            base.pop();
            rest = less;
        }
        rest
    } else {
        return Vec::new();
    };
    let (stem, names) = rest.split_once('{').map_or((rest, ""), |(stem, names)| (stem, names));
    let names: Vec<&str> =
        if names.is_empty() { vec![""] } else { names.split([',', '}']).map(str::trim).collect() };
    let longest = |name: &&str| {
        let words = stem.split("::").chain(name.split("::")).map(str::trim).filter(|word| !word.is_empty());
        let mut found = base.join("/");
        for word in words {
            let next = format!("{found}/{word}");
            if !known.contains(next.as_str()) {
                break;
            }
            found = next;
        }
        found
    };
    names.iter().filter(|name| !name.is_empty() || names.len() == 1).map(longest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_that_import_each_other_are_a_circle_and_a_parent_is_none() {
        let tree = Tree::made_up(&[
            ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("crates/x/src/a.rs", "use std::fs;\nuse crate::{b::B, c};\n"),
            ("crates/x/src/b.rs", "use super::a::A;\nuse crate::X;\n"),
            ("crates/x/src/c/mod.rs", "use d::D;\nmod d;\n"),
            ("crates/x/src/c/d.rs", "use super::E;\n#[cfg(test)]\nmod tests {\n use crate::a::A;\n}\n"),
        ]);
        assert_eq!(all(&tree), [["x/a", "x/b"]]);
    }
}
