//! Whose words must go with a program? The licences of everything that is linked into it, each text once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::process;

/// Notices of what is in every static program and in no list of cargo's.
const STATIC: &str = "musl, the C library: MIT, Copyright (c) 2005-2020 Rich Felker and others.\n";

/// Notices of what is in everything of Rust's.
const ALWAYS: &str = "\
Rust's standard library: MIT OR Apache-2.0, Copyright (c) The Rust Project Developers;
its unwinder is LLVM's libunwind: Apache-2.0 WITH LLVM-exception.
";

/// The names by which crates bring their licences.
const FILES: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// Crates that are linked into `package` for `triple`, with their licences and these in full.
pub(crate) fn of(root: &Path, package: &str, triple: &str) -> Result<String> {
    let words = ["tree", "--edges", "normal", "--prefix", "none", "--locked"];
    let mut linked = process::cargo();
    linked.args(words).args(["--package", package, "--target", triple]).current_dir(root);
    let linked = process::text(&mut linked)?;
    // `clap v4.6.7`, and more behind it where it is ours, makes macros or was named before.
    let linked: BTreeSet<(&str, &str)> = linked
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let libc = if triple.ends_with("musl") { STATIC } else { "" };
    let (mut list, mut texts) = (format!("{libc}{ALWAYS}"), BTreeMap::<String, Vec<String>>::new());
    for crate_ in process::packages(root, &["--locked"])? {
        let text = |key: &str| crate_[key].as_str().unwrap_or_default();
        if crate_["source"].is_null() || !linked.contains(&(text("name"), text("version"))) {
            continue;
        }
        let name = format!("{} {}", text("name"), text("version"));
        writeln!(list, "{name}: {}", text("license")).expect("a string takes all");
        for file in licences(Path::new(text("manifest_path")))? {
            let content =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            texts.entry(content.trim_end().to_owned()).or_default().push(name.clone());
        }
    }
    for (text, names) in texts {
        write!(list, "\n---- {}\n\n{text}\n", names.join(", ")).expect("a string takes all");
    }
    Ok(list)
}

/// The licences beside a manifest.
fn licences(manifest: &Path) -> Result<Vec<PathBuf>> {
    let folder = manifest.parent().context("a manifest lies in a folder")?;
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        FILES.iter().any(|start| name.starts_with(start))
    });
    found.sort();
    Ok(found)
}
