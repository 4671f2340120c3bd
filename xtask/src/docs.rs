//! The manual as a book: the shelves of docs/README.md become its table of contents.
//!
//!   docs/*.md ──► target/book/src ──► mdbook ──► target/book/html/index.html
//!   docs/README.md ──► SUMMARY.md ──┘

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;

const BOOK: &str = "target/book";

/// Where mdbook is put when there is none.
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
    copy(Path::new("docs"), &source)?;
    let shelves = fs::read_to_string("docs/README.md").context("docs/README.md")?;
    fs::write(source.join("SUMMARY.md"), summary(&shelves)).context("SUMMARY.md")?;
    fs::write(book.join("book.toml"), SETTINGS).context("book.toml")?;
    let made = Command::new(mdbook()?).args(["build", BOOK]).status().context("mdbook")?;
    ensure!(made.success(), "mdbook could not make the book");
    println!("docs      {BOOK}/html/index.html");
    Ok(true)
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

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let copied = to.join(path.file_name().context("an entry has a name")?);
        if path.is_dir() {
            copy(&path, &copied)?;
        } else {
            fs::copy(&path, &copied).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// The installed one, or one that is built into the build folder once.
fn mdbook() -> Result<PathBuf> {
    let own = Path::new(TOOLS).join("bin/mdbook");
    if let Some(installed) = process::find("mdbook") {
        return Ok(installed);
    }
    if !own.exists() {
        println!("docs      no mdbook here: building one, some minutes, once");
        let built = process::cargo().args(["install", "mdbook", "--locked", "--root", TOOLS]).status();
        ensure!(built.context("cargo")?.success(), "mdbook cannot be built here; install it and try again");
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
