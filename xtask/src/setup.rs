//! What can the tests use that this machine lacks? Installs it where allowed, and says what it cannot.
//!
//! Nothing here is needed to build or to run iostack. A test whose program is missing skips aloud, so a machine where
//! nothing may be installed still passes; it only proves less.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{package, process, tree};

/// A program, the Debian package that has it, and what the tests do with it.
type Tool = (&'static str, &'static str, &'static str);

const TOOLS: &[Tool] = &[
    ("fio", "fio", "conformance with fio"),
    ("valgrind", "valgrind", "instruction counts of the simulator"),
    ("codespell", "codespell", "spelling"),
    ("mkfs.ext4", "e2fsprogs", "tests on ext4"),
    ("mkfs.xfs", "xfsprogs", "tests on XFS"),
    ("mkfs.btrfs", "btrfs-progs", "tests on Btrfs"),
    ("losetup", "mount", "tests on loop devices"),
    ("dmsetup", "dmsetup", "tests on device-mapper stacks"),
    ("chromium", "chromium", "the scripts of our pages in a browser"),
    ("clang", "clang", "making the BPF objects again"),
    ("sqlite3", "sqlite3", "layers of a database"),
    ("git", "git", "layers of a program with many small files"),
    ("mariadbd", "mariadb-server", FIGURES),
    ("pgbench", "postgresql", FIGURES),
    ("redis-server", "redis-server", FIGURES),
    ("rsync", "rsync", FIGURES),
    ("javac", "openjdk-17-jdk-headless", FIGURES),
    ("go", "golang-go", FIGURES),
    ("python3", "python3", "the scripts of fio and fio-plot"),
    ("blkparse", "blktrace", "reading binary traces"),
    ("groff", "groff-base", "reading the man pages"),
    ("man", "man-db", "reading a page as it is installed"),
    ("strace", "strace", "keeping system calls back, as containers do"),
    ("zsh", "zsh", "reading zsh's completions"),
    ("fish", "fish", "reading fish's completions"),
    ("pkg-config", "pkg-config", "linking with the library's package"),
    ("dpkg-shlibdeps", "dpkg-dev", "making Debian packages"),
    ("lintian", "lintian", "judging our packages"),
    ("nbdinfo", "libnbd-bin", "served drives against the clients of others"),
    ("qemu-io", "qemu-utils", "served drives against QEMU's client"),
    ("qemu-aarch64-static", "qemu-user-static", "running the program for Arm"),
];

const FIGURES: &str = "figures of foreign programs";

/// Programs from pip that must be able to read our output: what proves that it is there, and what it does.
const READERS: [(&str, &str, &str); 7] = [
    ("fio-plot", "bin/fio-plot", "drawing from our output"),
    ("duckdb", "lib/python3*/site-packages/duckdb", "reading our Parquet"),
    ("pytest", "bin/pytest", TESTS),
    ("pandas", "lib/python3*/site-packages/pandas", TESTS),
    ("pyarrow", "lib/python3*/site-packages/pyarrow", TESTS),
    ("matplotlib", "lib/python3*/site-packages/matplotlib", TESTS),
    ("distributed", "lib/python3*/site-packages/distributed", TESTS),
];

const TESTS: &str = "testing the Python package";

/// The virtual environment, from the root of the repository.
pub(crate) const VENV: &str = "target/venv";

/// `cargo xtask setup`.
pub(crate) fn chore(_arguments: &[String]) -> Result<bool> {
    all()?;
    Ok(true)
}

/// Installs what is missing; one line for each thing that could not be had. Fails only when nothing can be run at all.
pub(crate) fn all() -> Result<()> {
    let missing = || TOOLS.iter().filter(|(program, ..)| process::find(program).is_none());
    install(&missing().map(|(_, package, _)| *package).collect::<Vec<_>>())?;
    for (program, package, purpose) in missing() {
        println!("setup     no `{program}` (package {package}): {purpose} will skip");
    }
    for triple in package::triples() {
        if let Err(error) = target(&triple) {
            println!("setup     no Rust for {triple}: tests and packages of it will skip ({error:#})");
        }
    }
    for (package, proof, purpose) in READERS {
        if let Err(error) = from_pip(&tree::root().join(VENV), package, proof) {
            println!("setup     no {package}: {purpose} will skip ({error:#})");
        }
    }
    Ok(())
}

/// Adds what Rust needs to build for another machine, where rustup can have it.
fn target(triple: &str) -> Result<()> {
    let words = ["--print", "target-libdir", "--target", triple];
    if Path::new(process::text(Command::new("rustc").args(words))?.trim()).is_dir() {
        return Ok(());
    }
    println!("setup     rustup target add {triple}");
    process::text(Command::new("rustup").args(["target", "add", triple])).map(drop)
}

/// All packages at once; one by one when apt refuses the lot because of one of them.
fn install(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let Some(apt) = apt()? else {
        println!(
            "setup     nothing can be installed here: that takes apt-get, and root or a sudo without password"
        );
        return Ok(());
    };
    println!("setup     installing {}", packages.join(" "));
    // A list that is old or absent is no reason to stop: the install says whether it was good enough.
    process::output(command(&apt).args(["update", "-qq"]))?;
    if !add(&apt, packages)? && packages.len() > 1 {
        for package in packages {
            add(&apt, &[*package])?;
        }
    }
    Ok(())
}

/// True when apt installed them.
fn add(apt: &[&str], packages: &[&str]) -> Result<bool> {
    let words = ["install", "-y", "-qq", "--no-install-recommends"];
    Ok(process::output(command(apt).args(words).args(packages))?.status.success())
}

/// `apt-get`, with what it takes to become root; `None` when that is not to be had.
fn apt() -> Result<Option<Vec<&'static str>>> {
    if process::find("apt-get").is_none() {
        return Ok(None);
    }
    let noninteractive = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    if process::text(Command::new("id").arg("-u"))?.trim() == "0" {
        return Ok(Some(noninteractive.to_vec()));
    }
    let may_sudo = process::succeeds(Command::new("sudo").args(["-n", "true"]));
    Ok(may_sudo.then(|| ["sudo", "-n"].into_iter().chain(noninteractive).collect()))
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

/// A package of pip's in an environment under `target/`, so that nothing else on the machine changes.
pub(crate) fn from_pip(venv: &Path, package: &str, proof: &str) -> Result<()> {
    if is_there(venv, proof) {
        return Ok(());
    }
    println!("setup     installing {package} under {VENV}");
    if !venv.join("bin/pip").is_file()
        && !process::succeeds(Command::new("python3").args(["-m", "venv"]).arg(venv))
    {
        // Debian's own python3 keeps the installer in another package.
        if let Some(apt) = apt()? {
            add(&apt, &["python3-venv"])?;
        }
        process::text(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
    }
    let pip = venv.join("bin/pip");
    process::text(Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check", package]))?;
    Ok(())
}

/// A file or folder of `venv`; `*` stands for the rest of a folder's name, which is Python's version.
fn is_there(venv: &Path, proof: &str) -> bool {
    let Some((before, after)) = proof.split_once('*') else { return venv.join(proof).exists() };
    let (folder, start) = before.rsplit_once('/').unwrap_or(("", before));
    let entries = std::fs::read_dir(venv.join(folder)).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .any(|entry| entry.path().join(after.trim_start_matches('/')).exists())
}
