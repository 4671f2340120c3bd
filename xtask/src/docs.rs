//! The manual as a book: the shelves of docs/README.md become its table of contents.
//!
//!   docs/*.md ──► target/book/src ──► mdbook ──► target/book/html/index.html
//!   docs/README.md ──► SUMMARY.md ──┤
//!   what iostack prints of commands, options, keys and experiments, of which docs/ has a summary ──┤
//!   experiments/lab/*.md, what the lab found when it was last asked ──┘

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::{self, must};

const BOOK: &str = "target/book";

/// Pages that stand whole in the book alone, and what prints them. Digests of the prints are kept in docs/digests.txt.
const PRINTED: [(&str, &[&str]); 4] = [
    ("commands.md", &["manual", "--markdown"]),
    ("options.md", &["options", "--markdown"]),
    ("sheets.md", &["sim", "keys", "--markdown"]),
    ("repro.md", &["repro", "--markdown", "--quiet", "--svg", "target/book/src/images/repro"]),
];

/// Pages that stand whole in the book alone, and that take an hour of booted machines to make.
const RECORD: &str = "experiments/lab";

/// Folder where mdbook is put when there is none.
const TOOLS: &str = "target/tools";

const SETTINGS: &str = "\
[book]
title = \"iostack\"
src = \"src\"

[build]
build-dir = \"html\"
";

/// Makes the book.
pub(crate) fn chore(_: &[String]) -> Result<bool> {
    let book = Path::new(BOOK);
    if book.exists() {
        fs::remove_dir_all(book).context(BOOK)?;
    }
    let source = book.join("src");
    fs::create_dir_all(book).context(BOOK)?;
    process::text(Command::new("cp").args(["--recursive", "docs"]).arg(&source))?;
    process::text(Command::new("cp").args(["--recursive", &format!("{RECORD}/.")]).arg(&source))?;
    for (page, words) in PRINTED {
        print(&source.join(page), words)?;
    }
    let shelves = fs::read_to_string("docs/README.md").context("docs/README.md")?;
    fs::write(source.join("SUMMARY.md"), summary(&shelves)).context("SUMMARY.md")?;
    fs::write(book.join("book.toml"), SETTINGS).context("book.toml")?;
    must(Command::new(mdbook()?).args(["build", BOOK]))?;
    println!("docs      {BOOK}/html/index.html");
    Ok(true)
}

/// Writes what the program prints over a page, or below its words before the first section where the print has no title.
fn print(page: &Path, words: &[&str]) -> Result<()> {
    println!("docs      {}: iostack {}", page.display(), words.join(" "));
    let run = ["run", "--quiet", "--profile", "first", "--package", "iostack", "--"];
    let output = process::cargo().args(run).args(words).stderr(Stdio::inherit()).output().context("cargo")?;
    // 1: a published figure does not come out, and the page says so.
    let Some(0 | 1) = output.status.code() else { bail!("iostack {} failed; see above", words.join(" ")) };
    let printed = String::from_utf8(output.stdout).context("what iostack prints")?;
    let has_head = printed.starts_with("# ");
    let head = if has_head {
        String::new()
    } else {
        let page = fs::read_to_string(page).with_context(|| page.display().to_string())?;
        page.split("\n## ").next().unwrap_or_default().trim_end().to_owned() + "\n\n"
    };
    fs::write(page, head + &printed).with_context(|| page.display().to_string())
}

/// Chapters in the order of the shelves: `## Guides: solve that` is a part, `| [ab](ab.md) | .. |` a page of it.
fn summary(shelves: &str) -> String {
    let line = |line: &str| {
        if let Some(part) = line.strip_prefix("## ") {
            let name = part.split(':').next().unwrap_or(part);
            return Some(format!("\n# {name}\n\n"));
        }
        let (name, rest) = line.strip_prefix("| [")?.split_once("](")?;
        let (page, _) = rest.split_once(')')?;
        Some(format!("- [{name}]({page})\n"))
    };
    let chapters: String = shelves.lines().filter_map(line).collect();
    format!("# Summary\n\n[The pages](README.md)\n{chapters}")
}

/// The installed one, or one that is built into the build folder once.
fn mdbook() -> Result<PathBuf> {
    let own = Path::new(TOOLS).join("bin/mdbook");
    if let Some(installed) = process::find("mdbook") {
        return Ok(installed);
    }
    if !own.exists() {
        println!("docs      no mdbook here: building one, some minutes, once");
        must(process::cargo().args(["install", "mdbook", "--locked", "--root", TOOLS]))?;
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shelves_become_parts_and_rows_their_pages() {
        let shelves = "# The pages\n\n## Guides: solve that\n\n| page | answers |\n| --- | --- |\n| [ab](ab.md) | Which? |\n";
        assert_eq!(summary(shelves), "# Summary\n\n[The pages](README.md)\n\n# Guides\n\n- [ab](ab.md)\n");
    }
}
