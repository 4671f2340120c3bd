//! Rules for Rust files that clippy has no lint for.

use crate::finding::Finding;
use crate::mask::{closing, line_of, mask, words};
use crate::tree::Tree;

/// Lines from `fn` to its closing bracket, both included.
const FUNCTION_LIMIT: usize = 60;

/// A file says first which question it answers.
pub(crate) fn first_line(tree: &Tree) -> Vec<Finding> {
    let silent = tree.rust().filter(|file| !file.text.starts_with("//! "));
    silent
        .map(|file| file.finding(1, "no `//!` first line", "say in one line what the file is for, then why"))
        .collect()
}

/// A function fits a screen.
pub(crate) fn long_functions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let masked = mask(&file.text);
        for at in words(&masked, "fn") {
            let Some(end) = function_end(&masked, at) else { continue };
            let (first, last) = (line_of(&masked, at), line_of(&masked, end));
            let lines = last + 1 - first;
            if lines > FUNCTION_LIMIT {
                let wrong = format!("a function of {lines} lines, more than {FUNCTION_LIMIT}");
                findings.push(file.finding(first, wrong, "give a part of it a name"));
            }
        }
    }
    findings
}

/// Offset of the bracket that closes the function whose `fn` is at `at`; `None` for a type or a declaration.
fn function_end(masked: &str, at: usize) -> Option<usize> {
    let name = at + 2 + masked[at + 2..].find(|letter: char| !letter.is_whitespace())?;
    if masked[name..].starts_with('(') {
        return None;
    }
    let mut here = name;
    loop {
        here += masked[here..].find(['{', ';', '(', '['])?;
        match masked.as_bytes()[here] {
            b'{' => return Some(closing(masked, here) - 1),
            b';' => return None,
            _ => here = closing(masked, here),
        }
    }
}

/// `unsafe` lives in one `sys.rs` per crate, or in the folder `sys/` below it, where it can be read in one sitting.
pub(crate) fn unsafe_outside_sys(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.name() != "sys.rs" && !file.is_in("sys")) {
        let masked = mask(&file.text);
        findings.extend(words(&masked, "unsafe").map(|at| {
            let remedy = "move it to the crate's sys.rs, behind a safe function";
            file.finding(line_of(&masked, at), "`unsafe` outside sys.rs", remedy)
        }));
    }
    findings
}

/// `expect` says when it is no longer needed; `allow` stays for ever.
pub(crate) fn attributes_that_allow(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let masked = mask(&file.text);
        for at in words(&masked, "allow").filter(|&at| opens_attribute(&masked[..at])) {
            let remedy = "write `#[expect(.., reason = \"..\")]`";
            findings.push(file.finding(line_of(&masked, at), "`#[allow]`", remedy));
        }
        for at in words(&masked, "expect").filter(|&at| opens_attribute(&masked[..at])) {
            let end = closing(&masked, at + masked[at..].find('(').unwrap_or(0));
            if words(&masked[at..end], "reason").next().is_none() {
                let remedy = "add `reason = \"..\"`";
                findings.push(file.finding(line_of(&masked, at), "`#[expect]` without reason", remedy));
            }
        }
    }
    findings
}

fn opens_attribute(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with("#[") || before.ends_with("#![")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(rule: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> Vec<usize> {
        rule(&Tree::made_up(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_file_without_a_question_is_refused() {
        assert_eq!(lines(first_line, "a.rs", "use x;\n"), [1]);
        assert_eq!(lines(first_line, "a.rs", "//! What?\n"), NONE);
    }

    #[test]
    fn a_function_of_61_lines_is_refused_and_one_of_60_is_not() {
        let body =
            |lines: usize| format!("\nfn f(a: [u8; 4]) -> u8 {{\n{}}}\n", "    x();\n".repeat(lines - 2));
        assert_eq!(lines(long_functions, "a.rs", &body(60)), NONE);
        assert_eq!(lines(long_functions, "a.rs", &body(61)), [2]);
        let declared = format!("type F = fn(u8);\ntrait T {{ fn f(); }}\n{}", "\n".repeat(80));
        assert_eq!(lines(long_functions, "a.rs", &declared), NONE);
    }

    #[test]
    fn code_that_is_unsafe_is_seen_and_talk_of_it_is_not() {
        let text = "#![expect(unsafe_code)]\n// unsafe\nlet a = \"unsafe\";\nunsafe { f() }\n";
        assert_eq!(lines(unsafe_outside_sys, "src/a.rs", text), [4]);
        assert_eq!(lines(unsafe_outside_sys, "src/sys.rs", text), NONE);
        assert_eq!(lines(unsafe_outside_sys, "src/sys/ring.rs", text), NONE);
    }

    #[test]
    fn an_exception_needs_a_reason() {
        let text = "#[allow(x)]\n#![expect(\n    y\n)]\n#[expect(z, reason = \"r\")]\nfn f() { a.expect(\"b\"); allow(c) }\n";
        assert_eq!(lines(attributes_that_allow, "a.rs", text), [1, 2]);
    }
}
