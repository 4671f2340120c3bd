//! What do people install? The static program, and Debian packages of it, of the drivers and of the C library.
//!
//! ```text
//!   cargo build, one a processor ──► program, debug file ──┐
//!   `iostack manual` ──► man pages, completions ───────────┼──► a folder laid out as `/` ──► dpkg-deb ──► target/package/
//!   kernel/ ──► sources for DKMS ──────────────────────────┤
//!   cargo rustc ──► libiostack_merge, header, .pc ─────────┘
//! ```
//!
//! `dpkg-deb` and not cargo-deb, because two of the three are not of a program of cargo's: one way serves all. Start reading at
//! [`chore`].

mod deb;
mod drivers;
mod library;
pub(crate) mod notices;
mod program;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

pub(crate) use program::triples;

use crate::chore::only;
use crate::{process, tree};

/// Folder where everything lies in the end, from the root.
const OUT: &str = "target/package";

/// The profile in Cargo.toml, and its folder.
const PROFILE: &str = "shipped";

/// Name of a package that can be asked for, and its maker.
type Entry = (&'static str, fn(&PackageSource) -> Result<Vec<PathBuf>>);

const PACKAGES: [Entry; 3] = [
    (program::NAME, program::packages),
    (drivers::NAME, drivers::package),
    (library::NAME, library::package),
];

/// Tree that is packaged, and where to.
struct PackageSource {
    root: PathBuf,
    out: PathBuf,
    /// Version of the workspace, such as `0.1.0`.
    version: &'static str,
    /// Twelve digits, with `+changes` where the tree is not what was committed.
    commit: String,
    /// Name and address of whoever answers for the package.
    maintainer: String,
    /// Time of the commit: seconds since 1970, and as mails have it. The same commit gives the same packages.
    epoch: String,
    date: String,
}

impl PackageSource {
    fn of(root: &Path, out: &Path) -> Result<PackageSource> {
        let git = |words: &[&str]| -> Result<String> {
            let told = process::text(Command::new("git").args(words).current_dir(root))?;
            Ok(told.trim().to_owned())
        };
        let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
        let changes = if git(&["status", "--porcelain"])?.is_empty() { "" } else { "+changes" };
        // As Debian's own tools have it; else whoever committed last.
        let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let maintainer = match (set("DEBFULLNAME"), set("DEBEMAIL")) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            _ => git(&["log", "-1", "--format=%an <%ae>"])?,
        };
        Ok(PackageSource {
            root: root.to_owned(),
            out: out.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            commit: commit + changes,
            maintainer,
            epoch: git(&["log", "-1", "--format=%ct"])?,
            date: git(&["log", "-1", "--format=%cD"])?,
        })
    }

    /// An empty folder in which a package is laid out.
    fn fresh(&self, name: &str) -> Result<PathBuf> {
        let folder = self.out.join("roots").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// A command of cargo's that builds what is packaged.
    fn cargo(&self, words: &[&str]) -> Command {
        let mut command = process::cargo();
        command.args(words).args(["--profile", PROFILE, "--locked"]).current_dir(&self.root);
        command.env("IOSTACK_COMMIT", &self.commit);
        command
    }
}

/// `cargo xtask package [NAME ..]`: all, or those named.
pub(crate) fn chore(arguments: &[String]) -> Result<bool> {
    let root = tree::root();
    only(arguments, &PACKAGES.map(|(name, _)| name))?;
    ensure!(
        process::find("dpkg-deb").is_some(),
        "packages are made by `dpkg-deb`; on Debian: apt install dpkg-dev"
    );
    let source = PackageSource::of(&root, &root.join(OUT))?;
    for (name, make) in PACKAGES {
        if arguments.is_empty() || arguments.iter().any(|argument| argument == name) {
            for file in make(&source)? {
                let kib = file.metadata().context("it was just written")?.len() / 1024;
                println!("package   {} ({kib} KiB)", file.strip_prefix(&root).unwrap_or(&file).display());
            }
        }
    }
    Ok(true)
}

/// Copies a file, making the folders above it.
fn place(from: &Path, to: &Path) -> Result<()> {
    let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    write(to, &content)
}

/// Writes a new file, making the folders above it.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}
